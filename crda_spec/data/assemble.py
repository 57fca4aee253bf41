# ruff: noqa: PD011 - `values` are those of a checked column; no pandas object has it here
"""From a raw table and the `dataset` section to a `Table`. Every broken rule of every column is reported at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crda_spec.data.cells import Cells, ObjectArray, UnsupportedCellsError, at_rows, label_of, read_cells
from crda_spec.data.contract import CheckedColumn, ColumnContract, row_number_complaints, trained_column
from crda_spec.data.dataset import Dataset
from crda_spec.data.raw import RawTable, counted, listed
from crda_spec.data.sources import Source, read_source
from crda_spec.data.split import SourceSplit, split_by_tables, split_rows
from crda_spec.data.timestamps import NO_TIME, Timestamps, read_timestamps
from crda_spec.errors import Complaint, DataError, Place, did_you_mean, show
from crda_spec.records import Array, Clock, Column, ColumnType, DataReport, HeldOut, IntArray, Split, Table
from crda_spec.seeds import integer_seed, stream

_SMALLEST_SPREAD = 1e-100  # squares of smaller numbers underflow
_SMALLEST_WEIGHT, _LARGEST_WEIGHT = 1e-100, 1e100  # beyond, sums and ratios of weights are lost to rounding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assembled:
    """A table, what was done to get it, and what does not belong into it."""

    table: Table
    report: DataReport
    raw: RawTable  # its cells as the spec reads them
    marks: ObjectArray | None = None  # (n,) the cells of the split column, where there is one
    group_names: tuple[str, ...] = ()  # of each group number, for messages
    joined: Mapping[int, int] = field(default_factory=dict)  # where copies bind groups: number -> the one it has now
    clock: Clock | None = None  # what the rows' times count in; None when they have no order


def load(dataset: Dataset, base: Path, *, seed: int, frame: RawTable | None = None) -> tuple[Split, DataReport]:
    """Reads, checks and splits the rows. base: where relative paths start. frame: handed over in place of a file."""
    own = integer_seed(seed, "dataset")
    raw = read_source(dataset.source, base, target=dataset.target, seed=own, frame=frame)
    train, rule = assemble(raw, dataset, seed=seed), dataset.split
    if isinstance(rule, SourceSplit):
        report = train.report
        test = _assemble_test(rule.source, dataset, base, train, seed=seed)
        split = split_by_tables(train.table, test.table, group_names=test.group_names)
        notes = (*report.notes, *(f"test rows: {note}" for note in test.report.notes))
        report = replace(report, test_source=test.report.source, test_sha256=test.report.sha256, notes=notes)
    else:
        split = split_rows(rule, train.table, train.marks, group_names=train.group_names, seed=seed)
        # Which rows are for the test is known only now, so types that they changed are settled again without them.
        types = _trained_types(train.raw, split.train)
        if types:
            train = assemble(raw, dataset, seed=seed, types=types)
            split = split_rows(rule, train.table, train.marks, group_names=train.group_names, seed=seed)
        report = train.report
    _check_scales(train.raw, split.train)
    # A declared split may test on rows that are not later than all training rows. Nobody forbids it.
    note = None if split.test is None else _early_note(split.train, split.test)
    if note is not None:
        report = replace(report, notes=(*report.notes, note))
    return replace(split, clock=train.clock), report


def _early_note(train: Table, test: HeldOut) -> str | None:
    """How many test rows are not later than all training rows; None when all are, or rows have no order."""
    if train.times is None or test.times is None:
        return None
    early = int(np.count_nonzero(test.times <= train.times.max()))
    verb = "is" if early == 1 else "are"
    return f"{early} of {counted(len(test), 'test row')} {verb} not later than every training row" if early else None


def _trained_types(raw: RawTable, train: Table) -> dict[str, ColumnType]:
    """The types of undeclared columns that the training rows show and the whole table hides, by column."""
    types: dict[str, ColumnType] = {}
    for column, values in zip((*train.features, train.target), (*train.x.T, train.y), strict=True):
        present = values[~np.isnan(values)]
        if not len(present):
            what = f"column '{column.name}' has no value in the {counted(len(train), 'training row')}"
            path, hint = f"dataset.columns.{column.name}", "leave the column out of dataset.features"
            raise DataError(raw.complaint("empty-column", path, what, hint))
        # A column of whole numbers has them in every part; one with a fraction among its training rows stays as it is.
        settled = column.type == "integer" or (column.type == "continuous" and bool(np.any(present % 1)))
        if column.inferred and not settled:
            trained = trained_column(raw, column.name, train.row_ids)
            if not trained.complaints and trained.column.type != column.type:
                types[column.name] = trained.column.type
    return types


def _check_scales(raw: RawTable, train: Table) -> None:
    """Refuses features whose spread is lost to rounding, as the target's is."""
    what = f"varies by less than {_SMALLEST_SPREAD:g} in the training rows: its squares are lost to rounding"
    complaints = [
        raw.complaint("tiny-spread", "dataset.features", f"feature '{name}' {what}", "write it in a smaller unit")
        for name, values in zip(train.names, train.x.T, strict=True)
        if 0 < _spread(values[~np.isnan(values)]) < _SMALLEST_SPREAD
    ]
    if complaints:
        raise DataError(complaints)


def _assemble_test(source: Source, dataset: Dataset, base: Path, train: Assembled, *, seed: int) -> Assembled:
    """The test rows of a second source, under the contract of the training table."""
    try:
        raw = read_source(source, base, target=dataset.target, seed=integer_seed(seed, "dataset-test"))
    except DataError as error:
        raise DataError(one.moved("dataset.source", "dataset.split.source") for one in error.complaints) from error
    # Nothing is ordered by the test rows' time, and nobody asks who they are, so a second source need not tell it.
    return assemble(raw, dataset.model_copy(update={"time": None, "id": None}), seed=seed, like=train)


def assemble(
    raw: RawTable,
    dataset: Dataset,
    *,
    seed: int,
    like: Assembled | None = None,
    types: Mapping[str, ColumnType] | None = None,
) -> Assembled:
    """The table that the rules make of the raw one. types: of undeclared columns, as the training rows show them.

    like: the training table, when this one holds the test rows. Its columns, types and labels then are the contract,
    groups are numbered as there, a row that copies one of its rows counts as a copy, and `sample` does not apply.
    """
    work = _Work(raw, dataset, like, types or {})
    work.check_columns()
    work.check_missing()
    work.stop_at_complaints()
    usable = work.usable_rows()
    keep, groups, group_names = work.settle_copies(usable)
    dropped_copies = len(usable) - len(keep)
    size = dataset.sample
    if size is not None and like is None:
        if size > len(keep):
            work.notes.append(f"sample: {size} rows were asked for, all {len(keep)} usable ones are used")
        if size < len(keep):
            chosen = np.sort(stream(seed, "sample").choice(len(keep), size=size, replace=False))
            keep, groups = keep[chosen], None if groups is None else groups[chosen]
    table = work.table(keep, groups)
    work.check_table(table)
    report = DataReport(
        source=raw.description,
        sha256=raw.sha256,
        rows_read=len(raw.frame),
        rows_used=len(table),
        dropped_missing=len(raw.frame) - len(usable),
        dropped_duplicates=dropped_copies,
        missing_cells=sum(work.missing.values()),
        missing=work.missing,
        notes=tuple(work.notes),
        weights=dataset.weights,
    )
    return Assembled(
        table=table,
        report=report,
        raw=work.raw,
        marks=None if work.marks is None else work.marks.plain()[keep],
        group_names=group_names,
        joined=work.joined,
        clock=None if work.times is None else Clock(column=str(dataset.time), timestamps=work.times.labels),
    )


class _Work:
    """One assembly under way: the columns checked so far, and the complaints about them."""

    def __init__(
        self, raw: RawTable, dataset: Dataset, like: Assembled | None, types: Mapping[str, ColumnType]
    ) -> None:
        """Settles the names; a name that does not exist ends the work here."""
        self.dataset, self.like, self.types = dataset, like, types
        self.features = feature_columns(raw, dataset, None if like is None else like.table)
        self.raw, self.complaints = dataset.reading.of_table(raw)
        self.notes: list[str] = []
        self.checked: dict[str, CheckedColumn] = {}
        self.marks: Cells | None = None  # of the split column
        self.groups: Cells | None = None
        self.weights: Array | None = None
        self.times: Timestamps | None = None
        self.joined: dict[int, int] = {}
        self.missing: dict[str, int] = {}  # missing cells, by column

    def complain(self, code: str, path: str, what: str, hint: str = "") -> None:
        """Keeps a complaint about the data for the end of the checks."""
        self.complaints.append(self.raw.complaint(code, path, what, hint))

    def stop_at_complaints(self) -> None:
        """Raises what was found so far, if anything was."""
        if self.complaints:
            raise DataError(self.complaints)

    def check_columns(self) -> None:
        """Reads every column in use, and every column that has a contract, and keeps what is wrong with it."""
        dataset = self.dataset
        # A date is checked where it is read; here it is numbers already.
        declared = [
            name
            for name, contract in dataset.columns.items()
            if name not in (*self.features, dataset.target) and contract.type != "date"
        ]
        for name in (*self.features, dataset.target, *declared):
            checked = self._check(name)
            self.complaints.extend(checked.complaints)
            if name not in declared:
                self.checked[name] = checked
        if self.like is None:
            self.complaints += row_number_complaints(self.raw, [self.checked[name] for name in self.features])
        target = self.checked[dataset.target]
        if not target.complaints and not target.column.is_numeric:
            what = f"the target '{target.column.name}' is a {target.column.type}, but only numbers can be predicted"
            self.complain("target-not-numeric", "dataset.target", what, self._hint_of_labels(target.column))
        self.marks = self._plain_cells(dataset.split_column, "dataset.split.column")
        self.groups = self._plain_cells(dataset.groups, "dataset.groups")
        if dataset.weights is not None:
            self.weights, wrong = read_weights(self.raw, dataset.weights)
            self.complaints.extend(wrong)
        if dataset.time is not None:
            self._read_times(dataset.time)

    def _hint_of_labels(self, column: Column) -> str:
        """What to do with a target of labels: most of them may be numbers with something around them."""
        labels = column.labels or ()
        numbers = [label for label in labels if any(sign.isdigit() for sign in label)]
        if 2 * len(numbers) < max(1, len(labels)):
            return "choose a numeric column"
        return f"choose a numeric column, or write its cells as plain numbers (it has {show(numbers[0])})"

    def _read_times(self, name: str) -> None:
        """The moment of each row. As a feature the column has to be of numbers: a label of a moment is no quantity."""
        moments = read_timestamps(self.raw, name)
        if isinstance(moments, Timestamps):
            self.times = moments
        else:
            self.complaints.append(moments)
        feature = self.checked.get(name)
        if feature is not None and not feature.complaints and not feature.column.is_numeric:
            what = f"the time column '{name}' is listed among the features, but is a {feature.column.type}"
            self.complain("time-not-numeric", "dataset.features", what, "remove it from the list, or write numbers")

    def _check(self, name: str) -> CheckedColumn:
        """A column under the contract of the training table, where there is one and has it, or of the spec."""
        if self.like is not None:
            for column in (*self.like.table.features, self.like.table.target):
                if column.name == name:
                    contract, trained = ColumnContract.of(column), column.type if column.inferred else None
                    return CheckedColumn(self.raw, name, contract, training=True, trained=trained)
        contract = self.dataset.contract(name)
        return CheckedColumn(self.raw, name, contract, trained=self.types.get(name))

    def _plain_cells(self, name: str | None, path: str) -> Cells | None:
        try:
            return None if name is None else read_cells(self.raw.frame[name])
        except UnsupportedCellsError as error:
            hint = "use numbers, booleans or text"
            self.complain("unsupported-type", path, f"column '{name}' holds {error}", hint)
            return None

    def check_missing(self) -> None:
        """Counts missing cells and complains where the rule does not cover them."""
        self.missing = {name: len(checked.missing) for name, checked in self.checked.items() if len(checked.missing)}
        dataset, target, time = self.dataset, self.dataset.target, self.dataset.time
        features = [(name, one.missing) for name, one in self.checked.items() if name not in (target, time)]
        repair = "repair the cells, or set dataset.missing to kind: drop"
        for name, positions in (*features, (target, self.checked[target].missing), *self._roles_missing()):
            rule, of_feature = dataset.missing_rule(name), name in self.features and name != time
            if not len(positions) or rule == "drop" or (rule == "impute" and of_feature):
                continue
            hint = f"{repair} or kind: impute" if of_feature else repair
            if name == time:
                hint = f"a time is never imputed: {repair}"
            elif name == target:
                hint = "a target is never imputed: drop such rows with dataset.missing.target: drop"
            column = f"target '{name}'" if name == target else f"'{name}'"
            what = at_rows(self.raw, positions, "value", column, "missing")
            self.complain("missing", "dataset.missing", what, hint)

    def _roles_missing(self) -> Iterator[tuple[str, IntArray]]:
        """Where columns are missing that are no features: of the split, the groups, the time."""
        for name, cells in ((self.dataset.split_column, self.marks), (self.dataset.groups, self.groups)):
            if name is not None and cells is not None and name not in self.checked:
                yield name, np.flatnonzero(~cells.present)
        if self.times is not None:
            yield str(self.dataset.time), np.flatnonzero(self.times.codes == NO_TIME)

    def usable_rows(self) -> IntArray:
        """Positions of the rows that stay under the rules for missing values."""
        usable = np.ones(len(self.raw.frame), dtype=bool)
        gaps = [(name, checked.missing) for name, checked in self.checked.items()]
        for name, positions in (*gaps, *self._roles_missing()):
            if self.dataset.missing_rule(name) == "drop":
                usable[positions] = False
        if not usable.any():
            what = f"no row is left: each of the {len(usable)} rows has a missing value"
            self.complain("no-rows", "dataset.missing", what, "leave sparse columns out of dataset.features")
            self.stop_at_complaints()
        return np.flatnonzero(usable)

    def settle_copies(self, keep: IntArray) -> tuple[IntArray, IntArray | None, tuple[str, ...]]:
        """The rows that stay under the rule for copies, their groups and the groups' names."""
        groups, names = self._groups(keep)
        columns = [self.checked[name].values[keep] for name in (*self.features, self.dataset.target)]
        if self.times is not None:  # the same values at another time are another observation, and no copy
            columns.append(self.times.codes[keep].astype(np.float64))
        trained = None if self.like is None else self.like.table
        before = np.empty((0, len(columns))) if trained is None else np.column_stack([trained.x, trained.y])
        first = find_copies(before, np.column_stack(columns))
        copies = np.flatnonzero((first >= 0) & (first < np.arange(len(keep))))
        of_training = np.flatnonzero(first == -2)
        rule = self.dataset.duplicates.kind
        if rule == "drop":
            stay = np.setdiff1d(np.arange(len(keep)), np.concatenate([copies, of_training]))
            if not len(stay):
                what = f"no row is left: each of the {len(keep)} rows copies a row of the training table"
                self.complain("no-rows", "dataset.duplicates", what)
                self.stop_at_complaints()
            return keep[stay], None if groups is None else groups[stay], names
        if rule == "error" and len(copies):
            self._complain_of_copies(keep, copies, first)
        if len(of_training):
            verb = "copies" if len(of_training) == 1 else "copy"
            rows = listed(self.raw, keep[of_training])
            what = f"{counted(len(of_training), 'test row')} {verb} a training row: {rows}"
            hint = "a copy may not straddle the split: set dataset.duplicates to kind: drop"
            self.complain("copies-straddle", "dataset.duplicates", what, hint)
        self.stop_at_complaints()
        if not len(copies):
            return keep, groups, names
        if groups is not None:
            merged = merge_groups(groups, first)
            self.joined = dict(zip(groups.tolist(), merged.tolist(), strict=True))
            count = len(np.unique(groups)) - len(np.unique(merged))
            if count:
                self.notes.append(f"copies bind groups together: {counted(count, 'group')} joined another")
            return keep, merged, names
        origins = keep[np.flatnonzero(first == np.arange(len(keep)))]
        verb = "copies" if len(copies) == 1 else "copy"
        self.notes.append(f"{counted(len(copies), 'row')} {verb} an earlier row; copies stay in one group")
        return keep, copy_codes(first), tuple(f"copies of row {origin + 1}" for origin in origins.tolist())

    def _complain_of_copies(self, keep: IntArray, copies: IntArray, first: IntArray) -> None:
        verb = "copies" if len(copies) == 1 else "copy"
        pairs = ", ".join(f"row {keep[row] + 1} copies row {keep[first[row]] + 1}" for row in copies[:5].tolist())
        line = self.raw.line_of(int(keep[copies[0]]))
        where = "" if line is None else f" (the first on line {line})"
        more = f" and {len(copies) - 5} more" if len(copies) > 5 else ""
        cells = "every feature and the target" if self.times is None else "every feature, the target and the time"
        what = f"{counted(len(copies), 'row')} {verb} an earlier row in {cells}{where}: {pairs}{more}"
        hint = "set dataset.duplicates to kind: keep or kind: drop"
        self.complain("duplicates", "dataset.duplicates", what, hint)

    def _groups(self, keep: IntArray) -> tuple[IntArray | None, tuple[str, ...]]:
        """Group numbers by first appearance, those of the training table first, and the groups' names."""
        if self.groups is None:
            return None, ()
        known, joined = ((), {}) if self.like is None else (self.like.group_names, self.like.joined)
        numbers = {name: number for number, name in enumerate(known)}
        labels = self.groups.labels()[keep].tolist()
        codes = [numbers.setdefault(label_of(label), len(numbers)) for label in labels]
        return np.array([joined.get(code, code) for code in codes], dtype=np.int64), tuple(numbers)

    def table(self, keep: IntArray, groups: IntArray | None) -> Table:
        """The rows at these positions."""
        x = np.column_stack([self.checked[name].values[keep] for name in self.features])
        return Table(
            features=tuple(self.checked[name].column for name in self.features),
            target=self.checked[self.dataset.target].column,
            row_ids=keep.astype(np.int64),
            x=np.ascontiguousarray(x, dtype=np.float64),
            y=self.checked[self.dataset.target].values[keep].astype(np.float64),
            groups=groups,
            weights=None if self.weights is None else self.weights[keep],
            times=None if self.times is None else self.times.codes[keep],
        )

    def check_table(self, table: Table) -> None:
        """The last look: enough rows, a target that varies, and a note on features that do not."""
        if self.like is not None:
            return
        rows, target = len(table), table.target.name
        if rows < 2:
            what = f"{counted(rows, 'row')} of {len(self.raw.frame)} can be used, but at least 2 are needed"
            self.complain("too-few-rows", "dataset.source", what, "a regression needs rows to learn from")
        elif 0 < _spread(table.y) < _SMALLEST_SPREAD:
            what = f"the target '{target}' varies by less than {_SMALLEST_SPREAD:g}: its squares are lost to rounding"
            self.complain("tiny-spread", "dataset.target", what, "write it in a smaller unit")
        elif table.y.min() == table.y.max():
            value = label_of(float(table.y[0]))
            what = f"the target '{target}' is constant: it is {value} in each of the {rows} rows used"
            self.complain("constant-target", "dataset.target", what, "choose a column that varies")
        self.stop_at_complaints()
        self.notes += [
            f"feature '{name}' is constant in the rows used"
            for name, values in zip(table.names, table.x.T, strict=True)
            if len(np.unique(values[~np.isnan(values)])) < 2
        ]


def _spread(values: Array) -> float:
    """The standard deviation, of values whose squares may vanish."""
    size = float(np.abs(values).max(initial=0.0))
    return float(np.std(values / size)) * size if size > 0 else 0.0


def feature_columns(raw: RawTable, dataset: Dataset, like: Table | None) -> tuple[str, ...]:
    """The features in their order, those of `like` where it is given, or a DataError with every name that is wrong."""
    known = dataset.reading.names([str(name) for name in raw.frame.columns])
    named = dataset.column_names()
    if like is not None and dataset.features is None:
        named += [("dataset.split.source", name) for name in like.names]
    complaints = []
    for path, name in named:
        if name not in known:
            hint = did_you_mean(name, known, otherwise="columns")
            complaints.append(raw.complaint("unknown-column", path, f"there is no column '{name}'", hint))
    complaints += [one.at(Place(file=raw.description)) for one in dataset.complaints()]
    features = dataset.feature_names(known) if like is None else like.names
    if not features and not complaints:
        what = f"no feature is left: the table has only {', '.join(repr(name) for name in known)}"
        complaints.append(raw.complaint("no-features", "dataset.features", what, "it needs at least one more"))
    if complaints:
        raise DataError(complaints)
    return features


def read_weights(raw: RawTable, name: str) -> tuple[Array, Iterator[Complaint]]:
    """(n,) the weights, and all that is wrong with them."""
    complaint = partial(raw.complaint, "bad-weights", "dataset.weights")
    try:
        cells = read_cells(raw.frame[name], raw.numbers.get(name))
    except UnsupportedCellsError as error:
        what = f"column '{name}' holds {error}, but weights are numbers"
        return np.full(len(raw.frame), np.nan), iter([complaint(what, "name a column of numbers")])
    weight, present = cells.numbers, cells.present
    word = np.full(len(weight), cells.kind == "boolean") | np.isnan(weight)
    number = present & ~word
    finite = number & np.isfinite(weight)
    positive = "a weight is a positive number"
    faults = (
        ("missing", ~present, "every row needs a weight: fill it in, or leave the row out of the data"),
        ("not numeric", present & word, "name a column of numbers, or repair the cells"),
        ("infinite", number & np.isinf(weight), "write a finite number"),
        ("negative", finite & (weight < 0.0), positive),
        ("zero", finite & (weight == 0.0), f"{positive}; a row that should not count is left out of the data"),
        (
            f"not between {_SMALLEST_WEIGHT:g} and {_LARGEST_WEIGHT:g}",
            finite & (weight > 0.0) & ((weight < _SMALLEST_WEIGHT) | (weight > _LARGEST_WEIGHT)),
            "only the proportions of weights count: write them in another unit",
        ),
    )
    return weight, (
        complaint(at_rows(raw, bad, "weight", f"'{name}'", what, None if what == "missing" else cells.shown), hint)
        for what, wrong, hint in faults
        if len(bad := np.flatnonzero(wrong))
    )


def weight_column(name: str) -> Column:
    """The same rule as a contract, for rows that are read block by block."""
    return Column(name=name, type="continuous", minimum=_SMALLEST_WEIGHT, maximum=_LARGEST_WEIGHT, inferred=False)


def find_copies(before: Array, cells: Array) -> IntArray:
    """For each row of `cells`, the position of the first row that it equals (its own when it is the first).

    before: (m, d) rows of another table; a row that equals one of them gets -2 instead.  cells: (n, d).  Returns (n,).
    """
    frame = pd.DataFrame(np.vstack([before, cells]))
    group = frame.groupby(list(frame.columns), dropna=False, sort=False).ngroup().to_numpy(dtype=np.int64)
    _, first = np.unique(group, return_index=True)
    origin = first[group].astype(np.int64) - len(before)
    return np.where(origin < 0, -2, origin)[len(before) :]


def copy_codes(first: IntArray) -> IntArray:
    """Group numbers that bind each row to its copies, counted in the order of first appearance."""
    return np.unique(first, return_inverse=True)[1].astype(np.int64)


def merge_groups(groups: IntArray, first: IntArray) -> IntArray:
    """Group numbers in which groups that share a copy are one, under the smallest number. first: of `find_copies`."""
    size = int(groups.max()) + 1
    links = coo_array((np.ones(len(groups)), (groups, groups[first])), shape=(size, size))
    part = connected_components(links, directed=False)[1]
    smallest = np.full(part.max() + 1, size, dtype=np.int64)
    np.minimum.at(smallest, part, np.arange(size))
    return smallest[part][groups]
