"""The causal graph inside the page: every box can be pointed at or reached by keyboard, and shows what it hangs on.

Without the script a box still tells its reason when a pointer rests on it, and a feature's box leads to its row of the
partition table. The script finds in `data-links` and `data-near` which lines and boxes to light up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.report.graph_boxes import Box
from crda_spec.report.graph_marks import RING_RULES, RULES, about_box, box_mark, edge_mark, legend_mark
from crda_spec.report.graph_scene import Edge, Line, scene, witness_edges
from crda_spec.report.graph_svg import graph_description
from crda_spec.report.svg import coordinate, drawing, element

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
