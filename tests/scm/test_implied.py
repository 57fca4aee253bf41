from __future__ import annotations

import itertools
import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from scm_worlds import World, worlds

from crda_spec.errors import GraphError
from crda_spec.scm.formats import from_edges
from crda_spec.scm.graph import CausalGraph, Edge
from crda_spec.scm.implied import Statement, causal_ranks, implications

COLUMNS = ("age", "bmi", "dose", "recovery", "relapse")


def shown(edges: list[str], features: tuple[str, ...] = ("age", "bmi", "dose", "relapse"), **more) -> list[str]:
    graph = from_edges(edges, columns=COLUMNS, target="recovery", **more)
    return [str(each) for each in implications(graph, features).statements()]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        pytest.param(["age -> dose -> recovery"], ["age _||_ recovery | dose"], id="chain"),
        pytest.param(["{age dose} -> recovery"], ["age _||_ dose"], id="collider"),
        pytest.param(["age -> {dose recovery}"], ["dose _||_ recovery | age"], id="fork"),
        pytest.param(["age -> dose -> recovery", "age -> recovery"], [], id="complete"),
        pytest.param(["age <-> dose <-> recovery"], ["age _||_ recovery"], id="hidden-causes-collide"),
        pytest.param(["age -> dose -> recovery", "dose <-> recovery"], [], id="instrument-is-inseparable"),
        pytest.param(
            ["{age bmi} -> dose -> recovery"],
            ["age _||_ bmi", "age _||_ recovery | dose", "bmi _||_ recovery | dose"],
            id="only-the-parents-on-the-way-are-held",
        ),
    ],
)
def test_small_graphs_imply_what_the_textbook_says(edges, expected):
    assert shown(edges) == expected


def test_the_parents_of_the_later_node_that_lie_on_the_way_are_held():
    assert shown(["age -> {bmi dose} -> recovery", "relapse -> recovery"]) == [
        "age _||_ recovery | bmi, dose",
        "age _||_ relapse",
        "bmi _||_ dose | age",
        "bmi _||_ relapse",
        "dose _||_ relapse",
    ]


def test_a_column_that_no_edge_names_is_claimed_nothing_about():
    assert shown(["age -> recovery"]) == []


def test_a_column_that_is_no_feature_is_unmeasured():
    edges = ["age -> {dose recovery}"]
    assert shown(edges, features=("dose",)) == []
    assert shown(edges, features=("dose", "age")) == ["dose _||_ recovery | age"]


def test_the_noise_ties_the_target_to_its_own_parents():
    assert shown(["age -> dose -> recovery"], noise_parents=["age"]) == []


def test_an_unknown_feature_is_an_error():
    graph = from_edges(["age -> recovery"], columns=COLUMNS, target="recovery")
    with pytest.raises(GraphError) as caught:
        implications(graph, ["agee"])
    assert str(caught.value) == "the feature 'agee' is not a column of the data; did you mean 'age'?"


def test_a_statement_under_other_names_is_sorted_again():
    statement = Statement("a", "b", ("c", "d"))
    renamed = statement.renamed({"a": "d", "b": "c", "c": "b", "d": "a"})
    assert renamed == Statement("c", "d", ("a", "b"))


def subsets(names):
    return (set(chosen) for size in range(len(names) + 1) for chosen in itertools.combinations(names, size))


@given(world=worlds())
def test_each_statement_holds_is_minimal_and_none_is_missing(world: World):
    oracle = world.oracle()
    claims = implications(world.graph(), world.features)
    found = {(each.first, each.second): each for each in claims.statements()}
    assert tuple(found) == claims.pairs
    for a, b in itertools.combinations(claims.measured, 2):
        others = [name for name in claims.measured if name not in (a, b)]
        if (a, b) not in found:
            assert not any(nx.is_d_separator(oracle, {a}, {b}, held) for held in subsets(others))
            continue
        held = set(found[a, b].given)
        assert held <= set(others)
        assert nx.is_d_separator(oracle, {a}, {b}, held)
        assert not any(nx.is_d_separator(oracle, {a}, {b}, less) for less in subsets(held) if less < held)


@given(world=worlds())
def test_a_causal_order_has_causes_first(world: World):
    dag = world.graph().dag
    ranks = causal_ranks(dag)
    assert sorted(ranks) == list(range(len(dag.names)))
    assert all(ranks[parent] < ranks[node] for node, parents in enumerate(dag.parents) for parent in parents)


def random_dag(rng: np.random.Generator) -> tuple[list[str], list[tuple[str, str]], CausalGraph]:
    names = [f"x{k}" for k in range(5)] + ["y"]
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
    kept = [pair for pair in pairs if rng.random() < 0.5 or pair == ("x0", "y")]
    return names, kept, CausalGraph.build([Edge(a, b) for a, b in kept], columns=names, target="y")


@pytest.mark.parametrize("seed", range(20))
def test_in_a_dag_the_premises_of_the_basis_theorem_hold(seed):
    """The later node's parents hold S, and S separates the earlier node from the parents that are left out."""
    _, kept, graph = random_dag(np.random.default_rng(seed))
    oracle, ranks = nx.DiGraph(kept), causal_ranks(graph.dag)
    for each in implications(graph, [name for name in graph.observed if name != "y"]).statements():
        early, late = sorted((each.first, each.second), key=lambda name: ranks[graph.dag.index[name]])
        parents, held = set(oracle.predecessors(late)), set(each.given)
        assert held <= parents
        assert held == parents or nx.is_d_separator(oracle, {early}, parents - held, held)


@pytest.mark.parametrize("seed", range(5))
def test_an_edge_that_was_left_out_breaks_the_statement_about_its_pair(seed):
    rng = np.random.default_rng(seed)
    names, kept, graph = random_dag(rng)
    claims = implications(graph, names[:-1])
    for missing in claims.pairs:
        covariance = implied_covariance(names, [*kept, missing], rng)
        broken = [each for each in claims.statements() if abs(partial(covariance, names, each)) > 1e-9]
        assert missing in [(each.first, each.second) for each in broken]
    right = implied_covariance(names, kept, rng)
    assert max((abs(partial(right, names, each)) for each in claims.statements()), default=0.0) < 1e-9


def implied_covariance(names, edges, rng):
    weights = np.zeros((len(names), len(names)))
    for tail, head in edges:
        weights[names.index(head), names.index(tail)] = rng.uniform(0.3, 1.0) * rng.choice([-1, 1])
    mixing = np.linalg.inv(np.eye(len(names)) - weights)
    return mixing @ mixing.T


def partial(covariance, names, statement):
    where = [names.index(name) for name in (statement.first, statement.second, *statement.given)]
    precision = np.linalg.inv(covariance[np.ix_(where, where)])
    return precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])


def test_the_order_of_writing_changes_nothing():
    edges = ["age -> {bmi dose} -> recovery", "relapse <-> bmi"]
    assert shown(edges) == shown(edges[::-1], features=("relapse", "dose", "bmi", "age"))


def test_a_thousand_features_are_counted_at_once():
    names = [f"x{k:04}" for k in range(1000)]
    edges = [Edge(name, "y") for name in names[:20]] + [Edge(a, b) for a, b in itertools.pairwise(names)]
    graph = CausalGraph.build(edges, columns=[*names, "y"], target="y")
    started = time.process_time()
    claims = implications(graph, names)
    assert len(claims.pairs) == 1001 * 1000 // 2 - len(edges)
    assert str(claims.statement(("x0500", "y"))) == "x0500 _||_ y | x0019"
    assert time.process_time() - started < 5.0
