from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from scm_worlds import World, worlds

from crda_spec.scm.formats import from_edges
from crda_spec.scm.implied import MOST_SUGGESTED, Statement, as_written, implications, repairing_edges, with_edges

COLUMNS = ("age", "bmi", "dose", "recovery", "blood pressure > 140")


@pytest.mark.parametrize(
    ("edges", "violated", "expected"),
    [
        pytest.param(
            ["age -> bmi -> dose", "dose -> recovery"], ["age dose | bmi"], ["age -> dose"], id="down-the-chain"
        ),
        pytest.param(["{age dose} -> recovery"], ["age dose"], ["age <-> dose"], id="two-roots"),
        pytest.param(
            ["age -> bmi -> recovery", "dose -> recovery"], ["bmi dose"], ["dose -> bmi"], id="root-to-caused"
        ),
        pytest.param(["age -> {dose recovery}"], ["dose recovery | age"], ["dose -> recovery"], id="into-the-target"),
        pytest.param(
            ["age -> bmi", "{bmi dose} -> recovery"],
            ["bmi dose", "age dose"],
            ["bmi -> dose"],
            id="one-edge-that-excuses-both",
        ),
        pytest.param([], [], [], id="nothing-violated"),
    ],
)
def test_the_edge_follows_what_is_drawn(edges, violated, expected):
    graph = from_edges(edges or ["age -> recovery"], columns=COLUMNS, target="recovery")
    cases = []
    for text in violated:
        ends, _, given_names = text.partition(" | ")
        cases.append(Statement(*ends.split(), tuple(given_names.split())))
    assert [as_written(edge) for edge in repairing_edges(graph, cases)] == expected


def test_a_name_is_quoted_as_the_spec_needs_it():
    name = "blood pressure > 140"
    graph = from_edges([f'{{age, "{name}"}} -> recovery'], columns=COLUMNS, target="recovery")
    (edge,) = map(as_written, repairing_edges(graph, [Statement("age", name, ())]))
    assert edge == f'age <-> "{name}"'
    again = from_edges([edge, "age -> recovery"], columns=COLUMNS, target="recovery")
    assert again.bidirected == (("age", name),)


@given(world=worlds())
def test_with_the_edges_nothing_violated_is_implied_any_more(world: World):
    statements = implications(world.graph(), world.features).statements()
    edges = repairing_edges(world.graph(), statements)
    assert len(edges) <= MOST_SUGGESTED
    oracle = world.oracle()
    for edge in edges:
        hidden = f"new {edge}"
        both = [(hidden, edge.tail), (hidden, edge.head)]
        oracle.add_edges_from([(edge.tail, edge.head)] if edge.mark == "->" else both)
    assert nx.is_directed_acyclic_graph(oracle)
    implied = [each for each in statements if nx.is_d_separator(oracle, {each.first}, {each.second}, set(each.given))]
    assert not implied or len(edges) == MOST_SUGGESTED
    assert len(set(edges)) == len(edges)


@given(world=worlds())
def test_the_graph_with_the_edges_separates_what_the_oracle_separates(world: World):
    graph = world.graph()
    before = implications(graph, world.features)
    edges = repairing_edges(graph, before.statements(), most=2)
    grown = with_edges(graph, edges)
    assert set(grown.edges) == {*graph.edges, *edges}
    assert (grown.observed, grown.latents, grown.noise_parents) == (graph.observed, graph.latents, graph.noise_parents)
    left = set(implications(grown, world.features).pairs)
    assert left <= set(before.pairs)
    assert left.isdisjoint(tuple(sorted(edge.ends)) for edge in edges)


def test_no_more_edges_than_wanted():
    graph = from_edges(["{age bmi dose} -> recovery"], columns=COLUMNS, target="recovery")
    cases = [Statement("age", "bmi", ()), Statement("age", "dose", ()), Statement("bmi", "dose", ())]
    assert [as_written(edge) for edge in repairing_edges(graph, cases, most=2)] == ["age <-> bmi", "age -> dose"]
    assert repairing_edges(graph, cases, most=0) == ()
