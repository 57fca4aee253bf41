"""A suite from its file to the folder of its results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import pandas as pd

from crda_spec.bench.cells import has, in_order, nothing_left
from crda_spec.bench.page import cautions, markdown, page, sections
from crda_spec.bench.results import tidy, timings
from crda_spec.bench.run import Outcome, claim, kept_cells, run_cells, write_whole
from crda_spec.bench.suite import bad_budget, read_suites, seconds_of
from crda_spec.errors import SpecError
from crda_spec.report.suite_live import SuiteWatch

CSV, PARQUET, MARKDOWN, PAGE, TIMINGS = "results.csv", "results.parquet", "results.md", "index.html", "timings.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Benched:
    """What a suite left."""

    folder: Path
    outcome: Outcome
    frame: pd.DataFrame  # a row a cell and arm, as in results.csv

    @property
    def exit_status(self) -> int:
        """0, or 5 where cells failed."""
        return 5 if self.outcome.failed else 0

    @property
    def cpu_hours(self) -> float:
        """What all these cells cost, where they were computed."""
        return sum(float(one.volatile.get("cpu_seconds") or 0.0) for one in self.outcome.cells) / 3600.0

    @property
    def missing(self) -> int:
        """Cells that the budget left for another time."""
        return self.outcome.total - len(self.outcome.cells)


def bench(
    file: Path,
    *,
    out: Path | None,
    jobs: int,
    only: str | None,
    budget: str | None,
    quick: bool,
    watch: SuiteWatch,
) -> Benched:
    """Runs what is not there yet and writes tables and page. SpecError before anything runs if something is wrong."""
    suites = read_suites(file, quick=quick)
    if budget is not None and seconds_of(budget) is None:
        raise SpecError(bad_budget(budget, "--budget"))
    lasts = budget if budget is not None else suites.budget
    seconds = None if lasts is None else seconds_of(lasts)
    listed = list(in_order(suites, budget=seconds)[1])
    wanted = [cell for cell in listed if has(cell, only)]
    if not wanted:
        raise nothing_left(only, listed, suites)
    folder = out if out is not None else Path("bench") / (f"{suites.name}-quick" if quick else suites.name)
    claim(folder)
    outcome = run_cells(wanted, folder, jobs=jobs, budget=seconds, watch=watch)
    if len(wanted) < len(listed):  # the tables show all that the folder has
        others = kept_cells([one for one in listed if not has(one, only)], folder)
        done = {one.cell: one for one in (*outcome.cells, *others)}
        outcome = replace(outcome, cells=tuple(done[one] for one in listed if one in done), total=len(listed))
    frame = tidy(outcome.cells)
    found, said = sections(suites, outcome, frame), cautions(outcome, frame)
    files = {
        CSV: frame.to_csv(index=False, lineterminator="\n").encode(),
        PARQUET: _parquet(frame),
        MARKDOWN: markdown(suites, found, said).encode(),
        PAGE: page(suites, found, said).encode(),
        TIMINGS: timings(outcome.cells).to_csv(index=False, lineterminator="\n").encode(),
    }
    for name, data in files.items():
        write_whole(folder / name, data)
    return Benched(folder=folder, outcome=outcome, frame=frame)


def _parquet(frame: pd.DataFrame) -> bytes:
    """A Parquet column has one type: one that is empty is of numbers, one of verdicts may have gaps."""
    sink = BytesIO()
    empty = {name: "Float64" for name in frame if frame[name].isna().all()}
    frame.astype({**empty, **dict.fromkeys(("made", "accepted"), "boolean")}).to_parquet(sink, index=False)
    return sink.getvalue()
