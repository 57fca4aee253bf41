"""The final scoring: one plain model against one augmented model, on the same test rows, with a paired interval."""

from __future__ import annotations

import numpy as np

from crda_spec.gate.gate import Metric, loss, percent_change
from crda_spec.records import Array, HeldOut, IntArray, Predictor, TestScore
from crda_spec.seeds import stream

RESAMPLES = 2000
LEVEL = 0.95
_FEWEST_UNITS = 20
_MOST_UNITS = 4096  # beyond this, neighbouring rows are resampled in blocks: the same interval at a bounded cost


def score(test: HeldOut, plain: Predictor, augmented: Predictor | None, *, metric: Metric, seed: int) -> TestScore:
    """Both models on the test rows; the interval is of the relative change, rows (or groups) resampled in pairs."""
    plain_errors = test.errors(plain)
    plain_loss = loss(plain_errors, metric)
    change = interval = augmented_loss = None
    if augmented is not None:
        augmented_errors = test.errors(augmented)
        augmented_loss = loss(augmented_errors, metric)
        change = percent_change(plain_loss, augmented_loss)
        interval = _interval(
            _row_loss(plain_errors, metric), _row_loss(augmented_errors, metric), test.groups, seed=seed
        )
    return TestScore(
        metric=metric,
        rows=len(test),
        plain=plain_loss,
        augmented=augmented_loss,
        change_percent=change,
        interval_percent=interval,
        level=LEVEL,
        resamples=RESAMPLES,
    )


def _row_loss(errors: Array, metric: Metric) -> Array:
    return errors**2 if metric == "mse" else np.abs(errors)


def _interval(plain: Array, augmented: Array, groups: IntArray | None, *, seed: int) -> tuple[float, float] | None:
    """Percentile bootstrap of the ratio of mean losses; a resample takes the same units in both arms.

    None below a handful of units: resampling three rows says nothing about a fourth.
    """
    units = _units(len(plain), groups)
    if int(units.max()) + 1 < _FEWEST_UNITS:
        return None
    sums = np.stack([np.bincount(units, plain), np.bincount(units, augmented)], axis=1)  # (units, 2)
    rng = stream(seed, "bootstrap")
    changes = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, 100):
        times = rng.multinomial(len(sums), np.full(len(sums), 1.0 / len(sums)), size=100)
        before, after = (times @ sums).T
        with np.errstate(divide="ignore", invalid="ignore"):
            changes[start : start + 100] = np.where(before == after, 0.0, 100.0 * (after - before) / before)
    # Values that occurred, none in between: a change may be infinite when the plain model makes no error.
    low, high = np.quantile(changes, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return float(low), float(high)


def _units(n: int, groups: IntArray | None) -> IntArray:
    """What is resampled: groups where there are any, else rows."""
    units = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    count = int(units.max()) + 1
    return units * _MOST_UNITS // count if count > _MOST_UNITS else units
