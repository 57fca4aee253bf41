"""The final scoring: one plain model against one augmented model, on the same test rows, with a paired interval.

The interval of a change is a paired bootstrap over rows, or over groups where rows belong together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from crda_spec.errors import Complaint, DataError
from crda_spec.records import (
    Accuracy,
    Arm,
    Array,
    Controls,
    Diagnostics,
    Forecaster,
    HeldOut,
    IntArray,
    Predictor,
    RowErrors,
    RowLosses,
    Split,
    TestScore,
    weighted_mean,
)
from crda_spec.regressors.metrics import Metric, MetricKind, charged
from crda_spec.seeds import stream

LEVEL = 0.95
RESAMPLES = 2000
FEWEST_UNITS = 20  # resampling three rows says nothing about a fourth
_MOST_UNITS = 4096  # beyond this, neighbouring rows are resampled in blocks: the same interval at a bounded cost
_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scored:
    """The augmented model, and both models on the test rows."""

    augmented: Predictor | None  # None when there was no synthetic row to train on
    score: TestScore | None = None  # None when there is no test row
    rows: RowLosses | None = None  # what each test row cost both models: NaN for a model that there is not
    errors: RowErrors | None = None  # likewise
    diagnostics: Diagnostics | None = None  # what the new rows are like, where somebody wants to know
    controls: Controls | None = None  # what the change is made of, likewise


def score_on_equal_footing(
    split: Split, plain: Predictor, augmented: Predictor | None, *, metric: Metric, seed: int
) -> Scored:
    """One plain against one augmented model, where rows were held back; one that has run away is an error."""
    test = split.test
    if test is None:
        _forbid_runaway(plain.predict(split.train.x), "training")
        return Scored(augmented=augmented)
    usual = weighted_mean(split.train.y, split.train.weights)
    scored = score(test, plain, augmented, metric=metric, seed=seed, usual=usual)
    _forbid_runaway(scored.plain, "test")
    nothing, before = np.full(len(test), np.nan), test.errors(plain)
    after = nothing if augmented is None else test.errors(augmented)
    losses = nothing if augmented is None else metric.row_losses(after, "augmented")
    return Scored(
        score=scored,
        rows=RowLosses(plain=metric.row_losses(before), augmented=losses),
        errors=RowErrors(plain=before, augmented=after),
        augmented=augmented,
    )


def _forbid_runaway(seen: float | Array, rows: str) -> None:
    if not np.isfinite(seen).all():
        what = f"the plain model predicts numbers that are not finite on the {rows} rows"
        hint = "lower its learning rate, or look for extreme values in the data"
        raise DataError(Complaint(code="diverged", path="regressor", what=what, hint=hint))


def score(
    test: HeldOut, plain: Predictor, augmented: Predictor | None, *, metric: Metric, seed: int, usual: float
) -> TestScore:
    """Both models on the test rows; the interval is of the relative change, rows (or groups) resampled in pairs.

    usual: the mean of the training rows' outcomes, which the accuracy is compared with.
    """
    plain_errors = test.errors(plain)
    errors: dict[Forecaster, Array] = {"plain": plain_errors}
    change = interval = augmented_loss = None
    if augmented is not None:
        errors["augmented"] = augmented_errors = test.errors(augmented)
        augmented_loss = metric.loss(augmented_errors, spread=test.spread, weights=test.weights, arm="augmented")
        change, interval = change_of(test, plain_errors, augmented_errors, "augmented", metric=metric, seed=seed)
    errors["mean"] = test.errors(Constant(usual))
    return TestScore(
        metric=metric.name,
        rows=len(test),
        plain=metric.loss(plain_errors, spread=test.spread, weights=test.weights),
        augmented=augmented_loss,
        change_percent=change,
        interval_percent=interval,
        level=LEVEL,
        resamples=RESAMPLES,
        accuracy=accuracy(errors, spread=test.spread, weights=test.weights),
    )


@dataclass(frozen=True, slots=True)
class Constant:
    """Predicts one number for every row."""

    value: float

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        return np.full(len(x), self.value)


def accuracy(
    errors: Mapping[Forecaster, Array], *, spread: float, weights: Array | None = None
) -> tuple[Accuracy, ...]:
    """RMSE, MAE and R2 of each forecaster. errors, weights: (n,). spread: the (weighted) variance of the outcomes."""

    def loss(kind: MetricKind, of: Array) -> float:
        return Metric(kind=kind).loss(of, spread=spread, weights=weights)

    return tuple(
        Accuracy(
            forecaster=who,
            rmse=loss("rmse", of),
            mae=loss("mae", of),
            r2=1.0 - loss("r2", of) if spread > 0.0 else None,
        )
        for who, of in errors.items()
    )


def change_of(
    test: HeldOut, before: Array, after: Array, arm: Arm, *, metric: Metric, seed: int
) -> tuple[float, tuple[float, float] | None]:
    """The change of the loss in percent, and its interval: resamples take the same rows.

    before: (n,) errors of the plain arm.  after: (n,) errors of this arm.
    """
    rows = [metric.row_losses(before), metric.row_losses(after, arm)]
    losses = [metric.mean(one, spread=test.spread, weights=test.weights) for one in rows]
    plain, other = (charged(one, test.weights) for one in rows)
    units, rng = units_of(len(test), test.groups), stream(seed, "bootstrap")
    interval = change_interval(plain, other, units, metric, level=LEVEL, rng=rng)
    return percent_change(losses[0], losses[1]), interval


def units_of(n: int, groups: IntArray | None) -> IntArray:
    """What is resampled: groups where there are any, else rows. Numbered from 0 without a gap."""
    units = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    count = int(units.max()) + 1
    return units * _MOST_UNITS // count if count > _MOST_UNITS else units


def resampled_sums(sums: Array, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """Draws units with replacement. sums: (units, k). Yields blocks of (resamples, k), together `resamples` of them."""
    units = len(sums)
    for start in range(0, resamples, _AT_ONCE):
        block = min(_AT_ONCE, resamples - start)
        # Counted draws: the same law as `multinomial` in a sixth of its time.
        drawn = rng.integers(units, size=(block, units)) + units * np.arange(block)[:, None]
        yield np.bincount(drawn.ravel(), minlength=block * units).reshape(block, units) @ sums


def change_interval(
    plain: Array, augmented: Array, units: IntArray, metric: Metric, *, level: float, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Percentile interval of the relative change; a resample takes the same units in both arms. None: too few.

    plain, augmented: (n,) losses of the same rows, times their weights where they have any.
    units: (n,) from `units_of`.
    """
    if int(units.max()) + 1 < FEWEST_UNITS:
        return None
    sums = np.stack([np.bincount(units, plain), np.bincount(units, augmented)], axis=1).astype(np.float64)
    drawn = np.concatenate(list(resampled_sums(sums, RESAMPLES, rng)))
    changes = metric.change(drawn[:, 0], drawn[:, 1])
    # Values that occurred, none in between: a change may be infinite when the plain model makes no error.
    low, high = np.quantile(changes, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(low), float(high)


def percent_change(before: float, after: float) -> float:
    """Change in percent of `before`; 0 when both are 0."""
    if before == 0.0:
        return 0.0 if after == 0.0 else float("inf")
    return 100.0 * (after - before) / before
