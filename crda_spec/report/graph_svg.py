"""The causal graph as a picture: what causes what, what may move, and what is tied to the noise."""

from __future__ import annotations

from collections.abc import Sequence

from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.report.graph_marks import RING_RULES, RULES, box_mark, edge_mark, legend_mark
from crda_spec.report.graph_scene import scene
from crda_spec.report.svg import drawing, element
from crda_spec.report.wording import count, listed, shown


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
