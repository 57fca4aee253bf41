"""The final scoring: one plain model against one augmented model, on the same test rows, with a paired interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crda_spec.errors import Complaint, DataError
from crda_spec.gate.interval import RESAMPLES, change_interval, units_of
from crda_spec.gate.verdict import percent_change
from crda_spec.records import Diagnostics, HeldOut, Predictor, RowLosses, TestScore
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
    plain_loss = metric.loss(plain_errors, spread=test.spread, weights=test.weights)
    change = interval = augmented_loss = None
    if augmented is not None:
        augmented_errors = test.errors(augmented)
        augmented_loss = metric.loss(augmented_errors, spread=test.spread, weights=test.weights)
        change = percent_change(plain_loss, augmented_loss)
        interval = change_interval(
            charged(metric.row_losses(plain_errors), test.weights),
            charged(metric.row_losses(augmented_errors), test.weights),
            units_of(len(test), test.groups),
            metric,
            level=LEVEL,
            rng=stream(seed, "bootstrap"),
        )
    return TestScore(
        metric=metric.name,
        rows=len(test),
        plain=plain_loss,
        augmented=augmented_loss,
        change_percent=change,
        interval_percent=interval,
        level=LEVEL,
        resamples=RESAMPLES,
    )
