from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from discovery_worlds import linear_world
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crda_spec.discovery.pc import Pc
from crda_spec.discovery.skeleton import skeleton_of
from crda_spec.independence import correlation_matrix
from crda_spec.independence.conditional import BatchedTest, MixedTest, PartialCorrelation, ask_all

TYPES = ("continuous", "category", "continuous", "category", "boolean")


def mixed_world(rng: np.random.Generator, n: int, effect: float) -> np.ndarray:
    """0 drives the categories 1 and 3 and the number 2; `effect` ties 1 to 2, 3 and 4 beyond that."""
    cause = rng.normal(size=n)
    group = np.digitize(cause + rng.logistic(size=n), [-1.0, 1.0]).astype(float)
    shift = np.array([0.0, 1.0, -0.5])[group.astype(int)] * effect
    number = cause + shift + rng.normal(size=n)
    other = np.digitize(cause + 1.5 * shift + rng.logistic(size=n), [-1.0, 0.0, 1.0]).astype(float)
    flag = (rng.normal(size=n) + cause + shift > 0).astype(float)
    return np.column_stack([cause, group, number, other, flag])


def test_single_columns_give_fishers_z_to_the_last_digit():
    x = linear_world(np.random.default_rng(0), d=6, n=80, density=0.5)
    mixed = MixedTest.of(x, ["continuous"] * 6)
    plain = PartialCorrelation.of(*correlation_matrix(x))
    for i, j, held in [(0, 1, ()), (0, 1, (2,)), (3, 5, (0, 4)), (2, 4, (0, 1, 3))]:
        assert mixed.p_value(i, j, held) == pytest.approx(plain.p_value(i, j, held), rel=1e-9)
    ours, theirs = (skeleton_of(test, 6, alpha=0.05) for test in (mixed, plain))
    assert (ours.adjacent == theirs.adjacent).all()
    assert ours.separating == theirs.separating


@pytest.mark.parametrize("held", [(), (0,), (0, 4)])
@pytest.mark.parametrize("ends", [(2, 1), (1, 3), (3, 1)])
def test_the_trace_and_its_p_value_are_those_of_a_multivariate_regression(ends, held):
    """statsmodels' MANOVA of one end's indicators on the other's, beside the columns held fixed."""
    from statsmodels.multivariate.multivariate_ols import _MultivariateOLS

    x = mixed_world(np.random.default_rng(1), 150, effect=0.2)
    first, second = (indicators(x[:, end], TYPES[end]) for end in ends)
    design = np.column_stack([np.ones(len(x)), *(with_curve(x[:, k]) for k in held), first])
    contrast = np.eye(design.shape[1])[-first.shape[1] :]
    table = _MultivariateOLS(second, design).fit().mv_test([("first", contrast)]).results["first"]["stat"]
    size, p = MixedTest.of(x, TYPES).p_value(*ends, held)
    width = min(first.shape[1], second.shape[1])
    assert size**2 * width == pytest.approx(float(table.loc["Pillai's trace", "Value"]), rel=1e-8)
    assert p == pytest.approx(float(table.loc["Pillai's trace", "Pr > F"]), rel=1e-6)


def with_curve(values: np.ndarray) -> np.ndarray:
    """A boolean alone; a number with its square and, for 150 rows, a spline of its normal scores bent at the thirds."""
    if len(np.unique(values)) == 2:
        return values[:, None]
    score = stats.norm.ppf((stats.rankdata(values) - 0.5) / len(values))
    bends = [np.maximum(score - knot, 0.0) ** 2 for knot in stats.norm.ppf([1 / 3, 2 / 3])]
    return np.column_stack([values, values**2, score, score**2, *bends])


def indicators(values: np.ndarray, kind: str) -> np.ndarray:
    return (values[:, None] == np.unique(values)[:-1]).astype(float) if kind == "category" else values[:, None]


def test_pgmpys_pillai_agrees_where_both_do_the_same():
    """Without columns held fixed its forests play no part."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.ci_tests import PillaiTrace

        x = mixed_world(np.random.default_rng(2), 120, effect=0.3)
        frame = pd.DataFrame({"c": x[:, 2], "g": pd.Categorical(x[:, 1].astype(int)), "h": pd.Categorical(x[:, 3])})
        theirs = PillaiTrace(frame)
        ours = MixedTest.of(x, TYPES)
        for names, ends in ((("c", "g"), (2, 1)), (("g", "h"), (1, 3))):
            theirs(X=names[0], Y=names[1], Z=[], significance_level=0.05)
            width = 1 if "c" in names else 2
            size, p = ours.p_value(*ends, ())
            assert size**2 * width == pytest.approx(theirs.statistic_, rel=2e-2)
            assert p == pytest.approx(theirs.p_value_, rel=0.3, abs=1e-8)


@pytest.mark.parametrize("ends", [(1, 3), (1, 4)])
def test_the_level_holds_with_many_rows_though_shares_are_curved(ends):
    """With straight lines alone 14 of 100 tests of (1, 3) reject here."""
    rng = np.random.default_rng(8)
    worlds = (mixed_world(rng, 3000, 0.0) for _ in range(200))
    assert np.mean([MixedTest.of(x, TYPES).p_value(*ends, (0,))[1] < 0.05 for x in worlds]) < 0.09


def test_booleans_that_follow_one_number_steeply_are_not_tied_by_it():
    """The linear test rejects in nearly half of these worlds, all of which are null."""
    rng = np.random.default_rng(9)
    rejected = np.zeros(2)
    for _ in range(100):
        cause = rng.normal(size=300)
        flags = [(3.0 * cause + rng.logistic(size=300) > at).astype(float) for at in (0.0, 1.0)]
        x = np.column_stack([cause, *flags])
        straight = PartialCorrelation.of(*correlation_matrix(x))
        tests = (straight, MixedTest.of(x, ("continuous", "boolean", "boolean")))
        rejected += [test.p_value(1, 2, (0,))[1] < 0.05 for test in tests]
    assert rejected[0] > 30
    assert rejected[1] < 20


@pytest.mark.parametrize("ends", [(1, 2), (1, 3), (1, 4), (2, 4)])
def test_level_and_power(ends):
    rng = np.random.default_rng(3)
    rejected = {
        effect: np.mean(
            [MixedTest.of(mixed_world(rng, 300, effect), TYPES).p_value(*ends, (0,))[1] < 0.05 for _ in range(200)]
        )
        for effect in (0.0, 0.8)
    }
    if ends != (2, 4):  # the effect does not tie these two beyond 0 and 1
        assert rejected[0.8] > 0.6
    assert rejected[0.0] < 0.09  # 0.05 and two and a half standard errors


def test_it_is_symmetric_and_batches_change_nothing():
    x = mixed_world(np.random.default_rng(4), 100, effect=0.3)
    test = MixedTest.of(x, TYPES)
    i, j, held = np.array([1, 3, 1, 2, 4]), np.array([3, 1, 2, 1, 0]), np.array([[0], [0], [4], [4], [3]])
    assert isinstance(test, BatchedTest)
    size, p = ask_all(test, i, j, held)
    one_by_one = [test.p_value(int(a), int(b), tuple(h)) for a, b, h in zip(i, j, held.tolist(), strict=True)]
    assert np.column_stack([size, p]) == pytest.approx(np.array(one_by_one), rel=1e-9)
    assert (size[0], p[0]) == pytest.approx((size[1], p[1]), rel=1e-8)
    assert (size[2], p[2]) == pytest.approx((size[3], p[3]), rel=1e-8)


def test_the_names_of_labels_do_not_matter():
    x = mixed_world(np.random.default_rng(5), 100, effect=0.3)
    renamed = x.copy()
    renamed[:, 1] = np.array([7.0, 3.0, 5.0])[x[:, 1].astype(int)]
    for ends, held in (((1, 2), (0,)), ((2, 3), (1,)), ((1, 3), ())):
        one, other = (MixedTest.of(table, TYPES).p_value(*ends, held) for table in (x, renamed))
        assert one == pytest.approx(other, rel=1e-8)


def test_pc_finds_the_common_cause_of_mixed_columns():
    x = mixed_world(np.random.default_rng(6), 2000, effect=0.0)
    found = Pc().search(MixedTest.of(x, TYPES), ["cause", "group", "number", "other", "flag"])
    assert {str(edge) for edge in found.edges} == {f"cause -- {name}" for name in ("group", "number", "other", "flag")}
    assert found.separating_set("group", "number") == ("cause",)


def test_degenerate_columns_have_defined_outcomes():
    x = mixed_world(np.random.default_rng(7), 60, effect=0.5)
    copy = (x[:, 1] == 1.0).astype(float)
    table = np.column_stack([x, np.full(60, 3.0), copy, x[:, 1]])
    test = MixedTest.of(table, [*TYPES, "category", "boolean", "category"])
    assert test.p_value(0, 5, ()) == (0.0, 1.0)  # a constant depends on nothing
    assert test.p_value(0, 1, (7,)) == (0.0, 0.0)  # a copy leaves nothing of the other
    assert 0.0 < test.p_value(0, 1, (6,))[1] < 1.0  # one label is taken out, the other two still differ
    assert test.p_value(0, 2, (1, 6, 7)) == pytest.approx(test.p_value(0, 2, (1,)))  # what is known twice counts once
    assert MixedTest.of(table[:4], ["continuous"] * 8).p_value(0, 2, (4,))[1] == 0.0  # no rows left
    assert MixedTest.of(np.zeros((0, 2)), ["continuous"] * 2).p_value(0, 1, ()) == (0.0, 1.0)
    missing = table.copy()
    missing[0, 0] = np.nan
    assert MixedTest.of(missing, ["continuous"] * 8).n == 59


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 25))
def test_no_table_gives_nan_or_an_exception(seed, n):
    rng = np.random.default_rng(seed)
    types = rng.choice(["continuous", "integer", "category", "boolean"], size=5).tolist()
    x = rng.integers(0, int(rng.integers(1, 6)), size=(n, 5)).astype(float)
    x[:, 3] = x[:, 0]
    found = Pc().search(MixedTest.of(x, types), list("abcde"))
    evidence = found.evidence
    assert ((evidence.p_values >= 0.0) & (evidence.p_values <= 1.0)).all()
    assert ((evidence.statistics >= 0.0) & (evidence.statistics <= 1.0 + 1e-9)).all()
