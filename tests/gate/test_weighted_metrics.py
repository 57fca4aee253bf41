"""Losses of weighted rows: scikit-learn's, and what repeating a row would give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from crda_spec.records import relative, spread_of, weighted_mean
from crda_spec.regressors.metrics import Metric, charged

KINDS = ("mse", "rmse", "mae", "r2", "pinball")


def columns(*cells):
    """Lists of equal length, one for each kind of cell."""
    return st.integers(2, 25).flatmap(
        lambda n: st.tuples(*(st.lists(cell, min_size=n, max_size=n).map(np.array) for cell in cells))
    )


NUMBER = st.integers(-50, 50).map(float)
WEIGHT = st.floats(1e-3, 1e3)
drawn = columns(NUMBER, NUMBER, WEIGHT)
quantiles = st.sampled_from([0.1, 0.5, 0.9])


def every_loss(y, predicted, weights, quantile=0.5):
    spread = spread_of(y, weights)
    return {
        kind: Metric(kind=kind, quantile=quantile).loss(y - predicted, spread=spread, weights=weights)
        for kind in KINDS
        if kind != "r2" or spread > 1e-9
    }


@given(drawn=drawn, quantile=quantiles)
def test_every_weighted_metric_is_scikit_learns(drawn, quantile):
    y, predicted, weights = drawn
    told = {"y_true": y, "y_pred": predicted, "sample_weight": weights}
    expected = {
        "mse": metrics.mean_squared_error(**told),
        "rmse": metrics.root_mean_squared_error(**told),
        "mae": metrics.mean_absolute_error(**told),
        "pinball": metrics.mean_pinball_loss(**told, alpha=quantile),
        "r2": 1.0 - metrics.r2_score(**told),
    }
    for kind, found in every_loss(y, predicted, weights, quantile).items():
        assert found == pytest.approx(expected[kind], rel=1e-9, abs=1e-12)


@given(drawn=columns(NUMBER, NUMBER, st.integers(1, 6)), quantile=quantiles)
def test_a_whole_weight_is_a_number_of_repetitions(drawn, quantile):
    y, predicted, times = drawn
    weighted = every_loss(y, predicted, times.astype(float), quantile)
    repeated = every_loss(y.repeat(times), predicted.repeat(times), None, quantile)
    assert weighted == pytest.approx(repeated, rel=1e-9)


@given(drawn=drawn, factor=st.floats(1e-6, 1e6))
def test_only_proportions_count(drawn, factor):
    y, predicted, weights = drawn
    assert every_loss(y, predicted, factor * weights) == pytest.approx(every_loss(y, predicted, weights), rel=1e-9)


@given(drawn=columns(NUMBER, NUMBER), weight=WEIGHT)
def test_equal_weights_are_none_to_the_last_bit(drawn, weight):
    y, predicted = drawn
    assert every_loss(y, predicted, np.full(len(y), weight)) == every_loss(y, predicted, None)
    assert relative(np.full(len(y), weight)) is None


@given(drawn=drawn)
def test_a_weighted_mean_lies_among_the_values(drawn):
    values, _, weights = drawn
    mean = weighted_mean(values, weights)
    slack = 1e-9 * (1.0 + np.abs(values).max())
    assert values.min() - slack <= mean <= values.max() + slack


@given(drawn=drawn)
def test_what_rows_add_has_the_weighted_mean_as_its_mean(drawn):
    y, predicted, weights = drawn
    losses = Metric(kind="mae").row_losses(y - predicted)
    assert charged(losses, weights).mean() == pytest.approx(np.average(losses, weights=weights), rel=1e-9)
    assert charged(losses, None) is losses


@given(drawn=drawn, rows=st.permutations(range(25)))
def test_the_order_of_rows_does_not_count(drawn, rows):
    y, predicted, weights = drawn
    order = np.array([row for row in rows if row < len(y)])
    assert every_loss(y[order], predicted[order], weights[order]) == pytest.approx(
        every_loss(y, predicted, weights), rel=1e-9
    )


def test_r2_of_a_constant_target_with_weights():
    r2, weights = Metric(kind="r2"), np.array([1.0, 2.0, 3.0])
    assert r2.loss(np.zeros(3), spread=spread_of(np.ones(3), weights), weights=weights) == 0.0
    assert r2.loss(np.ones(3), spread=0.0, weights=weights) == float("inf")


def test_extreme_weights_leave_the_heavy_rows():
    errors, weights = np.array([1.0, 2.0, 3.0]), np.array([1e100, 1e-100, 1e100])
    assert Metric(kind="mae").loss(errors, spread=1.0, weights=weights) == pytest.approx(2.0)
