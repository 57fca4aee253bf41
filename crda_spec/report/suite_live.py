"""What a suite shows while it runs: a table that fills on a terminal, a line a cell elsewhere, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from crda_spec.report.words.numbers import percent, shorten, shown

_MOST_LINES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class CellNews:
    """A cell that is done."""

    label: str
    row: str  # of the live table: what was tried
    column: str  # with which regressor
    change: float | None  # of the test error in percent
    seconds: float | None
    kept: bool  # found in the folder
    error: str  # "" unless it failed


class SuiteWatch(Protocol):
    """Who is told of cells."""

    def cell(self, news: CellNews, *, done: int, total: int, left: float | None) -> None:
        """One more. left: seconds that the rest will take, if anybody knows."""


class Unwatched:
    """Nobody is told."""

    def cell(self, news: CellNews, *, done: int, total: int, left: float | None) -> None:
        """Silence."""


@dataclass(slots=True)
class CellLines:
    """A line a computed cell: for logs and pipes. Kept cells are counted, not listed."""

    console: Console

    def cell(self, news: CellNews, *, done: int, total: int, left: float | None) -> None:
        """`[12/360] rivals/wind_power/...: -12.3 %, 4.1 s; 3:20 left`."""
        if news.kept and done < total:
            return
        found = "kept" if news.kept else "failed" if news.error else _change(news.change)
        parts = [found, *([] if news.seconds is None or news.kept else [f"{news.seconds:.1f} s"])]
        rest = "" if left is None or done == total else f"; {clock(left)} left"
        self.console.print(
            f"[{done}/{total}] {shown(news.label)}: {', '.join(parts)}{rest}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        if news.error:
            self.console.print(f"  {shorten(shown(news.error), 400)}", markup=False, highlight=False, soft_wrap=True)


@dataclass(slots=True)
class CellTable:
    """The mean change of every method so far, a column for each regressor, and the time left."""

    live: Live
    sums: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    rows: dict[str, None] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)
    kept: int = 0
    failed: int = 0

    def cell(self, news: CellNews, *, done: int, total: int, left: float | None) -> None:
        """Redraws the table."""
        self.kept += news.kept
        self.failed += bool(news.error)
        self.rows.setdefault(news.row)
        self.columns.setdefault(news.column)
        if news.change is not None:
            self.sums.setdefault((news.row, news.column), []).append(news.change)
        self.live.update(self._table(news, done, total, left))

    def _table(self, news: CellNews, done: int, total: int, left: float | None) -> Table:
        parts = [f"{done} of {total} cells", f"{self.kept} kept", *([f"{self.failed} failed"] if self.failed else [])]
        parts += [f"{clock(left)} left"] if left is not None and done < total else []
        table = Table(title=", ".join(parts), caption=Text(shown(news.label)), title_justify="left")
        table.add_column("mean change, %")
        for column in self.columns:
            table.add_column(Text(shown(column)), justify="right")
        for row in list(self.rows)[:_MOST_LINES]:
            means = (self.sums.get((row, column), []) for column in self.columns)
            table.add_row(Text(shown(row)), *(_mean(some) for some in means))
        return table


def _mean(changes: list[float]) -> str:
    return f"{percent(sum(changes) / len(changes))} ({len(changes)})" if changes else ""


def _change(change: float | None) -> str:
    return "done" if change is None else f"{percent(change)} %"


def clock(seconds: float) -> str:
    """`1:05`, or `2:03:05` from an hour on."""
    minutes, second = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{second:02d}" if hours else f"{minutes}:{second:02d}"


@contextmanager
def watching(console: Console, *, quiet: bool) -> Iterator[SuiteWatch]:
    """What suits the console."""
    if quiet:
        yield Unwatched()
    elif console.is_terminal:
        with Live(console=console, refresh_per_second=2) as live:
            yield CellTable(live)
    else:
        yield CellLines(console)
