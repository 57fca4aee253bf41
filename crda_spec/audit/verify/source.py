"""The run against the data it was made from, where they are at hand."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crda_spec.audit.canonical import plain
from crda_spec.audit.models import load_model
from crda_spec.audit.record import data_record
from crda_spec.audit.tables import TIME
from crda_spec.audit.verify.checks import Check, Finding, Tolerance, checked, compared, named
from crda_spec.audit.verify.losses import read_scored
from crda_spec.audit.verify.rows import FILE, Ledger
from crda_spec.errors import show
from crda_spec.gate.metrics import named_metric
from crda_spec.records import NOBODY, DataReport, HeldOut, Split, Table
from crda_spec.regressors import Stopping
from crda_spec.regressors.fit import student_seed, watched_rows

_EXACT = Tolerance()


def check_source(folder: Path, ledger: Ledger, record: Mapping[str, Any], split: Split, report: DataReport) -> Check:
    """The data's fingerprint, every real row cell by cell, and which rows were set aside."""

    def look() -> Iterator[Finding]:
        yield from compared("record.json, data", record["data"], plain(data_record(split, report)), tolerance=_EXACT)
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
        wrong = np.argwhere(_EXACT.differ(found, expected))
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
    stopping = None if told is None else Stopping(**told)
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
