"""Bad graphs in every format: the same whole messages, each at its place in the text."""

from __future__ import annotations

import pytest

from crda_spec.errors import GraphError
from crda_spec.scm.formats import FORMATS, read_graph

KINDS = sorted(FORMATS)
LEAVE = "leave out what is not tied to the target"
EARLIER = "remove the edge; an earlier value of the same quantity is another node"
CYCLE = "together they are the cycle a -> y -> a"
SIDES = "write a node's name on both sides of an arrow, as in a -> b"
TURN = "remove or turn one of them"


def as_text(kind: str, edges: list[str]) -> str:
    """The edges `a -> b` and `a <-> b` in a format, one a line from the line that `LINE` names."""
    pairs = [edge.split(" ") for edge in edges]
    names = list(dict.fromkeys(name for tail, _, head in pairs for name in (tail, head)))
    match kind:
        case "dagitty":
            return "\n".join(["dag {", *edges, "}"])
        case "dot":
            both = {"->": "", "<->": " [dir=both]"}
            return "\n".join(["digraph {", *(f"{a} -> {b}{both[mark]}" for a, mark, b in pairs), "}"])
        case "gml":
            lines = [f'edge [ source {names.index(a)} target {names.index(b)} mark "{m}" ]' for a, m, b in pairs]
            nodes = [f'node [ id {i} label "{name}" ]' for i, name in enumerate(names)]
            return "\n".join([f"graph [ directed 1 {' '.join(nodes)}", *lines, "]"])
        case _:
            nodes = "".join(f'<node id="{name}"/>' for name in names)
            key = '<key id="m" for="edge" attr.name="mark" attr.type="string"/>'
            data = [m.replace("<", "&lt;").replace(">", "&gt;") for _, m, _ in pairs]
            lines = [
                f'<edge source="{a}" target="{b}"><data key="m">{m}</data></edge>'
                for (a, _, b), m in zip(pairs, data, strict=True)
            ]
            return "\n".join([f'<graphml>{key}<graph edgedefault="directed">{nodes}', *lines, "</graph></graphml>"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        pytest.param(
            ["a -> b", "b -> y", "y -> a"],
            ["4:1: the edges form a cycle: a -> b -> y -> a; remove or turn one of them; y -> a closes it"],
            id="cycle",
        ),
        pytest.param(
            ["a -> y", "a -> a"],
            [f"3:1: a -> a makes 'a' its own cause; {EARLIER}"],
            id="self-loop",
        ),
        pytest.param(
            ["a <-> a", "a -> y"],
            ["2:1: a <-> a gives 'a' a hidden cause in common with itself; a <-> ties two different nodes"],
            id="bidirected-self",
        ),
        pytest.param(
            ["a -> y", "b -> y", "a -> y"],
            ["4:1: a -> y is written twice, first at g:2:1; remove one"],
            id="duplicate",
        ),
        pytest.param(
            ["a <-> y", "y <-> a"],
            ["3:1: y <-> a is written twice, first at g:2:1; remove one"],
            id="bidirected-duplicate",
        ),
        pytest.param(
            ["a -> y", "y -> a"],
            [f"3:1: y -> a contradicts a -> y at g:2:1: {CYCLE}; keep one; for a hidden common cause write y <-> a"],
            id="contradictory",
        ),
    ],
)
def test_a_bad_graph_is_refused_at_its_line(kind, edges, expected):
    read = read_graph(as_text(kind, edges), kind, file="g")
    assert read.complaints == ()
    with pytest.raises(GraphError) as caught:
        read.graph(target="y")
    assert [complaint.headline() for complaint in caught.value.complaints] == [f"g:{line}" for line in expected]
    text = as_text(kind, edges).split("\n")
    place = caught.value.complaints[0].place
    assert place is not None
    assert place.text == text[place.line - 1]


@pytest.mark.parametrize("kind", KINDS)
def test_ten_megabytes_are_refused_unread(kind):
    text = as_text(kind, ["a -> y"]) + " " * 10_485_760
    assert [complaint.headline() for complaint in read_graph(text, kind, file="g").complaints] == [
        f"g: the graph has {len(text)} characters, and at most 4000000 are read; {LEAVE}"
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_an_empty_text_is_refused(kind, text):
    complaints = read_graph(text, kind, file="g").complaints
    assert [complaint.headline() for complaint in complaints] == ["g: the graph has no text; write what causes what"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("dagitty", "dag { }"),
        ("dot", "digraph {}"),
        ("gml", "graph [ directed 1 ]"),
        ("graphml", '<graphml><graph edgedefault="directed"/></graphml>'),
    ],
)
def test_a_graph_without_nodes_is_refused(kind, text):
    complaints = read_graph(text, kind, file="g").complaints
    assert [complaint.headline() for complaint in complaints] == ["g: the graph names no node; write what causes what"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_of_another_kind_gives_few_complaints(kind):
    complaints = read_graph("% $ ^ & ? ! " * 300_000, kind, file="g").complaints
    if kind in ("gml", "graphml"):
        assert len(complaints) == 1
    else:
        assert len(complaints) == 21
        assert complaints[-1].headline() == (
            f"{complaints[-2].place}: there are more problems than are shown; is it a file of this kind?"
        )


MANY = {
    "dagitty": "dag {\n" + "{a b c d e} -> {y z}\n" * 10_001 + "}",
    "dot": "digraph {\n" + "{a b c d e} -> {y z}\n" * 10_001 + "}",
    "gml": 'graph [ directed 1 node [ id 0 label "a" ]\n' + "edge [ source 0 target 0 ]\n" * 100_010 + "]",
    "graphml": '<graphml><graph edgedefault="directed"><node id="a"/>\n'
    + '<edge source="a" target="a"/>\n' * 100_010
    + "</graph></graphml>",
}


@pytest.mark.parametrize(
    ("kind", "place", "count"),
    [
        ("dagitty", "10002:2", 100010),
        ("dot", "10002:2", 100010),
        ("gml", "100002:1", 100001),
        ("graphml", "100002:1", 100001),
    ],
)
def test_too_many_edges_are_refused_once(kind, place, count):
    complaints = read_graph(MANY[kind], kind, file="g").complaints
    assert [complaint.headline() for complaint in complaints] == [
        f"g:{place}: the graph has {count} edges or more, and at most 100000 are allowed; {LEAVE}"
    ]


def test_names_roles_and_columns_are_checked_together_with_the_text():
    text = "dag {\nrecovery [outcome]\nage [latent]\nghost\nseverity -> recovery\ndoze -> recovery\nx ->\n}"
    read = read_graph(text, "dagitty", file="trial.dag")
    with pytest.raises(GraphError) as caught:
        read.graph(columns=["dose", "age", "relapse"], target="relapse")
    assert str(caught.value) == (
        "trial.dag:2:1: the graph calls 'recovery' the outcome, but the target is 'relapse'; "
        "move the role in the graph, or change the target\n"
        "    2 | recovery [outcome]\n      | ^\n"
        "trial.dag:2:1: 'recovery' is neither a column of the data nor a latent node (2 edges name it); "
        "the nodes are: dose, age, relapse; if nobody measured it, mark it [latent]\n"
        "    2 | recovery [outcome]\n      | ^\n"
        "trial.dag:3:1: 'age' is declared latent, but it is a column of the data; "
        "remove it from the latent nodes; a column that is no feature counts as unmeasured anyway\n"
        "    3 | age [latent]\n      | ^\n"
        "trial.dag:4:1: 'ghost' is neither a column of the data nor a latent node (no edge names it); "
        "the nodes are: dose, age, relapse; if nobody measured it, mark it [latent]\n"
        "    4 | ghost\n      | ^\n"
        "trial.dag:5:1: 'severity' is neither a column of the data nor a latent node; "
        "the nodes are: dose, age, relapse; if nobody measured it, mark it [latent]\n"
        "    5 | severity -> recovery\n      | ^\n"
        "trial.dag:6:1: 'doze' is neither a column of the data nor a latent node; "
        "did you mean 'dose'? if nobody measured it, mark it [latent]\n"
        "    6 | doze -> recovery\n      | ^\n"
        f"trial.dag:8:1: a name is expected, but here is '}}'; {SIDES}\n"
        "    8 | }\n      | ^\n"
        "7 problems"
    )


def test_a_target_that_no_edge_names_and_a_latent_alone_are_refused():
    read = read_graph("dag { a -> b; y; u [latent] }", "dagitty", file="g")
    with pytest.raises(GraphError) as caught:
        read.graph(target="y")
    assert [complaint.headline() for complaint in caught.value.complaints] == [
        "g: no edge names the target 'y'; write what causes it, such as a -> y",
        "g:1:18: no edge names the latent 'u'; the edges name: a, b",
    ]


def test_noise_parents_and_their_cycles_have_places():
    read = read_graph(
        "digraph {\ny [outcome=1]\nx -> y\ny -> w\nw [noise=true]\nu [noise=true, latent=1]\nu -> y }", "dot", file="g"
    )
    with pytest.raises(GraphError) as caught:
        read.graph()
    assert [complaint.headline() for complaint in caught.value.complaints] == [
        f"g:4:6: the edges form a cycle: Z -> y -> w -> Z (Z is the noise of y); {TURN}; w -> Z closes it",
        "g:6:1: the noise of y is said to depend on 'u', which is not a feature; the features are: x, w",
    ]


def test_what_the_spec_adds_joins_what_the_text_says():
    read = read_graph("digraph { y [outcome=true]; u -> y; x -> y; w [noise=true] w -> y }", "dot", file="g")
    graph = read.graph(columns=["x", "y", "w"], target="y", latents=["u"], noise_parents=["x"])
    assert (graph.latents, graph.noise_parents) == (("u",), ("w", "x"))
