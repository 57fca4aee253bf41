"""What the terminal's summary is made of, before anything is drawn: lines, grids, and the sections that hold them."""

from __future__ import annotations

from dataclasses import dataclass

MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph; `tone` is good, bad, strong, soft or empty."""

    text: str
    tone: str = ""
    indent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table: `numeric` columns are set to the right, `tones` colour each row's column `toned`."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    toned: int = 0
    tones: tuple[str, ...] = ()
    more: str = ""  # said below a table that was cut


@dataclass(frozen=True, slots=True)
class Section:
    """A headed part of the summary."""

    title: str
    blocks: tuple[Line | Grid, ...]
