"""`crda-spec discover`: discovery alone, and its graph as a draft that an expert edits and declares."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from crda_spec.cli import options
from crda_spec.cli.options import AsJson, Overrides
from crda_spec.errors import Complaint, OutputError

if TYPE_CHECKING:
    from crda_spec.discovery.findings import Findings


Method = StrEnum("Method", ["pc", "fci", "ges", "consensus"])
DraftFormat = StrEnum("DraftFormat", ["svg", "png", "yaml", "edges", "dagitty", "dot", "gml", "graphml"])
_ENDINGS = {".svg": "svg", ".png": "png", ".yaml": "yaml", ".yml": "yaml", **options.ENDINGS}


def discover(
    source: Annotated[
        Path,
        typer.Argument(metavar="SPEC|DATA", help="A spec, or a table (.csv, .parquet, .xlsx).", show_default=False),
    ],
    target: Annotated[
        str | None, typer.Option("--target", help="The column to predict, when a table is given.")
    ] = None,
    method: Annotated[Method | None, typer.Option("--method", help="The search; default the spec's, else pc.")] = None,
    alpha: Annotated[float | None, typer.Option("--alpha", help="Links with a p-value above it are cut.")] = None,
    resamples: Annotated[
        int | None, typer.Option("--resamples", help="Searches on half-samples; default 100 for pc and fci; 0: none.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write to this file too; its ending tells the format.")
    ] = None,
    form: Annotated[DraftFormat | None, typer.Option("--format", help="Write this instead of the table.")] = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Search for a causal graph, and write it as a draft to edit and declare.

    Searches the training rows of a spec, or all rows of a table: features and target, not the residual, which needs a
    model. Pictures (svg, png) show what was found; the other formats hold a graph that a spec can declare, with every
    direction that the data leave open guessed, and every guess noted.
    """
    chosen = form.value if form is not None else None if out is None else options.format_by_ending(out, _ENDINGS)
    if out is None and chosen is not None and as_json:
        what = "--json and --format both want to be printed"
        raise OutputError(Complaint(code="idle-option", what=what, hint="leave one out, or name a file with --out"))
    options.check_terminal(chosen or "", out)
    from crda_spec import api

    found = api.discover(
        source,
        target=target,
        method=None if method is None else cast("api.SearchMethod", method.value),
        alpha=alpha,
        resamples=resamples,
        overrides=overrides or (),
    )
    for note in found.wishes:
        sys.stderr.write(f"note: {note}\n")
    if chosen is not None:
        data, notes = found.exported(chosen)
        options.write_graph_file(data, chosen, out, notes)
    if out is not None or chosen is None:
        _print(found.findings, as_json=as_json)


def _print(found: Findings, *, as_json: bool) -> None:
    if as_json:
        from crda_spec.report.discovery import findings_record

        options.print_json(findings_record(found))
        return
    from rich.console import Console

    from crda_spec.report.discovery import discovery_sections
    from crda_spec.report.terminal import print_sections

    console = Console(width=None if sys.stdout.isatty() else 100)
    print_sections(f"crda-spec discover: {found.target}", discovery_sections(found), (), console=console)
