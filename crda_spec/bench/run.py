"""Runs the cells of suites: each once, whatever is killed in between, and the same bytes with any number of workers.

A finished cell is one file, `cells/<key>.json`, written whole; its key is the hash of its spec, data and versions. Its
`volatile` part (seconds, the state of the code) is no figure and enters no table of results.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from crda_spec.audit.canonical import plain, sha256_of
from crda_spec.bench.cells import Cell, as_json
from crda_spec.errors import Complaint, OutputError
from crda_spec.execution import as_done
from crda_spec.report.suite_live import CellNews, SuiteWatch

CELLS = "cells"
_NOT_COMPUTING = ("cli", "report", "studio")  # rooms whose code changes no figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A cell and what became of it."""

    cell: Cell
    key: str
    figures: Mapping[str, Any] | None  # None: it failed
    volatile: Mapping[str, Any]
    error: str = ""
    kept: bool = False  # found in the folder, not computed now


@dataclass(slots=True)
class Runner:
    """The state of one run of suites."""

    out: Path
    deadline: float | None
    done: dict[Cell, Finished] = field(default_factory=dict)  # in no order
    waiting: dict[str, list[Cell]] = field(default_factory=lambda: defaultdict(list))  # by key: computed right now
    found: list[Finished] = field(default_factory=list)  # kept cells that nobody was told of
    stopped: bool = False  # by the budget

    def tasks(self, cells: Iterator[Cell]) -> Iterator[Callable[[], Finished]]:
        """The cells that have to be computed, until time is up; those that are kept are taken as they are."""
        for cell in cells:
            try:
                spec, _ = cell.loaded()
            except Exception as error:  # noqa: BLE001 - one bad cell must not cost the others
                self.found.append(_failed(cell, "", error))
                continue
            key = cell.key(spec)
            if (kept := _kept(self.out, key)) is not None:
                figures, volatile = kept["figures"], kept.get("volatile", {})
                self.found.append(Finished(cell=cell, key=key, figures=figures, volatile=volatile, kept=True))
            elif key in self.waiting:
                self.waiting[key].append(cell)
            elif self.deadline is not None and time.monotonic() >= self.deadline:
                self.stopped = True  # what is kept further on is still found
            else:
                self.waiting[key].append(cell)
                yield partial(_computed, cell, key)

    def taken(self) -> Iterator[Finished]:
        """The kept cells that were met since the last call."""
        while self.found:
            yield self.found.pop(0)

    def settle(self, one: Finished) -> Iterator[Finished]:
        """Keeps a computed cell, for all cells that are the same computation."""
        if one.figures is not None:
            _keep(self.out, one)
        for cell in self.waiting.pop(one.key, [one.cell]):
            yield Finished(cell=cell, key=one.key, figures=one.figures, volatile=one.volatile, error=one.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All cells in the order of the suites, and how it ended."""

    cells: tuple[Finished, ...]
    total: int
    computed: int
    stopped: bool  # by the budget

    @property
    def failed(self) -> tuple[Finished, ...]:
        """Those without figures."""
        return tuple(one for one in self.cells if one.figures is None)


def run_cells(
    wanted: Sequence[Cell],
    out: Path,
    *,
    jobs: int = 1,
    budget: float | None = None,
    watch: SuiteWatch,
) -> Outcome:
    """Every cell, as long as the budget lasts."""
    claim(out)
    started = time.monotonic()
    runner = Runner(out=out, deadline=None if budget is None else started + budget)
    computed = 0

    def tell(one: Finished) -> None:
        runner.done[one.cell] = one
        spent, rest = time.monotonic() - started, len(wanted) - len(runner.done)
        left = spent / computed * rest if computed else None
        watch.cell(news(one), done=len(runner.done), total=len(wanted), left=left)

    for result in as_done(runner.tasks(iter(wanted)), workers=jobs):
        computed += 1
        for one in (*runner.taken(), *runner.settle(result)):
            tell(one)
    for one in runner.taken():
        tell(one)
    ordered = tuple(runner.done[cell] for cell in wanted if cell in runner.done)
    return Outcome(cells=ordered, total=len(wanted), computed=computed, stopped=runner.stopped)


def kept_cells(cells: Sequence[Cell], out: Path) -> Iterator[Finished]:
    """Those of the cells that the folder has."""
    runner = Runner(out=out, deadline=0.0)
    for _ in runner.tasks(iter(cells)):
        pass
    yield from (one for one in runner.taken() if one.kept)


def news(one: Finished) -> CellNews:
    """For whoever watches."""
    cell, figures = one.cell, one.figures or {}
    loss, plain_loss = figures.get("augmented"), figures.get("plain")
    change = 100.0 * (loss / plain_loss - 1.0) if loss is not None and plain_loss else None
    return CellNews(
        label=cell.label,
        row=f"{cell.augmenter}, {cell.protocol}" + ("" if cell.graph in ("none", "right") else f", {cell.graph}"),
        column=cell.regressor,
        change=change,
        seconds=one.volatile.get("seconds"),
        kept=one.kept,
        error=one.error,
    )


def claim(out: Path) -> None:
    """Makes the folder of the results, or goes on in one that is ours."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / CELLS).is_dir())):
        what = f"'{out}' is {'no folder' if not out.is_dir() else 'a folder of something else'}"
        raise OutputError(Complaint(code="cannot-write", path="--out", what=what, hint="name another, or an empty one"))
    try:
        (out / CELLS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot write '{out}': {(error.strerror or str(error)).lower()}"
        raise OutputError(Complaint(code="cannot-write", path="--out", what=what, hint="name another")) from error


def write_whole(file: Path, data: bytes) -> None:
    """The file appears whole or not at all."""
    partial_file = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        partial_file.write_bytes(data)
        partial_file.replace(file)
    finally:
        partial_file.unlink(missing_ok=True)


@cache
def code() -> str:
    """A short hash of the code that computes: cells of the same versions may still come from different states of it."""
    home = Path(__file__).parents[1]
    files = sorted(file for file in home.rglob("*.py") if file.relative_to(home).parts[0] not in _NOT_COMPUTING)
    return sha256_of(b"".join(file.read_bytes() for file in files))[:12]


def _computed(cell: Cell, key: str) -> Finished:
    """In a worker."""
    from crda_spec.bench.measure import figures_of

    started, used = time.perf_counter(), time.process_time()
    try:
        figures = plain(figures_of(cell, *cell.loaded()))
    except Exception as error:  # noqa: BLE001 - one bad cell must not cost the others; it is told and not kept
        return _failed(cell, key, error)
    volatile = {
        "seconds": round(time.perf_counter() - started, 3),
        "cpu_seconds": round(time.process_time() - used, 3),
        "code": code(),
    }
    return Finished(cell=cell, key=key, figures=figures, volatile=volatile)


def _failed(cell: Cell, key: str, error: Exception) -> Finished:
    return Finished(cell=cell, key=key, figures=None, volatile={}, error=f"{type(error).__name__}: {error}")


def _kept(out: Path, key: str) -> Mapping[str, Any] | None:
    """A finished cell; one that cannot be read is computed anew."""
    try:
        found: Mapping[str, Any] = json.loads((out / CELLS / f"{key}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if found.get("key") == key and isinstance(found.get("figures"), dict) else None


def _keep(out: Path, one: Finished) -> None:
    cell = one.cell
    facts = {"key": one.key, **cell.facts(cell.loaded()[0]), "figures": one.figures, "volatile": one.volatile}
    write_whole(out / CELLS / f"{one.key}.json", as_json(facts).encode())
