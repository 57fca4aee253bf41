"""Prediction intervals from the rows that the gate held out: no model is fitted for them.

The width follows the size of the noise, as far as rows held out bear that out: size(x) is the product of up to three
fitted sizes, each to a power: by the noise's declared parents, by the features, and by the prediction. Each is fitted
to the absolute errors of the held-out rows; that of a row of fold k to those of the other folds. The powers, together
at most 1, have the least interval score on rows held out; all are 0, and all intervals equally wide, unless the gain
exceeds its standard error. What is used for new rows is fitted to all held-out rows.

With repeats, the errors are those of the first division of the rows; with restarts, those of the first start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from crda_spec.counterfactual.abduct import Designs, LocationScale
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
    SizeSource,
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
SOURCES: tuple[SizeSource, ...] = ("parents", "features", "prediction")
_JUDGED_AT = 0.9  # the level at which the width's exponents are chosen
_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)  # powers that are tried
Sources = Mapping[SizeSource, tuple[int, ...]]  # what tells a size, and which columns of x that is
_PREDICTION = Column(name="prediction", type="continuous")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeBy:
    """One fitted size of the noise, and the power to which it goes into the width."""

    source: SizeSource
    columns: tuple[int, ...]  # of x; none for the prediction
    power: float
    scale: NoiseScale


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedBand:
    """The intervals of one arm, calibrated."""

    form: IntervalForm
    scores: Array  # (n,) |error| / size of each held-out row
    fold: IntArray  # (n,) the fold that held it out, from 0
    weights: Array | None  # (n,)
    units: int  # rows, or groups
    sizes_by: tuple[SizeBy, ...] = ()  # none: all intervals are equally wide

    def sizes(self, x: Array, prediction: Array) -> Array:
        """(m,) of new rows. x: (m, d).  prediction: (m,)."""
        sizes = np.ones(len(x))
        for one in self.sizes_by:
            inputs = x[:, list(one.columns)] if one.columns else prediction[:, None]
            sizes = sizes * one.scale.at(inputs)[0] ** one.power
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


def size_sources(train: Table, parents: Sequence[str], features: Sequence[str]) -> Sources:
    """What may tell the size of the noise. features: those that bear on the target; none: all of them."""
    found: dict[SizeSource, tuple[int, ...]] = {"parents": train.positions(parents)} if parents else {}
    features = features or train.names
    if set(features) != set(parents):
        found["features"] = train.positions(features)
    return {**found, "prediction": ()}


def calibrate_arms(
    train: Table, errors: RowErrors, fold: IntArray, sources: Sources, arms: Iterable[Arm], *, asked: Intervals
) -> dict[Arm, FittedBand]:
    """The intervals of each arm; none where no row was held out. fold: (n,) from 1, 0 where not held out."""
    designs: Designs = {}  # both arms have the same rows
    found = {arm: calibrate(train, errors.of(arm), fold, sources, designs, asked=asked) for arm in arms}
    return {arm: band for arm, band in found.items() if band is not None}


def calibrate(
    train: Table, error: Array, fold: IntArray, sources: Sources, designs: Designs | None = None, *, asked: Intervals
) -> FittedBand | None:
    """The intervals of one arm; None where no row was held out.

    error: (n,) of the training rows, NaN where not held out.  fold: (n,) from 1, 0 where not.  designs: of `abduct`.
    """
    designs = {} if designs is None else designs
    known = np.flatnonzero(np.isfinite(error) & (fold > 0))
    if not len(known):
        return None
    rows, errors, folds = train.take(known), error[known], fold[known] - 1
    units = len(np.unique(units_of(len(rows), rows.groups)))
    flat = FittedBand(form=asked.form, scores=np.abs(errors), fold=folds, weights=rows.weights, units=units)
    if asked.width == "constant" or len(np.unique(folds)) < 2:
        return flat
    tables = {
        source: rows.select(columns) if columns else _by_prediction(rows, rows.y - errors)
        for source, columns in sources.items()
    }
    unseen = np.stack([_cross_fitted(table, errors, folds, designs) for table in tables.values()])
    powers = _chosen(errors, unseen, rows, folds)
    sizes_by = tuple(
        SizeBy(source=source, columns=sources[source], power=power, scale=LocationScale().fit(table, errors, designs))
        for (source, table), power in zip(tables.items(), powers, strict=True)
        if power
    )
    return replace(flat, scores=np.abs(errors) / _product(unseen, powers), sizes_by=sizes_by) if sizes_by else flat


def _product(sizes: Array, powers: tuple[float, ...]) -> Array:
    """(n,) sizes: (k, n), each to its power."""
    return np.asarray(np.prod(sizes ** np.array(powers)[:, None], axis=0))


def _by_prediction(rows: Table, prediction: Array) -> Table:
    return replace(rows, features=(_PREDICTION,), x=prediction[:, None].copy())


def _cross_fitted(table: Table, errors: Array, folds: IntArray, designs: Designs) -> Array:
    """(n,) the size at each row, fitted to the errors of the other folds."""
    sizes = np.empty(len(errors))
    for number in np.unique(folds):
        held = folds == number
        sizes[held] = LocationScale().fit(table, np.where(held, np.nan, errors), designs).at(table.x[held])[0]
    return sizes


def _chosen(errors: Array, sizes: Array, rows: Table, folds: IntArray) -> tuple[float, ...]:
    """The powers with the least interval score on rows held out; all 0 where the gain may be chance. sizes: (k, n)."""

    def losses(powers: tuple[float, ...]) -> Array:
        found = cross_conformal_losses(errors, _product(sizes, powers), folds, _JUDGED_AT, weights=rows.weights)
        return charged(found, rows.weights)

    tried = {powers: losses(powers) for powers in product(_STEPS, repeat=len(sizes)) if sum(powers) <= 1.0}
    flat = (0.0,) * len(sizes)
    best = min(tried, key=lambda powers: float(tried[powers].mean()))
    gain = tried[flat] - tried[best]
    by_unit = np.bincount(units_of(len(gain), rows.groups), gain - gain.mean())
    error = float(np.sqrt((by_unit**2).sum())) / len(gain)
    return best if gain.mean() > error else flat


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
    sources: Sources,
) -> IntervalReport:
    """What the record tells. weights: of the test rows."""
    first = bands["plain"]

    def names(source: SizeSource) -> tuple[str, ...]:
        fitted = asked.width == "fitted"
        return tuple(train.names[at] for at in sources.get(source, ())) if fitted else ()

    def powers(arm: Arm, band: FittedBand) -> IntervalWidth:
        power = {one.source: one.power for one in band.sizes_by}
        told = {source: power.get(source, 0.0) for source in SOURCES}
        return IntervalWidth(arm=arm, **told)

    return IntervalReport(
        form=asked.form,
        levels=asked.wanted,
        rows=len(first.scores),
        units=first.units,
        parents=names("parents"),
        features=names("features"),
        widths=tuple(powers(arm, band) for arm, band in bands.items()),
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
    """Calibrates, and scores on the test rows, if any; None where no row was held out.

    models: of all rows.  outcomes: of the first division.
    """
    sources = size_sources(split.train, parents, boundary)
    bands = calibrate_arms(split.train, errors, fold, sources, models, asked=asked)
    if len(bands) < len(models):
        return None
    kept: dict[Arm, tuple[Predictor, ...]] = {
        arm: tuple(one.models[at] for one in outcomes if one.models) for at, arm in enumerate(ARMS)
    }
    rows = () if split.test is None else score_intervals(split.test, bands, models, kept, asked.wanted)
    weights = None if split.test is None else split.test.weights
    report = report_intervals(asked, split.train, bands, rows, weights, sources)
    return FittedIntervals(report=report, rows=rows, bands=bands, fold_models=kept)
