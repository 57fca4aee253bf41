"""A delimited text file, read strictly: what looks like a mistake in the file is an error, never a guess."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.data.cells import all_numbers
from crda_spec.data.raw import MAX_CELLS, FileSource, RawTable, check_names, require_file, sha256_of
from crda_spec.errors import did_you_mean, show

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "Null"})  # not None: a garage may be "None"

_LONGEST_ROW = 10_000_000  # characters
_ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1252", "cp1250", "iso-8859-15", "shift_jis", "gb18030", "ascii")
_LIKELY_DELIMITERS = {";": "';'", "\t": r"'\t'", "|": "'|'", ",": "','"}
_POINT_NUMBER = re.compile(r"\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*|\s*[+-]?\d+\.\s*")
_COMMA_NUMBER = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*")

_OTHER_KINDS = {  # by their first bytes, in small letters: what the file is, and what to do
    b"pk\x03\x04": ("an Excel workbook or a zip archive", "name a workbook .xlsx; unpack an archive"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook (.xls)", "save it as .xlsx or as CSV"),
    b"\x1f\x8b": ("compressed with gzip", "unpack it"),
    b"par1": ("a Parquet file", "name it .parquet"),
    b"%pdf": ("a PDF", "write its table to a CSV file"),
    b"sqlite format 3": ("an SQLite database", "read it with kind: sql, or write the table to a CSV file"),
    b"<!doctype": ("a web page", "download the table itself: a login or an error page was saved in its place"),
    b"<html": ("a web page", "download the table itself: a login or an error page was saved in its place"),
    b"<?xml": ("XML", "write its table to a CSV file"),
    b"[{": ("JSON", "write it as a table first: pandas.read_json(file).to_csv(new_file, index=False)"),
    b'{"': ("JSON", "write it as a table first: pandas.read_json(file).to_csv(new_file, index=False)"),
}

Records = Iterator[tuple[int, list[str]]]  # the cells of each row, after the line on which it begins (from 1)


class Csv(FileSource):
    """A text table with a header line."""

    kind: Literal["csv"] = Field("csv", description="A delimited text file with a header line.")
    delimiter: str = Field(",", min_length=1, max_length=1, description="The character between two cells.")
    encoding: str = Field("utf-8", description="The file's text encoding, as Python names it.")
    decimal: Literal[".", ","] = Field(".", description="The decimal mark of numbers.")

    def header(self, base: Path) -> tuple[str, ...]:
        """The column names alone: only the beginning of the file is read."""
        file = base / self.path
        require_file(file, self.path)
        try:
            with file.open("rb") as raw:
                self._check_is_text(raw.read(64))
            with file.open(encoding=self.encoding, newline="") as text:
                if text.read(1) != "\ufeff":
                    text.seek(0)
                return self._header(self._records(text))[1]
        except (UnicodeError, LookupError, OSError):
            # A decoder that reads in pieces does not know the offset in the file: read it whole to name the byte.
            return self._parse(self._decode(self._bytes(base)))[0]

    def read(self, base: Path) -> RawTable:
        """The cells as text; empty cells and NA, N/A, NaN, null are missing."""
        return self.table(self._bytes(base))

    def table(self, data: bytes) -> RawTable:
        """The table in the bytes of a file that is written this way."""
        import pandas as pd

        header, rows, starts = self._parse(self._decode(data))
        written = dict(zip(header, zip(*rows, strict=True), strict=True))
        parsed = {name: all_numbers(cells) for name, cells in written.items()} if self.decimal == "." else {}
        numbers = {name: values for name, values in parsed.items() if values is not None}
        columns = {
            name: list(cells) if name in numbers else [None if cell.strip() in MISSING else cell for cell in cells]
            for name, cells in written.items()
        }
        if self.decimal == ",":
            self._translate_commas(columns, starts)
        lines = np.array(starts, dtype=np.int64)
        return RawTable(
            frame=pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()}),
            sha256=sha256_of(data),
            description=self.describe(),
            first_line=starts[0],
            lines=None if np.all(np.diff(lines) == 1) else lines,
            numbers=numbers,
        )

    def _decode(self, data: bytes) -> str:
        """The text of a file without its byte-order mark; a byte that does not fit is named with its offset."""
        self._check_is_text(data)
        try:
            codecs.lookup(self.encoding)
            text = data.decode(self.encoding)
        except UnicodeDecodeError as error:
            what = f"byte {error.start} ({data[error.start]:#04x}) is not valid {self.encoding}"
            hint = "save the file as UTF-8, or set the source's encoding, e.g. 'latin-1' or 'cp1252'"
            line = data[: error.start].count(b"\n") + 1
            raise self._error("bad-encoding", what, hint, line=line) from error
        except (LookupError, UnicodeError) as error:
            what = f"{show(self.encoding)} is not a text encoding"
            hint = did_you_mean(self.encoding, _ENCODINGS, otherwise="for example")
            raise self._error("unknown-encoding", what, hint) from error
        return text.removeprefix("\ufeff")

    def _check_is_text(self, data: bytes) -> None:
        """Files of other kinds that were named .csv are told by how they begin."""
        start = data[:64].removeprefix(codecs.BOM_UTF8).lstrip()
        found = next((kind for sign, kind in _OTHER_KINDS.items() if start.lower().startswith(sign)), None)
        if found is not None:
            what, hint = found
            raise self._error("not-text", f"the file is {what}, not text with cells in lines", hint)

    def _parse(self, text: str) -> tuple[tuple[str, ...], list[list[str]], list[int]]:
        """The header, the rows as they are written, and the line on which each begins; blank lines are skipped."""
        records = self._records(io.StringIO(text, newline=""))
        line, header = self._header(records)
        lines, rows, count = list[int](), list[list[str]](), 0
        for start, cells in records:
            lines.append(start)
            rows.append(cells)
            count += len(cells)
            if count > MAX_CELLS:
                raise self._too_large(len(rows), len(header), MAX_CELLS, "keep the rows and columns needed")
        if not rows:
            hint = "add rows below the header"
            raise self._error("no-rows", "the file has a header but no row", hint, line=line)
        self._check_widths(text, len(header), rows, lines)
        return header, rows, lines

    def _records(self, file: io.TextIOBase) -> Records:
        """The non-blank records, each with the line on which it begins (a quoted cell may span lines)."""
        if self.delimiter in '"\r\n':
            what = f"{show(self.delimiter)} cannot separate cells"
            raise self._error("bad-delimiter", what, "use ',', ';', '|' or a tab")
        length = 0

        def pieces() -> Iterator[str]:
            nonlocal length
            while piece := file.readline(_LONGEST_ROW + 1):
                length += len(piece)
                if length > _LONGEST_ROW:
                    what, hint = f"the row has more than {_LONGEST_ROW:,} characters", "is this a text table of rows?"
                    raise self._error("too-large", what, hint, line=line)
                yield piece

        reader = csv.reader(pieces(), delimiter=self.delimiter, strict=True)
        line = 1
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line, length = reader.line_num + 1, 0
        except csv.Error as error:
            hint = "check the quotes on this line; a quote inside a quoted cell is written twice"
            raise self._error("bad-csv", f"the row cannot be read: {error}", hint, line=line) from error

    def _header(self, records: Records) -> tuple[int, tuple[str, ...]]:
        line, cells = next(records, (0, []))
        if not any(map(str.strip, cells)):
            raise self._error("empty-file", "the file is empty", "it needs a header line and rows below it")
        header = tuple(cells)
        if any("\0" in name for name in header):
            hint = "save it as UTF-8; if it is text, set the source's encoding, e.g. 'utf-16-le'"
            raise self._error("not-text", "the header contains NUL characters", hint, line=line)
        marks = [name for mark, name in _LIKELY_DELIMITERS.items() if mark in header[0] and mark != self.delimiter]
        if len(header) == 1 and marks:
            hint = f"if {marks[0]} separates the cells, set the source's delimiter: {marks[0]}"
            raise self._error("wrong-delimiter", f"the header is one column, {show(header[0])}", hint, line=line)
        check_names(header, self.describe(), line=line)
        return line, header

    def _check_widths(self, text: str, width: int, rows: list[list[str]], lines: list[int]) -> None:
        if set(map(len, rows)) == {width}:
            return
        wrong = [(line, len(cells)) for line, cells in zip(lines, rows, strict=True) if len(cells) != width]
        listed = ", ".join(f"line {line} has {count}" for line, count in wrong[:5])
        more = f" and {len(wrong) - 5} more lines" if len(wrong) > 5 else ""
        what = f"the header has {width} cells, but {listed}{more}"
        hint = f"put a cell that contains {show(self.delimiter)} in double quotes"
        first = wrong[0][0]
        written = next(row for number, row in enumerate(io.StringIO(text, newline=None), start=1) if number == first)
        raise self._error("ragged-row", what, hint, line=first, text=written)

    def _translate_commas(self, columns: dict[str, list[str | None]], lines: Sequence[int]) -> None:
        """Turns decimal commas into points, in place. A number with a point is refused: 1.234 may well mean 1234."""
        for name, cells in columns.items():
            for position, cell in enumerate(cells):
                if cell is None:
                    continue
                if _POINT_NUMBER.fullmatch(cell):
                    what = f"column '{name}' has {cell.strip()!r}, but the decimal mark is ','"
                    hint = "write numbers without thousands separators, or set the source's decimal: '.'"
                    raise self._error("mixed-decimals", what, hint, line=lines[position])
                if _COMMA_NUMBER.fullmatch(cell):
                    cells[position] = cell.replace(",", ".")
