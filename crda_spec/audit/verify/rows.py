"""Every row, computed again: what stayed fixed, what the teacher says, the label; and the run against its data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.audit.canonical import plain
from crda_spec.audit.export import CRATE
from crda_spec.audit.models import load_model
from crda_spec.audit.open_run import ROWS_FILE as FILE
from crda_spec.audit.open_run import Finding, Ledger, made_rows, present_files
from crda_spec.audit.record import data_record
from crda_spec.audit.tables import CSV_FILE, TIME, csv_files, ledger_table, moments_of
from crda_spec.audit.verify.checks import EXACT, Tolerance, compared, differing, named
from crda_spec.audit.verify.verdict import read_scored
from crda_spec.counterfactual.act import values_that_occur
from crda_spec.counterfactual.augmenters import AUGMENTERS
from crda_spec.counterfactual.perturbation import Perturbation
from crda_spec.counterfactual.predict import asked_at, label_of
from crda_spec.errors import show
from crda_spec.gate.intervals import errors_by_arm
from crda_spec.gate.score import Constant, accuracy
from crda_spec.records import (
    NOBODY,
    Array,
    DataReport,
    Forecaster,
    HeldOut,
    NoiseScale,
    Split,
    Table,
    Teacher,
    weighted_mean,
)
from crda_spec.regressors import EarlyStopping
from crda_spec.regressors.fit import student_seed, watched_rows
from crda_spec.regressors.metrics import named_metric


def check_real_rows(
    ledger: Ledger, record: Mapping[str, Any], teacher: Teacher | None, tolerance: Tolerance
) -> Iterator[Finding]:
    """The real rows: each once, its noise is what the teacher leaves, and the teacher says what it is said to say."""
    train, real = ledger.train, ledger.real
    numbers, counts = np.unique(train.row_ids + 1, return_counts=True)
    for number in numbers[counts > 1].tolist():
        yield Finding(FILE, f"real row {number} stands there twice")
    if len(train) != record["data"]["train_rows"]:
        yield Finding(FILE, f"has {len(train)} real rows, the record says {record['data']['train_rows']}")
    yield from _computed("_crda_noise", real["noise"], (train.y - real["prediction"]) / real["scale"])
    if train.weights is None:
        yield from _computed("_crda_weight", real["weight"], np.ones(len(train)))
    if teacher is not None and record["abduction"]["residuals"] == "in_sample":
        yield from _computed("_crda_prediction", real["prediction"], teacher.predict(train.x), tolerance)
    elif teacher is not None and len(teacher.in_sample):
        found, says = teacher.in_sample, "is {:.17g}, but is computed to be {:.17g}"
        where = "in_sample.json, row"
        yield from named(differing(where, "prediction", found, teacher.predict(train.x), says, tolerance))


def _computed(
    column: str, found: Array, expected: Array, tolerance: Tolerance = EXACT, *, before: int = 0
) -> Iterator[Finding]:
    """A column of augmented.parquet, or the part of it after so many rows, against what it should be."""
    says = "is {:.17g}, but is computed to be {:.17g}"
    return named(differing(f"{FILE}, row", column, found, expected, says, tolerance, first=before + 1))


def check_made_rows(ledger: Ledger, record: Mapping[str, Any]) -> Iterator[Finding]:
    """The synthetic rows: their sources exist, what was held fixed is the source's, and their number is right."""
    recorded, train = record["counterfactuals"], ledger.train
    expected = 0 if recorded is None else recorded["rows"]
    if len(ledger.y) != expected:
        yield Finding(FILE, f"has {len(ledger.y)} synthetic rows, the record says {expected}")
    if recorded is None or not len(ledger.y):
        return
    lost = ledger.source == NOBODY
    yield from named(
        Finding(ledger.place(at, "_crda_source_row"), "names no real row") for at in np.flatnonzero(lost).tolist()
    )
    free = (*recorded["moved"], *recorded["propagated"])
    source = np.where(lost[:, None], ledger.x, train.x[ledger.source])
    says = "must be its source's {:.17g}, but is {:.17g}"
    for name, wanted, cells in zip(train.names, source.T, ledger.x.T, strict=True):
        if name not in free:
            yield from named(differing(f"{FILE}, row", name, wanted, cells, says, first=len(train) + 1))
    perturbation = _perturbation(record)
    yield from _values_that_never_occur(ledger, source, perturbation)
    for rule, broken in perturbation.rules.on(train).broken_by_rule(ledger.x):
        yield from named(
            Finding(ledger.place(row), f"breaks the rule {rule.words}") for row in np.flatnonzero(broken).tolist()
        )
    copied = int((~EXACT.differ(ledger.x, source)).all(axis=1).sum())
    if copied != recorded["copied"]:
        yield Finding(FILE, f"{copied} synthetic rows equal their source, the record says {recorded['copied']}")


def _perturbation(record: Mapping[str, Any]) -> Perturbation:
    """What the record says was done to the features."""
    return Perturbation.model_validate_json(json.dumps(record["spec"]["resolved"]["perturbation"]))


def _values_that_never_occur(ledger: Ledger, source: Array, perturbation: Perturbation) -> Iterator[Finding]:
    """Whole numbers that moved to a value that no real row has, where contract and policy do not allow it."""
    for name, occurring in values_that_occur(ledger.train).items():
        (at,) = ledger.train.positions([name])
        own = name in perturbation.features and perturbation.features[name].own_values
        if own or not len(occurring):
            continue
        cells = ledger.x[:, at]
        strange = ~np.isnan(cells) & (cells != source[:, at]) & ~np.isin(cells, occurring)
        yield from named(
            Finding(ledger.place(row, name), f"is {cells[row]:g}, which no real row has")
            for row in np.flatnonzero(strange).tolist()
        )


def check_labels(
    ledger: Ledger, record: Mapping[str, Any], teacher: Teacher, scale: NoiseScale | None, tolerance: Tolerance
) -> Iterator[Finding]:
    """Every y', from the saved teacher and the noise of the real row that lent it."""
    recorded, made = record["counterfactuals"], ledger.made
    computed = partial(_computed, before=len(ledger.train))
    yield from computed("_crda_retention", made["retention"], np.full(len(ledger.y), float(recorded["retention"])))
    weight = ledger.real["weight"][np.maximum(ledger.source, 0)] * float(recorded["weight"])
    yield from computed("_crda_weight", made["weight"], weight)
    train, source = ledger.train, np.maximum(ledger.source, 0)
    asked, invariant = asked_at(ledger.x, train.x[source], train.names, recorded["irrelevant"])
    invariant = np.zeros(len(ledger.y), dtype=np.bool_) if invariant is None else invariant
    bases = ["invariance" if one else recorded["basis"] for one in invariant.tolist()]
    yield from named(
        Finding(ledger.place(at, "_crda_basis"), f"says {show(one)}, not {show(basis)}")
        for at, (one, basis) in enumerate(zip(ledger.bases, bases, strict=True))
        if one != basis
    )
    lent = np.where(ledger.noise_row != NOBODY, ledger.real["noise"][ledger.noise_row], 0.0)
    yield from computed("_crda_noise", made["noise"], lent)
    if recorded["residual_draw"] == "own":
        yield from computed("_crda_noise_row", made["noise_row"], made["source_row"])
    # Other augmenters label their rows themselves: these are drawn again.
    if recorded["basis"] != "augmenter" or AUGMENTERS[record["spec"]["resolved"]["augmenter"]["kind"]].asks_teacher:
        yield from computed("_crda_prediction", made["prediction"], teacher.predict(asked), tolerance)
    carries = scale is not None and recorded["retention"] > 0
    size = scale.at(asked)[0] if scale is not None and carries else np.ones(len(ledger.y))
    yield from computed("_crda_scale", made["scale"], size, tolerance)
    y = label_of(made["prediction"], recorded["retention"], made["scale"] if carries else None, made["noise"])
    if recorded["retention"] == 1 and recorded["residual_draw"] == "own":
        y = np.where(invariant, train.y[source], y)
    yield from computed(ledger.train.target.name, ledger.y, y)


def check_cells(folder: Path, ledger: Ledger, record: Mapping[str, Any]) -> Iterator[Finding]:
    """ledger.parquet against the rows: every changed cell is listed, and nothing else is; then augmented.csv."""
    yield from _cell_findings(folder, ledger, record)
    if CSV_FILE in record["files"]:
        (expected,) = csv_files((folder / FILE).read_bytes(), always=True).values()
        kept = (folder / CSV_FILE).read_bytes()
        lines = zip_longest(kept.split(b"\n"), expected.split(b"\n"))
        for number in (number for number, (one, other) in enumerate(lines, start=1) if one != other):
            yield Finding(f"{CSV_FILE}, line {number}", f"is not what {FILE} holds")
            return


def _cell_findings(folder: Path, ledger: Ledger, record: Mapping[str, Any]) -> Iterator[Finding]:
    kept = pq.read_table(folder / "ledger.parquet")
    made = made_rows(replace(ledger, source=np.maximum(ledger.source, 0)), record)
    expected = ledger_table(ledger.train, None if made is None else made.action)
    if kept.equals(expected):
        return
    if kept.schema != expected.schema or kept.num_rows != expected.num_rows:
        yield Finding("ledger.parquet", f"lists {kept.num_rows} changed cells, but the rows show {expected.num_rows}")
        return
    for at, (one, other) in enumerate(zip(kept.to_pylist(), expected.to_pylist(), strict=True)):
        for name in (name for name in other if one[name] != other[name]):
            what = f"says {show(one[name])}, but the rows show {show(other[name])}"
            yield Finding(f"ledger.parquet, row {at + 1}, {show(name)}", what)


def check_source(
    folder: Path, ledger: Ledger, record: Mapping[str, Any], split: Split, report: DataReport
) -> Iterator[Finding]:
    """The data's fingerprint, every real row cell by cell, and which rows were set aside."""
    yield from compared("record.json, data", record["data"], plain(data_record(split, report)))
    if not np.array_equal(ledger.train.row_ids, split.train.row_ids):
        yield Finding(FILE, "its real rows are not the training rows that the spec sets aside")
        return
    kept = np.column_stack([ledger.train.x, ledger.train.y])
    expected = np.column_stack([split.train.x, split.train.y])
    names = [*split.train.names, split.train.target.name]
    if split.train.weights is not None and ledger.train.weights is not None:
        kept = np.column_stack([kept, ledger.train.weights])
        expected = np.column_stack([expected, split.train.weights])
        names.append("_crda_weight")
    for at, column in np.argwhere(EXACT.differ(kept, expected)).tolist():
        what = f"is {kept[at, column]:.17g}, but the data say {expected[at, column]:.17g}"
        yield Finding(f"{FILE}, row {at + 1}, {show(names[column])}", what)
    yield from _parts(folder, record, split, report)
    yield from _trained(ledger, record, split.train)


def _parts(folder: Path, record: Mapping[str, Any], split: Split, report: DataReport) -> Iterator[Finding]:
    """rows.csv: the parts of the rows, and as many in each gate fold as the fold says."""
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    parts: dict[str, Table | HeldOut | None] = {"train": split.train, "tuning": split.tuning, "test": split.test}
    known = {name: rows for name, rows in parts.items() if rows is not None}
    expected = [(row + 1, name) for name, rows in known.items() for row in rows.row_ids.tolist()]
    if len(lines) != len(expected):
        yield Finding("rows.csv", f"lists {len(lines)} rows, but the spec makes {len(expected)}")
    for number, (cells, (row, part)) in enumerate(zip(lines, expected, strict=False), start=2):
        if (int(cells["row"]), cells["part"]) != (row, part):
            kept = (cells["source"].removeprefix("'"), int(cells["row"]), cells["part"])
            source = report.test_source or report.source if part == "test" else report.source
            what = f"says {show(kept)}, the data make it {show((source, row, part))}"
            yield Finding(f"rows.csv, line {number}", what)
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
            yield Finding("rows.csv", what)


def _column_findings(
    lines: Sequence[Mapping[str, str]], column: str, expected: Sequence[str], *, shown: Callable[[str], str] = str
) -> Iterator[Finding]:
    """One column of rows.csv against the data."""
    for number, (cells, value) in enumerate(zip(lines, expected, strict=False), start=2):
        if cells.get(column) != value:
            what = f"says {show(cells.get(column))}, the data say {shown(value)}"
            yield Finding(f"rows.csv, line {number}, '{column}'", what)


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
    expected = np.concatenate([~watched | (record["watch"] == "synthetic"), ~np.logical_or.reduce(stems)])
    kept = np.concatenate([ledger.real["trained"], ledger.made["trained"]]) == 1.0
    for at in np.flatnonzero(kept != expected).tolist():
        said, true = ("trained on", "set aside") if kept[at] else ("set aside", "trained on")
        yield Finding(f"{FILE}, row {at + 1}, '_crda_trained'", f"says {said}, but the row was {true}")


def check_model(
    folder: Path, record: Mapping[str, Any], test: HeldOut, train: Table, *, tolerance: Tolerance
) -> Iterator[Finding]:
    """The saved final model on the test rows: does it score what the record says? And the mean of the training rows?"""
    arm = record["final_model"]
    known, told = read_scored(folder, "train"), read_scored(folder, "test")
    metric, losses = (
        named_metric(record["test"]["metric"]).given(errors_by_arm(known.errors, known.weights)),
        told.losses,
    )
    errors = test.errors(load_model(folder / "model"))
    found = metric.row_losses(errors, arm)
    # What the other model lost on each row is in rows.csv alone.
    for name in ("plain", "augmented"):
        if (recorded := record["test"][name]) is not None:
            rows = found if name == arm else getattr(losses, name)
            mean = metric.mean(rows, spread=test.spread, weights=test.weights)
            yield from compared(f"record.json, test.{name}", recorded, plain(mean), tolerance=tolerance)
    known_errors: dict[Forecaster, Array] = {"plain": told.errors.plain, "augmented": told.errors.augmented}
    known_errors[arm] = errors
    usual = weighted_mean(train.y, train.weights)
    known_errors["mean"] = test.errors(Constant(usual))
    again = {one.forecaster: one for one in accuracy(known_errors, spread=test.spread, weights=test.weights)}
    for one in record["test"]["accuracy"]:
        name = one["forecaster"]
        yield from compared(f"record.json, test.accuracy.{name}", one, plain(again[name]), tolerance=tolerance)
    says = "says {:.17g}, the saved model loses {:.17g}"
    yield from differing("rows.csv, test row", f"{arm}_loss", getattr(losses, arm), found, says, tolerance)
    says = "says {:.17g}, the saved model errs by {:.17g}"
    yield from differing("rows.csv, test row", f"{arm}_error", told.errors.of(arm), errors, says, tolerance)


# What a tolerance does not reach: pictures, pages and models hold numbers in forms of their own.
_BYTES_ONLY = (".html", ".svg", ".png", ".skops")


def check_folders(kept: Path, again: Path, *, tolerance: Tolerance) -> Iterator[Finding]:
    """Byte for byte; with a tolerance, tables and JSON number by number, and no pictures, pages or models."""
    exact = tolerance.relative == 0.0
    # The crate tells the day, and follows from all others.
    for name in sorted({*present_files(kept), *present_files(again)} - {CRATE}):
        one, other = kept / name, again / name
        own_form = name.startswith(("model/", "teacher/", "ensemble/", "fold_models/")) or name.endswith(_BYTES_ONLY)
        if not one.is_file() or not other.is_file():
            what = "the run made again has no such file" if one.is_file() else "the run made again has it too"
            yield Finding(name, what)
        elif name == "record.json":
            yield from named(_records(one, other, tolerance))
        elif one.read_bytes() != other.read_bytes() and (exact or not own_form):
            yield from named(_contents(name, one, other, tolerance))


def _records(one: Path, other: Path, tolerance: Tolerance) -> Iterator[Finding]:
    """All but the volatile part; hashes of files are compared as files, and versions only where bytes are."""
    found, expected = (json.loads(file.read_text(encoding="utf-8")) for file in (one, other))
    left_out = ["volatile", "sha256", "files", *(["versions", "platform"] if tolerance.relative > 0.0 else [])]
    for record in (found, expected):
        for key in left_out:
            record.pop(key, None)
    yield from compared("record.json", found, expected, tolerance=tolerance)


def _contents(name: str, one: Path, other: Path, tolerance: Tolerance) -> Iterator[Finding]:
    """Where the contents differ; when they do not, the bytes do, which counts unless there is a tolerance."""
    findings: list[Finding] = []
    if name.endswith(".json"):
        values = (json.loads(file.read_text(encoding="utf-8")) for file in (one, other))
        findings = compared(name, *values, tolerance=tolerance)
    elif name.endswith(".csv"):
        findings = list(_tables(name, _read_csv(one), _read_csv(other), tolerance))
    elif name.endswith(".parquet"):
        findings = list(_tables(name, pq.read_table(one), pq.read_table(other), tolerance))
    yield from findings
    if not findings and (tolerance.relative == 0.0 or not name.endswith((".json", ".csv", ".parquet"))):
        yield Finding(name, "differs from the run made again")


def _read_csv(file: Path) -> pa.Table:
    header, *lines = csv.reader(io.StringIO(file.read_text(encoding="utf-8")))

    def column(cells: list[str]) -> pa.Array:
        try:
            return pa.array([None if cell == "" else float(cell) for cell in cells], pa.float64())
        except ValueError:
            return pa.array(cells, pa.string())

    return pa.table([column([line[at] for line in lines]) for at in range(len(header))], names=header)


def _tables(name: str, found: pa.Table, expected: pa.Table, tolerance: Tolerance) -> Iterator[Finding]:
    if found.schema != expected.schema:
        yield Finding(name, "has other columns than the run made again")
        return
    if found.num_rows != expected.num_rows:
        yield Finding(name, f"has {found.num_rows} rows, the run made again {expected.num_rows}")
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
            yield Finding(f"{name}, row {at + 1}, {show(column)}", what)
