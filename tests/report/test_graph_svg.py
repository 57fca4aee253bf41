from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.records import DrawnGraph, FeatureVerdict, Quoted
from crda_spec.report.graph_draw import graph_svg
from crda_spec.report.graph_scene import BOX_HEIGHT, MOST_NODES, RING, scene, witness_edges

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
        "8 nodes and 9 edges; the target is recovery; may move with noise: ward, exercise and smoker; blocked: dose"
    )


def test_tooltips_carry_reason_and_warning(build):
    certificate = build("accepted").certificate
    told = tooltips(parsed(graph_svg(certificate.graph, certificate.features)))
    assert "dose: blocked. An unmeasured cause of recovery also drives it." in told
    assert (
        "exercise: cause. A direct cause of recovery, separated from its noise by the rest. Warning: "
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


def ends_of(mark):
    """What stands at the two ends of `a mark b`: a head, a circle or nothing."""
    placed = scene(DrawnGraph(nodes=(("a", "feature"), ("b", "feature")), edges=(("a", "b", mark),)), ())
    (line,) = placed.lines
    signs = [(x, y, ">") for x, y, _ in line.route.tips] + [(x, y, "o") for x, y in line.route.rings]
    found = {}
    for x, y, sign in signs:
        (name,) = [
            box.name
            for box in placed.boxes
            if min(abs(x - box.left), abs(x - box.right)) <= RING and abs(y - box.y) < BOX_HEIGHT / 2
        ]
        found[name] = sign
    return found


@pytest.mark.parametrize(
    ("mark", "ends"),
    [
        ("->", {"b": ">"}),
        ("<->", {"a": ">", "b": ">"}),
        ("--", {}),
        ("o->", {"a": "o", "b": ">"}),
        ("o-o", {"a": "o", "b": "o"}),
        ("o--", {"a": "o"}),
    ],
)
def test_a_circle_or_a_head_stands_at_the_end_that_the_mark_says(mark, ends):
    assert ends_of(mark) == ends


def test_only_pictures_with_circles_carry_their_style(build):
    with_circles, without = (build(kind).certificate for kind in ("discovered", "accepted"))
    assert ".end{" in graph_svg(with_circles.graph, with_circles.features)
    assert ".end{" not in graph_svg(without.graph, without.features)


def notes(root):
    return [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "note"]


def test_the_legend_of_a_search_explains_lines_and_circles():
    nodes = (("a", "feature"), ("b", "feature"), ("y", "target"))
    cpdag = DrawnGraph(nodes=nodes, edges=(("a", "b", "--"), ("b", "y", "->")))
    assert notes(parsed(graph_svg(cpdag, ()))) == ["target", "feature", "direction not known"]
    pag = DrawnGraph(nodes=nodes, edges=(("a", "b", "o-o"), ("b", "y", "o->")))
    assert notes(parsed(graph_svg(pag, ()))) == ["target", "feature", "circle: an arrowhead or none, not known"]


def test_circles_are_drawn_over_lines_that_end_there(build):
    certificate = build("discovered").certificate
    root = parsed(graph_svg(certificate.graph, certificate.features))
    drawn = [(one.get("class") or "").split()[0] for one in root if one.tag in (f"{SVG}path", f"{SVG}circle")]
    lines = "".join({"edge": "e", "end": "o"}.get(name, "") for name in drawn)
    assert lines == "eeeeeooeooeooeo"  # lines without circles first


def test_unmeasured_nodes_are_dashed(build):
    certificate = build("accepted").certificate
    root = parsed(graph_svg(certificate.graph, certificate.features))
    dashed = [g.find(f"{SVG}text").text for g in nodes_of(root) if "unmeasured" in g.get("class").split()]
    assert dashed == ["severity", "Z"]


def test_the_legend_names_only_what_occurs(build):
    certificate = build("abstained").certificate
    root = parsed(graph_svg(certificate.graph, certificate.features))
    notes = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "note"]
    assert notes == [
        "blocked",
        "path that ties it to the noise",
        "target",
        "noise of the target",
        "not measured",
    ]


def edge_classes(graph, verdicts):
    """The class of each edge's line, in the order in which they are drawn."""
    return [
        path.get("class")
        for path in parsed(graph_svg(graph, verdicts)).iter(f"{SVG}path")
        if path.get("class").startswith("edge")
    ]


def test_the_witness_path_is_drawn_last_and_thick(build):
    certificate = build("accepted").certificate
    classes = edge_classes(certificate.graph, certificate.features)
    assert classes[-2:] == ["edge noisy witness", "edge noisy witness"]
    assert [name for name in classes[:-2] if "witness" in name] == []
    free = [verdict for verdict in certificate.features if verdict.status != "blocked"]
    assert [name for name in edge_classes(certificate.graph, free) if "witness" in name] == []


def test_witness_edges_are_read_from_the_path():
    def witness(status, *tokens):
        return FeatureVerdict(name="x", status=status, reason=Quoted(text=""), witness=tokens)

    assert witness_edges([witness("blocked", "Z", "->", "y", "<-", "x")]) == {("Z", "y", "->"), ("x", "y", "->")}
    assert witness_edges([witness("blocked", "y", "<->", "x")]) == {("x", "y", "<->")}
    # Nodes and arrows alternate, so that even a node called like an arrow is a node.
    assert witness_edges([witness("blocked", "->", "<-", "<->")]) == {("<->", "->", "->")}
    assert witness_edges([witness("blocked"), witness("cause", "Z", "->", "y")]) == frozenset()


def test_the_noise_belongs_to_the_witness_and_a_tie_is_not_its_arrow():
    graph = DrawnGraph(
        nodes=(("x", "feature"), ("y", "target"), ("r", "feature"), ("Z", "noise")),
        edges=(("x", "y", "->"), ("y", "x", "<->"), ("y", "r", "->"), ("Z", "y", "->")),
    )
    verdicts = [
        FeatureVerdict(name="x", status="blocked", reason=Quoted(text=""), witness=("x", "<->", "y")),
        FeatureVerdict(name="r", status="blocked", reason=Quoted(text=""), witness=("Z", "->", "y", "->", "r")),
    ]
    assert edge_classes(graph, verdicts) == ["edge", "edge tie noisy witness", "edge witness", "edge noisy witness"]


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
    edges = draw(st.lists(st.tuples(end, end, st.sampled_from(["->", "<->", "--", "o->", "o-o", "o--"])), max_size=14))
    statuses = st.sampled_from(["irrelevant", "cause", "blocked"])
    verdicts = [
        FeatureVerdict(name=name, status=draw(statuses), reason=Quoted(text=draw(names)))
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
