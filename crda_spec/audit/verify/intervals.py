"""Prediction intervals, calibrated and scored again from what the folder holds."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crda_spec.audit.canonical import plain
from crda_spec.audit.models import load_model, load_models
from crda_spec.audit.open_run import BAND, FOLD_MODELS, Finding, Ledger, band_text, load_band
from crda_spec.audit.verify.checks import EXACT, Tolerance, compared, differing
from crda_spec.audit.verify.verdict import ScoredRows, read_scored, read_tested, scored_arms
from crda_spec.gate.intervals import (
    FittedBand,
    Sources,
    calibrate_arms,
    report_intervals,
    score_intervals,
    size_sources,
)
from crda_spec.pipeline import Plan
from crda_spec.records import Arm, Array, IntervalRows, Split, Table
from crda_spec.regressors.intervals import Intervals

_WHERE, _CSV = "record.json, intervals", "intervals.csv"
_SIDES = ("below", "above")
_ROUNDED = 1e-6  # of numbers that follow from errors instead of a model that is not in the folder


def has_intervals(record: Mapping[str, Any]) -> bool:
    """Whether the spec asks for intervals and there are rows to make them of, or the record tells of some."""
    return record.get("intervals") is not None or (_said(record) is not None and bool(record["verdict"]["folds"]))


def _said(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the record's spec says of intervals, as it stands there; None where there are none."""
    resolved = record["spec"]["resolved"]
    said: dict[str, Any] | None = (resolved.get("output") or {}).get("intervals")
    return said if (resolved.get("gate") or {}).get("enabled", True) else None


def asked_intervals(record: Mapping[str, Any]) -> Intervals | None:
    """What the record's spec asks for; a ValueError where that is nonsense."""
    said = _said(record)
    if said is None:
        return None
    return Intervals.model_validate({**said, "levels": None if said["levels"] is None else tuple(said["levels"])})


def _parents(record: Mapping[str, Any]) -> tuple[str, ...]:
    graph = record["spec"]["resolved"].get("causal", {}).get("graph") or {}
    return tuple(sorted(graph.get("noise", ())))


def bands_again(record: Mapping[str, Any], rows: Table, known: ScoredRows, asked: Intervals) -> dict[Arm, FittedBand]:
    """Each arm's intervals, calibrated from the errors in rows.csv. rows: the training rows of augmented.parquet."""
    train = replace(rows, groups=known.groups, weights=known.weights)
    return calibrate_arms(train, known.errors, known.fold, _sources(record, train), scored_arms(record), asked=asked)


def _sources(record: Mapping[str, Any], train: Table) -> Sources:
    """What may tell the size of the noise: the spec says the parents, the record which features bear on the target."""
    parents, told = _parents(record), record["intervals"]["features"]
    return size_sources(train, parents, told or parents)


def check_intervals(
    folder: Path, record: Mapping[str, Any], ledger: Ledger, tolerance: Tolerance = EXACT
) -> Iterator[Finding]:
    """intervals.json from the errors of held-out rows, and every score from intervals.csv."""
    asked = asked_intervals(record)
    if asked is None or record.get("intervals") is None:
        what = (
            "is missing, but the spec asks for intervals"
            if asked is not None
            else "tells of intervals nobody asked for"
        )
        yield Finding(_WHERE, what)
        return
    bands = bands_again(record, ledger.train, read_scored(folder, "train"), asked)
    final = bands.get(record["final_model"])
    saved = load_band(folder)
    if final is None or saved is None:
        yield Finding(BAND, "is missing, or rows.csv tells no errors of held-out rows")
        return
    if band_text(saved) != band_text(final):
        yield from compared(BAND, plain(saved), plain(final), tolerance=tolerance)
    test = read_tested(folder, record)
    rows = [] if test is None else list(_read(folder, record, test))
    weights = None if test is None else test.weights
    again = report_intervals(asked, ledger.train, bands, rows, weights, _sources(record, ledger.train))
    yield from compared(_WHERE, record["intervals"], plain(again), tolerance=tolerance)


def _read(folder: Path, record: Mapping[str, Any], test: ScoredRows) -> Iterator[IntervalRows]:
    """The lines of intervals.csv; a ValueError when they are not those of the test rows."""
    with (folder / _CSV).open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    levels, count = record["intervals"]["levels"], len(test.number)
    expected = [(int(number), float(level)) for level in levels for number in test.number.tolist()]
    if [(int(line["row"]), float(line["level"])) for line in lines] != expected:
        raise ValueError(f"{_CSV}: its lines are not the test rows, level by level")
    for at, level in enumerate(levels):
        mine = lines[at * count : (at + 1) * count]
        for arm in scored_arms(record):
            below, above = (np.array([float(one[f"{arm}_{side}"]) for one in mine]) for side in _SIDES)
            yield IntervalRows(arm=arm, level=level, below=below, above=above)


def check_interval_rows(
    folder: Path, record: Mapping[str, Any], ledger: Ledger, plan: Plan, split: Split, *, tolerance: Tolerance
) -> Iterator[Finding]:
    """intervals.csv from the saved model and the test rows, if any; of the other model, from its errors."""
    asked, test, final = asked_intervals(record), split.test, record["final_model"]
    boundary = plan.procedure.on(split.train).partitioner.boundary(split.train.names)
    sources = size_sources(split.train, plan.noise_parents, boundary)
    if asked is None:
        return
    if asked.width == "fitted":
        names = [split.train.names[at] for at in sources.get("features", ())]
        yield from compared(f"{_WHERE}.features", record["intervals"]["features"], names)
    known = read_tested(folder, record)
    if test is None or known is None:
        return
    bands = bands_again(record, ledger.train, read_scored(folder, "train"), asked)
    models = load_models(folder / FOLD_MODELS)
    chosen = load_model(folder / "model")
    again = score_intervals(test, {final: bands[final]}, {final: chosen}, {final: models}, asked.wanted)
    recorded = {(one.arm, one.level): one for one in _read(folder, record, known)}
    for one in again:
        yield from _differing(recorded[one.arm, one.level], one, tolerance)
    if asked.form == "cv_plus":
        return
    for arm in (arm for arm in bands if arm != final):
        told = {arm: _Told(test.errors(_Nothing()) - known.errors.of(arm))}
        for one in score_intervals(test, {arm: bands[arm]}, told, {arm: ()}, asked.wanted):
            yield from _differing(recorded[arm, one.level], one, Tolerance(max(_ROUNDED, tolerance.relative)))


class _Nothing:
    """Predicts 0: what is left is the outcome."""

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        return np.zeros(len(x))


class _Told:
    """A model that is not in the folder, by what it predicted for the test rows."""

    def __init__(self, predictions: Array) -> None:
        self.predictions = predictions

    def predict(self, x: Array) -> Array:
        """x: (m, d), the test rows. Returns (m,)."""
        return self.predictions[: len(x)]


def _differing(found: IntervalRows, expected: IntervalRows, tolerance: Tolerance) -> Iterator[Finding]:
    says = f"at level {found.level:g} says {{:.17g}}, should be {{:.17g}}"
    for side in _SIDES:
        one, other = getattr(found, side), getattr(expected, side)
        yield from differing(f"{_CSV}, test row", f"{found.arm}_{side}", one, other, says, tolerance)
