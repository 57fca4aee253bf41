"""A causal graph with everything in its place: what the SVG and the PNG both draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.report.graph_boxes import ROW, Box, loose_boxes, placed_boxes
from crda_spec.report.graph_routes import Route, route
from crda_spec.report.layout import Layout, arrange
from crda_spec.report.svg import text_width
from crda_spec.report.wording import STATUS_WORDS, count

MOST_NODES = 60  # a graph with more shows only the neighbourhood of the noise and the target
WITNESS = "witness"  # the look of an edge on a path that ties a feature to the noise
UNMEASURED = ("noise", "latent")

# How a thing looks: (colour, mark). The mark says the same as the colour, for those who see no colour.
LOOKS: Mapping[str, tuple[str, str]] = {
    "direct_cause": ("green", "dot"),
    "irrelevant": ("sky", "ring"),
    "screened": ("sky", "dot"),
    "follows": ("green", "ring"),
    "blocked": ("orange", "cross"),
    WITNESS: ("orange", "path"),
    "undrawn": ("grey", "cross"),
    "kept": ("grey", "bar"),
    "target": ("gold", "diamond"),
    "noise": ("purple", "wave"),
    "latent": ("purple", "ring"),
    "unused": ("grey", "ring"),
    "feature": ("grey", "square"),
    "open_line": ("grey", "line"),
    "circle": ("grey", "circled"),
}
MEANINGS: Mapping[str, str] = {
    **STATUS_WORDS,
    WITNESS: "path that ties it to the noise",
    "target": "target",
    "noise": "noise of the target",
    "latent": "not measured",
    "unused": "not a feature of the model",
    "feature": "feature",
    "open_line": "direction not known",
    "circle": "circle: an arrowhead or none, not known",
}
_SYMMETRIC = ("--", "<->", "o-o")  # marks that read the same from either end

Edge = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An edge on the paper."""

    edge: Edge
    route: Route
    dashed: bool  # a hidden common cause
    noisy: bool  # it carries what nobody measured
    witness: bool  # it is on a path that ties a blocked feature to the noise

    @property
    def key(self) -> Edge:
        """The edge as `witness_edges` names it: the same from either end where it has no direction."""
        return _undirected(self.edge)

    @property
    def colour(self) -> str:
        """Its colour in the palette."""
        return "orange" if self.witness else "purple" if self.noisy else "line"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the legend; `look` is empty where there is nothing but words."""

    look: str
    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The whole picture. Lines are in the order in which they are drawn: circles over lines, witnesses over all."""

    width: float
    height: float
    lines: tuple[Line, ...]
    boxes: tuple[Box, ...]
    legend: tuple[Entry, ...]
    hidden: int  # nodes that are not drawn


def scene(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict]) -> Scene:
    """Puts a graph on the paper.

    Causes stand left of their effects and the target right of all it does not cause; the noise and what nobody
    measured stand on top. Nodes that no edge touches are listed below the rest.
    """
    known = {verdict.name: verdict for verdict in verdicts}
    roles = _visible_roles(graph)
    edges = tuple(edge for edge in graph.edges if edge[0] in roles and edge[1] in roles and edge[0] != edge[1])
    linked = {name for edge in edges for name in edge[:2]}
    looks = {name: _look(role, known.get(name), judged=bool(known)) for name, role in roles.items()}
    placed = [name for name in roles if name in linked or roles[name] in ("target", "noise")]
    layout = _laid_out(placed, roles, edges)
    boxes, width, bottom = placed_boxes(placed, layout, looks)
    loose, bottom = loose_boxes([name for name in roles if name not in boxes], looks, width, bottom)
    witnesses = witness_edges(verdicts)
    lines = [
        Line(
            edge=edge,
            route=route(edge, boxes, layout),
            dashed=edge[2] == "<->",
            noisy=edge[2] == "<->" or any(roles[name] in UNMEASURED for name in edge[:2]),
            witness=_undirected(edge) in witnesses,
        )
        for edge in edges
    ]
    hidden = len(graph.nodes) - len(roles)
    shown = {*looks.values(), *_line_looks(edges), *([WITNESS] if any(line.witness for line in lines) else [])}
    legend, bottom = _legend(shown, hidden=hidden, width=width, top=bottom)
    return Scene(
        width=width,
        height=bottom,
        lines=tuple(sorted(lines, key=lambda line: (line.witness, bool(line.route.rings)))),
        boxes=(*boxes.values(), *loose),
        legend=legend,
        hidden=hidden,
    )


def witness_edges(verdicts: Sequence[FeatureVerdict]) -> frozenset[Edge]:
    """The edges on the blocked features' witness paths: arrows as they point, others with their ends in order."""
    found: set[Edge] = set()
    for verdict in verdicts:
        if verdict.status == "blocked":
            nodes, arrows = verdict.witness[::2], verdict.witness[1::2]
            for before, arrow, after in zip(nodes, arrows, nodes[1:], strict=False):
                found.add(_undirected((after, before, "->") if arrow == "<-" else (before, after, arrow)))
    return frozenset(found)


def _undirected(edge: Edge) -> Edge:
    """A tie or an undirected edge is the same from either end."""
    start, end, mark = edge
    return edge if mark not in _SYMMETRIC or start <= end else (end, start, mark)


def _line_looks(edges: Sequence[Edge]) -> set[str]:
    """What the legend must say of lines: only those whose ends the data leave open need a word."""
    found = {"open_line"} if any(mark == "--" for _, _, mark in edges) else set()
    return found | ({"circle"} if any("o" in mark for _, _, mark in edges) else set())


def _visible_roles(graph: DrawnGraph) -> dict[str, str]:
    """The nodes to draw: all, or of a large graph the noise and the target with what touches them."""
    roles: dict[str, str] = dict(graph.nodes)
    if len(roles) <= MOST_NODES:
        return roles
    chosen = {name: None for role in ("noise", "target") for name in roles if roles[name] == role}
    for centre in tuple(chosen):
        for start, end, _ in graph.edges:
            if centre in (start, end):
                chosen.setdefault(end if start == centre else start)
    kept = set(tuple(chosen)[:MOST_NODES])
    return {name: role for name, role in roles.items() if name in kept}


def _look(role: str, verdict: FeatureVerdict | None, *, judged: bool) -> str:
    """The look of a node; where no feature has a verdict, as in a search alone, a feature is just one."""
    if role != "feature":
        return role
    return verdict.status if verdict is not None else "unused" if judged else "feature"


def _laid_out(names: Sequence[str], roles: Mapping[str, str], edges: Sequence[Edge]) -> Layout:
    """The layout of the linked nodes. An undirected edge is laid out as if it pointed to the target or the noise."""
    steps = _distances(names, roles, edges)
    order = {name: index for index, name in enumerate(names)}
    forward = []
    for start, end, mark in edges:
        nearer = (steps[start], order[start]) < (steps[end], order[end])
        backwards = mark == "o--" or (mark in ("--", "o-o") and nearer)
        if mark != "<->":
            forward.append((end, start) if backwards else (start, end))
    ties = [(start, end) for start, end, mark in edges if mark == "<->"]
    tied = {name for tie in ties for name in tie}
    rank = {
        name: 0 if roles[name] == "noise" else 1 if roles[name] == "latent" else 2 if name in tied else 3
        for name in names
    }
    target = next((name for name in names if roles[name] == "target"), None)
    return arrange(names, forward, last=target, ties=ties, rank=rank, gap=ROW)


def _distances(names: Sequence[str], roles: Mapping[str, str], edges: Sequence[Edge]) -> dict[str, int]:
    """Steps from each node to the target or the noise, whatever the marks; the number of nodes where no way leads."""
    near: dict[str, list[str]] = {name: [] for name in names}
    for start, end, _ in edges:
        near[start].append(end)
        near[end].append(start)
    steps = {name: 0 if roles[name] == "target" else 1 for name in names if roles[name] in ("target", "noise")}
    queue = sorted(steps, key=steps.__getitem__)
    for name in queue:  # grows while it is read
        for other in near[name]:
            if other not in steps:
                steps[other] = steps[name] + 1
                queue.append(other)
    return {name: steps.get(name, len(names)) for name in names}


def _legend(looks: set[str], *, hidden: int, width: float, top: float) -> tuple[tuple[Entry, ...], float]:
    """What the colours and marks mean, for those that occur, and how many nodes are not drawn; and its lower end."""
    entries: list[Entry] = []
    x, y = 24.0, top + 8
    for look in [look for look in LOOKS if look in looks]:
        needed = 30 + text_width(MEANINGS[look], 12.0)
        if x > 24.0 and x + needed > width - 24:
            x, y = 24.0, y + 22
        entries.append(Entry(look, MEANINGS[look], x, y))
        x += needed + 14
    if hidden:
        y += 24
        note = f"{count(hidden, 'more node')} not drawn: only the neighbours of the noise and the target are."
        entries.append(Entry("", note, 24.0, y))
    return tuple(entries), y + 24
