"""What a run hands over, one model or an ensemble, on new rows, read block by block under the run's own contracts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from crda_spec.audit.canonical import sha256_of
from crda_spec.audit.models import load_model
from crda_spec.audit.open_run import read_column
from crda_spec.data.blocks import RowFile, missing_columns, open_rows
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.data.sources import Source
from crda_spec.errors import Complaint, DataError, OutputError, Place, TamperedError
from crda_spec.records import Array, Column, IntArray, Predictor
from crda_spec.regressors import FittedModel
from crda_spec.regressors.fit import MeanModel

MissingRule = Literal["error", "drop", "impute"]
_BLOCK = 16384


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scoring:
    """A model, the rows it is asked about, and the rule for missing cells."""

    model: Predictor
    models: int  # whose mean is predicted
    features: tuple[Column, ...]
    target: Column
    file: RowFile
    missing: MissingRule

    def predictions(self) -> Iterator[tuple[int, Array]]:
        """Blocks of predictions, each with the number of rows before it; NaN where a row has none."""
        before = 0
        names = [column.name for column in self.features]
        for block in self.file.blocks(_BLOCK, names):
            place = BlockPlace(file=self.file.path.name, first=before, decimal=self.file.decimal)
            x = block_numbers(block, self.features, place)
            usable = self._usable(x, place)
            said = np.full(len(x), np.nan)
            with threadpool_limits(limits=1):  # the same bits on any machine
                said[usable] = self.model.predict(np.ascontiguousarray(x[usable]))
            yield before, said
            before += len(x)

    def _usable(self, x: Array, place: BlockPlace) -> Any:  # noqa: ANN401 - a mask
        missing = np.isnan(x)
        if self.missing == "impute":
            return np.ones(len(x), dtype=bool)
        if self.missing == "error" and missing.any():
            raise DataError(
                Complaint(
                    code="missing",
                    place=Place(file=place.file),
                    what=f"'{column.name}' is missing in row {place.first + int(missing[:, at].argmax()) + 1}",
                    hint="fill the cell, or leave the row out: the run allowed no missing cell",
                )
                for at, column in enumerate(self.features)
                if missing[:, at].any()
            )
        return ~missing.any(axis=1)


def prepare_scoring(
    folder: Path,
    record: Mapping[str, Any],
    data: Path,
    *,
    missing: MissingRule,
    like: Source | None = None,
    single: bool = False,
) -> Scoring:
    """All that is needed, checked: the models' files, the file of rows and its columns.

    like: the run's own source: text is read as its text, and a workbook's sheet is its sheet.
    single: asks for the run's one model also where there is an ensemble.
    """
    together = record.get("ensemble") is not None and not single
    _untouched(folder, record, "ensemble" if together else "model")
    members = load_members(folder) if together else (load_model(folder / "model"),)
    features = tuple(read_column(told) for told in record["data"]["features"])
    file = open_rows(data, like=like)
    complaints = missing_columns(file, [column.name for column in features])
    if complaints:
        raise DataError(complaints)
    target = read_column(record["data"]["target"])
    model = MeanModel(members) if together else members[0]
    return Scoring(model=model, models=len(members), features=features, target=target, file=file, missing=missing)


def load_members(folder: Path) -> tuple[FittedModel, ...]:
    """The models of a run's ensemble, in the order of their numbers."""
    places = sorted((folder / "ensemble").glob("*/model.json"), key=lambda path: int(path.parent.name))
    return tuple(load_model(path.parent) for path in places)


def _untouched(folder: Path, record: Mapping[str, Any], inner: str) -> None:
    """Looks whether every file of the inner folder is as the run wrote it, and no model was added that would vote."""
    listed = {name: digest for name, digest in record["files"].items() if name.startswith(f"{inner}/")}
    place = Place(file=str(folder))
    if not listed:
        what, hint = "the run saved no model", "set output.model: true, and run again"
        raise OutputError(Complaint(code="no-model", place=place, what=what, hint=hint))
    voting = {path.relative_to(folder).as_posix() for path in (folder / inner).glob("*/model.json")}
    complaints = [_tampered(folder, f"{name} was not written by the run") for name in sorted(voting - set(listed))]
    for name, digest in listed.items():
        file = folder / name
        if not file.is_file() or sha256_of(file.read_bytes()) != digest:
            what = f"{name} is {'not as the run wrote it' if file.is_file() else 'missing'}"
            complaints.append(_tampered(folder, what))
    if complaints:
        raise TamperedError(complaints)


def _tampered(folder: Path, what: str) -> Complaint:
    hint = f"see what else differs: crda-spec verify {folder}"
    return Complaint(code="tampered", place=Place(file=str(folder)), what=what, hint=hint)


def predicted(scoring: Scoring) -> tuple[IntArray, Array]:
    """The rows' numbers, counted from 1, and their predictions; NaN where a row has none."""
    said = np.concatenate([block for _, block in scoring.predictions()])
    return np.arange(1, len(said) + 1), said


def write_predictions(numbers: IntArray, said: Array, out: Path) -> None:
    """Writes `row, prediction` as CSV or Parquet, by the file's ending; whole or not at all."""
    partial = out.parent / f".partial-{out.name}-{os.getpid()}"
    try:
        if out.suffix.casefold() in (".parquet", ".pq"):
            pq.write_table(pa.table({"row": numbers, "prediction": pa.array(said, mask=np.isnan(said))}), partial)
        else:
            partial.write_text(predictions_csv(numbers, said), encoding="utf-8")
        partial.replace(out)
    except OSError as error:
        what = f"cannot write '{out}': {(error.strerror or str(error)).lower()}"
        raise OutputError(Complaint(code="cannot-write", what=what, hint="choose another file with --out")) from error
    finally:
        partial.unlink(missing_ok=True)


def predictions_csv(numbers: IntArray, said: Array) -> str:
    """The predictions as text, in the shortest form that reads back as the same number."""
    pairs = zip(numbers.tolist(), said.tolist(), strict=True)
    lines = [f"{number},{'' if np.isnan(value) else repr(value)}\n" for number, value in pairs]
    return "".join(["row,prediction\n", *lines])
