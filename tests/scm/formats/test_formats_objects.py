"""networkx and pgmpy graphs, both ways."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import pairwise

import networkx as nx
import pytest
from formats_parts import HOSTILE, TAME, graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.base import ADMG, DAG, PDAG

from crda_spec.errors import GraphError
from crda_spec.scm.certificate import certify
from crda_spec.scm.formats.objects import (
    from_networkx,
    from_pgmpy,
    read_networkx,
    read_pgmpy,
    to_networkx,
    to_pgmpy_admg,
    to_pgmpy_dag,
)
from crda_spec.scm.graph import CausalGraph, Edge
from crda_spec.scm.separation import separated


@settings(max_examples=80)
@given(graph=graphs(HOSTILE))
def test_networkx_round_trip(graph):
    assert from_networkx(to_networkx(graph)) == graph


@settings(max_examples=100)
@given(graph=graphs(TAME), data=st.data())
def test_networkx_reads_our_digraph_as_we_do(graph, data):
    """Hidden common causes are nodes, so its d-separation agrees; the noise is a root, so it changes nothing."""
    theirs = to_networkx(graph)
    a, b = data.draw(st.permutations(graph.observed))[:2] if len(graph.observed) > 1 else (None, None)
    if a is None:
        return
    given_ = {name for name in graph.observed if name not in (a, b) and data.draw(st.booleans())}
    if not graph.noise_parents:
        assert nx.is_d_separator(theirs, {a}, {b}, given_) == separated(graph, [a], [b], given_)


@settings(max_examples=30)
@given(graph=graphs(HOSTILE))
def test_pgmpy_round_trips(graph):
    assert from_pgmpy(to_pgmpy_dag(graph)) == graph
    assert from_pgmpy(to_pgmpy_admg(graph)) == graph


@settings(max_examples=20)
@given(graph=graphs(TAME))
def test_the_certificate_does_not_depend_on_the_library(graph):
    features = [name for name in graph.observed if name != graph.target]
    expected = certify(graph, features)
    for back in (from_networkx(to_networkx(graph)), from_pgmpy(to_pgmpy_dag(graph)), from_pgmpy(to_pgmpy_admg(graph))):
        assert certify(back, features) == expected


def test_plain_graphs_of_a_user():
    theirs = nx.DiGraph([("u", "x"), ("u", "y"), ("x", "y")])
    theirs.nodes["u"]["latent"] = True
    graph = from_networkx(theirs, target="y")
    assert (graph.latents, graph.directed) == (("u",), (("u", "x"), ("u", "y"), ("x", "y")))
    multi = nx.MultiDiGraph()
    multi.add_edge("x", "y")
    multi.add_edge("x", "y", mark="<->")
    multi.add_edge("a", "x", bidirected=True)
    multi.add_edge("x", "a", bidirected=True)
    assert from_networkx(multi, target="y").bidirected == (("a", "x"), ("x", "y"))
    admg = ADMG(directed_ebunch=[("x", "y")], bidirected_ebunch=[("x", "y"), ("a", "x")])
    assert from_pgmpy(admg, target="y") == from_networkx(multi, target="y")
    dag = DAG([("u", "x"), ("u", "y"), ("x", "y")], latents={"u"}, exposures={"x"}, outcomes={"y"})
    assert from_pgmpy(dag) == graph
    assert read_pgmpy(dag).having("exposure") == ("x",)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        pytest.param(
            nx.Graph([("a", "b")]),
            "the graph is not directed, and edges without a direction are not a causal claim; "
            "make a networkx.DiGraph with the cause first",
            id="undirected",
        ),
        pytest.param(
            nx.DiGraph([(1, "b"), ("", "b")]),
            "the node 1 is not named by a text; name the nodes by the columns of the data\n"
            "the node '' is not named by a text; name the nodes by the columns of the data\n"
            "2 problems",
            id="names",
        ),
        pytest.param(
            nx.DiGraph([("a", "b"), ("b", "a")]),
            "b -> a contradicts a -> b: together they are the cycle a -> b -> a; "
            "keep one; for a hidden common cause write b <-> a",
            id="both-ways",
        ),
        pytest.param(
            nx.DiGraph([("a", "b"), ("b", "b")]),
            "b -> b makes 'b' its own cause; remove the edge; an earlier value of the same quantity is another node",
            id="self-loop",
        ),
        pytest.param(
            nx.DiGraph([("a", "b", {"mark": "--"})]),
            "the mark of a -> b is '--'; write '->' or '<->'",
            id="mark",
        ),
    ],
)
def test_a_bad_networkx_graph_is_refused(graph, message):
    with pytest.raises(GraphError) as caught:
        from_networkx(graph, target="b")
    assert str(caught.value) == message


def test_bad_node_attributes_are_refused():
    graph = nx.DiGraph([("a", "b"), ("h", "b")])
    graph.add_node("a", latnet=True, colour="red")
    graph.add_node("b", latent="yes")
    graph.add_node("h", bidirected=True)
    with pytest.raises(GraphError) as caught:
        from_networkx(graph, target="b")
    assert str(caught.value) == (
        "'latnet' is no attribute of the node 'a'; did you mean 'latent'?\n"
        "latent of 'b' is 'yes', which is neither true nor false; write latent=True\n"
        "'h' is bidirected, but has 1 children and 0 parents; it stands for a <-> b: two children, no parent\n"
        "3 problems"
    )
    assert read_networkx(graph).lost == ("the colour of a node",)


def test_a_graph_that_names_no_outcome_needs_a_target():
    with pytest.raises(GraphError) as caught:
        from_networkx(nx.DiGraph([("a", "b")]))
    assert str(caught.value) == (
        "the target was left to the graph, which has to name one outcome; it names none; "
        "mark one node as the outcome, or say which column is the target"
    )


def test_pgmpy_graphs_without_directions_are_refused():
    with pytest.raises(GraphError) as caught:
        read_pgmpy(PDAG(undirected_ebunch=[("a", "b")]))
    assert str(caught.value) == ("a PDAG is not read: it can have edges without a direction; make a pgmpy DAG or ADMG")


def test_a_large_admg_is_built_at_once():
    """pgmpy's own way tests for a cycle after each edge: seconds for a thousand nodes."""
    names = [f"x{i}" for i in range(1000)]
    edges = [Edge(a, b) for a, b in pairwise(names)]
    graph = CausalGraph.build(edges, columns=names, target="x999")
    start = time.process_time()
    admg = to_pgmpy_admg(graph)
    assert time.process_time() - start < 1
    assert admg.number_of_edges() == 999


def test_pgmpy_is_imported_only_when_it_is_used():
    code = "import sys, crda_spec.scm.formats.objects; print('pgmpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
