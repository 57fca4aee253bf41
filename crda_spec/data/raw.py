"""What a source is and delivers before any rule is applied: `RawTable`, files as they are met, messages about rows.

Nothing heavier than numpy is imported here, so that a header can be read without pandas.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import Field

from crda_spec.errors import Complaint, DataError, Place, did_you_mean, show
from crda_spec.records import Array, IntArray
from crda_spec.strict import FilePath, Strict

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 5

# A file of some kB can stand for a table of some GB. Whoever has more rows than this gives a part of them.
MAX_BYTES = 4_000_000_000  # of a file that is read whole
MAX_COLUMNS = 20_000
MAX_CELLS = 100_000_000
MAX_OBJECTS = 20_000_000  # cells that are read one by one, each an object of Python


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawTable:
    """The cells of a source as delivered: of a text file as text, None where missing; `cells` tells their meaning."""

    frame: pd.DataFrame  # with the default RangeIndex
    sha256: str  # of the file's bytes; of `canonical_bytes` where there is no file
    description: str
    first_line: int | None = None  # the line of the first data row, for text files
    lines: IntArray | None = None  # the line of every row, where blank lines or line breaks in cells shift them
    # Text columns in which every cell is a number, as the numbers: a file is large, and its cells are parsed once.
    numbers: Mapping[str, Array] = field(default_factory=dict)

    def line_of(self, position: int) -> int | None:
        """The line of a text file on which the row at this position begins; None for other sources."""
        if self.lines is not None:
            return int(self.lines[position])
        return None if self.first_line is None else self.first_line + position

    def complaint(self, code: str, path: str, what: str, hint: str = "") -> Complaint:
        """What is wrong with these cells. path: what in the spec they break."""
        return Complaint(code=code, path=path, place=Place(file=self.description), what=what, hint=hint)


class BaseSource(Strict):
    """A kind of place that rows come from."""

    kind: str

    def describe(self) -> str:
        """A short name for messages and records, without folders and passwords."""
        raise NotImplementedError

    def _error(
        self, code: str, what: str, hint: str = "", *, key: str = "", line: int = 0, text: str = ""
    ) -> DataError:
        """What is wrong with the source, or at a line of its file. key: which of its keys causes it."""
        path = f"dataset.source.{key}" if key else ""
        place = Place(file=self.describe(), line=line, col=1 if line else 0, text=text)
        return DataError(Complaint(code=code, path=path, place=place, what=what, hint=hint))

    def _too_large(self, rows: int, columns: int, most: int, hint: str) -> DataError:
        """A table of more cells than are read."""
        what = f"the table has {rows:,} rows and {columns:,} columns, more than {most:,} cells"
        return self._error("too-large", what, hint)


class FileSource(BaseSource):
    """A file beside the spec."""

    path: FilePath = Field(description="The file; a relative path starts at the spec's folder.")

    def describe(self) -> str:
        """The file's name."""
        return Path(self.path).name

    def _bytes(self, base: Path) -> bytes:
        return read_bytes(base / self.path, self.path)


def read_catalogue(file: Path) -> dict[str, dict[str, Any]]:
    """A YAML file of this package: facts by name."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where libyaml is there
    facts: dict[str, dict[str, Any]] = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - both are safe
    return facts


def table_of_rows(
    names: Sequence[str], rows: Sequence[Sequence[object]], *, description: str, sha256: str | None = None
) -> RawTable:
    """The table of typed cells that a source delivers row by row; its hash is of its cells where there is no file."""
    import pandas as pd

    cells = {name: pd.Series([row[position] for row in rows], dtype=object) for position, name in enumerate(names)}
    frame = pd.DataFrame(cells)
    return RawTable(frame=frame, sha256=sha256 or sha256_of(canonical_bytes(frame)), description=description)


def canonical_bytes(frame: pd.DataFrame) -> bytes:
    """One byte form for equal tables: JSON of the names and of each column, numbers in their shortest exact form."""
    columns = {
        str(name): [None if absent else value for value, absent in zip(column.tolist(), column.isna(), strict=True)]
        for name, column in frame.items()
    }
    return json.dumps(columns, ensure_ascii=False, separators=(",", ":"), default=str).encode()


def sha256_of(data: bytes) -> str:
    """The SHA-256 digest, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def counted(number: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(raw: RawTable, positions: IntArray, values: Sequence[str] | None = None) -> str:
    """`row 2 (line 3): -1.0, row 5: -2.0 and 7 more`, data rows counted from 1. values: how each cell is shown."""
    rows = [f"row {position + 1}" for position in positions[:_SHOWN].tolist()]
    line, more = raw.line_of(int(positions[0])), len(positions) - _SHOWN
    rows[0] += "" if line is None else f" (line {line})"
    parts = rows if values is None else [f"{row}: {value}" for row, value in zip(rows, values, strict=True)]
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")


def require_file(path: Path, written: str = "", *, key: str = "dataset.source.path") -> None:
    """Raises a DataError unless `path` is a file.

    written: the path as the spec writes it; the file's name when it is not known.  key: the place inside the spec that
    names the file. The complaint has no place of its own, so that the caller can point at that line of the spec.
    """
    named = written or path.name
    try:
        if path.is_file():
            return
    except OSError as error:  # a name that is too long
        what, hint = f"{show(named)} cannot be a file: {(error.strerror or '').lower()}", "name a file that exists"
        raise DataError(Complaint(code="file-not-found", path=key, what=what, hint=hint)) from error
    code, what = "file-not-found", f"there is no file '{named}'"
    if path.is_dir():
        code, what, hint = "not-a-file", f"'{named}' is a folder, not a file", "name a file in it"
    elif not path.parent.is_dir():
        folder = Path(written).parent if written else path.parent
        hint = f"its folder '{folder}' does not exist; a relative path starts at the spec's folder"
    else:
        neighbours = sorted(file.name for file in path.parent.iterdir() if file.is_file() and file.name[0] != ".")
        hint = did_you_mean(path.name, neighbours, otherwise="its folder holds") or "its folder holds no file"
    raise DataError(Complaint(code=code, path=key, what=what, hint=hint))


def read_bytes(path: Path, written: str = "", *, key: str = "dataset.source.path") -> bytes:
    """The whole file, or a DataError that says what to try; `key` is the place inside the spec that names it."""
    require_file(path, written, key=key)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            what = f"'{written or path.name}' has {size:,} bytes, and a table that is read whole may have {MAX_BYTES:,}"
            hint = "leave out rows or columns that the run does not need"
            raise DataError(Complaint(code="too-large", path=key, what=what, hint=hint))
        return path.read_bytes()
    except OSError as error:
        what = f"'{written or path.name}' cannot be read: {error.strerror}"
        raise DataError(Complaint(code="unreadable-file", path=key, what=what, hint="check its permissions")) from error


def reason_of(error: Exception) -> str:
    """The first line of a library's message."""
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def _blank_names(blank: list[int], names: tuple[str, ...], place: Place) -> Complaint:
    """Columns without a name: an index that was written too, a title above the header, or merged cells."""
    listed_ = f"{', '.join(map(str, blank[:-1]))} and {blank[-1]}" if len(blank) > 1 else str(blank[0])
    what = f"columns {listed_} have no name" if len(blank) > 1 else f"column {blank[0]} has no name"
    hint = "name every column in the header"
    if blank == [1] and len(names) > 1:
        hint += "; pandas writes its index so, and leaves it out with to_csv(index=False)"
    elif len(names) > 1:
        hint += "; if the first row is a title or has merged cells, remove it"
    return Complaint(code="blank-column-name", place=place, what=what, hint=hint)


def check_names(names: tuple[str, ...], description: str, *, line: int = 0) -> None:
    """Raises a DataError that lists every blank and every repeated column name, or says that there are too many."""
    place = Place(file=description, line=line, col=1 if line else 0)
    if len(names) > MAX_COLUMNS:
        what = f"there are {len(names):,} columns, and a table may have {MAX_COLUMNS:,}"
        hint = "keep the columns that the run needs"
        raise DataError(Complaint(code="too-large", place=place, what=what, hint=hint))
    where: dict[str, list[int]] = {}
    complaints = []
    for number, name in enumerate(names, start=1):
        where.setdefault(name, []).append(number)
    blank = [number for name, numbers in where.items() for number in numbers if not name.strip()]
    if blank:
        complaints.append(_blank_names(sorted(blank), names, place))
    for name, numbers in where.items():
        if len(numbers) > 1 and name.strip():
            columns = ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"
            what, hint = f"the name '{name}' heads {len(numbers)} columns ({columns})", "give each column its own name"
            complaints.append(Complaint(code="duplicate-column-name", place=place, what=what, hint=hint))
    if complaints:
        raise DataError(complaints)
