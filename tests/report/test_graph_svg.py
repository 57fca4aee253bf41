from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.report.graph_svg import MOST_NODES, graph_svg

SVG = "{http://www.w3.org/2000/svg}"
ROLES = ("feature", "target", "latent", "noise", "unused")


def parsed(text):
    return ET.fromstring(text)  # noqa: S314 - our own output


def labels(root):
    return [text.text for text in root.iter(f"{SVG}text")]


def tooltips(root):
    return [title.text for group in root.iter(f"{SVG}g") for title in group.findall(f"{SVG}title")]


def nodes_of(root):
    return [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}rect") is not None]


def test_every_run_has_a_wellformed_deterministic_drawing(any_run):
    certificate = any_run.certificate
    text = graph_svg(certificate.graph, certificate.features)
    root = parsed(text)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == "Causal graph"
    assert len(nodes_of(root)) == len(certificate.graph.nodes)
    edges = [path for path in root.iter(f"{SVG}path") if "edge" in (path.get("class") or "").split()]
    assert len(edges) == len(certificate.graph.edges)
    assert text == graph_svg(certificate.graph, certificate.features)


def test_the_description_says_what_the_colours_say(build):
    certificate = build("accepted").certificate
    root = parsed(graph_svg(certificate.graph, certificate.features))
    assert root.find(f"{SVG}desc").text == (
        "8 nodes and 9 edges; the target is recovery; may move: ward, exercise and smoker; tied to the noise: dose"
    )


def test_tooltips_carry_reason_and_warning(build):
    certificate = build("accepted").certificate
    told = tooltips(parsed(graph_svg(certificate.graph, certificate.features)))
    assert "dose: fixed: tied to noise. An unmeasured cause of recovery also drives it." in told
    assert (
        "exercise: may move: direct cause. A direct cause of recovery, separated from its noise by the rest. Warning: "
        "The residual is correlated with it (r = 0.1312, p = 0.0041): the model may be misspecified." in told
    )
    assert "severity: not measured" in told


def test_marks_tell_arrows_ties_and_lines_apart():
    graph = DrawnGraph(
        nodes=(("a", "feature"), ("b", "feature"), ("y", "target")),
        edges=(("a", "y", "->"), ("a", "b", "<->"), ("b", "y", "--")),
    )
    root = parsed(graph_svg(graph, ()))
    classes = [path.get("class") for path in root.iter(f"{SVG}path")]
    assert [name for name in classes if name.startswith("edge")] == ["edge", "edge tie noisy", "edge"]
    assert [name for name in classes if name.startswith("head")] == ["head", "head noisy", "head noisy"]


def test_unmeasured_nodes_are_dashed(build):
    certificate = build("accepted").certificate
    root = parsed(graph_svg(certificate.graph, certificate.features))
    dashed = [g.find(f"{SVG}text").text for g in nodes_of(root) if "unmeasured" in g.get("class").split()]
    assert dashed == ["severity", "Z"]


def test_the_legend_names_only_what_occurs(build):
    certificate = build("abstained").certificate
    root = parsed(graph_svg(certificate.graph, certificate.features))
    notes = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "note"]
    assert notes == ["fixed: tied to noise", "target", "noise of the target", "not measured"]


def test_hostile_names_stay_text(build):
    certificate = build("hostile").certificate
    text = graph_svg(certificate.graph, certificate.features)
    assert "<script" not in text
    assert "<img" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    seen = labels(parsed(text))
    assert "a<b>&\"c'" in seen
    assert "two\\nlines\\u001b[31m" in seen
    assert max(len(label) for label in seen) <= 30


def large(neighbours, others):
    names = [f"x{index}" for index in range(neighbours + others)]
    nodes = (*((name, "feature") for name in names), ("y", "target"), ("Z", "noise"))
    edges = (("Z", "y", "->"), *((name, "y", "->") for name in names[:neighbours]))
    chain = tuple((a, b, "->") for a, b in zip(names[neighbours:], names[neighbours + 1 :], strict=False))
    return DrawnGraph(nodes=nodes, edges=edges + chain)


@pytest.mark.parametrize(
    ("neighbours", "others", "drawn", "note"),
    [
        pytest.param(8, 50, 60, None, id="sixty-are-all-drawn"),
        pytest.param(8, 51, 10, "51 more nodes", id="neighbourhood"),
        pytest.param(100, 20, MOST_NODES, "62 more nodes", id="large-neighbourhood"),
    ],
)
def test_a_large_graph_shows_its_centre_and_counts_the_rest(neighbours, others, drawn, note):
    root = parsed(graph_svg(large(neighbours, others), ()))
    assert len(nodes_of(root)) == drawn
    said = [label for label in labels(root) if "not drawn" in label]
    assert said == (
        [f"{note} not drawn: only the neighbours of the noise and the target are."] if note is not None else []
    )


def test_forty_nodes_do_not_overlap():
    graph = large(20, 18)
    boxes = [
        tuple(float(group.find(f"{SVG}rect").get(key)) for key in ("x", "y", "width", "height"))
        for group in nodes_of(parsed(graph_svg(graph, ())))
    ]
    assert len(boxes) == 40
    for index, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, tall in boxes[index + 1 :]:
            assert x + width <= left or left + wide <= x or y + height <= top or top + tall <= y


names = st.text(max_size=40)


@st.composite
def drawn_graphs(draw):
    chosen = draw(st.lists(names, min_size=1, max_size=8, unique=True))
    nodes = tuple((name, draw(st.sampled_from(ROLES))) for name in chosen)
    end = st.sampled_from(chosen)
    edges = draw(st.lists(st.tuples(end, end, st.sampled_from(["->", "<->", "--"])), max_size=14))
    statuses = st.sampled_from(["direct_cause", "irrelevant", "screened", "blocked", "kept"])
    verdicts = [
        FeatureVerdict(name=name, status=draw(statuses), reason=draw(names))
        for name, role in nodes
        if role == "feature"
    ]
    return DrawnGraph(nodes=nodes, edges=tuple(edges)), verdicts


@settings(deadline=None)
@given(drawn_graphs())
def test_any_graph_can_be_drawn(drawn):
    """Cycles, self-loops, doubled edges, no target, several noises, empty and odd names: a picture, never an error."""
    graph, verdicts = drawn
    text = graph_svg(graph, verdicts)
    root = parsed(text)
    width, height = (float(root.get(key)) for key in ("width", "height"))
    assert len(nodes_of(root)) == len(graph.nodes)
    for group in nodes_of(root):
        rect = group.find(f"{SVG}rect")
        assert float(rect.get("x")) >= 0
        assert float(rect.get("x")) + float(rect.get("width")) <= width
        assert float(rect.get("y")) + float(rect.get("height")) <= height
    assert not re.search(r"\b(nan|inf)\b", " ".join(path.get("d") for path in root.iter(f"{SVG}path")))
