"""Intervals from held-out errors: the width follows the noise where that helps, and nothing leaks."""

from dataclasses import replace

import numpy as np
import pytest
from gate_parts import table

from crda_spec.gate.cross_validate import FoldOutcome, rescored
from crda_spec.gate.intervals import _cross_fitted, bounds_at, calibrate, held_out_errors, size_sources
from crda_spec.gate.tests import Wilcoxon
from crda_spec.records import FoldResult
from crda_spec.regressors.intervals import Intervals, cross_conformal_losses, crps
from crda_spec.regressors.metrics import HeldOutErrors, Metric, named_metric

ASKED = Intervals()


def world(rows, seed, size):
    """x0 drives the noise, as far as `size` says; errors are those of the true mean, which is 0."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(rows, 3))
    error = size(x[:, 0]) * rng.normal(size=rows)
    return table(x, error), error, 1 + np.arange(rows) % 10


def loud(x):
    return np.exp(1.2 * x)


class Zero:
    def predict(self, x):
        return np.zeros(len(x))


def test_equal_noise_gives_equal_widths_most_of_the_time():
    flat = 0
    for seed in range(20):
        train, error, fold = world(200, seed, np.ones_like)
        band = calibrate(train, error, fold, size_sources(train, (), ()), asked=ASKED)
        flat += not band.sizes_by
    assert flat >= 15


def test_unequal_noise_is_followed_and_covers_where_it_is_large():
    gains, large = [], []
    for seed in range(8):
        train, error, fold = world(300, seed, loud)
        new, truth, _ = world(3000, 100 + seed, loud)
        scores = []
        for width in ("fitted", "constant"):
            asked = Intervals(width=width)
            band = calibrate(train, error, fold, size_sources(train, ("x0",), ()), asked=asked)
            low, high = bounds_at(band, Zero(), (), new.x, 0.9)
            miss = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
            scores.append(np.mean(high - low + 20 * miss))
            if width == "fitted":
                there = new.x[:, 0] > 0.5
                large.append(((low <= truth) & (truth <= high))[there].mean())
                assert band.sizes_by
        gains.append(scores[0] / scores[1] - 1)
    assert np.mean(gains) < -0.15
    assert 0.87 <= np.mean(large) <= 0.93


def test_the_size_at_a_row_does_not_depend_on_the_errors_of_its_fold():
    train, error, fold = world(200, 3, loud)
    held = fold == 4
    designs = {}  # shared, as between the arms
    loud_fold = np.where(held, 1e6 * error, error)
    one, other = (_cross_fitted(train, errors, fold, designs) for errors in (error, loud_fold))
    np.testing.assert_array_equal(one[held], other[held])
    assert (one[~held] != other[~held]).all(), "other folds do see them"


def test_rows_that_nobody_held_out_take_no_part():
    """Time: the earliest rows are in no fold."""
    train, error, fold = world(200, 4, np.ones_like)
    late = np.arange(200) >= 50
    some = calibrate(
        train, np.where(late, error, np.nan), np.where(late, fold, 0), size_sources(train, (), ()), asked=ASKED
    )
    assert (len(some.scores), some.units) == (150, 150)
    assert calibrate(train, np.full(200, np.nan), fold, size_sources(train, (), ()), asked=ASKED) is None


def test_weights_and_groups_reach_the_quantile():
    train, error, fold = world(100, 5, np.ones_like)
    asked = Intervals(width="constant")
    heavy = replace(train, weights=np.where(np.abs(error) > 1.0, 5.0, 1.0))
    grouped = replace(train, groups=np.arange(100) // 4)
    plain, weighted, bound = (
        calibrate(one, error, fold, size_sources(one, (), ()), asked=asked) for one in (train, heavy, grouped)
    )
    ends = [bounds_at(band, Zero(), (), np.zeros((1, 3)), 0.8)[1][0] for band in (plain, weighted, bound)]
    assert ends[0] < ends[1]
    assert ends[0] < ends[2]
    assert bound.units == 25


def outcome(number, held, errors):
    result = FoldResult(
        fold=number,
        train_rows=1,
        held_out_rows=len(held),
        plain=0.0,
        augmented=0.0,
        perturbed=("x0",),
        synthetic_rows=1,
    )
    nothing = np.zeros(len(held))
    return FoldOutcome(result=result, held=held, plain=nothing, augmented=nothing, errors=errors)


def two_starts(rows=40, folds=4):
    rng = np.random.default_rng(6)
    errors, fold = rng.normal(size=(2, 2, rows)), np.arange(rows) % folds
    return errors, fold, [outcome(k + 1, np.flatnonzero(fold == k), errors[:, :, fold == k]) for k in range(folds)]


@pytest.mark.parametrize("kind", ["interval_score", "crps"])
def test_folds_are_scored_by_the_errors_of_the_others_start_by_start(kind):
    errors, fold, outcomes = two_starts()
    train = table(np.zeros((40, 1)), np.zeros(40))
    metric = Metric(kind=kind)
    found = rescored(outcomes, train, metric)
    for arm, name in enumerate(("plain", "augmented")):
        expected = np.mean([metric.cross_losses(start[arm], fold, None) for start in errors], axis=0)
        for one in found:
            np.testing.assert_allclose(getattr(one, name), expected[one.held])
            assert getattr(one.result, name) == pytest.approx(getattr(one, name).mean())
    kept = held_out_errors(outcomes, 40, 4)
    np.testing.assert_array_equal(kept.augmented, errors[0, 1])


def test_a_metric_of_intervals_asks_for_errors_of_its_arm():
    rng = np.random.default_rng(7)
    known = {
        "plain": HeldOutErrors(errors=rng.normal(size=50)),
        "augmented": HeldOutErrors(errors=0.5 * rng.normal(size=50)),
    }
    errors = rng.normal(size=5)
    metric = Metric(kind="crps").given(known)
    np.testing.assert_array_equal(metric.row_losses(errors, "augmented"), crps(errors, known["augmented"].errors))
    wide, narrow = (Metric(kind="interval_score").given(known).row_losses(np.zeros(1), arm) for arm in known)
    assert wide > narrow
    with pytest.raises(ValueError, match="crps needs errors on rows unseen"):
        Metric(kind="crps").row_losses(errors)
    assert Metric(kind="crps").given(None).kind == "mse", "nothing was held out: squared errors"
    assert Metric(kind="mae").given(known).held_out is None
    assert [named_metric(Metric(kind=kind).name).kind for kind in ("crps", "interval_score")] == [
        "crps",
        "interval_score",
    ]


def test_a_score_of_few_rows_is_finite():
    assert np.isfinite(cross_conformal_losses(np.array([1.0, -2.0, 3.0]), np.ones(3), np.arange(3), 0.9)).all()


@pytest.mark.parametrize("kind", ["interval_score", "crps"])
def test_gates_that_cannot_know_all_errors_are_refused(kind):
    (early,) = Wilcoxon(metric=kind, stop="certain").complaints()
    assert early.path == "gate.stop"
    assert early.what == f"{kind} needs the errors of all folds, so no fold's loss is known before the last has run"
    (off,) = Wilcoxon(metric=kind, enabled=False).complaints()
    assert (off.path, off.hint) == ("gate.metric", "enable the gate, or use metric: mse")
    assert not list(Wilcoxon(metric=kind).complaints())
    assert Wilcoxon(metric=kind).inner_loss.kind == "mse"
