"""The causal graph as an SVG, alone or inside the page: what causes what, what may move, and what is blocked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crda_spec.records import DrawnGraph, FeatureVerdict, RunResult
from crda_spec.report import graph_scene
from crda_spec.report.graph_scene import HEAD, LOOKS, RING, Box, Edge, Line, Scene, scene, undirected, witness_edges
from crda_spec.report.svg import coordinate, drawing, element, paint, words
from crda_spec.report.words.causal import held_sentence, is_contradicted, reason_sentence, warning_sentence
from crda_spec.report.words.numbers import count, listed, shown

_STRESSED = {"noisy": "purple", "witness": "orange"}
RULES = (
    paint(".crda-graph .ground", fill="ground")
    + paint(".crda-graph text", fill="ink")
    + paint(".crda-graph .note", fill="soft")
    + paint(".crda-graph .edge", fill="none", stroke="line")
    + "".join(paint(f".crda-graph .edge.{look}", stroke=colour) for look, colour in _STRESSED.items())
    + paint(".crda-graph .head", fill="line")
    + "".join(paint(f".crda-graph .head.{look}", fill=colour) for look, colour in _STRESSED.items())
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

SMALLEST = 0.7  # of its natural size

# Only for pictures with circles, so that the others need not carry it.
RING_RULES = (
    paint(".crda-graph .end", fill="ground", stroke="line")
    + "".join(paint(f".crda-graph .end.{look}", stroke=colour) for look, colour in _STRESSED.items())
    + ".crda-graph .end{stroke-width:1.6}"
)


def _box(box: Box, verdict: FeatureVerdict | None) -> str:
    """A node: its box, its label, and what a pointer that rests on it is told."""
    colour, mark = LOOKS[box.look]
    corner, unmeasured = (15, " unmeasured") if box.look in graph_scene.UNMEASURED else (5, "")
    inside = (
        element("title", words(_about(box, verdict))),
        element("rect", x=box.left, y=box.top, width=box.width, height=graph_scene.BOX_HEIGHT, rx=corner),
        _sign(mark, box.left + 16, box.y),
        element("text", words(box.label), x=box.x + 9, y=box.y + 4.5, text_anchor="middle"),
    )
    return element("g", "".join(inside), class_=f"{colour}{unmeasured}")


def _about(box: Box, verdict: FeatureVerdict | None) -> str:
    """A node in words: its name, what it is, and of a feature why it may or may not move."""
    about = f"{shown(box.name)}: {graph_scene.MEANINGS[box.look]}"
    if verdict is not None:
        about += f". {reason_sentence(verdict.reason)}"
        about += f"; {held_sentence(verdict.held)}" if verdict.held else ""
        about += f" Warning: {warning_sentence(verdict.warning)}" if verdict.warning else ""
    return about


# By mark of a look: class, where its path starts beside the middle of the sign, and how it goes on.
_SIGNS = {
    "cross": ("open", -4, -4, "l8 8m0-8l-8 8"),
    "path": ("open thick", -7, 0, "h12"),
    "wave": ("open", -6, 0, "q3-7 6 0t6 0"),
    "line": ("open", -7, 0, "m0-4v8m0-4h14m0-4v8"),
    "circled": ("open", -7, 0, "h6m0 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0"),
    "square": ("open", -4, -4, "h8v8h-8z"),
    "diamond": ("mark", 0, -6, "l6 6l-6 6l-6-6z"),
}


def _sign(mark: str, x: float, y: float) -> str:
    """The small sign in a box, the same in the legend."""
    if mark in ("ring", "dot"):
        look, radius = ("open", 4) if mark == "ring" else ("mark", 5)
        return element("circle", class_=look, cx=x, cy=y, r=radius)
    look, right, down, way = _SIGNS[mark]
    return element("path", class_=look, d=f"M{coordinate(x + right)} {coordinate(y + down)}{way}")


def _edge(line: Line) -> str:
    """One edge: an arrow, a dashed arc with two heads for a hidden common cause, or a line without a known end."""
    look = f"{' noisy' if line.noisy else ''}{' witness' if line.witness else ''}"
    drawn = element("path", class_=f"edge{' tie' if line.dashed else ''}{look}", d=_path(line.route))
    rings = (element("circle", class_=f"end{look}", cx=x, cy=y, r=RING) for x, y in line.route.rings)
    heads = (
        element("path", class_=f"head{look}", d=f"M{coordinate(x)} {coordinate(y)}l{-turn * (HEAD + 1):g} -4.5v9z")
        for x, y, turn in line.route.tips
    )
    return drawn + "".join((*heads, *rings))


def _path(route: graph_scene.Route) -> str:
    """A route in SVG's words."""
    path = f"M{coordinate(route.start[0])} {coordinate(route.start[1])}"
    for step in route.steps:
        curve = "C" + " ".join(f"{coordinate(x)} {coordinate(y)}" for x, y in step)
        path += f"H{coordinate(step[0][0])}" if len(step) == 1 else curve
    return path


def _entry(entry: graph_scene.Entry) -> str:
    """One line of the legend."""
    text = element("text", words(entry.text), class_="note", x=entry.x + (19 if entry.look else 0), y=entry.y + 4)
    if not entry.look:
        return text
    colour, mark = LOOKS[entry.look]
    return element("g", _sign(mark, entry.x + 7, entry.y) + text, class_=colour)


def graph_svg(
    graph: DrawnGraph, verdicts: Sequence[FeatureVerdict], *, linked: bool = False, contradicted: bool = False
) -> str:
    """A self-contained drawing of the graph; equal arguments give equal bytes.

    Roles and verdicts have their colours and marks; the paths that tie a fixed feature to the noise are thick.
    linked: as it stands in the page, with boxes that can be asked and lead to their feature's row.  contradicted: by
    the data, so that nothing is shown as certified.
    """
    placed, known = scene(graph, verdicts, contradicted=contradicted), {verdict.name: verdict for verdict in verdicts}
    drawn = (*map(_edge, placed.lines), *(_box(box, known.get(box.name)) for box in placed.boxes))
    parts = [
        element("rect", class_="ground", width=placed.width, height=placed.height),
        *(_linked_parts(placed, verdicts) if linked else drawn),
        *map(_entry, placed.legend),
    ]
    # A wide graph shrinks only as far as its words can be read; then it scrolls.
    floor = f".crda-graph{{min-width:{coordinate(SMALLEST * placed.width)}px}}" if linked else ""
    return drawing(
        parts,
        kind="crda-graph",
        size=(placed.width, placed.height),
        title="Causal graph",
        description=_description(graph, verdicts, placed.hidden),
        rules=RULES + (RING_RULES if any(line.route.rings for line in placed.lines) else "") + floor,
        role="group" if linked else "img",
    )


def run_graph_svg(result: RunResult, *, linked: bool = False) -> str:
    """The graph of a run."""
    certificate = result.certificate
    return graph_svg(certificate.graph, certificate.features, linked=linked, contradicted=is_contradicted(result))


def _description(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict], hidden: int) -> str:
    """The picture in words: what may move, what is blocked, and how much is left out."""
    target = listed(tuple(shown(name) for name, role in graph.nodes if role == "target"))
    moving = tuple(shown(verdict.name) for verdict in verdicts if verdict.perturbable)
    blocked = tuple(shown(verdict.name) for verdict in verdicts if verdict.status == "blocked")
    left_out = f"; {count(hidden, 'node')} not drawn" if hidden else ""
    return (
        f"{count(len(graph.nodes), 'node')} and {count(len(graph.edges), 'edge')}; the target is {target}; may move "
        f"with noise: {listed(moving) or 'none'}; blocked: {listed(blocked) or 'none'}{left_out}"
    )


def anchors(verdicts: Sequence[FeatureVerdict]) -> dict[str, str]:
    """The feature's place in the page, by its name: a number, since a name may be anything."""
    return {verdict.name: f"feature-{index}" for index, verdict in enumerate(verdicts, start=1)}


def _linked_parts(placed: Scene, verdicts: Sequence[FeatureVerdict]) -> Iterator[str]:
    """Edges by number, and boxes that name the edges and boxes to light up with them."""
    known, places = {verdict.name: verdict for verdict in verdicts}, anchors(verdicts)
    numbers = {box.name: index for index, box in enumerate(placed.boxes)}
    for index, line in enumerate(placed.lines):
        yield element("g", _edge(line), class_="link", data_link=index)
    for box in placed.boxes:
        verdict = known.get(box.name)
        lit = _lit(box.name, verdict, placed.lines)
        near = {numbers[name] for edge in lit.values() for name in edge[:2]} - {numbers[box.name]}
        facts = {
            "class_": "node",
            "data_node": str(numbers[box.name]),
            "data_links": " ".join(map(str, sorted(lit))),
            "data_near": " ".join(map(str, sorted(near))),
            "aria_label": _about(box, verdict),
        }
        if box.name in places:
            yield element("a", _box(box, verdict), href=f"#{places[box.name]}", **facts)
        else:
            yield element("g", _box(box, verdict), tabindex="0", role="img", **facts)


def _lit(name: str, verdict: FeatureVerdict | None, lines: Sequence[Line]) -> dict[int, Edge]:
    """The lines that matter for a node: those that tie it to the noise, or else all that touch it."""
    path = witness_edges((verdict,)) if verdict is not None else frozenset[Edge]()
    on_path = {index: line.edge for index, line in enumerate(lines) if line.witness and undirected(line.edge) in path}
    return on_path or {index: line.edge for index, line in enumerate(lines) if name in line.edge[:2]}


def graph_picture(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict], form: str) -> bytes | None:
    """The graph as SVG or PNG; None for a form that is no picture."""
    if form == "svg":
        return graph_svg(graph, verdicts).encode()
    if form == "png":
        from crda_spec.report.canvas import graph_png

        return graph_png(graph, verdicts)
    return None
