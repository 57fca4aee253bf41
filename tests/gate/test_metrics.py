"""The losses, against scikit-learn's."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from crda_spec.gate.tests import Arms
from crda_spec.gate.verdict import paired_folds
from crda_spec.regressors.metrics import MSE, Metric, named_metric

rows = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(-50, 50), min_size=n, max_size=n) for _ in range(2)))
)


@given(drawn=rows, quantile=st.sampled_from([0.1, 0.5, 0.9]))
def test_every_metric_is_scikit_learns(drawn, quantile):
    y, predicted = (np.array(values, dtype=float) for values in drawn)
    spread = float(np.var(y))
    expected = {
        "mse": metrics.mean_squared_error(y, predicted),
        "rmse": metrics.root_mean_squared_error(y, predicted),
        "mae": metrics.mean_absolute_error(y, predicted),
        "pinball": metrics.mean_pinball_loss(y, predicted, alpha=quantile),
    }
    if spread > 0:
        expected["r2"] = 1.0 - metrics.r2_score(y, predicted)
    for kind, wanted in expected.items():
        assert Metric(kind=kind, quantile=quantile).loss(y - predicted, spread=spread) == pytest.approx(wanted)


def test_r2_of_a_constant_target():
    r2 = Metric(kind="r2")
    assert r2.loss(np.zeros(3), spread=0.0) == 0.0
    assert r2.loss(np.ones(3), spread=0.0) == float("inf")


def test_names():
    assert [Metric(kind=kind).name for kind in ("mse", "rmse", "mae", "r2")] == ["mse", "rmse", "mae", "1-r2"]
    assert Metric(kind="pinball", quantile=0.9).name == "pinball 0.9"
    for metric in (*(Metric(kind=kind) for kind in ("mse", "rmse", "mae", "r2")), Metric(kind="pinball", quantile=0.9)):
        assert named_metric(metric.name) == metric


def test_a_change_of_the_root_is_about_half_the_change_of_the_square():
    before, after = np.array([4.0, 0.0]), np.array([1.0, 0.0])
    assert MSE.change(before, after).tolist() == [-75.0, 0.0]
    assert Metric(kind="rmse").change(before, after).tolist() == [-50.0, 0.0]


def test_a_least_gain_of_the_root_asks_more_of_the_squared_rows():
    """Ten percent off the rmse is nineteen off the mse: a row test must ask for the same of either."""
    squared = np.array([1.0, 4.0, 9.0])
    paired = replace(paired_folds(()), rows=Arms(squared, squared))
    root, square = Metric(kind="rmse"), Metric(kind="mse")
    asked = paired.against(10.0, row_power=root.row_power).rows.plain
    assert asked == pytest.approx(paired.against(19.0, row_power=square.row_power).rows.plain)
    assert root.change(np.array([squared.sum()]), np.array([asked.sum()])) == pytest.approx(-10.0)
