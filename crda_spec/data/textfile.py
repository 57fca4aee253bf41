"""Delimited text, read strictly: what looks like a mistake in the file is an error, never a guess.

Standard library only; the sources and the light header reader share it.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crda_spec.data.files import check_names, read_bytes, require_file
from crda_spec.errors import Complaint, DataError, Place, did_you_mean, show

_ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1252", "cp1250", "iso-8859-15", "shift_jis", "gb18030", "ascii")
_LIKELY_DELIMITERS = {";": "';'", "\t": r"'\t'", "|": "'|'", ",": "','"}


@dataclass(frozen=True, slots=True)
class TextTable:
    """The cells of a delimited file as they are written, and the line on which each row begins (from 1)."""

    header: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one file is written, and what messages call it."""

    description: str
    delimiter: str = ","
    encoding: str = "utf-8"

    def complain(self, code: str, what: str, hint: str, *, line: int = 0, text: str = "") -> DataError:
        """A DataError at a line of the file (0: at the file as a whole)."""
        place = Place(file=self.description, line=line, col=1 if line else 0, text=text)
        return DataError(Complaint(code=code, place=place, what=what, hint=hint))


def decode(data: bytes, dialect: Dialect) -> str:
    """The text of a file without its byte-order mark; a byte that does not fit is named with its offset."""
    try:
        codecs.lookup(dialect.encoding)
        text = data.decode(dialect.encoding)
    except UnicodeDecodeError as error:
        what = f"byte {error.start} ({data[error.start]:#04x}) is not valid {dialect.encoding}"
        hint = "save the file as UTF-8, or set the source's encoding, e.g. 'latin-1' or 'cp1252'"
        line = data[: error.start].count(b"\n") + 1
        raise dialect.complain("bad-encoding", what, hint, line=line) from error
    except (LookupError, UnicodeError) as error:
        what = f"{show(dialect.encoding)} is not a text encoding"
        hint = did_you_mean(dialect.encoding, _ENCODINGS, otherwise="for example")
        raise dialect.complain("unknown-encoding", what, hint) from error
    return text.removeprefix("\ufeff")


def parse(text: str, dialect: Dialect) -> TextTable:
    """All rows of the text. Lines without any character are skipped, as every spreadsheet does."""
    plain = _all_records(text, dialect)
    records = _records(io.StringIO(text, newline=""), dialect) if plain is None else iter(plain)
    line, header = _header(records, dialect)
    below = list(records)
    lines, rows = [start for start, _ in below], [cells for _, cells in below]
    if not rows:
        hint = "add rows below the header"
        raise dialect.complain("no-rows", "the file has a header but no row", hint, line=line)
    _check_widths(text, len(header), rows, lines, dialect)
    return TextTable(header=header, rows=rows, lines=lines)


def read_header(path: Path, dialect: Dialect, written: str = "") -> tuple[str, ...]:
    """The column names alone: only the beginning of the file is read."""
    require_file(path, written)
    try:
        with path.open(encoding=dialect.encoding, newline="") as file:
            first = file.read(1)
            if first != "\ufeff":
                file.seek(0)
            return _header(_records(file, dialect), dialect)[1]
    except (UnicodeError, LookupError, OSError):
        # A decoder that reads in pieces does not know the offset in the file: read it whole to name the byte.
        return parse(decode(read_bytes(path, written), dialect), dialect).header


def _all_records(text: str, dialect: Dialect) -> list[tuple[int, list[str]]] | None:
    """The same as `_records`, faster, for a text that has nothing odd about it: one line a record; else None."""
    if dialect.delimiter in '"\r\n':
        return None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter, strict=True)
    try:
        records = list(reader)
    except csv.Error:
        return None
    if reader.line_num != len(records):
        return None
    return [(line, cells) for line, cells in enumerate(records, start=1) if cells]


def _records(file: io.TextIOBase, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The non-blank records, each with the line on which it begins (a quoted cell may span lines)."""
    if dialect.delimiter in '"\r\n':
        what = f"{show(dialect.delimiter)} cannot separate cells"
        raise dialect.complain("bad-delimiter", what, "use ',', ';', '|' or a tab")
    reader = csv.reader(file, delimiter=dialect.delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        hint = "check the quotes on this line; a quote inside a quoted cell is written twice"
        raise dialect.complain("bad-csv", f"the row cannot be read: {error}", hint, line=line) from error


def _header(records: Iterator[tuple[int, list[str]]], dialect: Dialect) -> tuple[int, tuple[str, ...]]:
    line, cells = next(records, (0, []))
    if not cells:
        raise dialect.complain("empty-file", "the file is empty", "it needs a header line and rows below it")
    header = tuple(cells)
    if any("\0" in name for name in header):
        hint = "if it is text, set the source's encoding, e.g. 'utf-16-le'"
        raise dialect.complain("not-text", "the header contains NUL characters", hint, line=line)
    if len(header) == 1:
        for mark, shown in _LIKELY_DELIMITERS.items():
            if mark in header[0] and mark != dialect.delimiter:
                what = f"the header is one column, {show(header[0])}"
                hint = f"if {shown} separates the cells, set the source's delimiter: {shown}"
                raise dialect.complain("wrong-delimiter", what, hint, line=line)
    check_names(header, dialect.description, line=line)
    return line, header


def _check_widths(text: str, width: int, rows: list[list[str]], lines: list[int], dialect: Dialect) -> None:
    if set(map(len, rows)) == {width}:
        return
    wrong = [(line, len(cells)) for line, cells in zip(lines, rows, strict=True) if len(cells) != width]
    listed = ", ".join(f"line {line} has {count}" for line, count in wrong[:5])
    more = f" and {len(wrong) - 5} more lines" if len(wrong) > 5 else ""
    what = f"the header has {width} cells, but {listed}{more}"
    hint = f"put a cell that contains {show(dialect.delimiter)} in double quotes"
    first = wrong[0][0]
    shown = next(row for number, row in enumerate(io.StringIO(text, newline=None), start=1) if number == first)
    raise dialect.complain("ragged-row", what, hint, line=first, text=shown)
