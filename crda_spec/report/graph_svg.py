"""The causal graph as a picture: what causes what, what may move, and what is tied to the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.report.graph_marks import BOX_HEIGHT, RULES, Box, box_mark, box_width, edge_mark, legend
from crda_spec.report.layout import Layout, arrange
from crda_spec.report.svg import drawing, element
from crda_spec.report.wording import count, listed, shorten, shown

MOST_NODES = 60  # a graph with more shows only the neighbourhood of the noise and the target
ROW = 44.0
MARGIN = 24.0
NARROWEST = 560.0


def graph_svg(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict]) -> str:
    """A self-contained drawing of the graph; equal graphs and verdicts give equal bytes.

    Causes stand left of their effects and the target right of all it does not cause; the noise and what nobody
    measured stand on top. Nodes that no edge touches are listed below the rest.
    """
    known = {verdict.name: verdict for verdict in verdicts}
    roles = _visible_roles(graph)
    edges = tuple(edge for edge in graph.edges if edge[0] in roles and edge[1] in roles and edge[0] != edge[1])
    linked = {name for edge in edges for name in edge[:2]}
    looks = {name: _look(role, known.get(name)) for name, role in roles.items()}
    placed = [name for name in roles if name in linked or roles[name] in ("target", "noise")]
    layout = _laid_out(placed, roles, edges)
    boxes, width, bottom = _boxes(placed, layout, looks)
    loose, bottom = _loose_boxes([name for name in roles if name not in boxes], looks, width, bottom)
    hidden = len(graph.nodes) - len(roles)
    footer, bottom = legend(tuple(looks.values()), hidden=hidden, width=width, top=bottom)
    parts = [
        element("rect", class_="ground", width=width, height=bottom),
        *(edge_mark(edge, boxes, layout, roles) for edge in edges),
        *(box_mark(box, known.get(box.name)) for box in (*boxes.values(), *loose)),
        *footer,
    ]
    return drawing(
        parts,
        kind="crda-graph",
        size=(width, bottom),
        title="Causal graph",
        description=_description(graph, verdicts, hidden),
        rules=RULES,
    )


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


def _look(role: str, verdict: FeatureVerdict | None) -> str:
    return verdict.status if role == "feature" and verdict is not None else ("unused" if role == "feature" else role)


def _laid_out(names: Sequence[str], roles: Mapping[str, str], edges: Sequence[tuple[str, str, str]]) -> Layout:
    """The layout of the linked nodes. An undirected edge is laid out as if it pointed to the target or the noise."""
    steps = _distances(names, roles, edges)
    order = {name: index for index, name in enumerate(names)}
    forward = []
    for start, end, mark in edges:
        backwards = mark == "--" and (steps[start], order[start]) < (steps[end], order[end])
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


def _distances(names: Sequence[str], roles: Mapping[str, str], edges: Sequence[tuple[str, str, str]]) -> dict[str, int]:
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


def _boxes(names: Sequence[str], layout: Layout, looks: Mapping[str, str]) -> tuple[dict[str, Box], float, float]:
    """The boxes of the laid-out nodes, all of one layer equally wide, and the width and height they need."""
    labels = {name: shorten(shown(name), 24) for name in names}
    widths = [60.0] * layout.layers
    for name in names:
        level = layout.layer[name]
        widths[level] = max(widths[level], box_width(labels[name]))
    # Steep edges need room to turn: the taller the drawing, the wider the gutters between its layers.
    gutter = min(190.0, 72.0 + layout.bottom / 9)
    needed = sum(widths) + gutter * (len(widths) - 1) + 2 * MARGIN
    start = MARGIN + max(0.0, (NARROWEST - needed) / 2)
    middles = [start + sum(widths[:level]) + gutter * level + widths[level] / 2 for level in range(len(widths))]
    boxes = {
        name: Box(
            name=name,
            label=labels[name],
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
) -> tuple[list[Box], float]:
    """Boxes of the nodes that no edge touches, in lines below the graph."""
    boxes: list[Box] = []
    x, y = MARGIN, bottom + BOX_HEIGHT / 2
    for name in names:
        label = shorten(shown(name), 24)
        wide = box_width(label)
        if x > MARGIN and x + wide > width - MARGIN:
            x, y = MARGIN, y + ROW - 6
        boxes.append(Box(name=name, label=label, look=looks[name], layer=0, x=x + wide / 2, y=y, width=wide))
        x += wide + 12
    return boxes, (y + BOX_HEIGHT / 2 + MARGIN if names else bottom)


def _description(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict], hidden: int) -> str:
    """The picture in words: what may move, what is tied to the noise, and how much is left out."""
    target = listed(tuple(shown(name) for name, role in graph.nodes if role == "target"))
    moving = tuple(shown(verdict.name) for verdict in verdicts if verdict.perturbable)
    blocked = tuple(shown(verdict.name) for verdict in verdicts if verdict.status == "blocked")
    parts = [f"{count(len(graph.nodes), 'node')} and {count(len(graph.edges), 'edge')}; the target is {target}"]
    parts.append(f"may move: {listed(moving) if moving else 'none'}")
    parts.append(f"tied to the noise: {listed(blocked) if blocked else 'none'}")
    if hidden:
        parts.append(f"{count(hidden, 'node')} not drawn")
    return "; ".join(parts)
