"""The final model of a run on new rows: which models answer, and the rows that they are asked about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from crda_spec.audit.canonical import read_as
from crda_spec.audit.models import load_model, load_models
from crda_spec.audit.new_rows import refuse_missing
from crda_spec.audit.open_run import FOLD_MODELS, OpenedRun, load_band, readable
from crda_spec.audit.predicted import csv_lines, predicted_table
from crda_spec.data.blocks import RowFile, missing_columns
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.data.dataset import Dataset
from crda_spec.errors import Complaint, DataError, OutputError, Place, SpecError, did_you_mean, printable, show
from crda_spec.gate.intervals import FittedBand, bounds_at
from crda_spec.records import Arm, Array, Column, Predictor, RunResult
from crda_spec.regressors.fit import MeanModel
from crda_spec.regressors.intervals import fewest_units, unknown_level

if TYPE_CHECKING:
    from crda_spec.spec.run import RunSpec

_SCORED = 16384  # rows that are predicted at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FinalModel:
    """What a run predicts with, and the contract of the rows that it takes."""

    model: Predictor
    arm: Arm
    models: int  # whose mean is predicted
    ensemble: bool  # whether the run hands over several
    features: tuple[Column, ...]
    target: Column
    dataset: Dataset  # the run's own: what cells mean, and its rules for missing ones
    band: FittedBand | None = None  # the calibrated intervals, where a level is asked for
    fold_models: tuple[Predictor, ...] = ()  # around which they lie, if not around the model
    level: float | None = None


def final_model(result: RunResult, spec: RunSpec, *, single: bool = False, level: float | None = None) -> FinalModel:
    """Of a run in memory.

    single: asks for the run's one model also where there is an ensemble.
    level: asks for intervals too; those of an ensemble are as wide as one model's.
    """
    _check_level(level, known=result.band is not None)
    members = result.members if result.members and not single else (result.model,)
    band = result.band if level is not None and isinstance(result.band, FittedBand) else None
    return FinalModel(
        model=MeanModel(members) if len(members) > 1 else members[0],
        arm="augmented" if result.verdict.uses_augmented else "plain",
        models=len(members),
        ensemble=bool(result.members),
        features=result.split.train.features,
        target=result.split.train.target,
        dataset=spec.dataset,
        band=band,
        fold_models=result.fold_models if band is not None and band.form == "cv_plus" else (),
        level=level,
    )


def saved_model(run: OpenedRun, *, single: bool = False, level: float | None = None) -> FinalModel:
    """The same of a run's folder."""
    folder, record = run.folder, run.record
    _check_level(level, known=record.get("intervals") is not None, place=Place(file=str(folder)))
    together = record["ensemble"] is not None and not single
    if "model/model.json" not in record["files"]:
        what, hint = "the run saved no model", "set output.model: true, and run again"
        if "model" in record.get("unsaved", {}):
            what, hint = f"{what}: {record['unsaved']['model']}", "run it in Python, and call Run.predict"
        raise OutputError(Complaint(code="no-model", place=Place(file=str(folder)), what=what, hint=hint))
    with readable(folder):
        members = load_models(folder / "ensemble") if together else (load_model(folder / "model"),)
        band = None if level is None else load_band(folder)
        return FinalModel(
            model=MeanModel(members) if together else members[0],
            arm=record["final_model"],
            models=len(members),
            ensemble=record["ensemble"] is not None,
            features=tuple(read_as(Column, column) for column in record["data"]["features"]),
            target=read_as(Column, record["data"]["target"]),
            dataset=run.spec.dataset,
            band=band,
            fold_models=load_models(folder / FOLD_MODELS) if band is not None and band.form == "cv_plus" else (),
            level=level,
        )


def _check_level(level: float | None, *, known: bool, place: Place | None = None) -> None:
    """A level that is none, or a run without the errors that intervals are made of."""
    if level is None:
        return
    wrong = unknown_level(level)
    if wrong is not None:
        raise SpecError(wrong)
    if not known:
        what = "the run has no intervals: its gate held out no rows, or output.intervals is null"
        hint = "enable the gate, leave output.intervals out, and run again"
        raise OutputError(Complaint(code="no-intervals", place=place, what=what, hint=hint))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predicted:
    """Predictions beside the rows' ids, and what their reader should know."""

    final: FinalModel
    ids: pa.Table | None  # as they are written; None where there are none
    numbers: dict[str, Array]  # prediction and, with a level, low and high: (n,) each, NaN for a row without one
    notes: tuple[str, ...]

    @property
    def table(self) -> pa.Table:
        """The ids, or where there are none the rows' numbers from 1, then the numbers."""
        return predicted_table(self.ids, self.numbers)

    def csv_lines(self) -> Iterator[str]:
        """The table as text."""
        return csv_lines(self.table)


def predict_rows(final: FinalModel, file: RowFile, *, ids: Sequence[str] = ()) -> Predicted:
    """Every row of a file, or of a frame, under the contracts of the run's columns; columns go by their names.

    ids: columns that tell rows apart; one that the file lacks is left out, for no prediction needs it.
    """
    file = file.read_by(final.dataset.reading)
    complaints = missing_columns(file, [column.name for column in final.features])
    if complaints:
        raise DataError(complaints)
    there = [name for name in ids if name in file.names]
    with threadpool_limits(limits=1):  # the same bits on any machine
        numbers = _numbers(final, file)
    return Predicted(
        final=final, ids=file.written(there) if there else None, numbers=numbers, notes=tuple(_notes(final, file, ids))
    )


def _numbers(final: FinalModel, file: RowFile) -> dict[str, Array]:
    names = ("prediction", "low", "high") if final.band is not None else ("prediction",)
    rules = [final.dataset.missing_rule(column.name) for column in final.features]
    allowed, drops = [rule != "error" for rule in rules], np.array([rule == "drop" for rule in rules])
    found: list[Array] = []
    for block in file.blocks(_SCORED, [column.name for column in final.features]):
        place = BlockPlace(file=file.path.name, first=sum(map(len, found)), decimal=file.decimal)
        x = block_numbers(block, final.features, place)
        missing = np.isnan(x)
        refuse_missing(missing, final.features, place, allowed=allowed, why=": the run allowed no missing cell")
        usable = ~missing[:, drops].any(axis=1)
        columns = np.full((len(x), len(names)), np.nan)
        columns[usable] = np.stack(_asked(final, np.ascontiguousarray(x[usable])), axis=1)
        found.append(columns)
    return dict(zip(names, np.concatenate(found).T, strict=True))


def _asked(final: FinalModel, x: Array) -> tuple[Array, ...]:
    prediction = final.model.predict(x)
    if final.band is None or final.level is None:
        return (prediction,)
    low, high = bounds_at(final.band, final.model, final.fold_models, x, final.level)
    return prediction, low, high


def _notes(final: FinalModel, file: RowFile, ids: Sequence[str]) -> Iterator[str]:
    """What the reader of the predictions should know."""
    level, band = final.level, final.band
    if level is not None and band is not None and fewest_units(level) > band.units:
        fewest = f"at level {level:g} an interval needs {fewest_units(level)} held-out rows (or groups)"
        yield f"All intervals are infinite: {fewest}, and the run has {band.units}."
    for absent in (one for one in ids if one not in file.names):
        near = did_you_mean(absent, file.names, taken={*ids, *(column.name for column in final.features)} - {absent})
        near = f"; {near}" if near.endswith("?") else ""
        yield printable(f"{file.path.name}: there is no column {show(absent)}: it is left out{near}")
