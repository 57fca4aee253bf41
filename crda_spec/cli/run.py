"""`crda-run SPEC`: the main job."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson, Overrides, ShowVersion, SpecFile, printing, say
from crda_spec.cli.signals import check_stopped

if TYPE_CHECKING:
    from crda_spec.records import RunResult
    from crda_spec.runs import Run


def run(
    spec: SpecFile,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the run to this folder, which must be new or empty."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Override the spec's seed.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", help="Worker processes; changes no number.")] = None,
    require_accept: Annotated[
        bool, typer.Option("--require-accept", help="Exit with code 3 unless the gate accepts.")
    ] = False,
    locked: Annotated[
        bool, typer.Option("--locked", help="Refuse to run unless spec, data, graph and versions are as in spec.lock.")
    ] = False,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the verdict and the run's folder.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print every section of the run after its summary.")
    ] = False,
    version: ShowVersion = False,  # noqa: ARG001 - its callback does the work
) -> None:
    """Certify, augment, gate and audit as the spec says; writes runs/<name>/<id>/.

    Exit codes: 0 done (accepted or not), 2 bad spec or data, or nothing could be printed, 3 not accepted under
    --require-accept, 130 interrupted, 143 terminated.
    """
    from crda_spec import api

    changes = [*(overrides or ())]
    changes += [f"seed={seed}"] if seed is not None else []
    changes += [f"execution.jobs={jobs}"] if jobs is not None else []
    progress = not (quiet or as_json)
    # A run that was told to stop leaves no folder, even where a library swallowed the signal.
    finished, folder, result = api.run_to_folder(
        spec, out, overrides=changes, locked=locked, progress=progress, before_saving=check_stopped
    )
    with printing(f"the run itself is whole: {folder}"):
        _report(finished, folder, result, as_json=as_json, quiet=quiet, verbose=verbose)
    if require_accept and not finished.verdict.accepted:
        raise typer.Exit(3)


def _report(finished: Run, folder: Path, result: RunResult, *, as_json: bool, quiet: bool, verbose: bool) -> None:
    from rich.console import Console

    from crda_spec.report.terminal import print_summary
    from crda_spec.report.words.gate import verdict_sentence
    from crda_spec.report.words.run import recipe_words

    class Telling(Console):
        def on_broken_pipe(self) -> None:
            """Rich would end the program without a word."""
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    if as_json:
        sys.stdout.write((folder / "record.json").read_text(encoding="utf-8"))
    elif quiet:
        say(f"{verdict_sentence(finished.verdict)}\n{folder}\n")
    else:
        console = Telling(width=None if sys.stdout.isatty() else 100)
        spec = finished.spec
        print_summary(
            result,
            name=spec.name,
            recipe=recipe_words(spec.recipe, None if spec.augmenter is None else spec.augmenter.label),
            seed=spec.seed,
            files=str(folder),
            console=console,
            verbose=verbose,
        )
