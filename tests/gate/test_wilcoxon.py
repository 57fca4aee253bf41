"""The signed-rank test: exact, with ties and zeros, against scipy and against all sign patterns."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon

from crda_spec.gate.tests import wilcoxon_p_value
from crda_spec.gate.tests._protocol import smallest_p_value

alternatives = st.sampled_from(["less", "two-sided"])
whole = st.lists(st.integers(-6, 6), min_size=1, max_size=10).map(lambda values: np.array(values, dtype=float))
distinct = (
    st.lists(st.integers(1, 60), min_size=2, max_size=14, unique=True)
    .flatmap(lambda sizes: st.tuples(st.just(sizes), st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes))))
    .map(lambda drawn: np.where(drawn[1], 1.0, -1.0) * np.array(drawn[0]))
)


def by_counting(difference, alternative):
    """P(W <= w) over all sign patterns of the same sizes; two-sided: twice the smaller tail."""
    moved = difference[difference != 0]
    if not len(moved):
        return 1.0
    ranks = rankdata(np.abs(moved))
    patterns = np.array(list(product([0, 1], repeat=len(moved)))) @ ranks
    seen = ranks[moved > 0].sum()
    lower, upper = np.mean(patterns <= seen), np.mean(patterns >= seen)
    return lower if alternative == "less" else min(1.0, 2 * min(lower, upper))


@given(difference=whole, alternative=alternatives)
def test_it_counts_all_sign_patterns_ties_and_zeros_included(difference, alternative):
    assert wilcoxon_p_value(difference, alternative) == pytest.approx(by_counting(difference, alternative), abs=1e-12)


@given(difference=distinct, alternative=alternatives)
def test_without_ties_it_is_scipys_exact_test(difference, alternative):
    expected = wilcoxon(difference, alternative=alternative, method="exact").pvalue
    assert wilcoxon_p_value(difference, alternative) == pytest.approx(expected, abs=1e-12)


@given(difference=distinct, place=st.integers(0, 13), by=st.integers(1, 100))
def test_a_smaller_augmented_loss_never_raises_the_p_value(difference, place, by):
    place %= len(difference)
    better = difference.copy()
    better[place] -= by + 0.5  # halves tie with no whole number
    assert wilcoxon_p_value(better, "less") <= wilcoxon_p_value(difference, "less")


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6), alternative=alternatives, alpha=st.floats(0.001, 0.9))
def test_its_level_is_never_above_alpha(sizes, alternative, alpha):
    patterns = product([-1.0, 1.0], repeat=len(sizes))
    found = [wilcoxon_p_value(np.array(signs) * sizes, alternative) for signs in patterns]
    assert np.mean(np.array(found) <= alpha) <= alpha


@given(difference=whole)
def test_two_sided_sees_no_side_and_scale_does_not_matter(difference):
    assert wilcoxon_p_value(difference, "two-sided") == wilcoxon_p_value(-difference, "two-sided")
    assert wilcoxon_p_value(difference, "less") == wilcoxon_p_value(difference * 1024.0, "less")


@pytest.mark.parametrize("folds", [2, 5, 10, 100])
@pytest.mark.parametrize("alternative", ["less", "two-sided"])
def test_the_smallest_p_value_is_the_one_that_the_spec_checks_against(folds, alternative):
    best = wilcoxon_p_value(-np.arange(1.0, folds + 1), alternative)
    assert best == pytest.approx(smallest_p_value(folds, alternative), rel=1e-12)
    worst = wilcoxon_p_value(np.arange(1.0, folds + 1), "two-sided")
    assert worst == pytest.approx(smallest_p_value(folds, "two-sided"), rel=1e-9)


def test_no_difference_at_all_says_nothing():
    assert wilcoxon_p_value(np.zeros(10), "less") == 1.0
    assert wilcoxon_p_value(np.empty(0), "two-sided") == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_loss_that_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match=r"^a fold loss is not finite$"):
        wilcoxon_p_value(np.array([-1.0, bad]), "less")
