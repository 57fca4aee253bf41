"""`crda-spec effects RUN`: what each certified cause does to the target on average."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crda_spec.cli.options import AsJson, RunFolder, print_json


def effects(
    run: RunFolder,
    follow: Annotated[
        bool, typer.Option("--follow", help="Let what a column causes follow; else all others are held fixed.")
    ] = False,
    base: Annotated[
        Path | None, typer.Option("--base", metavar="FOLDER", help="Where the graph's file is, for --follow.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What each certified cause does on average: the target's change if the column were set, given the graph.

    Finite differences of the run's teacher over training rows: nothing is fitted. Not what a column predicts: one that
    is blocked has no such number here, however well it predicts, and an irrelevant one has 0.
    """
    from rich.console import Console

    from crda_spec import api
    from crda_spec.audit.canonical import plain
    from crda_spec.report.terminal import Grid, Line, Section, print_sections
    from crda_spec.report.words import whatif as words

    found = api.effects(run, follow=follow, base=base)
    target = found.target
    if as_json:
        left = [{"name": name, "effect": None if why else 0.0, "reason": why} for name, why in found.left.items()]
        content = {"target": target.name, "unit": target.unit, "follow": follow, "effects": plain(found.found)}
        print_json({**content, "others": left}, indent=None)
        return
    headers = ("one more of", "mean change", "spread over rows", "8 of 10 rows", "follows")
    table = words.effect_rows(found.found, found.columns)
    grid = Grid(headers=headers, rows=tuple(table), numeric=(1, 2))
    nothing = Line("No feature is a certified cause: nothing can be said of what setting one would do.")
    others = tuple(Line(words.without_effect(name, why, target.name)) for name, why in found.left.items())
    held = words.FOLLOWED if follow else words.HELD_FIXED
    parts = [
        Section(f"Average effects on {words.in_unit(target.name, target.unit)}", (grid if table else nothing,)),
        *([Section("The other features", others)] if others else []),
        Section("What this is", (Line(words.AVERAGES), Line(held))),
    ]
    print_sections("crda-spec effects", parts, (), console=Console(highlight=False))
