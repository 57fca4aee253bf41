"""The contract of one column: what was declared, what was inferred, and every cell that breaks it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from crda_spec.data.cells import (
    COMMA_NUMBER,
    DATE,
    THOUSANDS,
    Cells,
    ObjectArray,
    UnsupportedCellsError,
    at_rows,
    grouped,
    label_of,
    number_faults,
    read_cells,
    unit_of,
)
from crda_spec.data.raw import RawTable
from crda_spec.errors import Complaint, did_you_mean, inconsistent, repeated, show
from crda_spec.records import Array, Column, ColumnType, IntArray
from crda_spec.strict import Finite, Strict

_COUNTS_ROWS = 20  # with fewer rows, consecutive numbers may well be chance
_REPAIR = "repair the cells, or change the column's contract"
_DATES = "declare its type: date, which makes numbers of it, or leave it out of dataset.features"
_TRAINED = {"integer": "whole numbers", "continuous": "numbers", "boolean": "truths", "category": "labels"}


MISSING_CELL = "missing"  # what a cell of such a text is read as
DatePart = Literal["year", "month", "day_of_year", "weekday", "hour", "elapsed_days"]
_RULES = ("as", "format", "cells", "thousands")  # keys about how cells are read


class ColumnContract(Strict):
    """What one column promises, and how its cells are read. What is left out is inferred from the data and recorded.

    Examples
    --------
    >>> dose = ColumnContract(type="continuous", unit="mg", cells={"<120": 120, "n/a": "missing"}, thousands=",")
    >>> [dose.read(cell) for cell in ("<120", "n/a", "1,234", "5 mg", "17")]
    ['120', None, '1234', '5', '17']
    """

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    type: Literal["continuous", "integer", "category", "boolean", "date"] | None = Field(
        None,
        description="What the values are; inferred when left out. A date becomes numbers: the parts under `as`.",
    )
    as_: tuple[DatePart, ...] | None = Field(
        None,
        alias="as",
        min_length=1,
        description=(
            "The parts of a date that become features, named `signup.year` and so on: year, month (1 to 12), "
            "day_of_year (1 to 366), weekday (1 is Monday), hour, elapsed_days (since 1970-01-01). When left out: "
            "year, day_of_year, weekday, elapsed_days. They do not move unless the graph draws them or you ask for it."
        ),
    )
    format: str | None = Field(
        None,
        min_length=2,
        description="How dates are written, as Python's strptime has it, e.g. '%d.%m.%Y'; null: ISO 8601 (2024-03-01).",
    )
    unit: str | None = Field(
        None,
        description="The unit of the values, for reports, e.g. mg/day. Numbers may be written with it: `5 kg`, `12 %`.",
    )
    cells: dict[str, int | float | str] = Field(
        default_factory=dict,
        description=(
            "What single cells mean, by their text: {'n/a': missing, '<120': 120, 'Male ': male}. `missing` makes a "
            "cell a missing value."
        ),
    )
    thousands: Literal[",", " ", "'"] | None = Field(
        None, description="The mark between thousands in numbers, e.g. ',' for 1,234."
    )
    min: Finite | None = Field(None, description="The smallest value allowed (numbers only).")
    max: Finite | None = Field(None, description="The largest value allowed (numbers only).")
    values: tuple[bool | int | float | str, ...] | None = Field(
        None, min_length=1, description="The only values allowed."
    )

    @classmethod
    def of(cls, column: Column) -> ColumnContract:
        """What a column of the training table promises of the same column of the test table."""
        return cls(
            type=None if column.inferred else column.type,
            unit=column.unit,
            min=column.minimum,
            max=column.maximum,
            values=column.labels if column.type == "category" else column.allowed,
        )

    @model_serializer(mode="wrap")
    def _without_unused_rules(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Most columns are read as they are written: rules that nobody made are not listed."""
        plain: dict[str, Any] = handler(self)
        return {key: value for key, value in plain.items() if value or key not in _RULES}

    @property
    def parts(self) -> tuple[DatePart, ...]:
        """The parts of a date that become features; none of another column."""
        if self.type != "date":
            return ()
        return self.as_ or ("year", "day_of_year", "weekday", "elapsed_days")

    @property
    def has_rules(self) -> bool:
        """Whether any cell may mean something else than its text says."""
        return bool(self.cells or self.thousands or (self.unit and self.type not in ("category", "boolean", "date")))

    def read(self, cell: object) -> object:
        """What a cell means by the rules for cells, units and thousands, None if that it is missing."""
        if cell is None or not self.has_rules:
            return cell
        text = label_of(cell)
        for written in (text, text.strip()):
            if written in self.cells:
                meant = self.cells[written]
                return None if meant == MISSING_CELL else label_of(meant) if isinstance(cell, str) else meant
        if not isinstance(cell, str) or self.type in ("category", "boolean", "date"):
            return cell
        bare = cell.strip()
        if self.unit and bare.endswith(self.unit) and bare.removesuffix(self.unit).rstrip()[-1:].isdigit():
            bare = bare.removesuffix(self.unit).rstrip()
        elif self.unit and bare.startswith(self.unit) and unit_of(bare) == self.unit:  # € 5
            bare = bare.removeprefix(self.unit).lstrip()
        if self.thousands and grouped(self.thousands).fullmatch(bare):
            bare = bare.replace(self.thousands, "")
        return cell if bare == cell.strip() else bare

    @property
    def declared_type(self) -> ColumnType | None:
        """The declared type; a list of allowed texts declares a category."""
        if self.type == "date":
            return None
        if self.type is None and self.values and any(isinstance(value, str) for value in self.values):
            return "category"
        return self.type

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Promises that contradict each other, whatever the data. path: where the contract stands in the spec."""
        low, high, values = self.min, self.max, self.values
        yield from self._rule_complaints(path)
        if self.type in ("category", "boolean", "date"):
            for key, bound in (("min", low), ("max", high)):
                if bound is not None:
                    what = f"a {self.type} column has no bounds, got {bound:g}"
                    hint = "give them to its parts, e.g. a contract of `signup.year`" if self.type == "date" else ""
                    yield inconsistent(f"{path}.{key}", what, hint or "use values instead")
        if low is not None and high is not None and low > high:
            what = f"`min <= max` must hold, but got (min={low:g}, max={high:g})"
            yield inconsistent(f"{path}.min", what, "swap them")
        if values is None:
            return
        yield from repeated(f"{path}.values", values)
        if self.type in ("continuous", "integer"):
            for value in values:
                if isinstance(value, bool | str):
                    what = f"{show(value)} is not a number"
                    yield inconsistent(f"{path}.values", what, f"the column is declared {self.type}")
        if self.type == "boolean" and not all(isinstance(value, bool) for value in values):
            what = "a boolean column holds true and false"
            yield inconsistent(f"{path}.values", what, "remove the key, or declare a category")

    def _rule_complaints(self, path: str) -> Iterator[Complaint]:
        """Rules for reading cells that do not suit the type."""
        kind = self.type or "number"
        if self.type != "date":
            for key, value in (("as", self.as_), ("format", self.format)):
                if value is not None:
                    what = f"only a date has this key, and the column is {self.type or 'not declared one'}"
                    yield inconsistent(f"{path}.{key}", what, "write type: date, or remove the key")
        else:
            yield from repeated(f"{path}.as", self.as_ or ())
            if self.values is not None:
                what = "a date column has no list of values"
                yield inconsistent(f"{path}.values", what, "give one to a part of it, e.g. `signup.year`")
        if self.thousands and self.type in ("category", "boolean", "date"):
            what = f"a {kind} column has no thousands"
            yield inconsistent(f"{path}.thousands", what, "remove the key, or declare the column continuous")
        for written, meant in self.cells.items():
            label = isinstance(meant, str) and meant != MISSING_CELL
            if label and self.type in ("continuous", "integer"):
                what = f"{show(written)} cannot mean {show(meant)} in a {kind} column"
                yield inconsistent(f"{path}.cells", what, f"write a number, or {MISSING_CELL}")


class CheckedColumn:
    """One column as numbers, checked against its contract, with all that is wrong with it."""

    def __init__(
        self,
        raw: RawTable,
        name: str,
        contract: ColumnContract,
        *,
        training: bool = False,
        trained: ColumnType | None = None,
    ) -> None:
        """Reads the column. training: the contract is that of a training table, so messages speak of that table.

        trained: the type that the training rows show, where none is declared. Other rows have to be readable as that
        type, and no more: a number that is not whole stays what it is among whole ones.
        """
        self.raw, self.name, self.contract, self.training, self.trained = raw, name, contract, training, trained
        self.complaints: list[Complaint] = []
        self.missing: IntArray = np.array([], dtype=np.int64)  # positions
        # (n,) NaN where missing, or where the column is unreadable
        self.values: Array = np.full(len(raw.frame), np.nan)
        self.column = self._column(contract.declared_type or "continuous", None)
        cells = self._cells()
        kind = None if cells is None else contract.declared_type or trained or self._infer(cells)
        if cells is None or kind is None:
            return
        self.missing = np.flatnonzero(~cells.present)
        labels: tuple[str, ...] | None = None
        if kind == "category":
            self.values, labels = self._category(cells)
        else:
            self.values = self._boolean(cells) if kind == "boolean" else self._number(cells, kind)
        self.column = self._column(kind, labels)

    def _cells(self) -> Cells | None:
        """The cells, or None after a complaint that there are none to read."""
        try:
            cells = read_cells(self.raw.frame[self.name], self.raw.numbers.get(self.name))
        except UnsupportedCellsError as error:
            hint = "use numbers, booleans or text, or leave the column out of dataset.features"
            if str(error) == "dates":
                hint = _DATES
            self._complain("unsupported-type", f"column '{self.name}' holds {error}", hint)
            return None
        if not cells.present.any():
            hint = "leave the column out of dataset.features"
            self._complain("empty-column", f"column '{self.name}' has no value at all", hint)
            return None
        return cells

    def _column(self, kind: ColumnType, labels: tuple[str, ...] | None) -> Column:
        contract = self.contract
        return Column(
            name=self.name,
            type=kind,
            unit=contract.unit,
            minimum=contract.min,
            maximum=contract.max,
            labels=labels,
            allowed=None if kind == "category" or contract.values is None else tuple(map(float, contract.values)),
            inferred=contract.declared_type is None,
        )

    def _complain(self, code: str, what: str, hint: str = "") -> None:
        self.complaints.append(self.raw.complaint(code, f"dataset.columns.{self.name}", what, hint))

    def _complain_of(self, code: str, what: str, bad: IntArray, shown: ObjectArray, hint: str = _REPAIR) -> None:
        """One complaint for all rows at `bad`, if there are any: `2 values of 'x' are <what>: row 1: ...`."""
        if len(bad):
            if self.trained is not None and hint == _REPAIR:
                held = _TRAINED[self.trained]
                hint = f"the training rows hold {held}: repair the cells, or declare the column's type"
            self._complain(code, at_rows(self.raw, bad, "value", f"'{self.name}'", what, shown), hint)

    def _infer(self, cells: Cells) -> ColumnType | None:
        """The type that the cells show, or None after a complaint that they show none."""
        if cells.kind == "boolean" or cells.is_truth_pair():
            return "boolean"
        if cells.kind != "text":
            return "integer" if cells.kind == "integer" else "continuous"
        present, bad, commas = int(cells.present.sum()), cells.not_numbers(), cells.matching(COMMA_NUMBER)
        thousands = cells.matching(THOUSANDS)
        either = np.union1d(commas, thousands)
        if len(either) and 2 * len(either) >= present:
            hint = "set the source's decimal: ',' or declare the column's type"
            code, what = "decimal-comma", "written with a decimal comma"
            if np.isin(either, thousands).all():  # 1,000 would become 1.0
                sure = len(np.setdiff1d(thousands, commas)) > 0
                what = f"written with {'thousands separators' if sure else 'commas that may separate thousands'}"
                code, hint = "thousands-separator", "write 1000 for 1,000, or declare the column's thousands: ','"
            self._complain_of(code, what, either, cells.shown, hint)
            return None
        if 2 * len(cells.matching(DATE)) >= present:
            self._complain("unsupported-type", f"column '{self.name}' holds dates", _DATES)
            return None
        united = np.flatnonzero([unit_of(cell) is not None for cell in cells.shown])
        if 2 * len(united) >= present and len(cells.not_numbers()) >= len(united):
            hint = f"declare what they carry, e.g. unit: '{unit_of(cells.shown[united[0]])}', or type: category"
            self._complain_of("unit-in-cells", "written with a unit", united, cells.shown, hint)
            return None
        if len(bad) and 2 * len(bad) <= present:
            numbers = f"text in a number column ({present - len(bad)} of its {present} values are numbers)"
            example = show(str(cells.shown[bad[0]]))
            hint = (
                f"repair the cells, say what they mean, e.g. cells: {{{example}: missing}}, or declare type: category"
            )
            if bad.tolist() == [0]:
                hint = "is this a second row of headers? Remove it; or repair the cell"
            self._complain_of("text-in-numbers", numbers, bad, cells.shown, hint)
            return None
        return "category"

    def _number(self, cells: Cells, kind: ColumnType) -> Array:
        if cells.kind == "boolean":
            self._complain("not-a-number", f"column '{self.name}' holds booleans, not numbers", "declare type: boolean")
            return cells.numbers
        bad = cells.not_numbers()
        whole, contract = kind == "integer" and self.trained is None, self.contract
        noun = "whole number" if whole else "number"
        self._complain_of("not-a-number", f"not a {noun}" if len(bad) == 1 else f"not {noun}s", bad, cells.shown)
        inexact = cells.inexact() if "integer" in (kind, cells.kind) else None
        for code, what, hint, broken in number_faults(
            cells.numbers, whole=whole, inexact=inexact, low=contract.min, high=contract.max
        ):
            self._complain_of(code, what, np.flatnonzero(broken), cells.shown, hint)
        self._allowed_numbers(cells.numbers, cells.shown)
        return cells.numbers + 0.0 if kind == "integer" else cells.numbers  # a whole number has no -0.0

    def _no_bounds(self, kind: ColumnType) -> None:
        if self.contract.min is not None or self.contract.max is not None:
            what = f"min and max are for numbers, but column '{self.name}' is a {kind}"
            self._complain("bounds-on-labels", what, "remove them, or list the allowed values")

    def _allowed_numbers(self, values: Array, shown: ObjectArray) -> None:
        if self.contract.values is not None:
            allowed = [float(value) for value in self.contract.values]
            wrong = np.flatnonzero(np.isfinite(values) & ~np.isin(values, allowed))
            what = f"not among the allowed values {', '.join(map(label_of, allowed))}"
            self._complain_of("not-allowed", what, wrong, shown)

    def _boolean(self, cells: Cells) -> Array:
        self._no_bounds("boolean")
        values = cells.truths()
        bad = np.flatnonzero(cells.present & np.isnan(values))
        self._complain_of("not-boolean", "neither true/yes/1 nor false/no/0", bad, cells.shown)
        self._allowed_numbers(values, cells.shown)
        return values

    def _category(self, cells: Cells) -> tuple[Array, tuple[str, ...]]:
        """The code of each cell and the labels: in declared order, or sorted."""
        self._no_bounds("category")
        labels = cells.labels()
        distinct = sorted(set(labels[cells.present].tolist()))
        if self.contract.values is None:
            known = tuple(distinct)
            limit = max(50, len(labels) / 2)
            if self.contract.type is None and len(distinct) > limit:
                count = f"{len(distinct)} labels in {len(labels)} rows, more than {limit:g}"
                hint = "name it as dataset.id, not as a feature, or declare its type: category"
                self._complain("identifier", f"column '{self.name}' looks like an identifier: {count}", hint)
        else:
            known = tuple(dict.fromkeys(label_of(value) for value in self.contract.values))
        code = {label: float(position) for position, label in enumerate(known)}
        codes = np.array([code.get(label, np.nan) for label in labels.tolist()], dtype=np.float64)
        unknown = np.flatnonzero(cells.present & np.isnan(codes))
        if len(unknown):
            where = "labels of the training table" if self.training else "allowed values"
            hint = did_you_mean(str(labels[unknown[0]]), known, otherwise="known")
            self._complain_of("unknown-label", f"not among the {where}", unknown, labels, hint)
        return codes, known


def trained_column(raw: RawTable, name: str, rows: IntArray) -> CheckedColumn:
    """The column of these rows alone: the type that they show, or why they show none."""
    numbers = raw.numbers.get(name)
    part = replace(
        raw,
        frame=raw.frame[[name]].iloc[rows].reset_index(drop=True),
        numbers={} if numbers is None else {name: numbers[rows]},
    )
    return CheckedColumn(part, name, ColumnContract(type=None))


def row_number_complaints(raw: RawTable, features: Sequence[CheckedColumn]) -> Iterator[Complaint]:
    """An undeclared integer feature that counts the rows is an identifier, and would be free to move."""
    for checked in features:
        name, values = checked.column.name, checked.values
        if checked.complaints or checked.column.type != "integer" or not checked.column.inferred:
            continue
        distinct = np.unique(values)
        if len(values) >= _COUNTS_ROWS and len(distinct) == len(values) == distinct[-1] - distinct[0] + 1:
            what = f"column '{name}' looks like a row number: {distinct[0]:g} to {distinct[-1]:g}, each once"
            hint = "name it as dataset.id, not as a feature, or declare its type: integer"
            yield raw.complaint("identifier", f"dataset.columns.{name}", what, hint)
