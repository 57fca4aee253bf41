"""A delimited text file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from crda_spec.data.cells import all_numbers
from crda_spec.data.files import read_bytes
from crda_spec.data.raw import RawTable, sha256_of
from crda_spec.data.textfile import Dialect, TextTable, decode, parse

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "Null"})  # not None: a garage may be "None"

_POINT_NUMBER = re.compile(r"\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*|\s*[+-]?\d+\.\s*")
_COMMA_NUMBER = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Csv:
    """A text table with a header line. `written` is the path as the spec writes it, for messages."""

    path: Path
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    written: str = ""

    def describe(self) -> str:
        """The file's name."""
        return self.path.name

    def read(self) -> RawTable:
        """The cells as text; empty cells and NA, N/A, NaN, null are missing."""
        dialect = Dialect(description=self.describe(), delimiter=self.delimiter, encoding=self.encoding)
        return text_to_raw(read_bytes(self.path, self.written), dialect, decimal=self.decimal)


def text_to_raw(data: bytes, dialect: Dialect, *, decimal: str = ".") -> RawTable:
    """The table in the bytes of a delimited file."""
    table = parse(decode(data, dialect), dialect)
    written = dict(zip(table.header, zip(*table.rows, strict=True), strict=True))
    found = {name: all_numbers(cells) for name, cells in written.items()} if decimal == "." else {}
    numbers = {name: values for name, values in found.items() if values is not None}
    columns = {name: list(cells) if name in numbers else _column(cells) for name, cells in written.items()}
    if decimal == ",":
        _translate_commas(columns, table, dialect)
    lines = np.array(table.lines, dtype=np.int64)
    unbroken = bool(np.all(np.diff(lines) == 1))
    return RawTable(
        frame=pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()}),
        sha256=sha256_of(data),
        description=dialect.description,
        first_line=table.lines[0],
        lines=None if unbroken else lines,
        numbers=numbers,
    )


def _column(cells: Sequence[str]) -> list[str | None]:
    return [None if cell.strip() in MISSING else cell for cell in cells]


def _translate_commas(columns: dict[str, list[str | None]], table: TextTable, dialect: Dialect) -> None:
    """Turns decimal commas into points, in place.

    A number that already has a point is refused: under a decimal comma, 1.234 may well mean 1234.
    """
    for name, cells in columns.items():
        for position, cell in enumerate(cells):
            if cell is None:
                continue
            if _POINT_NUMBER.fullmatch(cell):
                what = f"column '{name}' has {cell.strip()!r}, but the decimal mark is ','"
                hint = "write numbers without thousands separators, or set the source's decimal: '.'"
                raise dialect.complain("mixed-decimals", what, hint, line=table.lines[position])
            if _COMMA_NUMBER.fullmatch(cell):
                cells[position] = cell.replace(",", ".")
