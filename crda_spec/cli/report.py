"""`crda-spec report RUN...`: the page of a run made again from its folder, or several runs side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from crda_spec.cli.options import AsJson, say


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
    from crda_spec import api

    target, size = api.report(runs, out=out, png=png)
    answer = {"file" if png is None else "folder": str(target), "bytes": size, "runs": [str(folder) for folder in runs]}
    say(f"{json.dumps(answer) if as_json else target}\n")
