"""Graphs in Python: made in every way, the same graph; certified as a table; at home in a spec's values."""

import doctest

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import crda_spec
from crda_spec import CausalGraph, GraphError, graphs

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


def test_the_example_in_the_docstring():
    tests = [one for one in doctest.DocTestFinder().find(graphs.CausalGraph, "CausalGraph") if one.examples]
    assert [doctest.DocTestRunner(verbose=False).run(one).failed for one in tests] == [0]
