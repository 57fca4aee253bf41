"""The run against the data it was made from, where they are at hand."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.audit.canonical import plain
from crda_spec.audit.export import CRATE
from crda_spec.audit.models import load_model
from crda_spec.audit.record import data_record
from crda_spec.audit.tables import TIME
from crda_spec.audit.verify.checks import EXACT, Check, Finding, Tolerance, checked, compared, named
from crda_spec.audit.verify.losses import read_scored
from crda_spec.audit.verify.rows import FILE, Ledger
from crda_spec.errors import show
from crda_spec.records import NOBODY, DataReport, HeldOut, Split, Table
from crda_spec.regressors import EarlyStopping
from crda_spec.regressors.fit import student_seed, watched_rows
from crda_spec.regressors.metrics import named_metric


def check_source(folder: Path, ledger: Ledger, record: Mapping[str, Any], split: Split, report: DataReport) -> Check:
    """The data's fingerprint, every real row cell by cell, and which rows were set aside."""

    def look() -> Iterator[Finding]:
        yield from compared("record.json, data", record["data"], plain(data_record(split, report)), tolerance=EXACT)
        if not np.array_equal(ledger.train.row_ids, split.train.row_ids):
            yield Finding(where=FILE, what="its real rows are not the training rows that the spec sets aside")
            return
        found = np.column_stack([ledger.train.x, ledger.train.y])
        expected = np.column_stack([split.train.x, split.train.y])
        names = [*split.train.names, split.train.target.name]
        if split.train.weights is not None and ledger.train.weights is not None:
            found = np.column_stack([found, ledger.train.weights])
            expected = np.column_stack([expected, split.train.weights])
            names.append("_crda_weight")
        wrong = np.argwhere(EXACT.differ(found, expected))
        for at, column in wrong.tolist():
            what = f"is {found[at, column]:.17g}, but the data say {expected[at, column]:.17g}"
            yield Finding(where=f"{FILE}, row {at + 1}, {show(names[column])}", what=what)
        yield from _parts(folder, record, split, report)
        yield from _trained(ledger, record, split.train)

    return checked(
        "data", f"{report.source}: its hash, {len(split.train)} training rows cell by cell", lambda: named(look())
    )


def _parts(folder: Path, record: Mapping[str, Any], split: Split, report: DataReport) -> Iterator[Finding]:
    """rows.csv: the parts of the rows, and as many in each gate fold as the fold says."""
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    test_source = report.test_source or report.source
    expected = [(report.source, row + 1, "train") for row in split.train.row_ids.tolist()]
    if split.tuning is not None:
        expected += [(report.source, row + 1, "tuning") for row in split.tuning.row_ids.tolist()]
    expected += [(test_source, row + 1, "test") for row in split.test.row_ids.tolist()]
    found = [(line["source"].removeprefix("'"), int(line["row"]), line["part"]) for line in lines]
    if len(found) != len(expected):
        yield Finding(where="rows.csv", what=f"lists {len(found)} rows, but the spec makes {len(expected)}")
    for number, (one, other) in enumerate(zip(found, expected, strict=False), start=2):
        if one[1:] != other[1:]:
            yield Finding(where=f"rows.csv, line {number}", what=f"says {show(one)}, the data make it {show(other)}")
    yield from _weights(lines, split)
    yield from _times(lines, split)
    first = max((int(line["gate_fold"]) for line in lines if line["gate_fold"]), default=0)
    for fold in record["verdict"]["folds"]:
        if fold["fold"] > first:
            break  # of a repetition: the file lists the first round of folds
        held = sum(line["gate_fold"] == str(fold["fold"]) for line in lines)
        if held != fold["held_out_rows"]:
            what = f"puts {held} rows into fold {fold['fold']}, the record says {fold['held_out_rows']}"
            yield Finding(where="rows.csv", what=what)


def _weights(lines: Sequence[Mapping[str, str]], split: Split) -> Iterator[Finding]:
    """What rows.csv says each row weighs, against the data."""
    parts = [part for part in (split.train, split.tuning, split.test) if part is not None]
    expected = [weight for part in parts if part.weights is not None for weight in part.weights.tolist()]
    for number, (line, weight) in enumerate(zip(lines, expected, strict=False), start=2):
        if line.get("weight") != repr(weight):
            what = f"says {show(line.get('weight'))}, the data say {weight!r}"
            yield Finding(where=f"rows.csv, line {number}, 'weight'", what=what)


def _times(lines: Sequence[Mapping[str, str]], split: Split) -> Iterator[Finding]:
    """When each row was, where rows have an order."""
    if split.clock is None:
        return
    expected: list[str] = []
    parts: list[Table | HeldOut] = [split.train, *([] if split.tuning is None else [split.tuning]), split.test]
    for rows in parts:
        known = [""] * len(rows) if rows.times is None else [split.clock.moments[at] for at in rows.times.tolist()]
        expected += known
    for number, (line, moment) in enumerate(zip(lines, expected, strict=False), start=2):
        if line.get(TIME) != moment:
            what = f"says {show(line.get(TIME))}, the data say {show(moment)}"
            yield Finding(where=f"rows.csv, line {number}, '{TIME}'", what=what)


def _trained(ledger: Ledger, record: Mapping[str, Any], train: Table) -> Iterator[Finding]:
    """`_crda_trained`: early stopping sets rows aside, and with them all that was made from them."""
    told = record["regressor"].get("stopping")
    stopping = None if told is None else EarlyStopping(**told)
    watched = np.zeros(len(train), dtype=bool)
    watched[watched_rows(train, stopping, seed=student_seed(record["seed"], (0,)))] = True
    stems = [(rows != NOBODY) & watched[rows] for rows in (ledger.source, ledger.partner, ledger.noise_row)]
    real = ~watched | (record["watch"] == "synthetic")
    expected = np.concatenate([real, ~np.logical_or.reduce(stems)])
    found = np.concatenate([ledger.real["trained"], ledger.made["trained"]]) == 1.0
    for at in np.flatnonzero(found != expected).tolist():
        said, true = ("trained on", "set aside") if found[at] else ("set aside", "trained on")
        yield Finding(where=f"{FILE}, row {at + 1}, '_crda_trained'", what=f"says {said}, but the row was {true}")


def check_model(folder: Path, record: Mapping[str, Any], split: Split, *, tolerance: Tolerance) -> Check:
    """The saved final model on the test rows: does it score what the record says?"""
    arm = record["final_model"]

    def look() -> Iterator[Finding]:
        metric, losses = named_metric(record["test"]["metric"]), read_scored(folder, "test").losses
        found = metric.row_losses(split.test.errors(load_model(folder / "model")))
        kept = getattr(losses, arm)
        # What the other model lost on each row is in rows.csv alone.
        for name in ("plain", "augmented"):
            if (told := record["test"][name]) is not None:
                rows = found if name == arm else getattr(losses, name)
                mean = metric.mean(rows, spread=split.test.spread, weights=split.test.weights)
                yield from compared(f"record.json, test.{name}", told, plain(mean), tolerance=tolerance)
        for at in np.flatnonzero(tolerance.differ(kept, found)).tolist():
            what = f"says {kept[at]:.17g}, the saved model loses {found[at]:.17g}"
            yield Finding(where=f"rows.csv, test row {at + 1}, '{arm}_loss'", what=what)

    return checked("model", f"the saved model on {len(split.test)} test rows", lambda: named(look()))


_VOLATILE = ("volatile", "sha256")
# What a tolerance does not reach: pictures, pages and models hold numbers in forms of their own.
_BYTES_ONLY = (".html", ".svg", ".png", ".skops")


def check_folders(kept: Path, again: Path, *, tolerance: Tolerance) -> Check:
    """Byte for byte; with a tolerance, tables and JSON number by number, and no pictures, pages or models."""

    def look() -> Iterator[Finding]:
        names = sorted({*_files(kept), *_files(again)} - {CRATE})  # it tells the day, and follows from all others
        for name in names:
            one, other = kept / name, again / name
            if not one.is_file() or not other.is_file():
                what = "the run made again has no such file" if one.is_file() else "the run made again has it too"
                yield Finding(where=name, what=what)
            elif name == "record.json":
                yield from named(_records(one, other, tolerance))
            elif one.read_bytes() != other.read_bytes() and _compared(name, tolerance):
                yield from named(_contents(name, one, other, tolerance))

    how = "byte for byte" if tolerance.relative == 0.0 else f"number by number, {tolerance}; not pictures and models"
    return checked("run again", f"the run made again, {how}", look)


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _compared(name: str, tolerance: Tolerance) -> bool:
    models = name.startswith(("model/", "teacher/", "ensemble/"))
    return tolerance.relative == 0.0 or not (models or name.endswith(_BYTES_ONLY))


def _records(one: Path, other: Path, tolerance: Tolerance) -> Iterator[Finding]:
    """All but the volatile part; hashes of files are compared as files, and versions only where bytes are."""
    found, expected = (json.loads(file.read_text(encoding="utf-8")) for file in (one, other))
    left_out = [*_VOLATILE, "files", *(["versions", "platform"] if tolerance.relative > 0.0 else [])]
    for record in (found, expected):
        for key in left_out:
            record.pop(key, None)
    yield from compared("record.json", found, expected, tolerance=tolerance)


def _contents(name: str, one: Path, other: Path, tolerance: Tolerance) -> Iterator[Finding]:
    """Where the contents differ; when they do not, the bytes do, which counts unless there is a tolerance."""
    found: list[Finding] = []
    if name.endswith(".json"):
        values = (json.loads(file.read_text(encoding="utf-8")) for file in (one, other))
        found = compared(name, *values, tolerance=tolerance)
    elif name.endswith(".csv"):
        found = list(_tables(name, _read_csv(one), _read_csv(other), tolerance))
    elif name.endswith(".parquet"):
        found = list(_tables(name, pq.read_table(one), pq.read_table(other), tolerance))
    yield from found
    if not found and (tolerance.relative == 0.0 or not name.endswith((".json", ".csv", ".parquet"))):
        yield Finding(where=name, what="differs from the run made again")


def _read_csv(file: Path) -> pa.Table:
    header, *lines = csv.reader(io.StringIO(file.read_text(encoding="utf-8")))
    columns = [_column([line[at] for line in lines]) for at in range(len(header))]
    return pa.table(columns, names=header)


def _column(cells: list[str]) -> Any:  # noqa: ANN401 - an array of numbers or of text
    try:
        return pa.array([None if cell == "" else float(cell) for cell in cells], pa.float64())
    except ValueError:
        return pa.array(cells, pa.string())


def _tables(name: str, found: pa.Table, expected: pa.Table, tolerance: Tolerance) -> Iterator[Finding]:
    if found.schema != expected.schema:
        yield Finding(where=name, what="has other columns than the run made again")
        return
    if found.num_rows != expected.num_rows:
        yield Finding(where=name, what=f"has {found.num_rows} rows, the run made again {expected.num_rows}")
        return
    for column in found.column_names:
        one, other = found[column].combine_chunks(), expected[column].combine_chunks()
        if pa.types.is_floating(one.type):
            left, right = (np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64) for cells in (one, other))
            wrong = np.flatnonzero(tolerance.differ(left, right))
        else:
            wrong = np.flatnonzero([a != b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)])
        for at in wrong.tolist():
            what = f"is {show(one[at].as_py())}, the run made again says {show(other[at].as_py())}"
            yield Finding(where=f"{name}, row {at + 1}, {show(column)}", what=what)
