"""Setting test rows aside: a seeded part of the rows, the rows that a column marks, another table, or none."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from crda_spec.data.cells import Mask, ObjectArray, fold_truth, label_of
from crda_spec.data.folds import count_pieces, draw_groups, group_numbers, latest
from crda_spec.data.raw import counted
from crda_spec.data.sources import Source
from crda_spec.errors import Complaint, DataError, did_you_mean, show
from crda_spec.records import HeldOut, IntArray, Split, Table
from crda_spec.seeds import integer_seed, stream
from crda_spec.strict import ColumnName, Fraction, Strict

_LEAST_TRAIN = 2


class FractionSplit(Strict):
    """A random part of the rows (or groups) is the test set; with `dataset.time`, the latest part."""

    kind: Literal["fraction"] = Field(
        "fraction",
        description="A seeded random part of the rows (or groups) is the test set; with dataset.time, the latest part.",
    )
    test: Fraction = Field(0.2, description="The part of the rows that is held out.")


class ColumnSplit(Strict):
    """A column says which rows are the test set."""

    kind: Literal["column"] = Field(
        "column", description="A column says which rows are the test set; it is no feature."
    )
    column: ColumnName = Field(description="The column that tells training rows from test rows.")
    test: tuple[bool | int | float | str, ...] = Field(min_length=1, description="The values that mark a test row.")


class SourceSplit(Strict):
    """The test rows are another table."""

    kind: Literal["source"] = Field(
        "source", description="The test rows come from a second source with the same columns."
    )
    source: Source = Field(description="Where the test rows come from.")


class NoSplit(Strict):
    """There is no test set: every row is trained on, and the gate alone judges."""

    kind: Literal["none"] = Field(
        "none", description="No row is held back for a test: every row is trained on, and only the gate judges."
    )


SplitRule = Annotated[FractionSplit | ColumnSplit | SourceSplit | NoSplit, Field(discriminator="kind")]


def split_rows(
    rule: FractionSplit | ColumnSplit | NoSplit,
    table: Table,
    marks: ObjectArray | None,
    *,
    group_names: Sequence[str],
    seed: int,
) -> Split:
    """The rows of one table, by the rule. marks: (n,) the cells of its split column, where it has one."""
    if isinstance(rule, NoSplit):
        return keep_all(table)
    if isinstance(rule, FractionSplit):
        return split_fraction(table, rule.test, seed=seed)
    assert marks is not None  # noqa: S101 - the split column was read
    return split_by_values(table, marks, rule.test, group_names=group_names)


def split_fraction(table: Table, test: float, *, seed: int) -> Split:
    """A seeded random part of the rows is the test set, or the latest part where rows have an order; groups stay whole.

    The groups are shuffled and the first ones are held out, as many as bring the number of test rows nearest to `test`
    times all rows. Without groups every row is its own group.
    """
    n = len(table)
    wanted = int(np.floor(test * n + 0.5))
    if wanted < 1 or n - wanted < _LEAST_TRAIN:
        parts = f"{wanted} would be test and {n - wanted} training rows"
        what = f"{test:g} of {counted(n, 'row')} is {test * n:g}, so {parts}"
        hint = f"at least 1 test row and {_LEAST_TRAIN} training rows are needed"
        if n > _LEAST_TRAIN:
            low, high = 0.5 / n, (n - _LEAST_TRAIN + 0.5) / n
            hint += f": use a fraction of at least {low:.3g} and less than {high:.3g}"
        raise DataError(Complaint(code="empty-split", path="dataset.split.test", what=what, hint=hint))
    if table.times is not None:
        return _split_latest(table, table.times, wanted)
    if group_numbers(table).max() == 0:
        what = f"the {n} rows form 1 group, which cannot be both trained on and tested on"
        raise DataError(Complaint(code="one-group", path="dataset.split", what=what, hint="use finer groups"))
    marked = np.isin(np.arange(n), draw_groups(table, wanted, rng=stream(seed, "split")))
    return _split(table, marked, f"the groups are too large: {int(marked.sum())} of {n} rows went to the test set")


def keep_all(table: Table) -> Split:
    """Every row is a training row, and none is for a test."""
    if len(table) < _LEAST_TRAIN:
        what = f"{counted(len(table), 'row')} cannot be trained on"
        hint = f"at least {_LEAST_TRAIN} training rows are needed"
        raise DataError(Complaint(code="empty-split", path="dataset.split", what=what, hint=hint))
    return Split(train=table, test=None)


def _split_latest(table: Table, times: IntArray, wanted: int) -> Split:
    rows, moments = len(table), len(np.unique(times))
    if count_pieces(times, table.groups) < 2:
        what = f"the {rows} rows have {counted(moments, 'different time')}, so none of them is earlier than another"
        if moments > 1:
            what = f"the {rows} rows cannot be cut in time: at every moment some group has rows before and after it"
        hint = "use finer times or groups, or leave out dataset.time"
        raise DataError(Complaint(code="one-piece", path="dataset.split", what=what, hint=hint))
    marked = np.isin(np.arange(rows), latest(times, wanted, table.groups))
    return _split(table, marked, f"time can be cut at few places: {int(marked.sum())} of {rows} rows are test rows")


def set_aside(split: Split, fraction: float, *, seed: int) -> Split:
    """Takes a seeded part of the training rows for tuning, and for nothing else; a group goes to one side whole.

    Where rows have an order, it is the earliest part: what is found there has then seen no row that is as late as one
    that the gate holds out.
    """
    train = split.train
    kept = np.empty(0, dtype=np.int64)
    if train.times is None:
        with contextlib.suppress(DataError):
            parts = split_fraction(train, fraction, seed=integer_seed(seed, "tuning-split"))
            kept = np.flatnonzero(np.isin(train.row_ids, parts.train.row_ids))
    elif count_pieces(train.times, train.groups) > 1:
        kept = latest(train.times, len(train) * (1.0 - fraction), train.groups)
    if len(kept) < _LEAST_TRAIN:
        what = f"{fraction:g} of {counted(len(train), 'training row')} cannot be set aside for tuning"
        hint = "use another fraction, or tune.on: {kind: folds}"
        raise DataError(Complaint(code="empty-split", path="tune.on.fraction", what=what, hint=hint))
    aside = np.setdiff1d(np.arange(len(train)), kept)
    return Split(train=train.take(kept), test=split.test, tuning=train.take(aside))


def split_by_values(
    table: Table, marks: ObjectArray, test_values: Sequence[object], *, group_names: Sequence[str] = ()
) -> Split:
    """The rows whose mark, (n,), is one of the test values are the test set. group_names: for messages."""
    keys = np.array([_key(mark) for mark in marks.tolist()], dtype=object)
    known = tuple(dict.fromkeys(keys.tolist()))
    wanted = {_key(value): value for value in test_values}
    strangers = [
        Complaint(
            code="unknown-split-value", path="dataset.split.test", what=f"no row is marked {show(value)}", hint=hint
        )
        for key, value in wanted.items()
        if key not in known
        for hint in [did_you_mean(key, known, otherwise="the column's values are")]
    ]
    if strangers:
        raise DataError(strangers)
    marked = np.isin(keys, list(wanted))
    _forbid_straddling(table.groups, marked, group_names)
    return _split(table, marked, f"{int(marked.sum())} of {len(table)} rows are marked as test rows")


def split_by_tables(train: Table, test: Table, *, group_names: Sequence[str] = ()) -> Split:
    """The rows of one table train, those of another, which was assembled with `like=` the first, test."""
    _require_same_columns(train, test)
    if len(train) < _LEAST_TRAIN or not len(test):
        raise DataError(_too_small(len(train), len(test), "the training table and the test table are given"))
    if train.groups is not None and test.groups is not None:
        both = np.concatenate([train.groups, test.groups])
        _forbid_straddling(both, np.arange(len(both)) >= len(train), group_names)
    return Split(train=train, test=HeldOut(test))


def _key(value: object) -> str:
    """One spelling for values that YAML and the data may write differently: 1 and 1.0, true and True."""
    return fold_truth(label_of(value))


def _split(table: Table, marked: Mask, why: str) -> Split:
    train, test = np.flatnonzero(~marked), np.flatnonzero(marked)
    if len(train) < _LEAST_TRAIN or not len(test):
        raise DataError(_too_small(len(train), len(test), why))
    return Split(train=table.take(train.astype(np.int64)), test=HeldOut(table.take(test.astype(np.int64))))


def _too_small(train: int, test: int, why: str) -> Complaint:
    what = f"{why}, which leaves {counted(train, 'training row')} and {counted(test, 'test row')}"
    hint = f"at least {_LEAST_TRAIN} training rows and 1 test row are needed"
    return Complaint(code="empty-split", path="dataset.split", what=what, hint=hint)


def _forbid_straddling(groups: IntArray | None, marked: Mask, names: Sequence[str]) -> None:
    if groups is None:
        return
    torn = np.intersect1d(groups[marked], groups[~marked]).tolist()
    if not torn:
        return
    listed = ", ".join(f"'{names[group]}'" if group < len(names) else str(group) for group in torn[:5])
    more = f" and {len(torn) - 5} more" if len(torn) > 5 else ""
    verb = "has" if len(torn) == 1 else "have"
    what = f"{counted(len(torn), 'group')} {verb} both training and test rows: {listed}{more}"
    hint = "rows of one group must stay on one side: mark them alike, or use other groups"
    raise DataError(Complaint(code="torn-groups", path="dataset.split", what=what, hint=hint))


def _require_same_columns(train: Table, test: Table) -> None:
    pairs = zip((*train.features, train.target), (*test.features, test.target), strict=False)
    differences = [
        f"column '{one.name}' ({one.type}) of the training table meets '{other.name}' ({other.type})"
        for one, other in pairs
        if (one.name, one.type, one.labels) != (other.name, other.type, other.labels)
    ]
    hint = "assemble the test table like the training table"
    if not differences and len(train.features) != len(test.features):
        differences = [f"the training table has {len(train.features)} features, the test table {len(test.features)}"]
        hint = ""
    if differences:
        path = "dataset.split.source"
        raise DataError(Complaint(code="different-columns", path=path, what=what, hint=hint) for what in differences)
