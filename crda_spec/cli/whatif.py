"""`crda-spec whatif RUN --row 17 therapy_hours=+2`: the outcome that a row would have had."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson, RunFolder, print_json
from crda_spec.errors import Complaint, SpecError

if TYPE_CHECKING:
    from crda_spec.audit.whatif import Question
    from crda_spec.records import WhatIf


def whatif(
    run: RunFolder,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CHANGE]...",
            help="COLUMN=40 sets, COLUMN=+2 and COLUMN=-2 add, COLUMN==-2 sets a negative number, COLUMN=label.",
            show_default=False,
        ),
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(
            "--row", metavar="N", help="A training row, by its number in the source (rows.csv); may be repeated."
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            "--rows",
            metavar="FILE",
            help="Rows with all features and the outcome; or a column `row` that names training rows, with a change "
            "in each other column. `all`: every training row.",
        ),
    ] = None,
    sweep: Annotated[
        str | None, typer.Option("--sweep", metavar="COLUMN=LOW:HIGH[:POINTS]", help="One curve a row.")
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Let what the changed columns cause follow; else all others are held fixed."),
    ] = False,
    refits: Annotated[
        int, typer.Option("--refits", help="Teachers fitted again for the interval of the difference; 0: no interval.")
    ] = 20,
    level: Annotated[float, typer.Option("--level", help="How often the interval is to hold.")] = 0.9,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw a sweep to this new file, .svg or .png.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Keep the answers in this new file, .json or .csv.")
    ] = None,
    base: Annotated[
        Path | None, typer.Option("--base", metavar="FOLDER", help="Where the graph's file is, for --follow.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", help="Worker processes for the refits; changes no byte.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Ask what a row's outcome would have been, had some of its columns been different.

    The run's teacher says what is left of the outcome as noise (abduction), the columns are set (action), and the
    outcome is predicted with the same noise (prediction). A column that the certificate blocks is refused.

    The interval is about the difference, and comes from the spread of refitted teachers. A conformal interval cannot
    be had: it is calibrated on observed outcomes, and nobody observes a difference.
    """
    question = _question(changes, row, rows, sweep, follow=follow, refits=refits, level=level, jobs=jobs)
    from crda_spec import api

    found = api.whatif(run, question, base=base, out=out, plot=plot, progress=not as_json)
    if as_json:
        from crda_spec.audit.pages import answers_json

        print_json(answers_json(found), indent=None)
        return
    _print(found, out, plot)


def _question(
    changes: list[str] | None,
    row: list[int] | None,
    rows: str | None,
    sweep: str | None,
    *,
    follow: bool,
    refits: int,
    level: float,
    jobs: int,
) -> Question:
    from crda_spec.audit.whatif import Question

    wrong = []
    if row and rows is not None:
        wrong.append(Complaint(code="inconsistent", what="both --row and --rows are given", hint="keep one of them"))
    if not row and rows is None:
        what, hint = "no row is named", "name a training row with --row N, or give rows with --rows FILE"
        wrong.append(Complaint(code="no-rows", what=what, hint=hint))
    file = None if rows in (None, "all") else Path(str(rows))
    named = None if rows == "all" else tuple(row or ())
    question = Question(
        changes=tuple(changes or ()),
        rows=named,
        file=file,
        sweep=sweep,
        follow=follow,
        refits=refits,
        level=level,
        jobs=jobs,
    )
    wrong += question.complaints("--")
    if wrong:
        raise SpecError(wrong)
    return question


def _print(found: WhatIf, out: Path | None, plot: Path | None) -> None:
    from rich.console import Console

    from crda_spec.report.terminal import Grid, Line, Section, print_sections
    from crda_spec.report.words import whatif as words

    ground = Section("What this rests on", tuple(Line(one) for one in words.ground_sentences(found)))
    if len(found.answers) == 1:
        lines = tuple(Line(one) for one in words.answer_sentences(found, found.answers[0]))
        first = Section("What would have been", lines)
    else:
        headers = (
            "row",
            "observed",
            "would be",
            "difference",
            f"{100 * found.level:g} % interval",
            "turns at",
            "change",
        )
        shown = tuple(words.answer_rows(found))[: words.MOST_ROWS]
        left = len(found.answers) - len(shown)
        grid = Grid(
            headers=headers,
            rows=shown,
            numeric=(0, 1, 2, 3, 5),
            more=f"{left} more answers: keep all of them with --out FILE" if left else "",
        )
        notes = (words.TURNS, words.extrapolation_sentence(found))
        first = Section("What would have been", (grid, *(Line(one) for one in notes if one)))
    files = [Line(f"{word}: {file}") for word, file in (("Kept", out), ("Drawn", plot)) if file is not None]
    title = f"crda-spec whatif: {found.run}, record {found.seal[:12]}"
    print_sections(title, (first, ground), files, console=Console(highlight=False))
