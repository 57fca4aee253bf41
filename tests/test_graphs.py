"""Graphs in Python: made in every way, the same graph; certified as a table; at home in a spec's values."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import crda_spec
from crda_spec import CausalGraph, GraphError, SpecError

EDGES = ("{age dose} -> recovery", "severity -> {dose recovery}", "clinic -> age")


@pytest.fixture
def graph():
    return CausalGraph.from_edges(*EDGES, target="recovery", latent=["severity"], unrelated=["coin"], noise=["age"])


@pytest.mark.parametrize("kind", ["dot", "networkx", "pgmpy"])
def test_a_graph_comes_back_from_every_language(graph, kind):
    again = getattr(CausalGraph, f"from_{kind}")(getattr(graph, f"to_{kind}")())
    assert again == graph
    assert type(again) is CausalGraph


def test_dagitty_keeps_all_but_what_it_has_no_word_for():
    graph = CausalGraph.from_edges(*EDGES, target="recovery", latent=["severity"])
    assert CausalGraph.from_dagitty(graph.to_dagitty()) == graph


def test_latent_nodes_may_be_named_beside_the_graph():
    text = 'digraph {Z -> X; U[label="Unobserved Confounders"]; U -> X; U -> Y; X -> Y;}'  # as DoWhy takes it
    graph = CausalGraph.from_dot(text, target="Y", latent=["U"])
    assert graph == CausalGraph.from_networkx(
        nx.DiGraph([("Z", "X"), ("U", "X"), ("U", "Y"), ("X", "Y")]), target="Y", latent=["U"]
    )
    assert graph == CausalGraph.from_edges(("Z", "X"), ("U", "X"), "U -> Y", ("X", "Y"), target="Y", latent=["U"])
    assert graph.certify()["class"].to_dict() == {"X": "blocked", "Z": "blocked"}


def test_the_certificate_is_a_table(graph):
    table = graph.certify()
    assert table["class"].to_dict() == {
        "age": "blocked",
        "clinic": "irrelevant",
        "coin": "irrelevant",
        "dose": "blocked",
    }
    assert table.loc["dose", "open path"] == "recovery <- severity -> dose"
    assert "severity" in table.loc["dose", "reason"]
    assert list(graph.certify(["dose", "recovery"]).index) == ["dose"]


def test_a_notebook_draws_it(graph):
    picture = graph._repr_html_()
    assert picture.startswith("<svg")
    assert all(name in picture for name in ("age", "dose", "severity", "recovery", "coin"))


def test_names_that_look_like_arrows_are_names():
    graph = CausalGraph.from_edges(('a -> "b"', "y"), target="y")
    assert graph.directed == (('a -> "b"', "y"),)


def test_what_is_wrong_is_one_error():
    with pytest.raises(GraphError, match="together they are the cycle"):
        CausalGraph.from_edges("a -> b", "b -> a", target="a")
    with pytest.raises(GraphError, match="directed"):
        CausalGraph.from_networkx(nx.Graph([("a", "b")]), target="b")


def test_a_spec_takes_the_graph_itself():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "dose", "clinic"])
    frame["recovery"] = frame.age + rng.normal(size=60)
    graph = CausalGraph.from_edges(*EDGES, target="recovery", latent=["severity"])
    spec = {
        "version": 1,
        "name": "clinic",
        "recipe": "paper",
        "dataset": {"target": "recovery"},
        "causal": {"graph": graph},
        "regressor": {"kind": "ridge"},
        "gate": {"enabled": False},
    }
    run = crda_spec.run(spec, data=frame)
    assert {one.name: one.status for one in run.certificate.features} == graph.certify()["class"].to_dict()


DAGITTY = """dag {
  severity [latent]; recovery [outcome]
  age -> recovery; dose -> recovery
  severity -> dose; severity -> recovery }"""
# As DoWhy takes it.
DOT = "digraph { severity [observed=no]; age -> recovery; dose -> recovery; severity -> dose; severity -> recovery }"
GML = """graph [ directed 1
  node [ id "age" label "age" ] node [ id "dose" label "dose" ] node [ id "severity" label "severity" ]
  node [ id "recovery" label "recovery" ]
  edge [ source "age" target "recovery" ] edge [ source "dose" target "recovery" ]
  edge [ source "severity" target "dose" ] edge [ source "severity" target "recovery" ] ]"""
PAIRS = [("age", "recovery"), ("dose", "recovery"), ("severity", "dose"), ("severity", "recovery")]


def pgmpy_dag():
    from pgmpy.base import DAG

    return DAG(PAIRS)


LIKE = {
    "graph": lambda: CausalGraph.from_edges(*PAIRS, target="recovery", latent=["severity"]),
    "edges": lambda: "{age dose} -> recovery\nseverity -> dose  ; severity -> recovery\n# what I know",
    "list": lambda: ["age -> recovery", *PAIRS[1:]],
    "dagitty": lambda: DAGITTY,
    "dot": lambda: "/* drawn */ strict " + DOT.replace("severity [observed=no]; ", ""),
    "gml": lambda: GML,
    "networkx": lambda: nx.DiGraph(PAIRS),
    "pgmpy": pgmpy_dag,
}


@pytest.mark.parametrize("kind", LIKE)
def test_a_graph_in_any_form_is_certified(kind):
    """A node that is no feature is taken for one that nobody measured."""
    table = crda_spec.certify(LIKE[kind](), ["age", "dose", "shoe"], "recovery")
    assert table["class"].to_dict() == {"age": "cause", "dose": "blocked", "shoe": "blocked"}
    assert table.loc["dose", "open path"] == "recovery <- severity -> dose"


@pytest.mark.parametrize("kind", LIKE)
def test_a_spec_takes_a_graph_in_any_form(kind):
    like = LIKE[kind]()
    if kind in ("graph", "dagitty"):
        columns, classes = ["age", "dose"], {"age": "cause", "dose": "blocked"}
    else:  # nothing else says that nobody measured the severity
        columns, classes = ["age", "dose", "severity"], {"age": "cause", "dose": "cause", "severity": "cause"}
    frame = pd.DataFrame(np.random.default_rng(2).normal(size=(60, 4)), columns=["age", "dose", "severity", "recovery"])
    spec = {"version": 1, "name": "clinic", "dataset": {"target": "recovery"}, "causal": {"graph": like}}
    plan = crda_spec.plan(spec, frame[[*columns, "recovery"]])
    assert plan.certificate["class"].to_dict() == classes


@pytest.mark.parametrize("text", [LIKE["edges"](), DAGITTY, LIKE["dot"](), GML], ids=["edges", "dagitty", "dot", "gml"])
def test_text_in_any_language_is_the_same_graph(text):
    assert CausalGraph.from_text(text, target="recovery", latent=["severity"]) == LIKE["graph"]()


def test_what_is_no_graph_is_refused():
    with pytest.raises(GraphError, match="set is no causal graph; give a CausalGraph, edges, DAGitty, DOT or GML text"):
        crda_spec.certify({"a -> b"}, ["a"], "b")
    with pytest.raises(GraphError, match=r"\('a',\) is no edge; write 'a -> b', or the pair \('a', 'b'\)"):
        crda_spec.certify([("a",)], ["a"], "b")
    with pytest.raises(GraphError, match="the graph's target is 'recovery', not 'age'; leave target out"):
        crda_spec.certify(LIKE["graph"](), target="age")
    spec = {"version": 1, "name": "x", "dataset": {"target": "recovery"}, "causal": {"graph": 3}}
    with pytest.raises(SpecError, match=r"spec: causal\.graph: int is no causal graph; give a CausalGraph"):
        crda_spec.run(spec, data=pd.DataFrame({"recovery": [1.0, 2.0], "age": [3.0, 4.0]}))
