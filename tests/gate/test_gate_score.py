"""The final score: one model against one model on the same rows, and an interval that keeps its word."""

from dataclasses import dataclass

import numpy as np
import pytest
from gate_parts import MAE, table
from scipy.stats import binom

from crda_spec.gate.score import score, units_of
from crda_spec.records import HeldOut
from crda_spec.regressors.metrics import MSE, Metric


@dataclass(frozen=True)
class Says:
    """A model whose predictions are written in the rows."""

    column: int

    def predict(self, x):
        return x[:, self.column]


PLAIN, AUGMENTED = Says(0), Says(1)


def held_out(plain_errors, augmented_errors, groups=None):
    return HeldOut(table(-np.column_stack([plain_errors, augmented_errors]), np.zeros(len(plain_errors)), groups))


def drawn(rng, n, *, sd=0.9):
    """Paired errors: the augmented model repeats most of the plain model's and is a little better."""
    shared = rng.normal(size=n)
    return shared + 0.3 * rng.normal(size=n), sd * shared + 0.3 * rng.normal(size=n)


def test_the_numbers():
    found = score(held_out([1.0, -3.0], [2.0, -2.0]), PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0)
    assert (found.metric, found.rows, found.level, found.resamples) == ("mse", 2, 0.95, 2000)
    assert (found.plain, found.augmented, found.change_percent) == (5.0, 4.0, -20.0)
    assert found.interval_percent is None  # two rows say nothing about a third
    found = score(held_out([1.0, -3.0], [2.0, -2.0]), PLAIN, AUGMENTED, metric=MAE, seed=0, usual=0.0)
    assert (found.plain, found.augmented, found.change_percent) == (2.0, 2.0, 0.0)


def test_without_an_augmented_model_there_is_nothing_to_compare():
    found = score(held_out([1.0], [2.0]), PLAIN, None, metric=MSE, seed=0, usual=0.0)
    assert (found.plain, found.augmented, found.change_percent, found.interval_percent) == (1.0, None, None, None)


@pytest.mark.parametrize("metric", [MSE, MAE, Metric(kind="rmse"), Metric(kind="pinball", quantile=0.9)])
def test_equal_models_differ_by_nothing(metric):
    errors = np.random.default_rng(0).normal(size=50)
    found = score(held_out(errors, errors), PLAIN, PLAIN, metric=metric, seed=0, usual=0.0)
    assert (found.change_percent, found.interval_percent) == (0.0, (0.0, 0.0))
    found = score(held_out(np.zeros(20), np.zeros(20)), PLAIN, AUGMENTED, metric=metric, seed=0, usual=0.0)
    assert (found.change_percent, found.interval_percent) == (0.0, (0.0, 0.0))


def test_a_plain_model_without_errors_can_only_be_made_worse_without_end():
    found = score(held_out(np.zeros(20), np.ones(20)), PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0)
    assert (found.change_percent, found.interval_percent) == (float("inf"), (float("inf"), float("inf")))


def test_below_twenty_units_there_is_no_interval():
    plain, augmented = drawn(np.random.default_rng(0), 40)

    def interval(rows, groups=None):
        test = held_out(plain[:rows], augmented[:rows], groups)
        return score(test, PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0).interval_percent

    assert interval(19) is None
    assert interval(20) is not None
    assert interval(40, np.arange(40) % 19) is None  # groups are the units, however many rows they have
    assert interval(40, np.arange(40) % 20) is not None


def test_with_twenty_rows_the_interval_is_that_of_the_resamples():
    """Nineteen rows alike and one on which the plain model errs by 10 and the other by 1: drawn k times in a resample
    of 20, the change is -99 k / (20 - k + 100 k), and k is binomial with 20 draws of chance 1/20.
    """
    errors = np.ones(20)
    wild = np.where(np.arange(20) == 7, 10.0, 1.0)
    low, high = score(held_out(wild, errors), PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0).interval_percent
    times = binom.ppf([0.975, 0.025], 20, 1 / 20)
    assert [low, high] == pytest.approx((-9900.0 * times / (20 + 99 * times)).tolist())


def test_the_interval_is_seeded():
    test = held_out(*drawn(np.random.default_rng(0), 60))
    one, two, other = (score(test, PLAIN, AUGMENTED, metric=MSE, seed=seed, usual=0.0) for seed in (1, 1, 2))
    assert one == two
    assert one.interval_percent != other.interval_percent


def test_the_interval_covers_the_true_change_about_as_often_as_it_says():
    """Errors with variances 1.09 and 0.9: the true change is (0.9 - 1.09) / 1.09."""
    rng = np.random.default_rng(7)
    truth = 100 * (0.81 - 1.0) / 1.09
    covered = 0
    for seed in range(300):
        low, high = score(
            held_out(*drawn(rng, 80)), PLAIN, AUGMENTED, metric=MSE, seed=seed, usual=0.0
        ).interval_percent
        covered += low <= truth <= high
    assert 0.90 <= covered / 300 <= 0.99


def test_groups_are_resampled_whole():
    """Five copies of each row, marked as groups, say no more than the rows once; unmarked they pretend to."""
    plain, augmented = drawn(np.random.default_rng(3), 40)
    once = score(held_out(plain, augmented), PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0).interval_percent
    copies = (np.repeat(plain, 5), np.repeat(augmented, 5))
    groups = np.repeat(np.arange(40), 5)
    grouped = score(held_out(*copies, groups), PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0).interval_percent
    np.testing.assert_allclose(grouped, once, rtol=1e-12)
    pretending = score(held_out(*copies), PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0).interval_percent
    assert np.ptp(pretending) < 0.6 * np.ptp(once)


def test_group_numbers_need_not_be_consecutive():
    plain, augmented = drawn(np.random.default_rng(3), 40)
    one, two = (
        score(held_out(plain, augmented, groups), PLAIN, AUGMENTED, metric=MAE, seed=0, usual=0.0).interval_percent
        for groups in (np.arange(40) // 2, 1000 * (np.arange(40) // 2) + 7)
    )
    assert one == two


def test_beyond_4096_rows_neighbours_are_resampled_in_blocks_at_the_same_width():
    plain, augmented = drawn(np.random.default_rng(1), 10_000)
    units = units_of(10_000, None)
    assert set(np.diff(units)) == {0, 1}
    assert (units[0], units[-1]) == (0, 4095)
    assert set(np.bincount(units)) == {2, 3}
    assert units_of(4096, None).tolist() == list(range(4096))
    low, high = score(held_out(plain, augmented), PLAIN, AUGMENTED, metric=MSE, seed=0, usual=0.0).interval_percent
    a, b = plain**2, augmented**2
    ratio = b.mean() / a.mean()
    error = 100 * np.sqrt(np.mean((b - ratio * a) ** 2) / 10_000) / a.mean()  # the delta method
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert (low + high) / 2 == pytest.approx(100 * (ratio - 1), abs=error)


def test_accuracy_is_in_the_targets_unit_beside_the_mean_of_the_training_rows():
    """Errors of 3 and 4 beside 1 and 2; the outcomes are 3 and 4, their variance is 1/4, and the usual row had 5."""
    y = np.array([3.0, 4.0])
    test = HeldOut(table(np.column_stack([y - [3.0, 4.0], y - [1.0, 2.0]]), y))
    plain, augmented, mean = score(test, PLAIN, AUGMENTED, metric=MAE, seed=0, usual=5.0).accuracy
    assert [one.forecaster for one in (plain, augmented, mean)] == ["plain", "augmented", "mean"]
    assert (plain.rmse, plain.mae, plain.r2) == (pytest.approx(12.5**0.5), 3.5, pytest.approx(1 - 12.5 / 0.25))
    assert (augmented.rmse, augmented.mae) == (pytest.approx(2.5**0.5), 1.5)
    assert (mean.rmse, mean.mae, mean.r2) == (pytest.approx(2.5**0.5), 1.5, pytest.approx(1 - 2.5 / 0.25))


def test_accuracy_of_one_model_and_of_outcomes_that_do_not_vary():
    found = score(held_out([2.0, 2.0], [2.0, 2.0]), PLAIN, None, metric=MSE, seed=0, usual=0.0)
    assert [(one.forecaster, one.rmse, one.r2) for one in found.accuracy] == [("plain", 2.0, None), ("mean", 0.0, None)]
