"""GES, consensus, stability, hidden causes of one column: what stands on top of the searches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import networkx as nx
import numpy as np
import pytest
from discovery_worlds import Oracle, linear_world, random_dag
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.discovery import DiscoveredGraph, FoundEdge, Stability
from crda_spec.discovery.consensus import consensus
from crda_spec.discovery.fci import Fci, possibly_confounded_with
from crda_spec.discovery.ges import Ges
from crda_spec.discovery.pc import Pc
from crda_spec.errors import DataError, GraphError
from crda_spec.independence.conditional import GcmTest, MixedTest, PartialCorrelation, conditional_test
from crda_spec.records import Column
from crda_spec.report.words.discovery import note_sentence


def columns_of(names, types) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=kind) for name, kind in zip(names, types, strict=True))


NUMBERS = columns_of("abcde", ("continuous",) * 5)


def collider_world(n: int, seed: int = 0) -> np.ndarray:
    """a -> c <- b, c -> d, and e alone."""
    rng = np.random.default_rng(seed)
    a, b, e = rng.normal(size=(3, n))
    c = a + b + rng.normal(size=n)
    return np.column_stack([a, b, c, c + rng.normal(size=n), e])


def graph(*edges: str, names: str = "abc", method: str = "pc", kind: str = "cpdag") -> DiscoveredGraph:
    read = [edge.split() for edge in edges]
    found = tuple(FoundEdge(first=a, second=b, mark=mark) for a, mark, b in read)
    return DiscoveredGraph(method=method, kind=kind, names=tuple(names), edges=found)


def test_ges_finds_the_same_graph_as_pc_where_it_is_plain_to_see():
    x = collider_world(800)
    found = Ges().find(x, NUMBERS)
    assert [str(edge) for edge in found.edges] == ["a -> c", "b -> c", "c -> d"]
    assert (found.method, found.kind, found.alpha, found.notes) == ("ges", "cpdag", None, ())
    assert found.separating_set("a", "b") is None
    assert found.p_value("a", "b") is None
    assert Ges().graph(x, NUMBERS, seed=0) == found
    by_tests = Pc(alpha=0.001).find(x, NUMBERS)
    assert [str(edge) for edge in by_tests.edges] == [str(edge) for edge in found.edges]


def test_ges_leaves_out_what_has_no_score_and_takes_categories():
    x = collider_world(300)
    table = np.column_stack([x[:, :3], x[:, 0] - x[:, 1], np.full(300, 7.0), x[:, 2] > 0, x[:, 2] <= 0])
    types = ("continuous",) * 5 + ("category",) * 2
    found = Ges().find(table, columns_of("abcdefg", types))
    assert tuple(map(note_sentence, found.notes)) == (
        "GES left out columns that are constant or that others determine: d, e, g.",
    )
    assert "f" in {name for edge in found.edges for name in (edge.first, edge.second)}
    alone = Ges().find(np.ones((9, 2)), NUMBERS[:2])
    assert alone.edges == ()


def test_ges_needs_more_rows_than_columns():
    with pytest.raises(DataError) as caught:
        Ges().find(collider_world(6), NUMBERS)
    assert str(caught.value) == (
        "GES scores 5 columns from 6 rows without a missing value; "
        "it needs more rows than columns: search fewer columns, or use pc"
    )


def test_consensus_keeps_what_most_have_and_marks_what_they_dispute():
    found = consensus(
        [
            graph("a -> b", "b -- c"),
            graph("a -> b", "c -> b", "a -- c"),
            graph("b -> a", "b -> c", method="ges"),
        ]
    )
    assert [(str(edge), edge.frequency, round(edge.same_mark, 3)) for edge in found.edges] == [
        ("a -> b", 1.0, 0.667),
        ("b <-> c", 1.0, 0.0),
    ]
    assert found.conflicted == (("b", "c"),)
    assert tuple(map(note_sentence, found.notes)) == ("The methods disagree on the direction between b and c.",)
    assert found.method == "consensus"


def test_a_method_without_tests_does_not_count_as_weak_evidence():
    link = FoundEdge(first="a", second="b", mark="--", p_value=0.01, statistic=0.3)
    tested = DiscoveredGraph(method="pc", kind="cpdag", names=("a", "b"), edges=(link,), alpha=0.05)
    scored = replace(tested, method="ges", alpha=None, edges=(FoundEdge(first="a", second="b", mark="--"),))
    both = consensus([tested, scored]).edge("a", "b")
    assert both is not None
    assert (both.p_value, both.statistic, both.frequency) == (0.01, 0.3, 1.0)


def test_consensus_reads_arrowheads_of_a_pag_and_opens_circles():
    pag = graph("a o-> b", "b o-o c", method="fci", kind="pag")
    assert [str(edge) for edge in consensus([pag, graph("a -> b", "b -- c")]).edges] == ["a -> b", "b -- c"]
    # Each direction has two votes out of three, and together they run in a circle.
    round_about = consensus(
        [graph("a -> b", "b -> c", "a -- c"), graph("a -> b", "b -- c", "c -> a"), graph("a -- b", "b -> c", "c -> a")]
    )
    assert [str(edge) for edge in round_about.edges] == ["a <-> b", "a <-> c", "b <-> c"]


def test_consensus_says_what_is_wrong():
    with pytest.raises(GraphError, match="there is no graph to agree on; give two or more"):
        consensus([])
    with pytest.raises(GraphError) as caught:
        consensus([graph("a -> b"), graph("a -> b", names="abd", method="ges")])
    assert str(caught.value) == (
        "the graph found by ges has other columns than the first: ['c', 'd']; search the same columns with each method"
    )


@pytest.mark.parametrize("scheme", ["bootstrap", "half"])
def test_stability_is_the_same_to_the_byte_at_any_number_of_workers(scheme):
    x = collider_world(150)
    search, twelve = partial(Pc().find, columns=NUMBERS), Stability(resamples=12, scheme=scheme)
    one, two = (twelve.repeat(search, x, seed=3, workers=workers) for workers in (1, 2))
    assert one.linked.tobytes() == two.linked.tobytes()
    assert one.directed.tobytes() == two.directed.tobytes()
    assert one.graph == two.graph
    other = twelve.repeat(search, x, seed=4)
    assert one.linked.tobytes() != other.linked.tobytes()


def test_stable_edges_are_the_true_ones():
    x = collider_world(400)
    found = Stability(resamples=40, scheme="bootstrap").repeat(partial(Pc().find, columns=NUMBERS), x, seed=0)
    assert found.stable(0.9) == (("a", "c"), ("b", "c"), ("c", "d"))
    assert (found.linked == found.linked.T).all()
    assert (found.directed + found.directed.T <= found.linked + 1e-12).all()
    assert found.directed[0, 2] > 0.5
    assert found.directed[2, 0] < 0.2
    edge = found.graph.edge("a", "c")
    assert (edge.frequency, edge.same_mark) == (found.linked[0, 2], found.directed[0, 2])


def test_stability_of_a_pag_counts_its_marks_too():
    x = collider_world(400)
    found = Stability(resamples=5, scheme="bootstrap").repeat(partial(Fci().find, columns=NUMBERS), x, seed=0)
    assert [str(edge) for edge in found.graph.edges] == ["a o-> c", "b o-> c", "c -> d"]
    assert all(0.0 < edge.same_mark <= edge.frequency <= 1.0 for edge in found.graph.edges)


def test_the_test_is_chosen_by_the_types():
    x = np.column_stack([np.arange(9.0), np.arange(9) % 3])
    assert isinstance(conditional_test(x, ("continuous", "integer")), PartialCorrelation)
    assert isinstance(conditional_test(x, ("continuous", "category")), MixedTest)
    assert isinstance(conditional_test(x, ("continuous", "boolean")), MixedTest)
    assert isinstance(conditional_test(x, ("continuous", "category"), dependence="nonlinear"), GcmTest)


def test_the_nonlinear_test_sees_a_parabola_and_keeps_links_that_it_cannot_test():
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    b = a**2 + 0.5 * rng.normal(size=400)
    x = np.column_stack([a, b, b + 0.5 * rng.normal(size=400), a, np.ones(400)])
    straight, curved = (
        Pc(alpha=0.01, dependence=dependence).find(x, NUMBERS) for dependence in ("linear", "nonlinear")
    )
    assert {frozenset(pair) for pair in straight.undirected} == {frozenset("bc"), frozenset("ad")}
    # d is a copy of a: given one of them nothing is left of the other, so both keep their link with b.
    linked = {frozenset((edge.first, edge.second)) for edge in curved.edges}
    assert linked == {frozenset("ab"), frozenset("bd"), frozenset("ad"), frozenset("bc")}
    assert curved.separating_set("a", "c") == ("b",)
    few = Pc(dependence="nonlinear").find(x[:15], NUMBERS)
    assert len(few.edges) == 10


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_confounded_column_goes_unnamed(seed):
    """With an oracle: a column that shares a hidden cause with y, and is linked to it, is always named."""
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 8, rng.uniform(0.2, 0.5))
    columns = tuple(sorted(rng.choice(8, 6, replace=False).tolist()))
    hidden = set(dag) - set(columns)
    names = [f"x{i}" for i in columns]
    found = Fci.model_construct(max_depth=6).search(Oracle(dag, columns), names)
    for y in columns:
        tied = {
            x for u in hidden for x in columns if x != y and shares(dag, hidden, u, x) and shares(dag, hidden, u, y)
        }
        assert {f"x{x}" for x in tied} <= set(possibly_confounded_with(found, f"x{y}"))


def shares(dag: nx.DiGraph, hidden: set[int], cause: int, effect: int) -> bool:
    """Whether a hidden column causes another over hidden ones only."""
    return nx.has_path(dag.subgraph(hidden | {effect}), cause, effect)


def test_a_visible_edge_is_not_confounded():
    """i -> x -> y with i and y apart: had x and y a hidden cause in common, i and y would be tied given x."""
    dag = nx.DiGraph([(0, 2), (1, 2), (2, 3)])
    found = Fci().search(Oracle(dag, (0, 1, 2, 3)), ["i", "j", "x", "y"])
    assert [str(edge) for edge in found.edges] == ["i o-> x", "j o-> x", "x -> y"]
    assert possibly_confounded_with(found, "y") == ()
    assert possibly_confounded_with(found, "x") == ("i", "j")


def test_questions_about_hidden_causes_need_a_pag_and_a_column():
    with pytest.raises(GraphError) as caught:
        possibly_confounded_with(graph("a -> b"), "b")
    assert str(caught.value) == "a graph found by pc assumes that there are no hidden causes; search with fci"
    with pytest.raises(GraphError) as caught:
        possibly_confounded_with(graph("a o-> b", method="fci", kind="pag"), "d")
    assert str(caught.value) == "'d' is not a node of the graph; the nodes are: a, b, c"


def test_fci_stops_at_its_budget_and_says_so():
    x = linear_world(np.random.default_rng(12), d=8, n=100, density=0.8)
    test = conditional_test(x, ("continuous",) * 8)
    names = [f"x{i}" for i in range(8)]
    found = Fci(budget=28).search(test, names)
    assert (found.tests, found.depth_reached, found.budget_hit) == (28, 0, True)
    assert note_sentence(found.notes[0]).startswith("The search stopped before it tried sets of 1 columns")
    assert {edge.mark for edge in found.edges} <= {"o-o", "o->", "<->", "->"}
