"""`crda-spec runs`: the finished runs below a folder."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson, print_json
from crda_spec.errors import Complaint, OutputError, printable

if TYPE_CHECKING:
    from crda_spec.audit.open_run import ListedRun

_HEAD = ("when (UTC)", "name", "verdict", "change on test", "hash", "folder")


def runs(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to look; runs/ if left out.")] = Path(
        "runs"
    ),
    as_json: AsJson = False,
) -> None:
    """List the finished runs below a folder: when, verdict, change of the test loss, hash.

    Equal hashes are equal runs. The change is that of one augmented model against one plain model on the test rows,
    whether the gate let it be used or not; a run without test rows has none.
    """
    from crda_spec.audit.open_run import list_runs

    if not folder.is_dir():
        hint = "name the folder of your runs, or run a spec first: crda-run SPEC"
        raise OutputError(Complaint(code="no-folder", what=f"there is no folder '{folder}'", hint=hint))
    past = list_runs(folder)
    if as_json:
        listed = [{key: value for key, value in asdict(run).items() if key != "trouble" or value} for run in past]
        print_json({"folder": str(folder), "runs": listed})
        return
    if not past:
        sys.stdout.write(f"no finished run below {folder}\n")
        return
    lines = [_HEAD, *(_cells(run) for run in past)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(_HEAD) - 1)]
    for line in lines:
        cells = [f"{cell:<{width}}" for cell, width in zip(line, [*widths, 0], strict=True)]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _cells(run: ListedRun) -> tuple[str, ...]:
    if run.trouble:
        return ("?", "?", "unreadable", "", "", f"{printable(run.folder)}: {printable(run.trouble)}")
    change = "-" if run.change_percent is None else f"{run.change_percent:+.1f} % {run.metric.upper()}"
    when = run.created.replace("T", " ")[:16]
    verdict = printable(run.decision) + (f", {run.models} models" if run.models > 1 else "")
    return (when, printable(run.name), verdict, change, run.sha256[:12], printable(run.folder))
