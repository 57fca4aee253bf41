"""A causal graph with everything in its place: what the SVG and the PNG both draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.report.layout import Layout, arrange
from crda_spec.report.svg import text_width
from crda_spec.report.words.causal import badge
from crda_spec.report.words.numbers import CLASS_WORDS, count, shorten, shown

BOX_HEIGHT = 30.0
ROW = 44.0
MARGIN = 24.0
NARROWEST = 560.0
_LONGEST_LABEL = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node on the paper: the middle of its box, its width, its layer, and how it looks."""

    name: str
    label: str
    look: str
    layer: int
    x: float
    y: float
    width: float

    @property
    def left(self) -> float:
        """Where edges from causes end."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Where edges to effects start."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """The upper side."""
        return self.y - BOX_HEIGHT / 2


def _placed_boxes(
    names: Sequence[str], layout: Layout, looks: Mapping[str, str]
) -> tuple[dict[str, Box], float, float]:
    """The boxes of the laid-out nodes, all of one layer equally wide, and the width and height they need."""
    widths = [60.0] * layout.layers
    for name in names:
        level = layout.layer[name]
        widths[level] = max(widths[level], _label(name)[1])
    # Steep edges need room to turn: the taller the drawing, the wider the gutters between its layers.
    gutter = min(190.0, 72.0 + layout.bottom / 9)
    needed = sum(widths) + gutter * (len(widths) - 1) + 2 * MARGIN
    start = MARGIN + max(0.0, (NARROWEST - needed) / 2)
    middles = [start + sum(widths[:level]) + gutter * level + widths[level] / 2 for level in range(len(widths))]
    boxes = {
        name: Box(
            name=name,
            label=_label(name)[0],
            look=looks[name],
            layer=layout.layer[name],
            x=middles[layout.layer[name]],
            y=MARGIN + BOX_HEIGHT / 2 + layout.height[name],
            width=widths[layout.layer[name]],
        )
        for name in names
    }
    return boxes, max(needed, NARROWEST), 2 * MARGIN + BOX_HEIGHT + layout.bottom


def _loose_boxes(
    names: Sequence[str], looks: Mapping[str, str], width: float, bottom: float
) -> tuple[tuple[Box, ...], float]:
    """Boxes of the nodes that no edge touches, in lines below the graph, and their lower end."""
    boxes: list[Box] = []
    x, y = MARGIN, bottom + BOX_HEIGHT / 2
    for name in names:
        label, wide = _label(name)
        if x > MARGIN and x + wide > width - MARGIN:
            x, y = MARGIN, y + ROW - 6
        boxes.append(Box(name=name, label=label, look=looks[name], layer=0, x=x + wide / 2, y=y, width=wide))
        x += wide + 12
    return tuple(boxes), (y + BOX_HEIGHT / 2 + MARGIN if names else bottom)


def _label(name: str) -> tuple[str, float]:
    """A node's name as its box shows it, and the width that it and the mark beside it need."""
    label = shorten(shown(name), _LONGEST_LABEL)
    return label, text_width(label) + 46.0


HEAD = 8.0  # the length of an arrow's head
RING = 3.5  # the radius of the circle at an end that may be a head or a tail
_TIE_SHIFT = 8.0  # a tie runs this much above an edge between the same nodes

Point = tuple[float, float]
# How a line goes on: to one point straight and level, or to the last of three along a cubic curve.
Step = tuple[Point] | tuple[Point, Point, Point]
Tip = tuple[float, float, int]  # where an arrow ends, and +1 when it points right, -1 when left

# What stands at the left and the right end of each mark: a head, a circle, or nothing.
_ENDS = {
    "->": ("", ">"),
    "<->": (">", ">"),
    "--": ("", ""),
    "o->": ("o", ">"),
    "o-o": ("o", "o"),
    "o--": ("o", ""),
}
_ROOM = {"": 0.0, ">": HEAD, "o": 2 * RING}  # what an end takes of the line


@dataclass(frozen=True, slots=True)
class Route:
    """A line from box to box, and where it carries an arrow's head or a circle (its middle)."""

    start: Point
    steps: tuple[Step, ...]
    tips: tuple[Tip, ...]
    rings: tuple[Point, ...] = ()


def route(edge: tuple[str, str, str], boxes: Mapping[str, Box], layout: Layout) -> Route:
    """The way of an edge: drawn from left to right, whichever way it points."""
    start, end, mark = edge
    a, b = boxes[start], boxes[end]
    ends = _ENDS[mark]
    if a.layer > b.layer:
        a, b, ends = b, a, ends[::-1]
    if a.layer == b.layer:
        return _same_layer(a, b, layout, ends)
    tie = mark == "<->"
    sides = {box.layer: (box.left, box.right) for box in boxes.values()}
    zero = a.y - layout.height[a.name]
    bends = layout.bends.get((a.name, b.name, tie), ())  # where it passes the layers between its ends
    stops = [(*sides[layer], zero + height) for layer, height in bends]
    return _across(a, b, stops, -_TIE_SHIFT if tie else 0.0, ends)


def _across(a: Box, b: Box, stops: Sequence[tuple[float, float, float]], shift: float, ends: tuple[str, str]) -> Route:
    """From one layer to a later one: it bends in the gutters and runs level through the layers it passes.

    stops: left, right and height of each stretch that runs level through a layer.
    """
    start = x, y = a.right + _ROOM[ends[0]], a.y + shift
    final = b.left - _ROOM[ends[1]]
    steps: list[Step] = []
    for left, right, level in [*stops, (final, final, b.y + shift)]:
        middle = (x + left) / 2
        steps.append(((middle, y), (middle, level), (left, level)))
        if right != left:
            steps.append(((right, level),))
        x, y = right, level
    sides = ((a.right, a.y + shift, -1), (b.left, b.y + shift, 1))
    return Route(start, tuple(steps), *_finished(ends, sides))


def _finished(ends: tuple[str, str], sides: Sequence[Tip]) -> tuple[tuple[Tip, ...], tuple[Point, ...]]:
    """The heads and the circles at the two sides where a line meets its boxes."""
    tips = tuple(side for end, side in zip(ends, sides, strict=True) if end == ">")
    rings = tuple((x - turn * RING, y) for end, (x, y, turn) in zip(ends, sides, strict=True) if end == "o")
    return tips, rings


def _same_layer(a: Box, b: Box, layout: Layout, ends: tuple[str, str]) -> Route:
    """Between two boxes of one layer: an arc in the gutter beside them."""
    side, turn = (a.right, 1) if a.layer == 0 and layout.layers > 1 else (a.left, -1)
    reach = side + turn * min(70.0, 30.0 + abs(a.y - b.y) / 6)
    first, last = (side + turn * _ROOM[end] for end in ends)
    sides = tuple((side, box.y, -turn) for box in (a, b))
    return Route((first, a.y), (((reach, a.y), (reach, b.y), (last, b.y)),), *_finished(ends, sides))


MOST_NODES = 60  # a graph with more shows only the neighbourhood of the noise and the target
WITNESS = "witness"  # the look of an edge on a path that ties a feature to the noise
UNMEASURED = ("noise", "latent")

# How a thing looks: (colour, mark). The mark says the same as the colour, for those who see no colour.
LOOKS: Mapping[str, tuple[str, str]] = {
    "irrelevant": ("sky", "ring"),
    "cause": ("green", "dot"),
    "doubted irrelevant": ("grey", "ring"),
    "doubted cause": ("grey", "dot"),
    "blocked": ("orange", "cross"),
    WITNESS: ("orange", "path"),
    "target": ("gold", "diamond"),
    "noise": ("purple", "wave"),
    "latent": ("purple", "ring"),
    "unused": ("grey", "ring"),
    "feature": ("grey", "square"),
    "open_line": ("grey", "line"),
    "circle": ("grey", "circled"),
}
MEANINGS: Mapping[str, str] = {
    **CLASS_WORDS,
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


def scene(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict], *, contradicted: bool = False) -> Scene:
    """Puts a graph on the paper. contradicted: by the data, so that nothing is shown as certified.

    Causes stand left of their effects and the target right of all it does not cause; the noise and what nobody
    measured stand on top. Nodes that no edge touches are listed below the rest.
    """
    known = {verdict.name: verdict for verdict in verdicts}
    roles = _visible_roles(graph)
    edges = tuple(edge for edge in graph.edges if edge[0] in roles and edge[1] in roles and edge[0] != edge[1])
    linked = {name for edge in edges for name in edge[:2]}
    looks = {
        name: badge(_look(role, known.get(name), judged=bool(known)), contradicted=contradicted)
        for name, role in roles.items()
    }
    placed = [name for name in roles if name in linked or roles[name] in ("target", "noise")]
    layout = _laid_out(placed, roles, edges)
    boxes, width, bottom = _placed_boxes(placed, layout, looks)
    loose, bottom = _loose_boxes([name for name in roles if name not in boxes], looks, width, bottom)
    witnesses = witness_edges(verdicts)
    lines = [
        Line(
            edge=edge,
            route=route(edge, boxes, layout),
            dashed=edge[2] == "<->",
            noisy=edge[2] == "<->" or any(roles[name] in UNMEASURED for name in edge[:2]),
            witness=undirected(edge) in witnesses,
        )
        for edge in edges
    ]
    hidden = len(graph.nodes) - len(roles)
    marks = {mark for _, _, mark in edges}
    # Of lines only those need a word that are on a witness path, or whose ends the data leave open.
    needed = {WITNESS: any(line.witness for line in lines), "open_line": "--" in marks, "circle": "o" in "".join(marks)}
    explained = {*looks.values(), *(look for look, occurs in needed.items() if occurs)}
    legend, bottom = _legend(explained, hidden=hidden, width=width, top=bottom)
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
    return frozenset(
        undirected((after, before, "->") if arrow == "<-" else (before, after, arrow))
        for path in (verdict.witness for verdict in verdicts if verdict.status == "blocked")
        for before, arrow, after in zip(path[::2], path[1::2], path[2::2], strict=False)
    )


def undirected(edge: Edge) -> Edge:
    """The edge as `witness_edges` names it: a tie or an undirected edge is the same from either end."""
    start, end, mark = edge
    return edge if mark not in _SYMMETRIC or start <= end else (end, start, mark)


def _visible_roles(graph: DrawnGraph) -> dict[str, str]:
    """The nodes to draw: all, or of a large graph the noise and the target with what touches them."""
    roles: dict[str, str] = dict(graph.nodes)
    if len(roles) <= MOST_NODES:
        return roles
    centres = [name for role in ("noise", "target") for name in roles if roles[name] == role]
    touched = (
        end if start == centre else start
        for centre in centres
        for start, end, _ in graph.edges
        if centre in (start, end)
    )
    kept = list(dict.fromkeys((*centres, *touched)))[:MOST_NODES]
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
        if mark != "<->":
            nearer = (steps[start], order[start]) < (steps[end], order[end])
            backwards = mark == "o--" or (mark in ("--", "o-o") and nearer)
            forward.append((end, start) if backwards else (start, end))
    ties = [(start, end) for start, end, mark in edges if mark == "<->"]
    tied = {name for tie in ties for name in tie}
    rank = {name: {"noise": 0, "latent": 1}.get(roles[name], 2 if name in tied else 3) for name in names}
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
