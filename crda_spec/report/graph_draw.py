"""The causal graph as an SVG, alone or inside the page: what causes what, what may move, and what is tied to noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.report.graph_scene import (
    BOX_HEIGHT,
    HEAD,
    LOOKS,
    MEANINGS,
    RING,
    UNMEASURED,
    Box,
    Edge,
    Entry,
    Line,
    Route,
    Tip,
    scene,
    witness_edges,
)
from crda_spec.report.svg import coordinate, drawing, element, paint, words
from crda_spec.report.words.causal import reason_sentence, warning_sentence
from crda_spec.report.words.numbers import count, listed, shown

RULES = (
    paint(".crda-graph .ground", fill="ground")
    + paint(".crda-graph text", fill="ink")
    + paint(".crda-graph .note", fill="soft")
    + paint(".crda-graph .edge", fill="none", stroke="line")
    + paint(".crda-graph .edge.noisy", stroke="purple")
    + paint(".crda-graph .edge.witness", stroke="orange")
    + paint(".crda-graph .head", fill="line")
    + paint(".crda-graph .head.noisy", fill="purple")
    + paint(".crda-graph .head.witness", fill="orange")
    + ".crda-graph .edge{stroke-width:1.6}.crda-graph .tie{stroke-dasharray:6 4}"
    + ".crda-graph .witness{stroke-width:3.2}.crda-graph .tie.witness{stroke-dasharray:8 4}"
    + ".crda-graph text{unicode-bidi:isolate}.crda-graph .note{font-size:12px}"
    + ".crda-graph rect{stroke-width:1.5}.crda-graph .unmeasured rect{stroke-dasharray:5 4}"
    + ".crda-graph .open{stroke-width:2;stroke-linecap:round}.crda-graph .thick{stroke-width:3.2}"
    + "".join(
        paint(f".crda-graph .{colour} rect", fill=f"{colour}-tint", stroke=colour)
        + paint(f".crda-graph .{colour} .mark", fill=colour)
        + paint(f".crda-graph .{colour} .open", fill="none", stroke=colour)
        for colour in ("green", "sky", "orange", "purple", "grey", "gold")
    )
)

# Only for pictures with circles, so that the others need not carry it.
RING_RULES = (
    paint(".crda-graph .end", fill="ground", stroke="line")
    + paint(".crda-graph .end.noisy", stroke="purple")
    + paint(".crda-graph .end.witness", stroke="orange")
    + ".crda-graph .end{stroke-width:1.6}"
)


def box_mark(box: Box, verdict: FeatureVerdict | None) -> str:
    """A node: its box, its label, and what a pointer that rests on it is told."""
    colour, mark = LOOKS[box.look]
    inside = [
        element("title", words(about_box(box, verdict))),
        element(
            "rect",
            x=box.left,
            y=box.top,
            width=box.width,
            height=BOX_HEIGHT,
            rx=15 if box.look in UNMEASURED else 5,
        ),
        _sign(mark, box.left + 16, box.y),
        element("text", words(box.label), x=box.x + 9, y=box.y + 4.5, text_anchor="middle"),
    ]
    return element("g", "".join(inside), class_=f"{colour}{' unmeasured' if box.look in UNMEASURED else ''}")


def about_box(box: Box, verdict: FeatureVerdict | None) -> str:
    """A node in words: its name, what it is, and of a feature why it may or may not move."""
    about = f"{shown(box.name)}: {MEANINGS[box.look]}"
    if verdict is not None:
        about += f". {reason_sentence(verdict.reason)}"
        about += f" Warning: {warning_sentence(verdict.warning)}" if verdict.warning else ""
    return about


def _sign(mark: str, x: float, y: float) -> str:
    """The small sign in a box, the same in the legend."""
    lines = {
        "cross": f"M{coordinate(x - 4)} {coordinate(y - 4)}l8 8m0-8l-8 8",
        "bar": f"M{coordinate(x - 5)} {coordinate(y)}h10",
        "path": f"M{coordinate(x - 7)} {coordinate(y)}h12",
        "wave": f"M{coordinate(x - 6)} {coordinate(y)}q3-7 6 0t6 0",
        "line": f"M{coordinate(x - 7)} {coordinate(y)}m0-4v8m0-4h14m0-4v8",
        "circled": f"M{coordinate(x - 7)} {coordinate(y)}h6m0 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
        "square": f"M{coordinate(x - 4)} {coordinate(y - 4)}h8v8h-8z",
    }
    if mark in lines:
        return element("path", class_="open thick" if mark == "path" else "open", d=lines[mark])
    if mark == "ring":
        return element("circle", class_="open", cx=x, cy=y, r=4)
    if mark == "diamond":
        return element("path", class_="mark", d=f"M{coordinate(x)} {coordinate(y - 6)}l6 6l-6 6l-6-6z")
    return element("circle", class_="mark", cx=x, cy=y, r=5)


def edge_mark(line: Line) -> str:
    """One edge: an arrow, a dashed arc with two heads for a hidden common cause, or a line without a known end."""
    look = f"{' noisy' if line.noisy else ''}{' witness' if line.witness else ''}"
    drawn = element("path", class_=f"edge{' tie' if line.dashed else ''}{look}", d=_path(line.route))
    rings = (element("circle", class_=f"end{look}", cx=x, cy=y, r=RING) for x, y in line.route.rings)
    heads = (element("path", class_=f"head{look}", d=_head(tip)) for tip in line.route.tips)
    return drawn + "".join((*heads, *rings))


def _path(route: Route) -> str:
    """A route in SVG's words."""
    path = f"M{coordinate(route.start[0])} {coordinate(route.start[1])}"
    for step in route.steps:
        if len(step) == 1:
            path += f"H{coordinate(step[0][0])}"
        else:
            path += "C" + " ".join(f"{coordinate(x)} {coordinate(y)}" for x, y in step)
    return path


def _head(tip: Tip) -> str:
    x, y, turn = tip
    return f"M{coordinate(x)} {coordinate(y)}l{coordinate(-turn * (HEAD + 1))} -4.5v9z"


def legend_mark(entry: Entry) -> str:
    """One line of the legend."""
    if not entry.look:
        return element("text", words(entry.text), class_="note", x=entry.x, y=entry.y + 4)
    colour, mark = LOOKS[entry.look]
    text = element("text", words(entry.text), class_="note", x=entry.x + 19, y=entry.y + 4)
    return element("g", _sign(mark, entry.x + 7, entry.y) + text, class_=colour)


def graph_svg(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict]) -> str:
    """A self-contained drawing of the graph; equal graphs and verdicts give equal bytes.

    Roles and verdicts have their colours and marks; the paths that tie a fixed feature to the noise are thick.
    """
    known = {verdict.name: verdict for verdict in verdicts}
    placed = scene(graph, verdicts)
    parts = [
        element("rect", class_="ground", width=placed.width, height=placed.height),
        *(edge_mark(line) for line in placed.lines),
        *(box_mark(box, known.get(box.name)) for box in placed.boxes),
        *(legend_mark(entry) for entry in placed.legend),
    ]
    return drawing(
        parts,
        kind="crda-graph",
        size=(placed.width, placed.height),
        title="Causal graph",
        description=graph_description(graph, verdicts, placed.hidden),
        rules=RULES + (RING_RULES if any(line.route.rings for line in placed.lines) else ""),
    )


def graph_description(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict], hidden: int) -> str:
    """The picture in words: what may move, what is tied to the noise, and how much is left out."""
    target = listed(tuple(shown(name) for name, role in graph.nodes if role == "target"))
    moving = tuple(shown(verdict.name) for verdict in verdicts if verdict.perturbable)
    blocked = tuple(shown(verdict.name) for verdict in verdicts if verdict.status == "blocked")
    parts = [f"{count(len(graph.nodes), 'node')} and {count(len(graph.edges), 'edge')}; the target is {target}"]
    parts.append(f"may move with noise: {listed(moving) if moving else 'none'}")
    parts.append(f"tied to the noise: {listed(blocked) if blocked else 'none'}")
    if hidden:
        parts.append(f"{count(hidden, 'node')} not drawn")
    return "; ".join(parts)


SMALLEST = 0.7  # of its natural size


def anchors(verdicts: Sequence[FeatureVerdict]) -> dict[str, str]:
    """The feature's place in the page, by its name: a number, since a name may be anything."""
    return {verdict.name: f"feature-{index}" for index, verdict in enumerate(verdicts, start=1)}


def page_graph(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict]) -> str:
    """The drawing of `graph_svg` with boxes that can be asked; equal arguments give equal bytes."""
    known = {verdict.name: verdict for verdict in verdicts}
    placed = scene(graph, verdicts)
    numbers = {box.name: index for index, box in enumerate(placed.boxes)}
    places = anchors(verdicts)
    parts = [element("rect", class_="ground", width=placed.width, height=placed.height)]
    parts += [element("g", edge_mark(line), class_="link", data_link=index) for index, line in enumerate(placed.lines)]
    for box in placed.boxes:
        verdict = known.get(box.name)
        lit = _lit(box.name, verdict, placed.lines)
        parts.append(_node(box, verdict, lit, numbers, places.get(box.name)))
    return drawing(
        [*parts, *(legend_mark(entry) for entry in placed.legend)],
        kind="crda-graph",
        size=(placed.width, placed.height),
        title="Causal graph",
        description=graph_description(graph, verdicts, placed.hidden),
        rules=RULES + (RING_RULES if any(line.route.rings for line in placed.lines) else "") + _floor(placed.width),
        role="group",
    )


def _floor(width: float) -> str:
    """A wide graph shrinks only as far as its words can be read; then it scrolls."""
    return f".crda-graph{{min-width:{coordinate(SMALLEST * width)}px}}"


def _lit(name: str, verdict: FeatureVerdict | None, lines: Sequence[Line]) -> dict[int, Edge]:
    """The lines that matter for a node: those that tie it to the noise, or else all that touch it."""
    path = witness_edges((verdict,)) if verdict is not None else frozenset[Edge]()
    on_path = {index: line.edge for index, line in enumerate(lines) if line.witness and line.key in path}
    return on_path or {index: line.edge for index, line in enumerate(lines) if name in line.edge[:2]}


def _node(
    box: Box, verdict: FeatureVerdict | None, lit: Mapping[int, Edge], numbers: Mapping[str, int], place: str | None
) -> str:
    near = sorted({numbers[name] for edge in lit.values() for name in edge[:2]} - {numbers[box.name]})
    told = {
        "class_": "node",
        "data_node": str(numbers[box.name]),
        "data_links": " ".join(str(index) for index in sorted(lit)),
        "data_near": " ".join(str(index) for index in near),
        "aria_label": about_box(box, verdict),
    }
    if place is not None:
        return element("a", box_mark(box, verdict), href=f"#{place}", **told)
    return element("g", box_mark(box, verdict), tabindex="0", role="img", **told)
