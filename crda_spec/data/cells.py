"""What cells hold: the one place where text becomes numbers, truths and labels.

`read_cells` reads a whole column whose type is still to be inferred; `block_numbers` reads a block of a file whose
columns are known. Both tell a number, a truth and a label by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from crda_spec.data.raw import RawTable, counted, listed
from crda_spec.errors import Complaint, DataError, Place, show
from crda_spec.records import Array, Column, IntArray

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ObjectArray = npt.NDArray[np.object_]
Mask = npt.NDArray[np.bool_]
CellKind = Literal["boolean", "integer", "number", "text"]

LARGEST_EXACT = 2**53  # beyond it, neighbouring integers share one float64
LARGEST = 1e100  # squares of larger numbers, and sums of them, overflow

_SPACE = r"[^\S\x1c-\x1f]*"  # what float() passes over: not the four separators that a regular expression calls space
_NUMBER = re.compile(rf"{_SPACE}[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?){_SPACE}", re.IGNORECASE)
_INTEGER = re.compile(rf"{_SPACE}[+-]?\d+{_SPACE}")
_CODE = re.compile(rf"{_SPACE}[+-]?0\d+{_SPACE}")  # 007 is a code, not seven
COMMA_NUMBER = re.compile(rf"{_SPACE}[+-]?\d+,\d+{_SPACE}")
THOUSANDS = re.compile(rf"{_SPACE}[+-]?[1-9]\d{{0,2}}(?:,\d{{3}})+(?:\.\d*)?{_SPACE}")
DATE = re.compile(r"\s*\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}.*)?\s*")  # or a date and a time, as ISO 8601 has them
_WITH_UNIT = re.compile(r"\s*[+-]?(?:\d[\d,' ]*\.?\d*|\.\d+)\s*(?P<unit>[^\W\d_%]+[\w/%²³.-]*|%|°\w?|[€$£])\s*")
_CURRENCY = re.compile(r"\s*(?P<unit>[€$£¥])\s*[+-]?(?:\d[\d,' ]*\.?\d*|\.\d+)\s*")
_TYPES: dict[CellKind, tuple[type, ...]] = {  # the first that fits: a bool is an Integral, too
    "text": (str,),
    "boolean": (bool, np.bool_),
    "integer": (Integral,),
    "number": (Real, Decimal),
}
_TRUTH_PAIRS = ({"true", "false"}, {"yes", "no"})
_TRUTH = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}


def unit_of(text: object) -> str | None:
    """The unit that a number is written with: m2 of `5 m2`, € of `€ 5`; None where there is none."""
    if not isinstance(text, str):
        return None
    found = _WITH_UNIT.fullmatch(text) or _CURRENCY.fullmatch(text)
    return None if found is None else found["unit"]


class UnsupportedCellsError(Exception):
    """The column holds something that is neither a number, a boolean nor text; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """One column, read."""

    kind: CellKind
    numbers: Array  # (n,)
    shown: ObjectArray  # (n,)
    present: Mask  # (n,)

    def inexact(self) -> Mask:
        """Which whole numbers a float64 cannot tell from their neighbours."""
        beyond: Mask = np.abs(self.numbers) > LARGEST_EXACT
        if self.kind == "integer":  # exact in `shown`, where 2**53 + 1 is not yet 2**53
            for position in np.flatnonzero(np.abs(self.numbers) == LARGEST_EXACT).tolist():
                beyond[position] = abs(int(self.shown[position])) > LARGEST_EXACT
        return beyond

    def labels(self) -> ObjectArray:
        """Each cell as the label of a category, None where it is missing: 3, 3.0 and "3.0" are all "3", text stays."""
        if self.kind != "text":
            of_kind = {"boolean": bool, "integer": int, "number": float}[self.kind]
            return _per_cell(self.shown, lambda cell: label_of(of_kind(cell)))
        texts = _per_cell(self.shown, label_of)
        distinct = {text.casefold() for text in texts[self.present]}
        return _per_cell(texts, str.casefold) if distinct <= _TRUTH_PAIRS[0] else texts

    def plain(self) -> ObjectArray:
        """Each cell as a plain value, None where it is missing: a number also where the source holds its text."""
        return _per_cell(self.shown, float) if self.kind in ("integer", "number") else self.shown

    def truths(self) -> Array:
        """1 for true, yes and 1; 0 for false, no and 0; NaN for anything else."""
        if self.kind != "text":
            return np.where(np.isin(self.numbers, (0.0, 1.0)), self.numbers, np.nan)
        return np.array([np.nan if cell is None else _truth(cell) for cell in self.shown], dtype=np.float64)

    def is_truth_pair(self) -> bool:
        """Whether the text consists of exactly true and false, or exactly yes and no."""
        return self.kind == "text" and {label_of(cell).casefold() for cell in self.shown[self.present]} in _TRUTH_PAIRS

    def not_numbers(self) -> IntArray:
        """Positions of cells that hold something else than a number."""
        return np.flatnonzero(self.present & np.isnan(self.numbers))

    def matching(self, pattern: re.Pattern[str]) -> IntArray:
        """Positions of text that is written like this."""
        return np.flatnonzero([isinstance(cell, str) and pattern.fullmatch(cell) is not None for cell in self.shown])


@cache
def grouped(mark: str) -> re.Pattern[str]:
    """How a number is written with this mark between its thousands: 1,234.5."""
    return re.compile(rf"[+-]?\d{{1,3}}(?:{re.escape(mark)}\d{{3}})+(?:\.\d*)?")


def label_of(value: object) -> str:
    """A value as the label of a category: true, 3, 2.5, or the text itself."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, (Real, Decimal)):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) <= LARGEST_EXACT else repr(number)
    return str(value)


def fold_truth(label: str) -> str:
    """TRUE and True are the label true, and so for false; any other label stays as it is written."""
    return label.casefold() if label.casefold() in _TRUTH_PAIRS[0] else label


def _truth(cell: object) -> float:
    return _TRUTH.get(label_of(cell).strip().casefold(), np.nan)


def quoted(cell: object) -> str:
    """A cell as a message shows it: a number bare, even where the source holds its text, other text in quotes."""
    return cell.strip() if isinstance(cell, str) and _NUMBER.fullmatch(cell) else show(cell)


def at_rows(
    raw: RawTable, positions: IntArray, noun: str, column: str, what: str, shown: ObjectArray | None = None
) -> str:
    """`2 values of 'x' are too large: row 1 (line 2): 1e200, row 5: 1e300`. shown: (n,) the column's cells."""
    values = None if shown is None else [quoted(cell) for cell in shown[positions[:5]]]
    verb = "is" if len(positions) == 1 else "are"
    return f"{counted(len(positions), noun)} of {column} {verb} {what}: {listed(raw, positions, values)}"


def read_cells(series: pd.Series[Any], numbers: Array | None = None) -> Cells:
    """The cells of a column, or UnsupportedCellsError for dates, lists and so on. numbers: `all_numbers`, if known."""
    if numbers is not None:
        texts = series.to_numpy(dtype=object)
        present = np.ones(len(texts), dtype=bool)
        return Cells(kind=_kind_of_numbers(texts.tolist()), numbers=numbers, shown=texts, present=present)
    import pandas as pd

    present = series.notna().to_numpy(dtype=bool)
    shown = series.astype(object).to_numpy(dtype=object, copy=True)
    shown[~present] = None
    dtype, types = series.dtype, pd.api.types
    if isinstance(dtype, pd.CategoricalDtype) or types.is_object_dtype(dtype) or types.is_string_dtype(dtype):
        return _read_objects(shown, present)
    kind: CellKind
    if types.is_bool_dtype(dtype):
        kind = "boolean"
    elif types.is_integer_dtype(dtype):
        kind = "integer"
    elif types.is_float_dtype(dtype):
        kind = "number"
    else:
        raise UnsupportedCellsError(_plain_name(str(dtype)))
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    return Cells(kind=kind, numbers=values, shown=shown, present=present)


def _read_objects(shown: ObjectArray, present: Mask) -> Cells:
    kinds = {_kind_of(cell) for cell in shown[present]}
    truths = kinds == {"boolean"}  # among other cells, a truth is no number
    texts = present if kinds == {"text"} else np.array([isinstance(cell, str) for cell in shown], dtype=bool)
    typed = present & ~texts
    values = np.full(len(shown), np.nan)
    values[texts] = _parse(shown[texts].tolist())
    values[typed] = [np.nan if isinstance(cell, bool) and not truths else float(cell) for cell in shown[typed]]
    kind: CellKind = "boolean" if truths else "text"
    if kinds <= {"integer", "number"}:
        kind = "integer" if kinds == {"integer"} else "number"
    elif kinds == {"text"} and not np.isnan(values[present]).any():
        kind = _kind_of_numbers(shown[present].tolist())
    return Cells(kind=kind, numbers=values, shown=shown, present=present)


def _kind_of_numbers(texts: Sequence[str]) -> CellKind:
    """Of text in which every cell is a number: whether all are whole, or one is a code."""
    if not all(_INTEGER.fullmatch(text) for text in texts):
        return "number"
    return "text" if any(_CODE.fullmatch(text) for text in texts) else "integer"


def all_numbers(texts: Sequence[str]) -> Array | None:
    """The numbers, when every text is one; None as soon as one is missing or is something else.

    Arrow rounds as Python does, to the nearest float64, and is several times as fast; it knows fewer spellings (no
    spaces around a number), so Python has the last word.
    """
    import pyarrow as pa

    try:
        values = pa.array(texts, pa.string()).cast(pa.float64()).to_numpy()
    except (pa.ArrowException, UnicodeEncodeError):  # a lone surrogate cannot be sent to Arrow
        try:
            values = np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
        except ValueError:
            return None
    # Python reads nan and 1_000 as numbers; here the first is missing and the second is text.
    return None if np.isnan(values).any() or "_" in "".join(texts) else values


def number_of(cell: object) -> float | None:
    """The number that a cell holds, as text or as such; None where it holds none."""
    if isinstance(cell, str):
        return float(cell) if _NUMBER.fullmatch(cell) else None
    return None if isinstance(cell, bool) or not isinstance(cell, Real | Decimal) else float(cell)


def _parse(texts: Sequence[str]) -> Array:
    """The number in each text, NaN where there is none; usually without a regular expression per cell."""
    values = all_numbers(texts)
    return np.array([_number(text) for text in texts], dtype=np.float64) if values is None else values


def _number(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else np.nan


def _kind_of(cell: object) -> CellKind:
    for kind, types in _TYPES.items():
        if isinstance(cell, types):
            return kind
    raise UnsupportedCellsError(_plain_name(type(cell).__name__))


def _plain_name(name: str) -> str:
    """A type as a reader knows it: every kind of moment is a date."""
    return "dates" if re.match(r"date|time|period", name, re.IGNORECASE) else f"values of type {name}"


def _per_cell(cells: ObjectArray, function: Any) -> ObjectArray:  # noqa: ANN401 - a function of one cell
    out = np.empty(len(cells), dtype=object)
    out[:] = [None if cell is None else function(cell) for cell in cells]
    return out


def number_faults(
    values: Array, *, whole: bool, inexact: Mask | None, low: float | None, high: float | None
) -> Iterator[tuple[str, str, str, Mask]]:
    """What may be wrong with numbers: a code, the words, what to try, and where. inexact: (n,) which lost digits."""
    finite = np.isfinite(values)
    hint = "write a number, or leave the cell empty and set dataset.missing"
    yield "not-finite", "infinite", hint, np.isinf(values)
    large = finite & (np.abs(values) > LARGEST)
    yield "too-large", f"beyond {LARGEST:g}, too large to square", "write the column in a larger unit", large
    if whole:
        hint = "round them, or declare the column's type: continuous"
        yield "not-whole", "not whole", hint, finite & (values != np.round(values))
    if inexact is not None:
        hint = "an identifier is no feature: name it as dataset.id instead, or declare it a category"
        yield "too-large", "beyond 2**53, where integers lose digits", hint, finite & inexact
    repair = "repair the cells, or change the column's contract"
    if low is not None:
        yield "below-minimum", f"below the minimum {low:g}", repair, values < low
    if high is not None:
        yield "above-maximum", f"above the maximum {high:g}", repair, values > high


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPlace:
    """Where a block lies, for messages."""

    file: str
    first: int  # rows before it
    decimal: str = "."


def block_numbers(block: pa.Table, columns: Sequence[Column], where: BlockPlace) -> Array:
    """(m, d) the columns as a `Table` has them, NaN where a cell is missing; a DataError names the first bad cells."""
    complaints: list[Complaint] = []
    read = np.empty((block.num_rows, len(columns)))
    for at, column in enumerate(columns):
        cells = block[column.name].combine_chunks()
        values, faults = _block_column(cells, column, decimal=where.decimal)
        for what, bad in faults:
            if bad.any():
                first, count = int(bad.argmax()), int(bad.sum())
                verb, more = ("is", "") if count == 1 else ("are", f" and {count - 1} more among the rows read with it")
                row = f"row {where.first + first + 1}: {quoted(cells[first].as_py())}"
                message = f"{counted(count, 'value')} of '{column.name}' {verb} {what}: {row}{more}"
                hint = "repair the cells: the run's contract holds for the new rows too"
                place = Place(file=where.file)
                complaints.append(Complaint(code="broken-contract", place=place, what=message, hint=hint))
                break
        read[:, at] = values
    if complaints:
        raise DataError(complaints)
    return read


def _block_column(cells: pa.Array, column: Column, *, decimal: str) -> tuple[Array, list[tuple[str, Mask]]]:
    """The values, and for each rule of the contract which cells break it."""
    present = ~np.asarray(cells.is_null(nan_is_null=True))
    if column.type == "category":
        codes = {label: float(code) for code, label in enumerate(column.labels or ())}
        # A run's own reader folds True and TRUE where a category has no other label; here its labels tell.
        values = _per_distinct(
            cells, lambda cell: codes.get(label := label_of(cell), codes.get(fold_truth(label), np.nan))
        )
        return values, [("not a label that the run has seen", present & np.isnan(values))]
    if column.type == "boolean":
        values = _per_distinct(cells, _truth)
        return values, [("neither true/yes/1 nor false/no/0", present & np.isnan(values))]
    values = _block_values(cells, decimal=decimal)
    whole = column.type == "integer"
    inexact = np.abs(values) > LARGEST_EXACT if whole else None
    faults = number_faults(values, whole=whole, inexact=inexact, low=column.minimum, high=column.maximum)
    broken = [("not a number", present & np.isnan(values)), *((what, bad) for _, what, _, bad in faults)]
    if column.allowed is not None:
        broken.append(("not among the allowed values", present & ~np.isin(values, column.allowed)))
    return values, broken


def _block_values(cells: pa.Array, *, decimal: str) -> Array:
    """Numbers as float64; NaN where a cell is missing or is no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    kind = cells.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        cells = pc.utf8_trim_whitespace(cells.cast(pa.string()))
        if decimal != ".":
            cells = pc.replace_substring(cells, pattern=decimal, replacement=".")
        try:
            cells = cells.cast(pa.float64())
        except pa.ArrowInvalid:  # which of them is no number?
            return np.array([np.nan if text is None else _number(text) for text in cells.to_pylist()], dtype=np.float64)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return np.full(len(cells), np.nan)
    return np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _per_distinct(cells: pa.Array, function: Callable[[object], float]) -> Array:
    """The number that a function gives each cell, asked once for each distinct one; NaN where it is missing."""
    import pyarrow as pa

    encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    known = [np.nan if cell is None else function(cell) for cell in encoded.dictionary.to_pylist()]
    indices = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.asarray(np.array([*known, np.nan], dtype=np.float64)[indices])
