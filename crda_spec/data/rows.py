"""How messages speak of rows: how many, the first five with their values, and the line of the first."""

from __future__ import annotations

from collections.abc import Sequence

from crda_spec.data.raw import RawTable
from crda_spec.records import IntArray

_SHOWN = 5


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
