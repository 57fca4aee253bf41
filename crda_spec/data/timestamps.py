"""The column that orders rows in time: numbers, or dates and timestamps, as text or as the source's own cells.

Whatever the cells are, each becomes a whole or real number of which only the order counts, and one spelling for
messages and records, from which the same order can be read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

import numpy as np
import pandas as pd

from crda_spec.data.cells import Cells, Mask, ObjectArray, UnsupportedCellsError, at_rows, label_of, read_cells
from crda_spec.data.raw import RawTable
from crda_spec.errors import Complaint
from crda_spec.records import IntArray

PATH = "dataset.time"
NO_TIME = -1  # the code of a missing cell
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 10**9  # in nanoseconds, the finest that a source delivers
_ISO = re.compile(
    r"(?P<month>\d{4}-\d{2})|(?P<day>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<clock>\d{2}:\d{2}(?::\d{2})?)(?:\.(?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_HINT = "write numbers, or dates and times as ISO 8601 has them, such as 2024-03-01 or 2024-03-01T08:30:00"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timestamps:
    """A column of times, read."""

    codes: IntArray  # (n,) the position of each row's moment in `labels`, NO_TIME where the cell is missing
    labels: tuple[str, ...]  # the different moments, earliest first


class Instant(NamedTuple):
    """Nanoseconds since 1970, and whether the cell says in which zone."""

    nanoseconds: int
    zoned: bool


def read_timestamps(raw: RawTable, name: str) -> Timestamps | Complaint:
    """The times of a column, or what is wrong with them, the rows named."""
    series = raw.frame[name]
    present = series.notna().to_numpy(dtype=bool)
    cells = series.astype(object).to_numpy(dtype=object)
    there = np.flatnonzero(present)
    if not len(there):
        what = f"the time column '{name}' has no value at all"
        return raw.complaint("empty-column", PATH, what, "name another column")
    try:
        numbers: Cells | None = read_cells(series, raw.numbers.get(name))
    except UnsupportedCellsError:  # dates, where the source has such a type
        numbers = None
    plain = numbers is not None and bool(np.isfinite(numbers.numbers[there]).all())
    instants = [] if plain else [instant(cell) for cell in cells[there].tolist()]
    if numbers is not None and not any(instants):
        return _from_numbers(raw, name, numbers, present)
    return _from_instants(raw, name, cells, there, instants, numbers)


def time_codes(written: Sequence[str]) -> IntArray:
    """(n,) numbers that grow with time, from times in the spelling of `Timestamps.labels`; ValueError for others."""
    moments = read_timestamps(RawTable(frame=pd.DataFrame({"time": list(written)}), sha256="", description=""), "time")
    if not isinstance(moments, Timestamps):
        raise ValueError(moments.what)  # noqa: TRY004 - the text is wrong, not its type
    return moments.codes


def _from_numbers(raw: RawTable, name: str, cells: Cells, present: Mask) -> Timestamps | Complaint:
    if cells.kind == "boolean":
        what = f"the time column '{name}' holds booleans, which have no order in time"
        return raw.complaint("not-a-time", PATH, what, _HINT)
    bad = np.flatnonzero(present & ~np.isfinite(cells.numbers))
    if len(bad):
        numeric = 2 * len(bad) <= int(present.sum())
        what = "no finite number" if numeric else "neither a number nor an ISO date"
        return _bad_rows(raw, name, what, bad, cells.shown)
    values: list[int | float | None] = [None if np.isnan(one) else one for one in cells.numbers.tolist()]
    if cells.kind == "integer":  # which may be beyond what a float tells apart: nanoseconds since 1970 are
        values = [None if cell is None else int(cell) for cell in cells.shown]
    return _ranked(values, label_of)


def _from_instants(
    raw: RawTable,
    name: str,
    cells: ObjectArray,
    there: IntArray,
    instants: Sequence[Instant | None],
    numbers: Cells | None,
) -> Timestamps | Complaint:
    bad = there[[one is None for one in instants]]
    if len(bad):
        what = "no date or timestamp as ISO 8601 writes them"
        if numbers is not None and 2 * len(bad) > len(there):
            known = np.isfinite(numbers.numbers[there])
            bad, what = (there[~known], "no number") if known.any() else (bad, "neither a number nor an ISO date")
        return _bad_rows(raw, name, what, bad, cells)
    moments = [one for one in instants if one is not None]
    zoned = sum(one.zoned for one in moments)
    if 0 < zoned < len(moments):
        few = zoned <= len(moments) - zoned
        what = f"written {'with a' if few else 'without a'} time zone, the others {'are not' if few else 'have one'}"
        odd = there[[one.zoned == few for one in moments]]
        return _bad_rows(raw, name, what, odd, cells, hint="write a zone in all, or none")
    values: list[int | None] = [None] * len(cells)
    for at, one in zip(there.tolist(), moments, strict=True):
        values[at] = one.nanoseconds
    days = not zoned and all(one.nanoseconds % (86400 * _SECOND) == 0 for one in moments)
    return _ranked(values, lambda value: _spelling(int(value), zoned=bool(zoned), days=days))


def _ranked(values: Sequence[int | float | None], label: Callable[[int | float], str]) -> Timestamps:
    order = sorted({value for value in values if value is not None})
    code = {value: position for position, value in enumerate(order)}
    codes = [NO_TIME if value is None else code[value] for value in values]
    return Timestamps(codes=np.array(codes, dtype=np.int64), labels=tuple(label(value) for value in order))


def instant(cell: object) -> Instant | None:
    """When a cell is, if it is a date or a timestamp."""
    if isinstance(cell, datetime):  # a pandas Timestamp is one, and knows nanoseconds
        return measured(cell, int(getattr(cell, "nanosecond", 0)))
    if isinstance(cell, date):
        return measured(datetime(cell.year, cell.month, cell.day), 0)
    if isinstance(cell, np.datetime64):
        return instant(cell.astype("datetime64[us]").item())
    written = _ISO.fullmatch(cell.strip()) if isinstance(cell, str) else None
    if written is None:
        return None
    day = written["day"] or f"{written['month']}-01"
    try:
        whole = datetime.fromisoformat(f"{day}T{written['clock'] or '00:00'}{written['zone'] or ''}")
        return measured(whole, int((written["fraction"] or "").ljust(9, "0")))
    except (ValueError, OverflowError):  # the 30th of February; a zone that leads out of the calendar
        return None


def measured(moment: datetime, nanoseconds: int = 0) -> Instant:
    """The moment as nanoseconds; one with a zone as UTC has it."""
    zoned = moment.tzinfo is not None
    there = moment.astimezone(UTC) if zoned else moment
    since = datetime(*there.timetuple()[:6], there.microsecond, tzinfo=UTC) - _EPOCH
    whole = (since.days * 86400 + since.seconds) * _SECOND + since.microseconds * 1000
    return Instant(whole + nanoseconds, zoned)


def _spelling(value: int, *, zoned: bool, days: bool) -> str:
    """One spelling: a day alone where all are days, Z for every zone, no more digits than needed."""
    seconds, fraction = divmod(value, _SECOND)
    moment = _EPOCH + timedelta(seconds=seconds)
    if days:
        return moment.date().isoformat()
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}{digits}{'Z' if zoned else ''}"


def _bad_rows(
    raw: RawTable, name: str, what: str, bad: IntArray, shown: ObjectArray, *, hint: str = _HINT
) -> Complaint:
    return raw.complaint("not-a-time", PATH, at_rows(raw, bad, "time", f"'{name}'", what, shown), hint)
