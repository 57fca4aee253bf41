"""What a run shows while it works: nothing, a line a stage, or moving bars. Stages may nest.

A stage may be advanced from any thread, as joblib's callbacks do; the bars and lines are written under one lock.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

from crda_spec.execution import Progress, Step
from crda_spec.report.words.numbers import shown


class _Counter:
    """Counts steps, from any thread. show: told how many more are done."""

    __slots__ = ("_lock", "_show", "done")

    def __init__(self, show: Callable[[int], None] = lambda _: None) -> None:
        self.done = 0
        self._lock = threading.Lock()
        self._show = show

    def advance(self, steps: int = 1) -> None:
        """Adds the steps."""
        with self._lock:
            self.done += steps
        self._show(steps)


class Silent:
    """Shows nothing: for --quiet, --json and tests."""

    __slots__ = ()

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Step]:
        """A stage that nobody watches."""
        yield _Counter()


class Lines:
    """One line a stage, when it is done: for logs and pipes, where moving bars would only leave rubbish."""

    __slots__ = ("_clock", "_lock", "_stream")

    def __init__(self, stream: IO[str] | None = None, *, clock: Callable[[], float] = time.perf_counter) -> None:
        """Writes to `stream`, or to the standard error of the moment a line is written."""
        self._stream = stream
        self._clock = clock
        self._lock = threading.Lock()

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Step]:
        """Counts in silence and writes `gate: 10 of 10, 7.8 s` at the end, or where it stopped."""
        counter = _Counter()
        start = self._clock()
        ended = "stopped"
        try:
            yield counter
            ended = ""
        finally:
            done = "" if total is None else f"{counter.done} of {total}"
            parts = filter(None, (ended, done, f"{self._clock() - start:.1f} s"))
            with self._lock:
                print(f"{shown(name)}: {', '.join(parts)}", file=self._stream or sys.stderr, flush=True)


class _TimeLeft(ProgressColumn):
    """How long the stage will last at its pace of the last moments: `1:05 left`; nothing while nobody knows."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        """One stage's."""
        left = task.time_remaining
        if task.total is None or task.finished or left is None:
            return Text("")
        minutes, seconds = divmod(round(left), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
        return Text(f"{clock} left", style="dim")


class Bars:
    """Bars that move while a stage runs and vanish when it ends: for a person at a terminal."""

    __slots__ = ("_bars", "_lock", "_open")

    def __init__(self, console: Console | None = None) -> None:
        """Draws on the console, or on standard error."""
        self._bars = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _TimeLeft(),
            console=console or Console(stderr=True),
            transient=True,
        )
        self._lock = threading.Lock()
        self._open = 0

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Step]:
        """A bar for as long as the stage lasts; the first open stage starts the display, the last one ends it."""
        with self._lock:
            if not self._open:
                self._bars.start()
            self._open += 1
            task = self._bars.add_task(shown(name), total=total)
        try:
            yield _Counter(partial(self._bars.advance, task))
        finally:
            with self._lock:
                self._bars.remove_task(task)
                self._open -= 1
                if not self._open:
                    self._bars.stop()


def progress_for(console: Console, *, quiet: bool = False) -> Progress:
    """What suits the console: nothing when asked to be quiet, bars on a terminal, lines elsewhere."""
    if quiet:
        return Silent()
    return Bars(console) if console.is_terminal else Lines(console.file)
