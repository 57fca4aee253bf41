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
    from crda_spec.api import Run
    from crda_spec.spec.load import Draft
    from crda_spec.spec.run import RunSpec


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
    from crda_spec.spec.check import load_spec

    changes = [*(overrides or ())]
    changes += [f"seed={seed}"] if seed is not None else []
    changes += [f"execution.jobs={jobs}"] if jobs is not None else []
    found, draft = load_spec(spec, overrides=changes)
    finished, folder = _execute(found, draft, out, lock=spec if locked else None, quiet=quiet or as_json)
    with printing(f"the run itself is whole: {folder}"):
        _report(finished, folder, as_json=as_json, quiet=quiet, verbose=verbose)
    if require_accept and not finished.verdict.accepted:
        raise typer.Exit(3)


def _execute(spec: RunSpec, draft: Draft, out: Path | None, *, lock: Path | None, quiet: bool) -> tuple[Run, Path]:
    """Runs the plan and writes its folder; the heavy imports start here. lock: the spec whose lock must hold."""
    from rich.console import Console

    from crda_spec.api import execute, plan_folder
    from crda_spec.report.progress import progress_for

    with draft.placing():
        folder = plan_folder(out, base=Path(spec.output.dir), name=spec.name)
    finished = execute(spec, draft, lock=lock, progress=progress_for(Console(stderr=True), quiet=quiet))
    check_stopped()  # else a run that was told to stop would leave a folder
    return finished, finished.save(folder)


def _report(finished: Run, folder: Path, *, as_json: bool, quiet: bool, verbose: bool) -> None:
    from rich.console import Console

    from crda_spec.api import with_places
    from crda_spec.report.terminal import print_summary
    from crda_spec.report.words.gate import verdict_sentence

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
        result = with_places(finished.result, finished.draft)
        spec = finished.spec
        print_summary(
            result,
            name=spec.name,
            recipe=spec.recipe,
            seed=spec.seed,
            files=str(folder),
            console=console,
            verbose=verbose,
        )
