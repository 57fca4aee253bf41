# ruff: noqa: PD011 - `values` is what the spec calls the allowed values; no pandas object has it here
"""The contract of one column: what was declared, what was inferred, and every cell that breaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from crda_spec.data.cells import Cells, ObjectArray, UnsupportedCellsError, label_of, quoted, read_cells
from crda_spec.data.raw import RawTable, counted, listed
from crda_spec.errors import Complaint, Place, did_you_mean, show
from crda_spec.records import Array, Column, ColumnType, IntArray

Value = bool | int | float | str


_LARGEST = 1e100  # squares of larger numbers, and sums of them, overflow
_COUNTS_ROWS = 20  # with fewer rows, consecutive numbers may well be chance
_REPAIR = "repair the cells, or change the column's contract"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRule:
    """What one column was declared to be; None where nothing was declared."""

    type: ColumnType | None = None
    unit: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    values: tuple[Value, ...] | None = None

    @property
    def declared_type(self) -> ColumnType | None:
        """The declared type; a list of allowed texts declares a category."""
        if self.type is None and self.values and any(isinstance(value, str) for value in self.values):
            return "category"
        return self.type


def rule_of(column: Column) -> ColumnRule:
    """The rule that a column of the training table makes for the same column of the test table."""
    return ColumnRule(
        type=column.type,
        unit=column.unit,
        minimum=column.minimum,
        maximum=column.maximum,
        values=column.labels if column.type == "category" else column.allowed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """Which columns of a raw table are used, and the rules for its rows."""

    target: str
    features: tuple[str, ...] | None = None  # None: all but the target, the groups, the weights and the excluded
    columns: Mapping[str, ColumnRule] = field(default_factory=dict)
    missing: Literal["error", "drop", "impute"] = "error"
    duplicates: Literal["error", "keep", "drop"] = "error"
    groups: str | None = None
    weights: str | None = None  # the column that says how much each row counts
    sample: int | None = None
    exclude: tuple[str, ...] = ()  # columns that are read but are no features, such as the split column
    time: str | None = None  # the column that orders the rows; a feature only when it is listed among them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CheckedColumn:
    """One column as numbers, with all that is wrong with it."""

    column: Column
    values: Array  # (n,) NaN where missing
    missing: IntArray  # positions
    complaints: tuple[Complaint, ...]


class ColumnCheck:
    """Checks one column against its rule and collects the complaints.

    training: the rule repeats the columns of a training table, so messages speak of that table.
    """

    def __init__(self, raw: RawTable, name: str, rule: ColumnRule, *, training: bool = False) -> None:
        """Only assigns; `run` does the work."""
        self.raw = raw
        self.name = name
        self.rule = rule
        self.training = training
        self.complaints: list[Complaint] = []

    def run(self) -> CheckedColumn:
        """The column as numbers. When it cannot be read at all, its values are NaN and a complaint says why."""
        try:
            cells = read_cells(self._series(), self.raw.numbers.get(self.name))
        except UnsupportedCellsError as error:
            hint = "use numbers, booleans or text, or leave the column out of dataset.features"
            self._complain("unsupported-type", f"column '{self.name}' holds {error}", hint)
            return self._unreadable()
        if not cells.present.any():
            hint = "leave the column out of dataset.features"
            self._complain("empty-column", f"column '{self.name}' has no value at all", hint)
            return self._unreadable()
        kind = self.rule.declared_type or self._infer(cells)
        if kind is None:
            return self._unreadable()
        labels: tuple[str, ...] | None = None
        if kind == "category":
            values, labels = self._category(cells)
        elif kind == "boolean":
            values = self._boolean(cells)
        else:
            values = self._number(cells, kind)
        return CheckedColumn(
            column=self._column(kind, labels),
            values=values,
            missing=np.flatnonzero(~cells.present),
            complaints=tuple(self.complaints),
        )

    def _series(self) -> pd.Series[Any]:
        return self.raw.frame[self.name]

    def _column(self, kind: ColumnType, labels: tuple[str, ...] | None) -> Column:
        allowed = None
        if kind != "category" and self.rule.values is not None:
            allowed = tuple(float(value) for value in self.rule.values if not isinstance(value, str))
        return Column(
            name=self.name,
            type=kind,
            unit=self.rule.unit,
            minimum=self.rule.minimum,
            maximum=self.rule.maximum,
            labels=labels,
            allowed=allowed,
            inferred=self.rule.declared_type is None,
        )

    def _unreadable(self) -> CheckedColumn:
        nothing = np.full(len(self.raw.frame), np.nan)
        column = self._column(self.rule.declared_type or "continuous", None)
        none_missing = np.array([], dtype=np.int64)
        return CheckedColumn(column=column, values=nothing, missing=none_missing, complaints=tuple(self.complaints))

    def _complain(self, code: str, what: str, hint: str = "") -> None:
        path, place = f"dataset.columns.{self.name}", Place(file=self.raw.description)
        self.complaints.append(Complaint(code=code, path=path, place=place, what=what, hint=hint))

    def _complain_of(self, code: str, what: str, bad: IntArray, shown: ObjectArray, hint: str = _REPAIR) -> None:
        """One complaint for all rows at `bad`, if there are any."""
        if len(bad):
            count = counted(len(bad), "value")
            rows = listed(self.raw, bad, [quoted(cell) for cell in shown[bad[:5]]])
            self._complain(code, f"{count} of '{self.name}' {what}: {rows}", hint)

    def _infer(self, cells: Cells) -> ColumnType | None:
        """The type that the cells show, or None after a complaint that they show none."""
        if cells.kind == "boolean" or cells.is_truth_pair():
            return "boolean"
        if cells.kind != "text":
            return "integer" if cells.kind == "integer" else "continuous"
        present, bad, commas = int(cells.present.sum()), cells.not_numbers(), cells.decimal_commas()
        if 2 * len(commas) >= present:
            hint = "set the source's decimal: ',' or declare the column's type"
            self._complain_of("decimal-comma", f"{_be(commas)} written with a decimal comma", commas, cells.shown, hint)
            return None
        if 2 * len(cells.dates()) >= present:
            hint = "turn it into numbers, leave it out of dataset.features, or declare its type: category"
            self._complain("unsupported-type", f"column '{self.name}' holds dates", hint)
            return None
        if len(bad) and 2 * len(bad) <= present:
            numbers = f"text in a number column ({present - len(bad)} of its {present} values are numbers)"
            hint = "repair the cells, or declare the column's type: category"
            self._complain_of("text-in-numbers", f"{_be(bad)} {numbers}", bad, cells.shown, hint)
            return None
        return "category"

    def _number(self, cells: Cells, kind: ColumnType) -> Array:
        if cells.kind == "boolean":
            self._complain("not-a-number", f"column '{self.name}' holds booleans, not numbers", "declare type: boolean")
            return cells.numbers
        bad = cells.not_numbers()
        self._complain_of("not-a-number", f"{_be(bad)} not {_numbers(kind, len(bad))}", bad, cells.shown)
        values = cells.numbers
        infinite = np.flatnonzero(np.isinf(values))
        hint = "write a number, or leave the cell empty and set dataset.missing"
        self._complain_of("not-finite", f"{_be(infinite)} infinite", infinite, cells.shown, hint)
        finite = np.isfinite(values)
        huge = np.flatnonzero(finite & (np.abs(values) > _LARGEST))
        hint = "write the column in a larger unit"
        self._complain_of("too-large", f"{_be(huge)} beyond {_LARGEST:g}, too large to square", huge, cells.shown, hint)
        if kind == "integer":
            broken = np.flatnonzero(finite & (values != np.round(values)))
            hint = "round them, or declare the column's type: continuous"
            self._complain_of("not-whole", f"{_be(broken)} not whole", broken, cells.shown, hint)
        if kind == "integer" or cells.kind == "integer":
            beyond = cells.inexact()
            beyond = beyond[finite[beyond]]
            hint = "an identifier is no feature: leave it out of dataset.features, or declare it a category"
            self._complain_of(
                "too-large", f"{_be(beyond)} beyond 2**53, where integers lose digits", beyond, cells.shown, hint
            )
        self._bounds(values, cells.shown)
        self._allowed_numbers(values, cells.shown)
        return values

    def _bounds(self, values: Array, shown: ObjectArray) -> None:
        low, high = self.rule.minimum, self.rule.maximum
        if low is not None and high is not None and low > high:
            self._complain("empty-range", f"min <= max must hold, but got (min={low:g}, max={high:g})")
            return
        if low is not None:
            below = np.flatnonzero(values < low)
            self._complain_of("below-minimum", f"{_be(below)} below the minimum {low:g}", below, shown)
        if high is not None:
            above = np.flatnonzero(values > high)
            self._complain_of("above-maximum", f"{_be(above)} above the maximum {high:g}", above, shown)

    def _no_bounds(self, kind: ColumnType) -> None:
        if self.rule.minimum is not None or self.rule.maximum is not None:
            what = f"min and max are for numbers, but column '{self.name}' is a {kind}"
            self._complain("bounds-on-labels", what, "remove them, or list the allowed values")

    def _allowed_numbers(self, values: Array, shown: ObjectArray) -> None:
        if self.rule.values is None:
            return
        texts = [value for value in self.rule.values if isinstance(value, str)]
        if texts:
            what = f"the allowed value {show(texts[0])} is not a number, but column '{self.name}' holds numbers"
            self._complain("bad-allowed-value", what, "write it without quotes, or declare type: category")
            return
        allowed = [float(value) for value in self.rule.values if not isinstance(value, str)]
        wrong = np.flatnonzero(np.isfinite(values) & ~np.isin(values, allowed))
        listing = ", ".join(label_of(value) for value in allowed)
        self._complain_of("not-allowed", f"{_be(wrong)} not among the allowed values {listing}", wrong, shown)

    def _boolean(self, cells: Cells) -> Array:
        self._no_bounds("boolean")
        values = cells.truths()
        bad = np.flatnonzero(cells.present & np.isnan(values))
        self._complain_of("not-boolean", f"{_be(bad)} neither true/yes/1 nor false/no/0", bad, cells.shown)
        self._allowed_numbers(values, cells.shown)
        return values

    def _category(self, cells: Cells) -> tuple[Array, tuple[str, ...]]:
        """The code of each cell and the labels: in declared order, or sorted."""
        self._no_bounds("category")
        labels = cells.labels()
        distinct = sorted(set(labels[cells.present].tolist()))
        if self.rule.values is None:
            known = tuple(distinct)
            if self.rule.type is None:
                self._identifier(distinct, len(labels))
        else:
            known = tuple(dict.fromkeys(label_of(value) for value in self.rule.values))
        codes = _codes(labels, known)
        unknown = np.flatnonzero(cells.present & np.isnan(codes))
        if len(unknown):
            where = "labels of the training table" if self.training else "allowed values"
            hint = did_you_mean(str(labels[unknown[0]]), known, otherwise="known")
            self._complain_of("unknown-label", f"{_be(unknown)} not among the {where}", unknown, labels, hint)
        return codes, known

    def _identifier(self, distinct: list[str], rows: int) -> None:
        limit = max(50, rows / 2)
        if len(distinct) > limit:
            what = (
                f"column '{self.name}' looks like an identifier: {len(distinct)} labels in {rows} rows, "
                f"more than {limit:g}"
            )
            hint = "leave it out of dataset.features, or declare its type: category"
            self._complain("identifier", what, hint)


def row_number_complaints(raw: RawTable, features: Sequence[CheckedColumn]) -> Iterator[Complaint]:
    """An undeclared integer feature that counts the rows is an identifier, and would be free to move."""
    for checked in features:
        name, values = checked.column.name, checked.values
        if checked.complaints or checked.column.type != "integer" or not checked.column.inferred:
            continue
        distinct = np.unique(values)
        if len(values) >= _COUNTS_ROWS and len(distinct) == len(values) == distinct[-1] - distinct[0] + 1:
            what = f"column '{name}' looks like a row number: {distinct[0]:g} to {distinct[-1]:g}, each once"
            hint = "leave it out of dataset.features, or declare its type: integer"
            place = Place(file=raw.description)
            yield Complaint(code="identifier", path=f"dataset.columns.{name}", place=place, what=what, hint=hint)


def _codes(labels: ObjectArray, known: tuple[str, ...]) -> Array:
    """The position of each label among the known ones, NaN where it is missing or unknown."""
    code = {label: float(position) for position, label in enumerate(known)}
    return np.array([code.get(label, np.nan) for label in labels.tolist()], dtype=np.float64)


def _be(bad: npt.NDArray[np.int64]) -> str:
    return "is" if len(bad) == 1 else "are"


def _numbers(kind: ColumnType, count: int) -> str:
    noun = "whole number" if kind == "integer" else "number"
    return f"a {noun}" if count == 1 else f"{noun}s"
