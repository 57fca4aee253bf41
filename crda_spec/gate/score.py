"""The final scoring: one plain model against one augmented model, on the same test rows, with a paired interval."""

from __future__ import annotations

import numpy as np

from crda_spec.gate.metrics import RESAMPLES, Metric, change_interval, charged, units_of
from crda_spec.gate.verdict import percent_change
from crda_spec.records import HeldOut, Predictor, RowLosses, TestScore
from crda_spec.seeds import stream

LEVEL = 0.95


def scored_rows(test: HeldOut, plain: Predictor, augmented: Predictor | None, *, metric: Metric) -> RowLosses:
    """What each test row costs both models; NaN for a model that there is not."""
    before = metric.row_losses(test.errors(plain))
    after = np.full(len(test), np.nan) if augmented is None else metric.row_losses(test.errors(augmented))
    return RowLosses(plain=before, augmented=after)


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
