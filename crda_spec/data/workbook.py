"""Opening one sheet of an Excel workbook, with errors that say what to try. Imports openpyxl, not pandas."""

from __future__ import annotations

import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from crda_spec.data.files import check_names, read_bytes
from crda_spec.errors import Complaint, DataError, Place, did_you_mean, show

# What a damaged archive, or an archive that is no workbook, makes the libraries below raise.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, InvalidFileException, KeyError, ValueError, TypeError),
    *(SyntaxError, EOFError, OSError),
)


def read_header(path: Path, sheet: str | int, written: str = "") -> tuple[str, ...]:
    """The names in the first row of the sheet."""
    rows = _sheet_rows(read_bytes(path, written), sheet, path.name, limit=1)
    return _names(_trimmed(rows[0]) if rows else [], path.name)


def read_sheet(path: Path, sheet: str | int, written: str = "") -> tuple[bytes, tuple[str, ...], list[list[object]]]:
    """The file's bytes, the names in the first row, and the rows below it, all of the header's width."""
    data = read_bytes(path, written)
    rows = _sheet_rows(data, sheet, path.name)
    while rows and not _trimmed(rows[-1]):
        rows.pop()
    width = max((len(_trimmed(row)) for row in rows), default=0)
    padded = [[*row[:width], *[None] * (width - len(row))] for row in rows]
    names = _names(padded[0] if padded else [], path.name)
    if len(padded) == 1:
        complaint = Complaint(
            code="no-rows",
            place=Place(file=path.name),
            what="the sheet has a header but no row",
            hint="add rows below the header",
        )
        raise DataError(complaint)
    return data, names, padded[1:]


def _sheet_rows(data: bytes, sheet: str | int, description: str, limit: int | None = None) -> list[list[object]]:
    try:
        with warnings.catch_warnings():
            # openpyxl warns of styles and extensions that it does not keep; none of them is a value.
            warnings.simplefilter("ignore", UserWarning)
            book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            try:
                titles = [page.title for page in book.worksheets]
                position = _position(sheet, titles, description)
                page = book.worksheets[position]
                page.reset_dimensions()  # the stored extent of a sheet may be stale
                return [list(row) for row in islice(_values(page), limit)]
            finally:
                book.close()
    except _BROKEN as error:
        complaint = Complaint(
            code="corrupt-file",
            place=Place(file=description),
            what="this is no Excel workbook (.xlsx) that can be read",
            hint="save it again as .xlsx",
        )
        raise DataError(complaint) from error


def _values(page: object) -> Iterator[tuple[object, ...]]:
    """The rows as plain values; typed loosely because read-only sheets have their own class."""
    yield from page.iter_rows(values_only=True)  # type: ignore[attr-defined]


def _position(sheet: str | int, titles: list[str], description: str) -> int:
    """Where the sheet is among the workbook's sheets."""
    if isinstance(sheet, int) and 0 <= sheet < len(titles):
        return sheet
    if isinstance(sheet, str) and sheet in titles:
        return titles.index(sheet)
    if isinstance(sheet, int):
        count = f"{len(titles)} sheet" + ("s" if len(titles) != 1 else "")
        what = f"there is no sheet {sheet}: the workbook has {count}, counted from 0"
        hint = "sheets: " + ", ".join(titles)
    else:
        what = f"there is no sheet {show(sheet)}"
        hint = did_you_mean(sheet, titles, otherwise="sheets")
    place = Place(file=description)
    raise DataError(Complaint(code="unknown-sheet", path="dataset.source.sheet", place=place, what=what, hint=hint))


def _trimmed(row: list[object]) -> list[object]:
    """The row without the empty cells at its end."""
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    return row[:end]


def _names(cells: list[object], description: str) -> tuple[str, ...]:
    if not cells:
        complaint = Complaint(
            code="empty-file",
            place=Place(file=description),
            what="the sheet is empty",
            hint="it needs a header row and rows below it",
        )
        raise DataError(complaint)
    names = tuple("" if cell is None else str(cell) for cell in cells)
    check_names(names, description, line=1)
    return names
