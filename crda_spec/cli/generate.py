"""`crda-spec generate RUN DATA`: new rows for a table of any size, as a finished run made them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson, RunFolder, say
from crda_spec.errors import Complaint, SpecError

if TYPE_CHECKING:
    from crda_spec.audit.new_rows import Generated

_BASES = {
    ("certificate", True): "Each row carries noise, and only features that the certificate frees moved.",
    ("certificate", False): "Only features that the certificate frees moved, and the teacher alone labels each row.",
    ("augmenter", True): "Another method made each row, which carries the noise of a real one; nothing is claimed.",
    ("augmenter", False): "Another method made each row and its label; nothing is claimed.",
    ("support", False): "The teacher alone labels each row; no row's noise is reused.",
}
_COUNTS = {
    "left_out": "rows with missing cells were not used.",
    "redrawn": "new rows left a contract or lay off the data at first and were drawn again.",
    "rule_redrawn": "new rows were drawn again because they broke a rule.",
    "rule_dropped": "new rows broke a rule in every draw and were left out.",
    "dropped": "new rows lay off the data of the run and were left out.",
    "astray": "rows of the data lie off those of the run themselves; what is made of them may, too.",
}

_KEYS = ("scale_clipped", "dropped", "redrawn", "rule_dropped", "rule_redrawn", "astray")


def generate(
    run: RunFolder,
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Rows with the run's columns: Parquet, CSV or Excel.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="Write to this file, which must be new: .parquet, .csv or .xlsx."),
    ],
    rows: Annotated[int | None, typer.Option("--rows", help="How many new rows, in all.")] = None,
    factor: Annotated[
        float | None, typer.Option("--factor", help="New rows per row of DATA; the run's own factor if left out.")
    ] = None,
    batch: Annotated[
        int, typer.Option("--batch", help="About how many new rows a worker makes at a time; changes no byte.")
    ] = 32768,
    jobs: Annotated[int, typer.Option("--jobs", help="Worker processes; changes no byte.")] = 1,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the file's name.")] = False,
) -> None:
    """Make new rows from DATA with a finished run's teacher, policies and label rule, in little memory.

    The same bytes whatever the batch and the number of workers. Rows of DATA need not be rows of the run: the noise of
    a row is its outcome minus the teacher's prediction. Without noise (retention: 0) the outcome may be absent.
    """
    _check_numbers(rows=rows, factor=factor, batch=batch, jobs=jobs)
    from crda_spec import api

    progress = not (quiet or as_json)
    made = api.generate(run, data, out, rows=rows, factor=factor, batch=batch, jobs=jobs, progress=progress)
    _report(made, out, as_json=as_json, quiet=quiet)


def _check_numbers(*, rows: int | None, factor: float | None, batch: int, jobs: int) -> None:
    wrong = [
        Complaint(code="out-of-range", path=option, what=f"must be at least 1, got {value}")
        for option, value in (("--rows", rows), ("--batch", batch), ("--jobs", jobs))
        if value is not None and value < 1
    ]
    if factor is not None and not 0 < factor <= 1000:
        what = f"must be above 0 and at most 1000, got {factor:g}"
        wrong.append(Complaint(code="out-of-range", path="--factor", what=what))
    if rows is not None and factor is not None:
        wrong.append(Complaint(code="inconsistent", what="both --rows and --factor are given", hint="keep one of them"))
    if wrong:
        raise SpecError(wrong)


def _report(made: Generated, out: Path, *, as_json: bool, quiet: bool) -> None:
    basis, decision, counts = made.basis, made.decision, made.counts
    if as_json:
        content = {
            "file": str(out),
            "rows": counts.rows,
            "source_rows": made.source_rows,
            "left_out": counts.left_out,
            "basis": basis,
            "clipped": dict(counts.clipped),
            **{key: getattr(counts, key) for key in _KEYS},
            "sha256": made.sha256,
            "gate": decision,
        }
        sys.stdout.write(json.dumps(content) + "\n")
        return
    if quiet:
        say(f"{out}\n")
        return
    why = _BASES[basis, made.carries_noise]
    say(f"{counts.rows} new rows from {made.source_rows} rows of data: {out}\nBasis: {basis}. {why}\n")
    for key, sentence in _COUNTS.items():
        if getattr(counts, key):
            say(f"{getattr(counts, key)} {sentence}\n")
    if decision != "accepted":
        refused = f"the gate did not accept this augmentation ({decision})"
        say(f"Note: {refused}. {made.sentence}\n")
