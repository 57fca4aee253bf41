"""`crda-spec discover`: discovery alone, and its graph as a draft that an expert edits and declares."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crda_spec.cli import options
from crda_spec.cli.graph import picture
from crda_spec.cli.options import AsJson, Overrides
from crda_spec.errors import Complaint, CrdaError, OutputError, SpecError, show

if TYPE_CHECKING:
    from crda_spec.discovery.findings import Findings


Method = StrEnum("Method", ["pc", "fci", "ges", "consensus"])
DraftFormat = StrEnum("DraftFormat", ["svg", "png", "yaml", "edges", "dagitty", "dot", "gml", "graphml"])
_ENDINGS = {".svg": "svg", ".png": "png", ".yaml": "yaml", ".yml": "yaml", **options.ENDINGS}
_DATA = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".xlsx")  # as `crda-spec init` reads them


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
    is_table = source.suffix.lower() in _DATA
    wish = {"method": method.value if method else None, "alpha": alpha, "resamples": resamples}
    if is_table or target is not None:
        found, notes = _in_file(source, target, overrides or [], wish)
    else:
        found, notes = _in_spec(source, overrides or [], wish)
    for note in notes:
        sys.stderr.write(f"note: {note}\n")
    if chosen is not None:
        from crda_spec.report.discovery import exported

        data, notes = picture(found.drawn, (), chosen) or exported(found, chosen)
        options.write_graph_file(data, chosen, out, notes)
    if out is not None or chosen is None:
        _print(found, as_json=as_json)


_Found = tuple["Findings", tuple[str, ...]]  # and what is to be noted about the wishes


def _in_spec(file: Path, overrides: list[str], wish: dict[str, Any]) -> _Found:
    """Searches the training rows; compares with the declared graph where there is one."""
    from crda_spec.spec.check import known_graph, load_spec

    spec, draft = load_spec(file, overrides=overrides)
    from crda_spec.api import search, wanted_search
    from crda_spec.spec.build import build_plan

    wanted = wanted_search(spec.causal.discovery, **wish)
    with draft.placing():
        split, report = build_plan(spec, draft).load()
        findings = search(
            split.train,
            wanted.discovery,
            source=f"training rows of {report.source}",
            seed=spec.seed,
            stability=wanted.stability,
            declared=None if spec.causal.graph is None else known_graph(spec, draft).graph,
        )
    return findings, wanted.notes


def _in_file(file: Path, target: str | None, overrides: list[str], wish: dict[str, Any]) -> _Found:
    """Searches all rows of a table."""
    _check_file(file, target, overrides)
    from crda_spec.api import read_table, search, wanted_search

    wanted = wanted_search(None, **wish)
    try:
        table, said = read_table(file, target=target or "")
    except CrdaError as error:
        # There is no spec whose places could be meant.
        raise type(error)(
            replace(one, path="--target" if one.path == "dataset.target" else "") for one in error.complaints
        ) from error
    findings = search(table, wanted.discovery, source=f"rows of {file.name}", seed=0, stability=wanted.stability)
    return findings, (*said, *wanted.notes)


def _check_file(file: Path, target: str | None, overrides: list[str]) -> None:
    complaints = []
    if file.suffix.lower() not in _DATA:
        what = f"--target goes with a table, and the ending of {show(file.name)} is not that of one"
        hint = f"endings: {', '.join(_DATA)}; a spec names its own target, and --set dataset.target=... changes it"
        complaints.append(Complaint(code="unknown-ending", what=what, hint=hint))
    elif target is None:
        what = f"{show(file.name)} does not say what to predict"
        hint = "add --target with the name of one of its columns"
        complaints.append(Complaint(code="no-target", what=what, hint=hint))
    if overrides:
        what = "--set changes a spec, and a table has none"
        complaints.append(Complaint(code="idle-option", what=what, hint="leave it out, or write a spec"))
    if complaints:
        raise SpecError(complaints)


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
