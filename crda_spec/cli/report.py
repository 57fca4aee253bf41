"""`crda-spec report RUN...`: the page of a run made again from its folder, or several runs side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson, check_new_file, say
from crda_spec.errors import Complaint, OutputError, Place

if TYPE_CHECKING:
    from crda_spec.audit.open_run import ReopenedRun

_PAGE = "report.html"
_ELSEWHERE = "choose another place with"


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
    png: Annotated[
        Path | None,
        typer.Option(
            "--png",
            metavar="FOLDER",
            help="Write the figures of one run as PNG into this folder, which must be new, and no page.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the page of one run again, or compare several runs on one page.

    Only the run folders are read: no data, no model, nothing is fitted.
    """
    from crda_spec.audit.canonical import sha256_of
    from crda_spec.audit.open_run import open_run, readable, reopen
    from crda_spec.audit.runfolder import writing

    several = len(runs) > 1
    if png is not None and (several or out is not None):
        what, hint = "the figures are those of one run, without a page", "write crda-spec report RUN --png NEW_FOLDER"
        raise OutputError(Complaint(code="contradiction", path="--png", what=what, hint=hint))
    option = "--out" if png is None else "--png"
    target = png or out or (Path("compare.html") if several else runs[0] / _PAGE)
    if png or out or several:
        check_new_file(target, f"{_ELSEWHERE} {option}", option=option)
    opened = [reopen(open_run(folder, lost=(_PAGE,))) for folder in runs]
    with readable(runs[0]):
        if png is not None:
            from crda_spec.report.figures import run_figures

            files = {png / f"{name}.png": picture.png for name, picture in run_figures(opened[0].result).items()}
        else:
            files = {target: _comparison(opened) if several else page_of(opened[0])}
    # The record names the hash of its page: another page may not take its place unseen.
    if not (png or out or several) and sha256_of(files[target]) != opened[0].record["files"].get(_PAGE):
        what = "this crda-spec makes another page than the one whose hash the record holds"
        hint = "write it elsewhere with --out FILE; crda-spec verify tells whether the folder was changed"
        raise OutputError(Complaint(code="other-page", place=Place(file=str(runs[0])), what=what, hint=hint))
    with writing(target, f"{_ELSEWHERE} {option}", option):
        if png is not None:
            png.mkdir()
        for file, data in files.items():
            file.write_bytes(data)
    size = sum(map(len, files.values()))
    answer = {"file" if png is None else "folder": str(target), "bytes": size, "runs": [str(folder) for folder in runs]}
    say(f"{json.dumps(answer) if as_json else target}\n")


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
