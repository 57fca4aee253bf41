"""`crda-spec report RUN...`: the page of a run made again from its folder, or several runs side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson, check_new_file
from crda_spec.errors import Complaint, OutputError, Place

if TYPE_CHECKING:
    from crda_spec.audit.open_run import ReopenedRun

_PAGE = "report.html"
_ELSEWHERE = "choose another file with --out"


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the page to this file, which must be new. One run: its own report.html if left out. "
            "Several: compare.html.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the page of one run again, or compare several runs on one page.

    Only the run folders are read: no data, no model, nothing is fitted.
    """
    from crda_spec.audit.open_run import reopen

    several = len(runs) > 1
    target = out if out is not None else Path("compare.html") if several else runs[0] / _PAGE
    if out is not None or several:
        check_new_file(target, _ELSEWHERE)
    opened = [reopen(folder) for folder in runs]
    text = _comparison(opened) if several else page_of(opened[0])
    if not several and out is None:
        _check_hash(opened[0], text)
    try:
        target.write_bytes(text)
    except OSError as error:
        what = f"cannot write '{target}': {(error.strerror or str(error)).lower()}"
        raise OutputError(Complaint(code="cannot-write", path="--out", what=what, hint=_ELSEWHERE)) from error
    told = {"file": str(target), "bytes": len(text), "runs": [str(folder) for folder in runs]}
    sys.stdout.write(f"{json.dumps(told) if as_json else target}\n")


def page_of(run: ReopenedRun) -> bytes:
    """The page of one run."""
    from crda_spec.report.page import render_html

    page = render_html(
        run.result, name=run.name, description=run.description, record_json=run.record_json, spec_yaml=run.spec_yaml
    )
    return page.encode()


def _comparison(runs: list[ReopenedRun]) -> bytes:
    from crda_spec.report.compare import ComparedRun, render_comparison

    compared = [
        ComparedRun(name=run.name, folder=str(run.folder), result=run.result, record=run.record) for run in runs
    ]
    return render_comparison(compared).encode()


def _check_hash(run: ReopenedRun, page: bytes) -> None:
    """The record names the hash of its page: another page may not take its place unseen."""
    from crda_spec.audit.canonical import sha256_of

    if sha256_of(page) != run.record["files"].get(_PAGE):
        what = "this crda-spec makes another page than the one whose hash the record holds"
        hint = "write it elsewhere with --out FILE; crda-spec verify tells whether the folder was changed"
        raise OutputError(Complaint(code="other-page", place=Place(file=str(run.folder)), what=what, hint=hint))
