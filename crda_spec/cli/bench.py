"""`crda-spec bench SUITE`: tables x rivals x seeds, resumable, with a page that shows who is better."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crda_spec.cli.options import printing, say


def bench(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="The suite, a YAML file.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The folder of the results; bench/<name> if left out.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Worker processes; changes no number.")] = 1,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PATTERN", help="Cells whose label has this in it, e.g. 'wind*/mlp/mixup'."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="No new cell after this time: 30m, 2h, 1h30m.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The same suite, small: one seed, few rows.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the folder.")] = False,
) -> None:
    """Run a benchmark suite: what is finished is kept, what is missing is run, and the page is written anew.

    Exit codes: 0 done, 2 bad suite, 5 some cells failed, 130 interrupted. Run it again to go on.
    """
    from crda_spec import api

    done = api.bench(suite, out=out, jobs=jobs, only=only, budget=budget, quick=quick, progress=not quiet)
    with printing():
        if not quiet:
            computed, kept = done.outcome.computed, len(done.outcome.cells) - done.outcome.computed
            say(f"{computed} cells computed, {kept} kept, {done.missing} left, {len(done.outcome.failed)} failed\n")
            say(f"CPU time of these cells: {done.cpu_hours:.2f} h\n")
        say(f"{done.folder / 'index.html'}\n")
    if done.exit_status:
        raise typer.Exit(done.exit_status)
