"""Prediction intervals from the rows that the gate held out: no model is fitted for them.

The width follows the size of the noise, as far as rows held out bear that out: size(x) = s(x)^a * t(g(x))^b, where s is
fitted to the noise's declared parents, or to the features, and t to the prediction. Both are fitted to the absolute
errors of the held-out rows; that of a row of fold k to those of the other folds. a and b, together at most 1, have the
least interval score on rows held out; both are 0, all intervals equally wide, unless the gain exceeds its standard
error. What is used for new rows is fitted to all held-out rows.

With repeats, the errors are those of the first division of the rows; with restarts, those of the first start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crda_spec.counterfactual.abduct import LocationScale
from crda_spec.gate.cross_validate import FoldOutcome
from crda_spec.gate.score import units_of
from crda_spec.records import (
    Arm,
    Array,
    Column,
    HeldOut,
    IntArray,
    IntervalForm,
    IntervalReport,
    IntervalRows,
    IntervalScore,
    IntervalWidth,
    NoiseScale,
    Predictor,
    RowErrors,
    Split,
    Table,
)
from crda_spec.regressors.intervals import (
    Intervals,
    cross_conformal_losses,
    cv_plus_bounds,
    mean_interval_loss,
    residual_half_widths,
)
from crda_spec.regressors.metrics import HeldOutErrors, charged

ARMS: tuple[Arm, ...] = ("plain", "augmented")
_JUDGED_AT = 0.9  # the level at which the width's exponents are chosen
_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)
_FLAT = (0.0, 0.0)
_EXPONENTS = tuple((a, b) for a in _STEPS for b in _STEPS if 0.0 < a + b <= 1.0)
_PREDICTION = Column(name="prediction", type="continuous")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedBand:
    """The intervals of one arm, calibrated."""

    form: IntervalForm
    scores: Array  # (n,) |error| / size of each held-out row
    fold: IntArray  # (n,) the fold that held it out, from 0
    weights: Array | None  # (n,)
    units: int  # rows, or groups
    columns: tuple[int, ...]  # of x, whose values tell a size
    exponents: tuple[float, float]  # of the size by these columns, and by the prediction
    by_features: NoiseScale | None = None  # None: takes no part
    by_prediction: NoiseScale | None = None

    def sizes(self, x: Array, prediction: Array) -> Array:
        """(m,) of new rows. x: (m, d).  prediction: (m,)."""
        sizes = np.ones(len(x))
        if self.by_features is not None:
            sizes = sizes * self.by_features.at(x[:, list(self.columns)])[0] ** self.exponents[0]
        if self.by_prediction is not None:
            sizes = sizes * self.by_prediction.at(prediction[:, None])[0] ** self.exponents[1]
        return sizes

    def bounds(self, x: Array, prediction: Array, level: float, by_fold: Array | None = None) -> tuple[Array, Array]:
        """See `records.Band`."""
        sizes = self.sizes(x, prediction)
        if self.form == "cv_plus":
            if by_fold is None:
                raise ValueError("cv_plus needs the predictions of the fold models")
            given = (by_fold, self.fold, self.scores, sizes, level)
            return cv_plus_bounds(*given, weights=self.weights, units=self.units)
        half = residual_half_widths(self.scores, sizes, level, weights=self.weights, units=self.units)
        return prediction - half, prediction + half


def held_out_errors(outcomes: Sequence[FoldOutcome], rows: int, folds: int) -> RowErrors | None:
    """Of the first division and start: every training row's errors, NaN where no fold held it out; None without folds.

    folds: how many a division has.
    """
    if not outcomes:
        return None
    errors = np.full((2, rows), np.nan)
    for outcome in outcomes[:folds]:
        errors[:, outcome.held] = outcome.errors[0]
    return RowErrors(plain=errors[0], augmented=errors[1])


def errors_by_arm(errors: RowErrors | None, weights: Array | None) -> Mapping[Arm, HeldOutErrors] | None:
    """The errors of the rows that were held out, for a metric that needs them. weights: (n,) of all training rows."""
    if errors is None:
        return None
    known = np.isfinite(errors.plain)
    own = None if weights is None else weights[known]
    return {arm: HeldOutErrors(errors=errors.of(arm)[known], weights=own) for arm in ARMS}


def size_columns(train: Table, parents: Sequence[str], boundary: Sequence[str]) -> tuple[int, ...]:
    """The features to which a size of the noise is fitted: its declared parents, else those that bear on the target."""
    return train.positions(parents or boundary or train.names)


def calibrate(
    train: Table, error: Array, fold: IntArray, columns: Sequence[int], *, asked: Intervals
) -> FittedBand | None:
    """The intervals of one arm; None where no row was held out.

    error: (n,) of the training rows, NaN where not held out.  fold: (n,) from 1, 0 where not.
    """
    known = np.flatnonzero(np.isfinite(error) & (fold > 0))
    if not len(known):
        return None
    rows, errors, folds = train.take(known), error[known], fold[known] - 1
    units = len(np.unique(units_of(len(rows), rows.groups)))
    band = FittedBand(
        form=asked.form,
        scores=np.abs(errors),
        fold=folds,
        weights=rows.weights,
        units=units,
        columns=() if asked.width == "constant" else tuple(columns),
        exponents=_FLAT,
    )
    if asked.width == "constant" or len(np.unique(folds)) < 2:
        return band
    tables = (rows.select(columns), _by_prediction(rows, rows.y - errors))
    out_of_fold = [_cross_fitted(table, errors, folds) for table in tables]
    exponents = _chosen(errors, out_of_fold, rows, folds)
    if exponents == _FLAT:
        return band
    sizes = out_of_fold[0] ** exponents[0] * out_of_fold[1] ** exponents[1]
    final = [
        LocationScale().fit(table, errors) if power else None for table, power in zip(tables, exponents, strict=True)
    ]
    return replace(
        band, scores=np.abs(errors) / sizes, exponents=exponents, by_features=final[0], by_prediction=final[1]
    )


def _by_prediction(rows: Table, prediction: Array) -> Table:
    return replace(rows, features=(_PREDICTION,), x=prediction[:, None].copy())


def _cross_fitted(table: Table, errors: Array, folds: IntArray) -> Array:
    """(n,) the size at each row, fitted to the errors of the other folds."""
    sizes = np.empty(len(errors))
    for number in np.unique(folds):
        held = folds == number
        sizes[held] = LocationScale().fit(table, np.where(held, np.nan, errors)).at(table.x[held])[0]
    return sizes


def _chosen(errors: Array, sizes: Sequence[Array], rows: Table, folds: IntArray) -> tuple[float, float]:
    """The exponents with the least interval score on rows held out, or none where the gain may be chance."""

    def losses(exponents: tuple[float, float]) -> Array:
        both = sizes[0] ** exponents[0] * sizes[1] ** exponents[1]
        found = cross_conformal_losses(errors, both, folds, _JUDGED_AT, weights=rows.weights)
        return charged(found, rows.weights)

    flat, tried = losses(_FLAT), {exponents: losses(exponents) for exponents in _EXPONENTS}
    best = min(tried, key=lambda exponents: float(tried[exponents].mean()))
    gain = flat - tried[best]
    units = units_of(len(gain), rows.groups)
    by_unit = np.bincount(units, gain - gain.mean())
    error = float(np.sqrt((by_unit**2).sum())) / len(gain)
    return best if gain.mean() > error else _FLAT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    """One end of an interval, as a predictor: so test rows can be held against it without being read."""

    band: FittedBand
    model: Predictor
    fold_models: tuple[Predictor, ...]
    level: float
    upper: bool

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        return bounds_at(self.band, self.model, self.fold_models, x, self.level)[int(self.upper)]


def bounds_at(
    band: FittedBand, model: Predictor, fold_models: Sequence[Predictor], x: Array, level: float
) -> tuple[Array, Array]:
    """Lower and upper bounds of new rows. x: (m, d)."""
    by_fold = np.stack([one.predict(x) for one in fold_models]) if band.form == "cv_plus" else None
    return band.bounds(x, model.predict(x), level, by_fold)


def score_intervals(
    test: HeldOut,
    bands: Mapping[Arm, FittedBand],
    models: Mapping[Arm, Predictor],
    fold_models: Mapping[Arm, tuple[Predictor, ...]],
    levels: Sequence[float],
) -> tuple[IntervalRows, ...]:
    """Where the test rows lie in each arm's intervals at each level."""

    def rows(arm: Arm, level: float) -> IntervalRows:
        low, high = (
            _Bound(band=bands[arm], model=models[arm], fold_models=fold_models[arm], level=level, upper=upper)
            for upper in (False, True)
        )
        return IntervalRows(arm=arm, level=level, below=test.errors(low), above=-test.errors(high))

    return tuple(rows(arm, level) for level in levels for arm in models)


def interval_score(rows: IntervalRows, weights: Array | None) -> IntervalScore:
    """Coverage, width and score. weights: (m,) of the test rows."""
    coverage, width, score = mean_interval_loss(rows.below, rows.above, rows.level, weights)
    return IntervalScore(arm=rows.arm, level=rows.level, coverage=coverage, width=width, score=score)


def report_intervals(
    asked: Intervals,
    train: Table,
    bands: Mapping[Arm, FittedBand],
    rows: Sequence[IntervalRows],
    weights: Array | None,
    *,
    parents: Sequence[str],
) -> IntervalReport:
    """What the record tells. weights: of the test rows.  parents: the declared ones of the noise."""
    first = bands["plain"]
    return IntervalReport(
        form=asked.form,
        levels=asked.wanted,
        rows=len(first.scores),
        units=first.units,
        declared=bool(parents),
        features=tuple(train.names[at] for at in first.columns),
        widths=tuple(
            IntervalWidth(arm=arm, features=band.exponents[0], prediction=band.exponents[1])
            for arm, band in bands.items()
        ),
        scores=tuple(interval_score(one, weights) for one in rows),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedIntervals:
    """Both arms' intervals, and what they are worth."""

    report: IntervalReport
    rows: tuple[IntervalRows, ...]
    bands: Mapping[Arm, FittedBand]
    fold_models: Mapping[Arm, tuple[Predictor, ...]]  # none for residuals


def measure_intervals(
    asked: Intervals,
    split: Split,
    models: Mapping[Arm, Predictor],
    errors: RowErrors,
    fold: IntArray,
    outcomes: Sequence[FoldOutcome],
    *,
    parents: Sequence[str],
    boundary: Sequence[str],
) -> FittedIntervals | None:
    """Calibrates and scores; None where no row was held out. models: of all rows.  outcomes: of the first division."""
    columns = size_columns(split.train, parents, boundary)
    found = {arm: calibrate(split.train, errors.of(arm), fold, columns, asked=asked) for arm in models}
    bands = {arm: band for arm, band in found.items() if band is not None}
    if len(bands) < len(models):
        return None
    kept: dict[Arm, tuple[Predictor, ...]] = {
        arm: tuple(one.models[at] for one in outcomes if one.models) for at, arm in enumerate(ARMS)
    }
    rows = score_intervals(split.test, bands, models, kept, asked.wanted)
    report = report_intervals(asked, split.train, bands, rows, split.test.weights, parents=parents)
    return FittedIntervals(report=report, rows=rows, bands=bands, fold_models=kept)
