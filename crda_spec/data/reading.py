"""From columns as a source has them to columns as the spec reads them: cells by rule, parts of dates, marks of gaps.

A whole table and a block of a file are read by the same rules, so that new rows are given to a run as its own were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from crda_spec.data.cells import ObjectArray, at_rows, label_of, quoted
from crda_spec.data.contract import ColumnContract, DatePart
from crda_spec.data.raw import RawTable, counted
from crda_spec.errors import Complaint, DataError, Place, show
from crda_spec.records import Array, IntArray

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

GAP: Literal["missing"] = "missing"  # `dose.missing` is true where dose has no cell
_DAY = 86400 * 10**9  # nanoseconds
_ISO_HINT = "write dates as 2024-03-01, or say how they are written, e.g. format: '%d.%m.%Y'"

# Ways to write a date that `init` knows, none of which is ISO 8601's.
FORMATS = tuple(
    f"{day}{clock}"
    for day in (
        *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y"),
        *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y", "%b %d, %Y"),
        *("%B %d, %Y", "%d-%b-%Y", "%d-%b-%y"),
    )
    for clock in ("", " %H:%M", " %H:%M:%S")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A feature made of a column: a part of a date, or whether a cell is missing."""

    column: str
    part: DatePart | Literal["missing"]

    @property
    def name(self) -> str:
        """`signup.year`, `dose.missing`."""
        return f"{self.column}.{self.part}"

    @property
    def contract(self) -> ColumnContract:
        """What it is, whatever the rows show: `signup.elapsed_days` counts rows, and is no identifier."""
        if self.part == GAP:
            return ColumnContract(type="boolean")
        if self.part == "elapsed_days":
            return ColumnContract(type="continuous", unit="days since 1970-01-01")
        return ColumnContract(type="integer")


def moment_of(cell: object, form: str | None) -> int | None:
    """Nanoseconds since 1970 (of a time with a zone as UTC has it); None where the cell is no date written this way."""
    from crda_spec.data.timestamps import instant, measured

    if form is None or not isinstance(cell, str):
        found = instant(cell)
    else:
        try:
            found = measured(datetime.strptime(cell.strip(), form))
        except (ValueError, OverflowError):
            found = None
    return None if found is None else found.nanoseconds


def part_of(moments: Sequence[int | None], part: DatePart) -> Array:
    """(n,) this part of each moment, NaN where there is none.

    Examples
    --------
    >>> day = moment_of("2024-03-01", None)
    >>> [float(part_of([day], part)[0]) for part in ("year", "day_of_year", "weekday", "elapsed_days")]
    [2024.0, 61.0, 5.0, 19783.0]
    """
    present = np.array([one is not None for one in moments], dtype=bool)
    whole = np.array([0 if one is None else one for one in moments], dtype=np.int64)
    days: npt.NDArray[np.datetime64] = (whole // _DAY).astype("datetime64[D]")
    values: npt.NDArray[np.floating[Any]]
    if part == "elapsed_days":
        values = whole / _DAY
    elif part == "year":
        values = days.astype("datetime64[Y]").astype(np.int64) + 1970.0
    elif part == "month":
        values = days.astype("datetime64[M]").astype(np.int64) % 12 + 1.0
    elif part == "day_of_year":
        values = (days - days.astype("datetime64[Y]")).astype(np.int64) + 1.0
    elif part == "weekday":  # 1970-01-01 was a Thursday
        values = (days.astype(np.int64) + 3) % 7 + 1.0
    else:
        values = whole % _DAY // (3600 * 10**9) + 0.0
    return np.where(present, values.astype(np.float64), np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the columns of a dataset are read."""

    contracts: Mapping[str, ColumnContract]
    derived: tuple[Derived, ...] = ()

    def names(self, header: Sequence[str]) -> tuple[str, ...]:
        """All columns that can be spoken of: those of the header, each followed by what is made of it."""
        made = {name: [one.name for one in self.derived if one.column == name] for name in header}
        return tuple(dict.fromkeys(one for name in header for one in (name, *made[name])))

    def origin(self, name: str, header: Sequence[str]) -> str:
        """The column of the header that this one is read from: itself, unless it is made of another."""
        return name if name in header else self.source(name)

    def source(self, name: str) -> str:
        """The column that a derived one is made of; any other is its own source."""
        return next((one.column for one in self.derived if one.name == name), name)

    def of_table(self, raw: RawTable) -> tuple[RawTable, list[Complaint]]:
        """The table with its cells read and the derived columns added, and what is wrong with its dates."""
        import pandas as pd

        header = [str(name) for name in raw.frame.columns]
        columns: dict[str, pd.Series[Any]] = {name: raw.frame[name] for name in header}
        numbers, complaints = dict(raw.numbers), list[Complaint]()
        for name, contract in self.contracts.items():
            if name not in columns or not contract.has_rules:
                continue
            if name in numbers and not contract.cells:  # units and thousands are no part of what is a number already
                continue
            series = columns[name]
            cells = series.astype(object).to_numpy(dtype=object, copy=True)
            cells[series.isna().to_numpy(dtype=bool)] = None
            meant = _mapped(cells.tolist(), contract.read)
            if meant != cells.tolist():
                numbers.pop(name, None)
                columns[name] = pd.Series(meant, dtype=object)
        for name in dict.fromkeys(one.column for one in self.derived):
            complaints += self._taken(name, header, raw)
            if name in columns:
                made, wrong = self._made(raw, name, columns[name])
                complaints += wrong
                columns |= {key: value for key, value in made.items() if key == name or key not in columns}
                numbers = {key: value for key, value in numbers.items() if key not in made}
        order = self.names(header)
        return replace(raw, frame=pd.DataFrame({name: columns[name] for name in order}), numbers=numbers), complaints

    def _taken(self, name: str, header: Sequence[str], raw: RawTable) -> Iterator[Complaint]:
        """A derived column whose name a column of the data has already."""
        for one in self.derived:
            if one.column == name and one.name in header:
                what = f"{show(one.name)} would be made of '{name}', but is a column already"
                path = "dataset.missing.indicator" if one.part == GAP else f"dataset.columns.{name}.as"
                yield raw.complaint("name-taken", path, what, "rename the column")

    def _made(
        self, raw: RawTable, name: str, series: pd.Series[Any]
    ) -> tuple[dict[str, pd.Series[Any]], list[Complaint]]:
        import pandas as pd

        cells: ObjectArray = series.astype(object).to_numpy(dtype=object, copy=True)
        present = series.notna().to_numpy(dtype=bool)
        cells[~present] = None
        parts = [one for one in self.derived if one.column == name]
        made: dict[str, pd.Series[Any]] = {}
        moments: list[int | None] = []
        complaints = []
        if any(one.part != GAP for one in parts):
            form = self.contracts[name].format
            moments, bad = _moments(cells.tolist(), form)
            if len(bad):
                complaints.append(_wrong_dates(raw, name, cells, bad, form))
                moments = [0 if here else None for here in present]  # the complaint is made; its parts would repeat it
            elif form is not None:  # from here on, for dataset.time too, a date is a date
                dates = [None if one is None else np.datetime64(one, "ns") for one in moments]
                made[name] = pd.Series(dates, dtype=object)
        for one in parts:
            values: Sequence[object] = (~present).tolist() if one.part == GAP else _plain(part_of(moments, one.part))
            made[one.name] = pd.Series(values, dtype=object)
        return made, complaints

    def of_block(self, block: pa.Table, names: Sequence[str], *, file: str, first: int) -> pa.Table:
        """These columns of a block of a file, read. first: rows before it, for messages."""
        import pyarrow as pa

        out: dict[str, pa.Array] = {}
        for name in names:
            origin = self.origin(name, block.column_names)
            contract = self.contracts.get(origin, ColumnContract())
            cells = block[origin].combine_chunks()
            if contract.has_rules:
                cells = _mapped_block(cells, contract.read)
            made = next((one for one in self.derived if one.name == name != origin), None)
            if made is None:
                out[name] = cells
            elif made.part == GAP:
                out[name] = pa.array(np.asarray(cells.is_null(nan_is_null=True)))
            else:
                listed = cells.to_pylist()
                moments, bad = _moments(listed, contract.format)
                if len(bad):
                    row = f"row {first + int(bad[0]) + 1}: {quoted(listed[bad[0]])}"
                    raise DataError(_wrong_in_block(origin, row, len(bad), contract.format, file))
                values = part_of(moments, made.part)
                out[name] = pa.array(values, mask=np.isnan(values))
        return pa.table(out)


def _moments(cells: Sequence[Any], form: str | None) -> tuple[list[int | None], IntArray]:
    """Of each cell, and the positions of those that are no date written this way."""
    moments: list[int | None] = _mapped(cells, lambda cell: None if cell is None else moment_of(cell, form))
    wrong = (cell is not None and one is None for cell, one in zip(cells, moments, strict=True))
    return moments, np.flatnonzero(np.fromiter(wrong, dtype=bool, count=len(moments)))


def _wrong_in_block(column: str, row: str, count: int, form: str | None, file: str) -> Complaint:
    verb, more = ("is", "") if count == 1 else ("are", f" and {count - 1} more among the rows read with it")
    what = f"{counted(count, 'date')} of '{column}' {verb} not written {_written(form)}: {row}{more}"
    hint = "repair the cells: the run's contract holds for the new rows too"
    return Complaint(code="not-a-date", place=Place(file=file), what=what, hint=hint)


def _written(form: str | None) -> str:
    return "as ISO 8601 has dates (2024-03-01)" if form is None else f"as {show(form)} says"


def _wrong_dates(raw: RawTable, name: str, cells: ObjectArray, bad: IntArray, form: str | None) -> Complaint:
    """Cells that are no dates, or dates in another form than the rest."""
    present = sum(cell is not None for cell in cells)
    what = at_rows(raw, bad, "date", f"'{name}'", f"not written {_written(form)}", cells)
    others = [str(cell) for cell in cells[bad]]
    fits = [one for one in FORMATS if all(moment_of(cell, one) is not None for cell in others)]
    hint = "repair the cells" if form is not None else _ISO_HINT
    if fits and len(bad) < present:
        hint = f"a column has one form of dates, and these look like {fits[0]}: write all in one form"
    elif fits:
        hint = f"say how they are written: format: '{fits[0]}'"
        if len(fits) > 1:
            hint += f" or '{fits[1]}'"
    return raw.complaint("not-a-date", f"dataset.columns.{name}", what, hint)


def _plain(values: Array) -> list[int | float | None]:
    """Whole numbers as such, None where there is none."""
    whole = bool(np.all(np.isnan(values) | (values % 1 == 0)))
    return [None if np.isnan(one) else int(one) if whole else one for one in values.tolist()]


def _mapped(cells: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
    """The function of each cell, asked once for each distinct one."""
    known = {(kind, cell): function(cell) for kind, cell in dict.fromkeys((type(one), one) for one in cells)}
    return [known[type(cell), cell] for cell in cells]


def _mapped_block(cells: pa.Array, function: Callable[[object], object]) -> pa.Array:
    import pyarrow as pa

    listed = [None if cell != cell else cell for cell in cells.to_pylist()]  # noqa: PLR0124 - NaN is not itself
    meant = _mapped(listed, function)
    if meant == listed:
        return cells
    try:
        return pa.array(meant)
    except pa.ArrowException:
        return pa.array([None if one is None else label_of(one) for one in meant], pa.string())
