"""Conformal intervals as arrays: against brute force, on exchangeable data, nested, and honest with few rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.regressors.intervals import (
    Intervals,
    cross_conformal_losses,
    cross_crps,
    crps,
    cv_plus_bounds,
    fewest_units,
    interval_losses,
    mean_interval_loss,
    residual_half_widths,
    unknown_level,
    upper_quantile,
)

LEVEL = st.floats(0.05, 0.98)
FEW = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


def brute_quantile(values, weights, level, atom):
    """The least value at or below which enough of the weight lies; one more row of weight `atom` is infinite."""
    total = sum(weights) + atom
    for value in sorted(values):
        if sum(w for v, w in zip(values, weights, strict=True) if v <= value) >= level * total * (1 - 1e-9):
            return value
    return np.inf


@given(values=FEW, level=LEVEL, data=st.data())
def test_the_weighted_quantile_is_that_of_brute_force(values, level, data):
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values)))
    found = upper_quantile(np.array(values, float), level, weights=np.array(weights, float))
    assert float(found) == brute_quantile(values, weights, level, np.mean(weights))


@given(values=FEW, level=LEVEL)
def test_equal_weights_are_no_weights_and_the_rank_is_the_conformal_one(values, level):
    values = np.array(values, float)
    found = upper_quantile(values, level)
    assert found == upper_quantile(values, level, weights=np.full(len(values), 7.0))
    rank = int(np.ceil(level * (len(values) + 1) - 1e-9))
    assert found == (np.sort(values)[rank - 1] if rank <= len(values) else np.inf)


@given(values=FEW, low=LEVEL, high=LEVEL)
def test_levels_are_nested(values, low, high):
    low, high = sorted((low, high))
    scores, sizes = np.abs(np.array(values, float)), np.array([0.5, 2.0])
    assert (residual_half_widths(scores, sizes, low) <= residual_half_widths(scores, sizes, high)).all()
    fold = np.arange(len(values)) % 2
    predictions = np.array([[0.0, 1.0], [3.0, -1.0]])
    inner, outer = (cv_plus_bounds(predictions, fold, scores, sizes, level) for level in (low, high))
    assert (outer[0] <= inner[0]).all()
    assert (inner[1] <= outer[1]).all()


def test_groups_count_as_one_thing_each():
    """Ten rows of two groups are two things: too few for a level of 0.9, enough for one of 0.6."""
    values = np.arange(10.0)
    assert upper_quantile(values, 0.9, units=2) == np.inf
    assert upper_quantile(values, 0.6, units=2) == 8.0
    assert upper_quantile(values, 0.6) == 6.0


@pytest.mark.parametrize(("level", "fewest"), [(0.9, 9), (0.95, 19), (0.5, 1), (0.8, 4)])
def test_so_many_rows_make_an_interval_finite(level, fewest):
    assert fewest_units(level) == fewest
    assert np.isfinite(upper_quantile(np.ones(fewest), level))
    assert upper_quantile(np.ones(fewest - 1), level) == np.inf


def test_ten_errors_give_no_interval_at_95_percent():
    half = residual_half_widths(np.ones(10), np.ones(3), 0.95)
    assert np.isinf(half).all()
    low, high = cv_plus_bounds(np.zeros((2, 3)), np.arange(10) % 2, np.ones(10), np.ones(3), 0.95)
    assert (low == -np.inf).all()
    assert (high == np.inf).all()
    assert mean_interval_loss(half, half, 0.95, None) == (1.0, np.inf, np.inf)


def least_squares(x, y):
    design = np.column_stack([np.ones(len(x)), x])
    solved = np.linalg.lstsq(design, y, rcond=None)[0]
    return lambda new: np.column_stack([np.ones(len(new)), new]) @ solved


def world(rng, rows):
    x = rng.normal(size=(rows, 8))
    return x, x[:, 0] + rng.standard_t(3, size=rows)


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_cv_plus_keeps_its_promise_and_residuals_come_near_their_level(level):
    """Exchangeable rows, a model that overfits: 600 worlds of 40 rows in 8 folds, one new row each."""
    inside = np.zeros((600, 2))
    for number in range(len(inside)):
        rng = np.random.default_rng(number)
        (x, y), (new, truth) = world(rng, 40), world(rng, 1)
        fold = np.arange(40) % 8
        models = [least_squares(x[fold != k], y[fold != k]) for k in range(8)]
        scores = np.abs(y - np.array([models[k](x[[i]])[0] for i, k in enumerate(fold)]))
        predictions = np.array([model(new) for model in models])
        low, high = cv_plus_bounds(predictions, fold, scores, np.ones(1), level)
        half = residual_half_widths(scores, np.ones(1), level)
        center = least_squares(x, y)(new)
        inside[number] = low[0] <= truth[0] <= high[0], abs(truth[0] - center[0]) <= half[0]
    alpha, n, k = 1 - level, 40, 8
    promised = 1 - 2 * alpha - min(2 * (1 - 1 / k) / (n / k + 1), (1 - k / n) / (k + 1))
    assert inside[:, 0].mean() >= promised
    assert (inside.mean(axis=0) >= level - 0.04).all(), "in practice both are near the level"


def test_split_like_quantiles_cover_at_least_their_level():
    """Errors that are exchangeable with the new one: the finite-sample promise itself, 4000 draws."""
    rng = np.random.default_rng(0)
    for rows, level in ((19, 0.9), (50, 0.8), (9, 0.9)):
        errors = np.abs(rng.standard_cauchy(size=(rows + 1, 4000)))
        inside = errors[-1] <= upper_quantile(errors[:-1], level)
        assert level - 0.015 <= inside.mean() <= level + 1 / (rows + 1) + 0.015


def test_the_interval_score_by_hand():
    below, above = np.array([1.0, -0.5, 3.0]), np.array([1.0, 2.5, -1.0])
    np.testing.assert_allclose(interval_losses(below, above, 0.9), [2.0, 2.0 + 20 * 0.5, 2.0 + 20 * 1.0])
    coverage, width, score = mean_interval_loss(below, above, 0.9, np.array([2.0, 1.0, 1.0]))
    assert (coverage, width, score) == (0.5, 2.0, pytest.approx((4 + 12 + 22) / 4))


def brute_crps(error, reference, weights):
    shares = np.array(weights, float) / np.sum(weights)
    between = (shares[:, None] * shares[None, :] * np.abs(reference[:, None] - reference[None, :])).sum()
    return (shares * np.abs(reference - error)).sum() - between / 2


@given(reference=FEW, error=st.floats(-6, 6), data=st.data())
def test_crps_is_that_of_brute_force(reference, error, data):
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(reference), max_size=len(reference)))
    reference, own = np.array(reference, float), np.array(weights, float)
    np.testing.assert_allclose(crps(np.array([error]), reference, own), brute_crps(error, reference, own), atol=1e-12)


def test_crps_of_a_normal_distribution_is_the_known_number():
    """At the mean of a standard normal: sqrt(2 / pi) - 1 / sqrt(pi)."""
    reference = np.random.default_rng(1).normal(size=200_000)
    expected = np.sqrt(2 / np.pi) - 1 / np.sqrt(np.pi)
    assert crps(np.zeros(1), reference)[0] == pytest.approx(expected, abs=3e-3)


def test_what_a_row_costs_does_not_depend_on_errors_of_its_own_fold():
    rng = np.random.default_rng(2)
    errors, fold, sizes = rng.normal(size=40), np.arange(40) % 4, np.ones(40)
    wild = np.where((fold == 1) & (np.arange(40) != 1), 1e6, errors)
    for losses in (lambda e: cross_conformal_losses(e, sizes, fold, 0.9), lambda e: cross_crps(e, fold)):
        assert losses(wild)[1] == losses(errors)[1]
        assert losses(wild)[0] != losses(errors)[0], "rows of other folds do see them"


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_level_that_is_none_is_named(level):
    said = unknown_level(level)
    assert said.what == f"--interval {level} is not between 0 and 1"
    assert unknown_level(0.5) is None


def test_what_is_asked_for_by_default():
    assert (Intervals().wanted, Intervals().form, Intervals().width) == ((0.9,), "residuals", "fitted")
    assert Intervals(levels=(0.8, 0.95)).wanted == (0.8, 0.95)
