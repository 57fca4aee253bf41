from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from discovery_worlds import pc_skeleton
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crda_spec.discovery.skeleton import neighbours
from crda_spec.independence import Pearson, correlation_matrix


def linear_world(rng: np.random.Generator, d: int, n: int, density: float) -> np.ndarray:
    weights = np.triu((rng.random((d, d)) < density) * rng.uniform(0.2, 1.0, (d, d)), 1)
    x = rng.normal(size=(n, d))
    for j in range(d):
        x[:, j] += x @ weights[:, j]
    return x[:, rng.permutation(d)]


def literal_p_value(x: np.ndarray, i: int, j: int, given) -> float | None:
    """The test by its definition: correlate what two regressions leave. None when one of them leaves nothing."""
    centred = (x - x.mean(axis=0)) / x.std(axis=0)
    basis = centred[:, list(given)]
    left = [centred[:, k] - basis @ np.linalg.lstsq(basis, centred[:, k], rcond=1e-8)[0] for k in (i, j)]
    if min(np.mean(part**2) for part in left) < 1e-10:
        return None
    r = float(np.clip(np.corrcoef(*left)[0, 1], -1 + 1e-15, 1 - 1e-15))
    return float(2 * stats.norm.sf(np.sqrt(len(x) - len(given) - 3) * abs(np.arctanh(r))))


def literal_pc(x: np.ndarray, alpha: float, max_depth: int):
    """PC-stable, word for word: frozen neighbourhoods, every set of each size, the largest p-value counts."""
    d = x.shape[1]
    around = {i: set(range(d)) - {i} for i in range(d)}
    separating, largest = {}, {}
    for depth in range(max_depth + 1):
        frozen = {i: set(found) for i, found in around.items()}
        for i, j in combinations(range(d), 2):
            if j not in frozen[i]:
                continue
            sides = (frozen[i] - {j}, frozen[j] - {i})
            candidates = {s for side in sides for s in combinations(sorted(side), depth)}
            tested = [(literal_p_value(x, i, j, s), s) for s in candidates]
            p, s = max(((p, s) for p, s in tested if p is not None), default=(0.0, ()))
            largest[i, j] = max(largest.get((i, j), 0.0), p)
            if p > alpha:
                around[i].discard(j)
                around[j].discard(i)
                separating[i, j] = s
    return around, separating, largest


def literal_neighbours(x: np.ndarray, target: int, alpha: float, max_depth: int):
    around, separating = set(range(x.shape[1])) - {target}, {}
    for depth in range(max_depth + 1):
        frozen = set(around)
        for j in frozen:
            tested = [(literal_p_value(x, target, j, s), s) for s in combinations(sorted(frozen - {j}), depth)]
            p, s = max(((p, s) for p, s in tested if p is not None), default=(0.0, ()))
            if p > alpha:
                around.discard(j)
                separating[j] = s
    return tuple(sorted(around)), separating


@pytest.mark.parametrize("seed", range(12))
def test_the_skeleton_equals_a_literal_pc_stable(seed):
    rng = np.random.default_rng(seed)
    x = linear_world(rng, d=int(rng.integers(3, 8)), n=int(rng.integers(30, 300)), density=0.5)
    matrix, n = correlation_matrix(x)
    found = pc_skeleton(matrix, n, alpha=0.05, max_depth=3)
    around, separating, largest = literal_pc(x, 0.05, 3)
    assert {i: set(np.flatnonzero(row).tolist()) for i, row in enumerate(found.adjacent)} == around
    assert dict(found.separating) == separating
    for (i, j), p in largest.items():
        assert found.p_values[i, j] == found.p_values[j, i] == pytest.approx(p, abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_the_local_search_equals_its_literal_form(seed):
    rng = np.random.default_rng(100 + seed)
    x = linear_world(rng, d=7, n=150, density=0.5)
    matrix, n = correlation_matrix(x)
    found = neighbours(matrix, n, 3, alpha=0.05, max_depth=3)
    assert (found.linked, dict(found.separating)) == literal_neighbours(x, 3, 0.05, 3)
    assert found.target == 3


def test_duplicates_and_combinations_of_columns_match_the_literal_form_too():
    rng = np.random.default_rng(7)
    x = linear_world(rng, d=5, n=120, density=0.5)
    x = np.column_stack([x, x[:, 0], x[:, 1] + x[:, 2]])
    matrix, n = correlation_matrix(x)
    found = pc_skeleton(matrix, n, alpha=0.05, max_depth=3)
    around, _, _ = literal_pc(x, 0.05, 3)
    assert {i: set(np.flatnonzero(row).tolist()) for i, row in enumerate(found.adjacent)} == around


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_the_columns_does_not_matter(seed):
    rng = np.random.default_rng(200 + seed)
    x = linear_world(rng, d=9, n=200, density=0.4)
    order = rng.permutation(9)
    matrix, n = correlation_matrix(x)
    one = pc_skeleton(matrix, n, alpha=0.05, max_depth=3)
    other = pc_skeleton(matrix[np.ix_(order, order)], n, alpha=0.05, max_depth=3)
    assert (other.adjacent == one.adjacent[np.ix_(order, order)]).all()
    assert other.p_values == pytest.approx(one.p_values[np.ix_(order, order)], abs=1e-9)
    named = {
        frozenset(order[list(pair)].tolist()): set(order[list(s)].tolist()) for pair, s in other.separating.items()
    }
    assert named == {frozenset(pair): set(s) for pair, s in one.separating.items()}
    assert (other.tests, other.depth_reached) == (one.tests, one.depth_reached)


def test_batches_do_not_change_the_result(monkeypatch):
    x = linear_world(np.random.default_rng(9), d=8, n=100, density=0.8)
    matrix, n = correlation_matrix(x)
    whole = pc_skeleton(matrix, n, alpha=0.01)
    monkeypatch.setattr("crda_spec.independence.conditional._BATCH", 20)
    parts = pc_skeleton(matrix, n, alpha=0.01)
    assert (parts.adjacent == whole.adjacent).all()
    assert parts.separating == whole.separating
    assert (parts.p_values == whole.p_values).all()


def test_a_chain_a_fork_and_a_collider_are_told_apart():
    rng = np.random.default_rng(11)
    a, b, noise = rng.normal(size=(3, 4000))
    chain = a + 0.5 * rng.normal(size=4000)
    x = np.column_stack([a, chain, chain + 0.5 * rng.normal(size=4000), b, a + b + 0.5 * noise])
    found = pc_skeleton(*correlation_matrix(x), alpha=0.001)
    links = {(i, j) for i, j in combinations(range(5), 2) if found.adjacent[i, j]}
    assert links == {(0, 1), (1, 2), (0, 4), (3, 4)}
    assert found.separating[0, 2] == (1,)
    assert found.separating[0, 3] == ()


def test_the_budget_stops_before_a_depth_and_says_so():
    x = linear_world(np.random.default_rng(12), d=8, n=100, density=0.8)
    matrix, n = correlation_matrix(x)
    marginal = pc_skeleton(matrix, n, alpha=0.05, max_depth=0)
    assert (marginal.tests, marginal.depth_reached, marginal.budget_hit) == (28, 0, False)
    stopped = pc_skeleton(matrix, n, alpha=0.05, budget=28)
    assert (stopped.tests, stopped.depth_reached, stopped.budget_hit) == (28, 0, True)
    assert (stopped.adjacent == marginal.adjacent).all()
    nothing = pc_skeleton(matrix, n, alpha=0.05, budget=27)
    assert (nothing.tests, nothing.depth_reached, nothing.budget_hit) == (0, -1, True)
    assert nothing.adjacent.sum() == 56
    local = neighbours(matrix, n, 0, alpha=0.05, budget=7)
    assert (local.tests, local.depth_reached, local.budget_hit) == (7, 0, True)


def test_a_finished_search_reports_the_tests_it_made():
    found = pc_skeleton(np.full((4, 4), 0.9), 50, alpha=0.5, max_depth=1)
    # Six pairs; then each of four columns tests its three neighbours given each of the two others.
    assert (found.tests, found.depth_reached, found.budget_hit) == (6 + 4 * 3 * 2, 1, False)
    short = pc_skeleton(np.full((4, 4), 0.9), 50, alpha=0.5, max_depth=1, budget=29)
    assert (short.tests, short.depth_reached, short.budget_hit) == (6, 0, True)


def test_copies_stay_linked_and_keep_the_link_that_they_share():
    """A set that determines one end separates nothing: z stays tied to x and to x's copy."""
    rng = np.random.default_rng(13)
    x = rng.normal(size=500)
    z = x + rng.normal(size=500)
    matrix, n = correlation_matrix(np.column_stack([x, x, 2 * x + 1, z]))
    assert neighbours(matrix, n, 3, alpha=0.05).linked == (0, 1, 2)
    assert pc_skeleton(matrix, n, alpha=0.05).adjacent.sum() == 12


def test_collinear_members_of_a_set_count_once():
    """x1 and its copy both block x0 -> x1 -> z, alone or together."""
    rng = np.random.default_rng(14)
    x0 = rng.normal(size=2000)
    x1 = x0 + rng.normal(size=2000)
    z = x1 + rng.normal(size=2000)
    matrix, n = correlation_matrix(np.column_stack([x0, x1, x1, z]))
    found = neighbours(matrix, n, 3, alpha=0.01)
    assert found.linked == (1, 2)
    assert found.separating[0] in ((1,), (2,))


def test_an_empty_neighbourhood_is_not_independence():
    """The pitfall: many noisy copies of one cause explain each other away, yet each is tied to z."""
    rng = np.random.default_rng(15)
    cause = rng.normal(size=(150, 1))
    x = cause + 0.3 * rng.normal(size=(150, 12))
    z = 0.5 * cause[:, 0] + rng.normal(size=150)
    matrix, n = correlation_matrix(np.column_stack([x, z]))
    assert neighbours(matrix, n, 12, alpha=0.01).linked == ()
    assert (Pearson()(x, z).p_value < 0.01).all()


def test_constants_lose_their_links():
    x = np.column_stack([np.arange(20.0), np.full(20, 3.0), np.arange(20.0) ** 2])
    found = pc_skeleton(*correlation_matrix(x), alpha=0.05)
    assert found.adjacent.tolist() == [[False, False, True], [False, False, False], [True, False, False]]
    assert dict(found.separating) == {(0, 1): (), (1, 2): ()}
    undefined = np.array([[1.0, np.nan], [np.nan, np.nan]])
    assert not pc_skeleton(undefined, 20, alpha=0.05).adjacent.any()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_too_few_rows_leave_every_link(n):
    found = pc_skeleton(np.eye(3), n, alpha=0.05)
    assert found.adjacent.sum() == 6
    assert (found.tests, found.depth_reached, found.budget_hit) == (0, -1, False)
    assert neighbours(np.eye(3), n, 0, alpha=0.05).linked == (1, 2)


def test_depth_ends_where_the_rows_do():
    found = pc_skeleton(np.full((6, 6), 0.99), 5, alpha=0.5, max_depth=4)
    assert found.depth_reached == 1


@pytest.mark.parametrize("d", [0, 1])
def test_nothing_to_search_is_no_error(d):
    found = pc_skeleton(np.eye(d), 100, alpha=0.05)
    assert found.adjacent.shape == (d, d)
    assert (found.tests, found.depth_reached) == (0, -1)


def test_results_are_closed_for_writing_and_indices_may_count_from_the_end():
    found = neighbours(np.eye(3), 50, -1, alpha=0.05)
    assert found.target == 2
    with pytest.raises(ValueError, match="read-only"):
        found.p_values[0] = 1.0
    with pytest.raises(IndexError):
        neighbours(np.eye(3), 50, 3, alpha=0.05)


@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(0, 40),
    d=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    trouble=st.sampled_from(["copies", "constants", "few-values", "any-matrix", "rank-one", "undefined"]),
)
def test_no_input_gives_nan_or_an_exception(n, d, seed, trouble):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    if trouble == "copies":
        x = x[:, rng.integers(0, d, size=d)]
    elif trouble == "constants":
        x[:, rng.random(d) < 0.5] = 1.0
    elif trouble == "few-values":
        x = np.sign(x)
    elif trouble == "rank-one":
        x = x[:, :1] * rng.normal(size=d)
    matrix, _ = correlation_matrix(x)
    if trouble == "any-matrix":
        matrix = rng.uniform(-1.5, 1.5, size=(d, d))
    elif trouble == "undefined":
        matrix[rng.random((d, d)) < 0.3] = np.nan
    found = pc_skeleton(matrix, n, alpha=0.05, max_depth=4)
    assert (found.adjacent == found.adjacent.T).all()
    assert not found.adjacent.diagonal().any()
    assert ((found.p_values >= 0.0) & (found.p_values <= 1.0)).all()
    for i, j in combinations(range(d), 2):
        assert ((i, j) in found.separating) == (not found.adjacent[i, j]) == (found.p_values[i, j] > 0.05)
        assert not {i, j} & set(found.separating.get((i, j), ()))
    local = neighbours(matrix, n, d - 1, alpha=0.05, max_depth=4)
    assert set(local.linked) | set(local.separating) == set(range(d - 1))
    assert ((local.p_values >= 0.0) & (local.p_values <= 1.0)).all()
