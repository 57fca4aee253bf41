"""Every row, computed again: what stayed fixed, what the teacher says, the label; and the run against its data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.audit.canonical import plain
from crda_spec.audit.export import CRATE
from crda_spec.audit.models import load_model
from crda_spec.audit.open_run import ROWS_FILE as FILE
from crda_spec.audit.open_run import Finding, Ledger, made_rows
from crda_spec.audit.record import data_record
from crda_spec.audit.tables import TIME, ledger_table, moments_of
from crda_spec.audit.verify.checks import EXACT, Check, Tolerance, checked, compared, named
from crda_spec.audit.verify.verdict import read_scored
from crda_spec.counterfactual.predict import asked_at, label_of
from crda_spec.errors import show
from crda_spec.records import NOBODY, Array, DataReport, HeldOut, NoiseScale, Split, Table, Teacher
from crda_spec.regressors import EarlyStopping
from crda_spec.regressors.fit import student_seed, watched_rows
from crda_spec.regressors.metrics import named_metric


def check_real_rows(ledger: Ledger, record: Mapping[str, Any], teacher: Teacher | None, tolerance: Tolerance) -> Check:
    """The real rows: each once, its noise is what the teacher leaves, and the teacher says what it is said to say."""
    train, real = ledger.train, ledger.real

    def look() -> Iterator[Finding]:
        numbers, counts = np.unique(train.row_ids + 1, return_counts=True)
        for number in numbers[counts > 1].tolist():
            yield Finding(where=FILE, what=f"real row {number} stands there twice")
        if len(train) != record["data"]["train_rows"]:
            what = f"has {len(train)} real rows, the record says {record['data']['train_rows']}"
            yield Finding(where=FILE, what=what)
        noise = (train.y - real["prediction"]) / real["scale"]
        yield from _differing(ledger, "_crda_noise", real["noise"], noise, EXACT, first=0)
        if train.weights is None:
            yield from _differing(ledger, "_crda_weight", real["weight"], np.ones(len(train)), EXACT, first=0)
        if teacher is not None and record["abduction"]["residuals"] == "in_sample":
            said = teacher.predict(train.x)
            yield from _differing(ledger, "_crda_prediction", real["prediction"], said, tolerance, first=0)

    return checked("real rows", f"the noise of {len(train)} real rows", look)


def check_made_rows(ledger: Ledger, record: Mapping[str, Any]) -> Check:
    """The synthetic rows: their sources exist, what was held fixed is the source's, and their number is right."""
    recorded, train = record["counterfactuals"], ledger.train

    def look() -> Iterator[Finding]:
        expected = 0 if recorded is None else recorded["rows"]
        if len(ledger.y) != expected:
            yield Finding(where=FILE, what=f"has {len(ledger.y)} synthetic rows, the record says {expected}")
        if recorded is None or not len(ledger.y):
            return
        lost = ledger.source == NOBODY
        yield from named(
            Finding(where=ledger.place(at, "_crda_source_row"), what="names no real row")
            for at in np.flatnonzero(lost).tolist()
        )
        free = (*recorded["moved"], *recorded["propagated"])
        source = train.x[np.where(lost, 0, ledger.source)]
        same = ~EXACT.differ(ledger.x, source) | lost[:, None]
        for position, name in enumerate(train.names):
            if name not in free:
                yield from named(
                    Finding(
                        where=ledger.place(at, name),
                        what=f"must be its source's {source[at, position]:.17g}, but is {ledger.x[at, position]:.17g}",
                    )
                    for at in np.flatnonzero(~same[:, position]).tolist()
                )
        copied = int(same.all(axis=1).sum())
        if copied != recorded["copied"]:
            what = f"{copied} synthetic rows equal their source, the record says {recorded['copied']}"
            yield Finding(where=FILE, what=what)

    return checked("synthetic rows", f"the fixed features of {len(ledger.y)} synthetic rows, bit for bit", look)


def check_labels(
    ledger: Ledger, record: Mapping[str, Any], teacher: Teacher, scale: NoiseScale | None, tolerance: Tolerance
) -> Check:
    """Every y', from the saved teacher and the noise of the real row that lent it."""
    recorded, made = record["counterfactuals"], ledger.made

    def look() -> Iterator[Finding]:
        told_everywhere = np.full(len(ledger.y), float(recorded["retention"]))
        yield from _differing(ledger, "_crda_retention", made["retention"], told_everywhere, EXACT)
        weight = ledger.real["weight"][np.maximum(ledger.source, 0)] * float(recorded["weight"])
        yield from _differing(ledger, "_crda_weight", made["weight"], weight, EXACT)
        train, source = ledger.train, np.maximum(ledger.source, 0)
        asked, invariant = asked_at(ledger.x, train.x[source], train.names, recorded["irrelevant"])
        invariant = np.zeros(len(ledger.y), dtype=np.bool_) if invariant is None else invariant
        bases = ["invariance" if one else recorded["basis"] for one in invariant.tolist()]
        yield from named(
            Finding(where=ledger.place(at, "_crda_basis"), what=f"says {show(one)}, not {show(basis)}")
            for at, (one, basis) in enumerate(zip(ledger.bases, bases, strict=True))
            if one != basis
        )
        lends = ledger.noise_row != NOBODY
        lent = np.where(lends, ledger.real["noise"][ledger.noise_row], 0.0)
        yield from _differing(ledger, "_crda_noise", made["noise"], lent, EXACT)
        if recorded["residual_draw"] == "own":
            yield from _differing(ledger, "_crda_noise_row", made["noise_row"], made["source_row"], EXACT)
        yield from _differing(ledger, "_crda_prediction", made["prediction"], teacher.predict(asked), tolerance)
        carries = scale is not None and recorded["retention"] > 0
        size = scale.at(asked)[0] if scale is not None and carries else np.ones(len(ledger.y))
        yield from _differing(ledger, "_crda_scale", made["scale"], size, tolerance)
        y = label_of(made["prediction"], recorded["retention"], made["scale"] if carries else None, made["noise"])
        if recorded["retention"] == 1 and recorded["residual_draw"] == "own":
            y = np.where(invariant, train.y[source], y)
        yield from _differing(ledger, ledger.train.target.name, ledger.y, y, EXACT)

    return checked("labels", f"{len(ledger.y)} labels from the saved teacher, {tolerance}", look)


def _differing(
    ledger: Ledger, column: str, found: Array, expected: Array, tolerance: Tolerance, *, first: int | None = None
) -> Sequence[Finding]:
    start = len(ledger.train) if first is None else first
    return named(
        Finding(
            where=f"{FILE}, row {start + at + 1}, {show(column)}",
            what=f"is {found[at]:.17g}, but is computed to be {expected[at]:.17g}",
        )
        for at in np.flatnonzero(tolerance.differ(found, expected)).tolist()
    )


def check_cells(folder: Path, ledger: Ledger, record: Mapping[str, Any]) -> Check:
    """ledger.parquet against the rows: every changed cell is listed, and nothing else is."""

    def look() -> Iterator[Finding]:
        found = pq.read_table(folder / "ledger.parquet")
        made = made_rows(replace(ledger, source=np.maximum(ledger.source, 0)), record)
        expected = ledger_table(ledger.train, None if made is None else made.action)
        if found.equals(expected):
            return
        if found.schema != expected.schema or found.num_rows != expected.num_rows:
            what = f"lists {found.num_rows} changed cells, but the rows show {expected.num_rows}"
            yield Finding(where="ledger.parquet", what=what)
            return
        for at, (one, other) in enumerate(zip(found.to_pylist(), expected.to_pylist(), strict=True)):
            wrong = [name for name in other if one[name] != other[name]]
            for name in wrong:
                what = f"says {show(one[name])}, but the rows show {show(other[name])}"
                yield Finding(where=f"ledger.parquet, row {at + 1}, {show(name)}", what=what)

    return checked("ledger", "the list of changed cells against the rows", lambda: named(look()))


def check_source(folder: Path, ledger: Ledger, record: Mapping[str, Any], split: Split, report: DataReport) -> Check:
    """The data's fingerprint, every real row cell by cell, and which rows were set aside."""

    def look() -> Iterator[Finding]:
        yield from compared("record.json, data", record["data"], plain(data_record(split, report)))
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
    parts: dict[str, Table | HeldOut | None] = {"train": split.train, "tuning": split.tuning, "test": split.test}
    known = {name: rows for name, rows in parts.items() if rows is not None}
    expected = [(row + 1, name) for name, rows in known.items() for row in rows.row_ids.tolist()]
    if len(lines) != len(expected):
        yield Finding(where="rows.csv", what=f"lists {len(lines)} rows, but the spec makes {len(expected)}")
    for number, (cells, (row, part)) in enumerate(zip(lines, expected, strict=False), start=2):
        if (int(cells["row"]), cells["part"]) != (row, part):
            found = (cells["source"].removeprefix("'"), int(cells["row"]), cells["part"])
            source = report.test_source or report.source if part == "test" else report.source
            what = f"says {show(found)}, the data make it {show((source, row, part))}"
            yield Finding(where=f"rows.csv, line {number}", what=what)
    weights = [repr(one) for rows in known.values() if rows.weights is not None for one in rows.weights.tolist()]
    yield from _column_findings(lines, "weight", weights)
    if split.clock is not None:
        moments = [moment for rows in known.values() for moment in moments_of(rows, split.clock)]
        yield from _column_findings(lines, TIME, moments, shown=show)
    first = max((int(cells["gate_fold"]) for cells in lines if cells["gate_fold"]), default=0)
    for fold in record["verdict"]["folds"]:
        if fold["fold"] > first:
            break  # of a repetition: the file lists the first round of folds
        held = sum(cells["gate_fold"] == str(fold["fold"]) for cells in lines)
        if held != fold["held_out_rows"]:
            what = f"puts {held} rows into fold {fold['fold']}, the record says {fold['held_out_rows']}"
            yield Finding(where="rows.csv", what=what)


def _column_findings(
    lines: Sequence[Mapping[str, str]], column: str, expected: Sequence[str], *, shown: Callable[[str], str] = str
) -> Iterator[Finding]:
    """One column of rows.csv against the data."""
    for number, (cells, value) in enumerate(zip(lines, expected, strict=False), start=2):
        if cells.get(column) != value:
            what = f"says {show(cells.get(column))}, the data say {shown(value)}"
            yield Finding(where=f"rows.csv, line {number}, '{column}'", what=what)


def _trained(ledger: Ledger, record: Mapping[str, Any], train: Table) -> Iterator[Finding]:
    """`_crda_trained`: early stopping sets rows aside and all that was made from them; a refit trains on all."""
    recorded = record["regressor"].get("stopping")
    # Older records know no refit.
    stopping = None if recorded is None else EarlyStopping(**{"refit": False, **recorded})
    if stopping is not None and stopping.refit and record["watch"] == "real":
        stopping = None  # trained again, on all rows
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
            if (recorded := record["test"][name]) is not None:
                rows = found if name == arm else getattr(losses, name)
                mean = metric.mean(rows, spread=split.test.spread, weights=split.test.weights)
                yield from compared(f"record.json, test.{name}", recorded, plain(mean), tolerance=tolerance)
        for at in np.flatnonzero(tolerance.differ(kept, found)).tolist():
            what = f"says {kept[at]:.17g}, the saved model loses {found[at]:.17g}"
            yield Finding(where=f"rows.csv, test row {at + 1}, '{arm}_loss'", what=what)

    return checked("model", f"the saved model on {len(split.test)} test rows", lambda: named(look()))


_VOLATILE = ("volatile", "sha256")
# What a tolerance does not reach: pictures, pages and models hold numbers in forms of their own.
_BYTES_ONLY = (".html", ".svg", ".png", ".skops")


def check_folders(kept: Path, again: Path, *, tolerance: Tolerance) -> Check:
    """Byte for byte; with a tolerance, tables and JSON number by number, and no pictures, pages or models."""
    exact = tolerance.relative == 0.0

    def look() -> Iterator[Finding]:
        names = sorted({*_files(kept), *_files(again)} - {CRATE})  # it tells the day, and follows from all others
        for name in names:
            one, other = kept / name, again / name
            own_form = name.startswith(("model/", "teacher/", "ensemble/")) or name.endswith(_BYTES_ONLY)
            if not one.is_file() or not other.is_file():
                what = "the run made again has no such file" if one.is_file() else "the run made again has it too"
                yield Finding(where=name, what=what)
            elif name == "record.json":
                yield from named(_records(one, other, tolerance))
            elif one.read_bytes() != other.read_bytes() and (exact or not own_form):
                yield from named(_contents(name, one, other, tolerance))

    how = "byte for byte" if exact else f"number by number, {tolerance}; not pictures and models"
    return checked("run again", f"the run made again, {how}", look)


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


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
