"""Columns of a block as numbers, checked against the contract of a known table; vectorised, for many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crda_spec.data.cells import LARGEST_EXACT, label_of, quoted
from crda_spec.errors import Complaint, DataError, Place
from crda_spec.records import Array, Column

_LARGEST = 1e100  # as in a run's own contract: squares of larger numbers overflow
_TRUTH = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
_REPAIR = "repair the cells: the run's contract holds for the new rows too"


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
        values, broken = _numbers(cells, column, where)
        for what, bad in broken:
            positions = np.flatnonzero(bad)
            if len(positions):
                complaints.append(_complaint(column, what, positions, cells, where))
                break
        read[:, at] = values
    if complaints:
        raise DataError(complaints)
    return read


Broken = list[tuple[str, npt.NDArray[np.bool_]]]


def _numbers(cells: pa.Array, column: Column, where: BlockPlace) -> tuple[Array, Broken]:
    """The values, and for each rule of the contract which cells break it."""
    present = ~np.asarray(cells.is_null(nan_is_null=True))
    if column.type == "category":
        codes = _by_label(cells, {label: float(code) for code, label in enumerate(column.labels or ())})
        return codes, [("not a label that the run has seen", present & np.isnan(codes))]
    if column.type == "boolean":
        values = _by_label(cells, _TRUTH, folded=True)
        return values, [("neither true/yes/1 nor false/no/0", present & np.isnan(values))]
    values = _plain_numbers(cells, decimal=where.decimal)
    known = np.where(np.isnan(values), 0.0, values)
    broken: Broken = [
        ("not a number", present & np.isnan(values)),
        ("infinite", np.isinf(values)),
        (f"beyond {_LARGEST:g}, too large to square", np.abs(known) > _LARGEST),
    ]
    if column.type == "integer":
        broken.append(("not whole", known != np.round(known)))
        broken.append(("beyond 2**53, where integers lose digits", np.abs(known) > LARGEST_EXACT))
    if column.minimum is not None:
        broken.append((f"below the minimum {column.minimum:g}", values < column.minimum))
    if column.maximum is not None:
        broken.append((f"above the maximum {column.maximum:g}", values > column.maximum))
    if column.allowed is not None:
        broken.append(("not among the allowed values", present & ~np.isin(values, column.allowed)))
    return values, broken


def _plain_numbers(cells: pa.Array, *, decimal: str) -> Array:
    """Numbers as float64; NaN where a cell is missing or is no number."""
    kind = cells.type
    if pa.types.is_dictionary(kind):
        cells = cells.dictionary_decode()
        kind = cells.type
    if pa.types.is_boolean(kind) or not (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or _is_text(kind)
    ):
        return np.full(len(cells), np.nan)
    if _is_text(kind):
        cells = pc.utf8_trim_whitespace(cells.cast(pa.string()))
        if decimal != ".":
            cells = pc.replace_substring(cells, pattern=decimal, replacement=".")
        try:
            cells = cells.cast(pa.float64())
        except pa.ArrowInvalid:
            return np.array([_number(text) for text in cells.to_pylist()], dtype=np.float64)
    return np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _number(text: str | None) -> float:
    """Only after the fast way failed: which of the cells is no number?"""
    try:
        return np.nan if text is None or "_" in text else float(text)
    except ValueError:
        return np.nan


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _by_label(cells: pa.Array, codes: dict[str, float], *, folded: bool = False) -> Array:
    """The code of each cell's label, by way of the distinct ones; NaN where it is missing or unknown."""
    encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    distinct = [None if value is None else label_of(value) for value in encoded.dictionary.to_pylist()]
    if folded:
        distinct = [None if label is None else label.strip().casefold() for label in distinct]
    found = [np.nan if label is None else codes.get(label, codes.get(_truth(label), np.nan)) for label in distinct]
    indices = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False).astype(np.int64)
    coded: Array = np.array([*found, np.nan], dtype=np.float64)[indices]
    return coded


def _truth(label: str) -> str:
    """TRUE and True are read as true, as a run's own reader does where a category has no other label."""
    return label.casefold() if label.casefold() in ("true", "false") else label


def _complaint(
    column: Column, what: str, positions: npt.NDArray[np.int64], cells: pa.Array, where: BlockPlace
) -> Complaint:
    first = int(positions[0])
    count = "1 value" if len(positions) == 1 else f"{len(positions)} values"
    verb = "is" if len(positions) == 1 else "are"
    row = f"row {where.first + first + 1}: {quoted(cells[first].as_py())}"
    more = f" and {len(positions) - 1} more among the rows read with it" if len(positions) > 1 else ""
    said = f"{count} of '{column.name}' {verb} {what}: {row}{more}"
    return Complaint(code="broken-contract", place=Place(file=where.file), what=said, hint=_REPAIR)
