from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from discovery_worlds import Oracle, cpdag, linear_world, pc_skeleton, random_dag
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.discovery.knowledge import Constraints, Knowledge
from crda_spec.discovery.pc import Pc
from crda_spec.discovery.skeleton import skeleton_of
from crda_spec.errors import DataError
from crda_spec.independence import correlation_matrix
from crda_spec.independence.conditional import PartialCorrelation
from crda_spec.report.words.discovery import note_sentence

RULES = ("plain", "conservative", "majority")


def letters(d: int) -> list[str]:
    return [f"x{i:02d}" for i in range(d)]


def number(pairs) -> set[tuple[int, int]]:
    return {(int(a[1:]), int(b[1:])) for a, b in pairs}


class OneByOne:
    """The same test as PartialCorrelation, without its batches: it forces the slow path."""

    def __init__(self, fast: PartialCorrelation) -> None:
        self.fast = fast

    def p_value(self, i: int, j: int, given: tuple[int, ...]) -> tuple[float, float]:
        return self.fast.p_value(i, j, given)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 6), rule=st.sampled_from(RULES))
def test_with_an_oracle_pc_finds_exactly_the_class_of_the_true_graph(seed, d, rule):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, d, rng.uniform(0.2, 0.7))
    found = Pc.model_construct(max_depth=d, colliders=rule).search(Oracle(dag, tuple(range(d))), letters(d))
    directed, undirected = cpdag(dag)
    assert number(found.directed) == directed
    assert number(found.undirected) == undirected
    assert (found.conflicted, found.notes, found.budget_hit) == ((), (), False)
    for i, j in combinations(range(d), 2):
        held = found.separating_set(f"x{i:02d}", f"x{j:02d}")
        assert (held is None) == dag.to_undirected().has_edge(i, j)
        if held is not None:
            assert nx.is_d_separator(dag, {i}, {j}, {int(name[1:]) for name in held})


@pytest.mark.parametrize("separator", ["strongest", "union"])
@pytest.mark.parametrize("seed", range(5))
def test_the_fast_path_and_the_path_for_any_test_agree(seed, separator):
    x = linear_world(np.random.default_rng(300 + seed), d=10, n=150, density=0.4)
    test = PartialCorrelation.of(*correlation_matrix(x))
    fast = skeleton_of(test, 10, alpha=0.05, separator=separator)
    slow = skeleton_of(OneByOne(test), 10, alpha=0.05, separator=separator)
    assert (fast.adjacent == slow.adjacent).all()
    assert fast.separating == slow.separating
    assert fast.p_values == pytest.approx(slow.p_values, abs=1e-9)
    assert fast.statistics == pytest.approx(slow.statistics, abs=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_the_columns_changes_nothing(seed, rule):
    rng = np.random.default_rng(400 + seed)
    x = linear_world(rng, d=14, n=120, density=0.25)
    order = rng.permutation(14)
    names = letters(14)
    chosen = Pc(colliders=rule)
    one = chosen.search(PartialCorrelation.of(*correlation_matrix(x)), names)
    shuffled = PartialCorrelation.of(*correlation_matrix(x[:, order]))
    other = chosen.search(shuffled, [names[k] for k in order])
    assert set(other.directed) == set(one.directed)
    assert {frozenset(pair) for pair in other.undirected} == {frozenset(pair) for pair in one.undirected}
    assert {frozenset(pair) for pair in other.conflicted} == {frozenset(pair) for pair in one.conflicted}
    assert other.tests == one.tests


def test_what_stays_directed_is_acyclic_and_conflicts_do_occur():
    conflicts = 0
    for seed in range(30):
        x = linear_world(np.random.default_rng(500 + seed), d=12, n=60, density=0.4)
        found = Pc().search(PartialCorrelation.of(*correlation_matrix(x)), letters(12))
        assert nx.is_directed_acyclic_graph(nx.DiGraph(list(found.directed)))
        assert len(found.edges) == len(found.directed) + len(found.undirected) + len(found.conflicted)
        conflicts += len(found.conflicted)
    assert conflicts > 0


def test_a_conflict_is_marked_and_said():
    """x0 - x1 - x2 - x3 with both inner columns told to be common effects: the middle link is told both ways."""

    class Told:
        def p_value(self, i, j, given):
            apart = {(0, 2): (), (1, 3): (), (0, 3): ()}
            return (0.0, 1.0) if apart.get((i, j)) == given else (0.8, 0.0)

    found = Pc().search(Told(), ["a", "b", "c", "d"])
    assert [str(edge) for edge in found.edges] == ["a -> b", "b <-> c", "d -> c"]
    assert found.conflicted == (("b", "c"),)
    assert tuple(map(note_sentence, found.notes)) == (
        "The data argue for both directions between b and c: do not rely on either.",
    )
    assert found.edge("c", "b").statistic == 0.8
    assert found.neighbours("b") == ("a", "c")


@pytest.mark.parametrize(
    ("rule", "edges"),
    [
        pytest.param("plain", ["a -> b", "c -> b"], id="plain-believes-the-set-that-cut"),
        pytest.param("conservative", ["a -- b", "b -- c"], id="conservative-wants-all-to-agree"),
        pytest.param("majority", ["a -- b", "b -- c"], id="majority-sees-a-draw"),
    ],
)
def test_the_rules_differ_where_sets_disagree(rule, edges):
    class Told:
        """a and c look independent both without b and given b."""

        def p_value(self, i, j, given):
            del given
            return (0.0, 1.0) if (i, j) == (0, 2) else (0.8, 0.0)

    found = Pc(colliders=rule).search(Told(), ["a", "b", "c"])
    assert [str(edge) for edge in found.edges] == edges


def test_the_majority_decides_where_the_conservative_rule_does_not():
    class Told:
        """0 and 1 are separated by {} and {3}, and by {2, 3}; 2 and 3 are linked to both."""

        def p_value(self, i, j, given):
            return (0.0, 1.0) if (i, j) == (0, 1) and given in ((), (3,), (2, 3)) else (0.8, 0.0)

    names = ["a", "b", "c", "d"]
    majority = Pc(colliders="majority").search(Told(), names)
    conservative = Pc(colliders="conservative").search(Told(), names)
    assert [str(edge) for edge in majority.edges] == ["a -> c", "a -- d", "b -> c", "b -- d", "d -> c"]
    assert conservative.directed == ()


def test_a_budget_that_is_hit_is_said_in_words():
    x = linear_world(np.random.default_rng(12), d=8, n=100, density=0.8)
    test = PartialCorrelation.of(*correlation_matrix(x))
    found = Pc(budget=28).search(test, letters(8))
    assert (found.tests, found.depth_reached, found.budget_hit) == (28, 0, True)
    assert note_sentence(found.notes[0]) == (
        "The search stopped before it tried sets of 1 columns: they would take more than the 28 tests allowed. Links "
        "that such sets would have cut are still there. Raise the budget, or tell the search what you know (tiers, "
        "forbidden edges), so that it has less to try."
    )
    few = pc_skeleton(test.r, test.n, alpha=0.05).tests
    fell_back = Pc(budget=few, colliders="majority").search(test, letters(8))
    assert fell_back.budget_hit
    assert note_sentence(fell_back.notes[0]) == (
        "Comparing all separating sets would take more than the 0 tests left, so directions were decided by the set "
        "that cut each link."
    )
    assert fell_back.edges == Pc(budget=few).search(test, letters(8)).edges


def test_columns_need_names_of_their_own():
    with pytest.raises(DataError) as caught:
        Pc().search(PartialCorrelation.of(np.eye(3), 50), ["a", "b", "a"])
    assert str(caught.value) == "two columns are called 'a'; rename one"


@pytest.mark.parametrize("rule", RULES)
def test_degenerate_columns_have_defined_outcomes(rule):
    rng = np.random.default_rng(21)
    a = rng.normal(size=40)
    x = np.column_stack([a, a, np.full(40, 2.0), a + rng.normal(size=40)])
    found = Pc(colliders=rule).search(PartialCorrelation.of(*correlation_matrix(x)), list("abcd"))
    # A copy determines a, so nothing is left to test given it: the three stay linked. The constant is alone.
    assert [str(edge) for edge in found.edges] == ["a -- b", "a -- d", "b -- d"]
    assert found.separating_set("c", "a") == ()
    few = Pc(colliders=rule).search(PartialCorrelation.of(*correlation_matrix(x[:3])), list("abcd"))
    assert (few.depth_reached, few.tests, len(few.undirected)) == (-1, 0, 6)
    wide = rng.normal(size=(8, 20))
    assert Pc().search(PartialCorrelation.of(*correlation_matrix(wide)), letters(20)).depth_reached <= 4
    assert Pc().search(PartialCorrelation.of(np.eye(0), 10), []).edges == ()


def test_separating_sets_behave_as_a_mapping():
    x = linear_world(np.random.default_rng(31), d=6, n=200, density=0.4)
    found = pc_skeleton(*correlation_matrix(x), alpha=0.05).separating
    assert list(found) == sorted(found)
    assert len(found) == len(dict(found)) > 0
    i, j = next(iter(found))
    assert found.of(j, i) == found[i, j]
    with pytest.raises(KeyError):
        found[j, i]
    with pytest.raises(KeyError):
        found[0, 99]


def test_nothing_known_changes_nothing():
    x = linear_world(np.random.default_rng(32), d=9, n=100, density=0.4)
    matrix, n = correlation_matrix(x)
    free, bound = (
        pc_skeleton(matrix, n, alpha=0.05, constraints=c) for c in (None, Constraints.of(Knowledge(), letters(9)))
    )
    assert (free.adjacent == bound.adjacent).all()
    assert free.separating == bound.separating
    assert free.tests == bound.tests
