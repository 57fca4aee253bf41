"""`crda-spec generate RUN DATA`: new rows for a table of any size, as a finished run made them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson
from crda_spec.errors import Complaint, OutputError, SpecError

if TYPE_CHECKING:
    from crda_spec.audit.new_rows import Generated
    from crda_spec.audit.open_run import SavedRun
    from crda_spec.spec.run import RunSpec

_LICENCES = {
    "certificate": "Licence: certificate. Each row carries noise, and only features that the certificate frees moved.",
    "support": "Licence: support. Each row is the teacher's word alone, and claims nothing of the noise.",
}


def generate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.", show_default=False)],
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Rows with the run's columns: Parquet, CSV or Excel.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write to this Parquet file, which must be new.")],
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
    a row is its outcome minus the teacher's word. Without noise (retention: 0) the outcome may be absent.
    """
    _check_numbers(rows=rows, factor=factor, batch=batch, jobs=jobs)
    _check_destination(out)
    from crda_spec.audit.open_run import open_run

    saved = open_run(run)
    spec = _spec(saved)
    made = _generate(saved, spec, data, out, rows=rows, factor=factor, batch=batch, jobs=jobs, quiet=quiet or as_json)
    _report(saved, made, out, as_json=as_json, quiet=quiet)


def _check_numbers(*, rows: int | None, factor: float | None, batch: int, jobs: int) -> None:
    found = [
        Complaint(code="out-of-range", path=option, what=f"must be at least 1, got {value}")
        for option, value in (("--rows", rows), ("--batch", batch), ("--jobs", jobs))
        if value is not None and value < 1
    ]
    if factor is not None and not 0 < factor <= 1000:
        what = f"must be above 0 and at most 1000, got {factor:g}"
        found.append(Complaint(code="out-of-range", path="--factor", what=what))
    if rows is not None and factor is not None:
        what = "both --rows and --factor are given"
        found.append(Complaint(code="inconsistent", what=what, hint="keep one of them"))
    if found:
        raise SpecError(found)


def _check_destination(out: Path) -> None:
    """Complains before the work starts, not after."""
    what, hint = "", "choose another file"
    if out.exists():
        what = f"'{out}' already exists"
    elif not out.parent.is_dir():
        what, hint = f"there is no folder '{out.parent}'", "make it, or choose another file"
    if what:
        raise OutputError(Complaint(code="cannot-write", path="--out", what=what, hint=hint))


def _spec(saved: SavedRun) -> RunSpec:
    """The run's spec, as it was resolved."""
    from crda_spec.spec.run import RunSpec

    return RunSpec.model_validate_json(json.dumps(saved.record["spec"]["resolved"]))


def _generate(
    saved: SavedRun,
    spec: RunSpec,
    data: Path,
    out: Path,
    *,
    rows: int | None,
    factor: float | None,
    batch: int,
    jobs: int,
    quiet: bool,
) -> Generated:
    from rich.console import Console

    from crda_spec.audit.new_rows import generate, prepare
    from crda_spec.report.progress import progress_for

    job = prepare(saved, spec, data, rows=rows, factor=factor)
    with progress_for(Console(stderr=True), quiet=quiet).stage("generate", job.quota.blocks) as stage:
        return generate(job, out, batch=batch, workers=jobs, advance=stage.advance)


def _report(saved: SavedRun, made: Generated, out: Path, *, as_json: bool, quiet: bool) -> None:
    record = saved.record
    licence, decision = record["counterfactuals"]["licence"], record["verdict"]["decision"]
    if as_json:
        told = {
            "file": str(out),
            "rows": made.counts.rows,
            "source_rows": made.source_rows,
            "left_out": made.counts.left_out,
            "licence": licence,
            "clipped": dict(made.counts.clipped),
            "scale_clipped": made.counts.scale_clipped,
            "dropped": made.counts.dropped,
            "redrawn": made.counts.redrawn,
            "astray": made.counts.astray,
            "sha256": made.sha256,
            "gate": decision,
        }
        sys.stdout.write(json.dumps(told) + "\n")
        return
    if quiet:
        sys.stdout.write(f"{out}\n")
        return
    lines = [f"{made.counts.rows} new rows from {made.source_rows} rows of data: {out}"]
    lines.append(_LICENCES[licence])
    if made.counts.left_out:
        lines.append(f"{made.counts.left_out} rows with missing cells were not used.")
    if made.counts.redrawn:
        lines.append(f"{made.counts.redrawn} new rows broke a rule or lay off the data at first and were drawn again.")
    if made.counts.dropped:
        lines.append(f"{made.counts.dropped} new rows lay off the data of the run and were left out.")
    if made.counts.astray:
        lines.append(
            f"{made.counts.astray} rows of the data lie off those of the run themselves; what is made of them may, too."
        )
    if decision != "accepted":
        lines.append(f"Note: the gate did not accept this augmentation ({decision}). {record['verdict']['sentence']}")
    sys.stdout.write("\n".join(lines) + "\n")
