"""`RawTable`: what a source delivers, before any rule is applied to it, and how messages speak of its rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crda_spec.records import Array, IntArray

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawTable:
    """The cells of a source as they were delivered.

    A text file delivers text, with None for a missing cell: what the text means is decided in one place,
    `crda_spec.data.cells`. Other sources deliver the types they know.
    """

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
    """`row 2 (line 3): -1.0, row 5: -2.0 and 7 more`.

    Rows are data rows counted from 1, the header not counted; positions count from 0.
    values: how each of these cells is shown, in the same order.
    """
    parts: list[str] = []
    for order, position in enumerate(positions[:_SHOWN].tolist()):
        line = raw.line_of(position) if order == 0 else None
        name = f"row {position + 1}" if line is None else f"row {position + 1} (line {line})"
        parts.append(name if values is None else f"{name}: {values[order]}")
    more = len(positions) - _SHOWN
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")
