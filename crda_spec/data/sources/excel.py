"""One sheet of an Excel workbook."""

from __future__ import annotations

import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from crda_spec.data.raw import MAX_OBJECTS, FileSource, RawTable, check_names, counted, sha256_of, table_of_rows
from crda_spec.errors import did_you_mean, show

# What a damaged archive, or an archive that is no workbook, makes the libraries below raise.
_BROKEN = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, SyntaxError, EOFError, OSError)
_MOST_ROWS = 1_048_576  # of a sheet, as Excel has it; a file may claim any number
_MOST_BYTES = 2_000_000_000  # of a workbook, unpacked


class Excel(FileSource):
    """One sheet of a workbook, its first row the header."""

    kind: Literal["excel"] = Field("excel", description="One sheet of an Excel workbook (.xlsx), first row the header.")
    sheet: str | int = Field(0, description="The sheet's name, or its position counted from 0.")

    def header(self, base: Path) -> tuple[str, ...]:
        """The names in the first row of the sheet."""
        rows = self._sheet(self._bytes(base), limit=1)
        return self._names(rows[0] if rows else [])

    def read(self, base: Path) -> RawTable:
        """The cells as the workbook types them; a formula counts as the value that was stored with it."""
        data = self._bytes(base)
        return table_of_rows(*self.cells(data), sha256=sha256_of(data), description=self.describe())

    def cells(self, data: bytes) -> tuple[tuple[str, ...], list[list[object]]]:
        """The names in the first row, and the rows below it, all of the header's width."""
        rows = self._sheet(data)
        while rows and not rows[-1]:
            rows.pop()
        width = max(map(len, rows), default=0)
        padded = [[*row, *[None] * (width - len(row))] for row in rows]
        names = self._names(padded[0] if padded else [])
        if len(padded) == 1:
            raise self._error("no-rows", "the sheet has a header but no row", "add rows below the header")
        return names, padded[1:]

    def _sheet(self, data: bytes, limit: int = _MOST_ROWS + 1) -> list[list[object]]:
        """The first rows of the sheet, each without the empty cells at its end."""
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException

        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                size = sum(part.file_size for part in archive.infolist())
            if size > _MOST_BYTES:
                what = f"the workbook has {size:,} bytes when it is unpacked, and may have {_MOST_BYTES:,}"
                raise self._error("too-large", what, "write the sheet to a CSV or Parquet file")
            with warnings.catch_warnings():
                # openpyxl warns of styles and extensions that it does not keep; none of them is a value.
                warnings.simplefilter("ignore", UserWarning)
                book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
                try:
                    # Typed loosely because read-only sheets have their own class.
                    page: Any = book.worksheets[self._position([page.title for page in book.worksheets])]
                    page.reset_dimensions()  # the stored extent of a sheet may be stale
                    return self._bounded(page.iter_rows(values_only=True), limit)
                finally:
                    book.close()
        except (*_BROKEN, InvalidFileException) as error:
            what = "this is no Excel workbook (.xlsx) that can be read"
            raise self._error("corrupt-file", what, "save it again as .xlsx") from error

    def _bounded(self, sheet: Iterator[tuple[object, ...]], limit: int) -> list[list[object]]:
        """One cell far away makes a table of every empty cell before it: what counts are rows times columns."""
        rows: list[list[object]] = []
        width = filled = 0
        for row in islice(sheet, limit):
            rows.append(_trimmed(row))
            width = max(width, len(rows[-1]))
            filled = len(rows) if rows[-1] else filled
            if filled * width > MAX_OBJECTS or len(rows) > _MOST_ROWS:
                hint = "clear stray cells beside and below the table, or write it to a CSV or Parquet file"
                raise self._too_large(len(rows), width, MAX_OBJECTS, hint)
        return rows

    def _position(self, titles: list[str]) -> int:
        if isinstance(self.sheet, int):
            if 0 <= self.sheet < len(titles):
                return self.sheet
            what = f"there is no sheet {self.sheet}: the workbook has {counted(len(titles), 'sheet')}, counted from 0"
            hint = "sheets: " + ", ".join(titles)
        else:
            if self.sheet in titles:
                return titles.index(self.sheet)
            what, hint = f"there is no sheet {show(self.sheet)}", did_you_mean(self.sheet, titles, otherwise="sheets")
        raise self._error("unknown-sheet", what, hint, key="sheet")

    def _names(self, cells: list[object]) -> tuple[str, ...]:
        if not cells:
            raise self._error("empty-file", "the sheet is empty", "it needs a header row and rows below it")
        names = tuple("" if cell is None else str(cell) for cell in cells)
        check_names(names, self.describe(), line=1)
        return names


def _trimmed(row: tuple[object, ...]) -> list[object]:
    """The row without the empty cells at its end."""
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    return list(row[:end])
