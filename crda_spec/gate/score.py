"""The final scoring: one plain model against one augmented model, on the same test rows, with a paired interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crda_spec.errors import Complaint, DataError
from crda_spec.gate.interval import RESAMPLES, change_interval, units_of
from crda_spec.gate.verdict import percent_change
from crda_spec.records import Array, Diagnostics, HeldOut, Predictor, RowLosses, TestScore
from crda_spec.regressors.metrics import Metric, charged
from crda_spec.seeds import stream

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scored:
    """Both models on the test rows, and what each row cost them."""

    score: TestScore
    rows: RowLosses  # NaN for a model that there is not
    augmented: Predictor | None  # the model itself; None when there was no synthetic row to train on
    diagnostics: Diagnostics | None = None  # what the new rows are like, where somebody wants to know


def score_on_equal_footing(
    test: HeldOut, plain: Predictor, augmented: Predictor | None, *, metric: Metric, seed: int
) -> Scored:
    """One plain against one augmented model; one that has run away is an error that says so."""
    scored = score(test, plain, augmented, metric=metric, seed=seed)
    if not np.isfinite(scored.plain):
        what = "the plain model predicts numbers that are not finite on the test rows"
        hint = "lower its learning rate, or look for extreme values in the data"
        raise DataError(Complaint(code="diverged", path="regressor", what=what, hint=hint))
    before = metric.row_losses(test.errors(plain))
    after = np.full(len(test), np.nan) if augmented is None else metric.row_losses(test.errors(augmented))
    return Scored(score=scored, rows=RowLosses(plain=before, augmented=after), augmented=augmented)


def score(test: HeldOut, plain: Predictor, augmented: Predictor | None, *, metric: Metric, seed: int) -> TestScore:
    """Both models on the test rows; the interval is of the relative change, rows (or groups) resampled in pairs.

    Where rows are weighted, each is drawn with its weight, as often as any other.
    """
    plain_errors = test.errors(plain)
    change = interval = augmented_loss = None
    if augmented is not None:
        augmented_errors = test.errors(augmented)
        augmented_loss = metric.loss(augmented_errors, spread=test.spread, weights=test.weights)
        change, interval = change_of(test, plain_errors, augmented_errors, metric=metric, seed=seed)
    return TestScore(
        metric=metric.name,
        rows=len(test),
        plain=metric.loss(plain_errors, spread=test.spread, weights=test.weights),
        augmented=augmented_loss,
        change_percent=change,
        interval_percent=interval,
        level=LEVEL,
        resamples=RESAMPLES,
    )


def change_of(
    test: HeldOut, before: Array, after: Array, *, metric: Metric, seed: int
) -> tuple[float, tuple[float, float] | None]:
    """The change of the loss in percent, and its interval: resamples take the same rows. before, after: (n,) errors."""
    losses = [metric.loss(errors, spread=test.spread, weights=test.weights) for errors in (before, after)]
    plain, other = (charged(metric.row_losses(errors), test.weights) for errors in (before, after))
    units, rng = units_of(len(test), test.groups), stream(seed, "bootstrap")
    interval = change_interval(plain, other, units, metric, level=LEVEL, rng=rng)
    return percent_change(losses[0], losses[1]), interval
