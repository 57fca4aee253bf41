"""`crda-spec discover`: discovery alone, and its graph as a draft that an expert edits and declares."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson, Overrides
from crda_spec.errors import Complaint, CrdaError, OutputError, SpecError, did_you_mean, show

if TYPE_CHECKING:
    from crda_spec.api import DataKind, WantedSearch
    from crda_spec.discovery import Discovery
    from crda_spec.discovery.findings import Findings


class Method(StrEnum):
    """The searches."""

    pc = "pc"
    fci = "fci"
    ges = "ges"
    consensus = "consensus"


class DraftFormat(StrEnum):
    """What the findings can be written as."""

    svg = "svg"
    png = "png"
    yaml = "yaml"
    edges = "edges"
    dagitty = "dagitty"
    dot = "dot"
    gml = "gml"
    graphml = "graphml"


_ENDINGS = {
    ".svg": DraftFormat.svg,
    ".png": DraftFormat.png,
    ".yaml": DraftFormat.yaml,
    ".yml": DraftFormat.yaml,
    ".txt": DraftFormat.edges,
    ".dag": DraftFormat.dagitty,
    ".dagitty": DraftFormat.dagitty,
    ".dot": DraftFormat.dot,
    ".gv": DraftFormat.dot,
    ".gml": DraftFormat.gml,
    ".graphml": DraftFormat.graphml,
}
_DATA: dict[str, DataKind] = {".csv": "csv", ".parquet": "parquet", ".xlsx": "excel"}


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
    chosen = form if form is not None else None if out is None else _by_ending(out)
    _check_output(out, chosen, as_json=as_json)
    kind = _DATA.get(source.suffix.lower())
    wish = (method.value if method else None, alpha, resamples)
    if kind is not None or target is not None:
        found, wanted = _in_file(source, kind, target, overrides or [], wish)
    else:
        found, wanted = _in_spec(source, overrides or [], wish)
    for note in wanted.notes:
        sys.stderr.write(f"note: {note}\n")
    if chosen is not None:
        _write(found, chosen, out)
    if out is not None or chosen is None:
        _print(found, as_json=as_json)


_Wish = tuple[str | None, float | None, int | None]  # method, alpha, resamples


def _wanted(written: Discovery | None, wish: _Wish) -> WantedSearch:
    from crda_spec.api import wanted_search

    method, alpha, resamples = wish
    return wanted_search(written, method=method, alpha=alpha, resamples=resamples)


def _in_spec(file: Path, overrides: list[str], wish: _Wish) -> tuple[Findings, WantedSearch]:
    """Searches the training rows; compares with the declared graph where there is one."""
    from crda_spec.spec.check import known_graph, load_spec

    spec, draft = load_spec(file, overrides=overrides)
    wanted = _wanted(spec.causal.discovery, wish)

    from crda_spec.api import search
    from crda_spec.spec.build import build_plan

    try:
        split, report = build_plan(spec, draft).load()
        found = search(
            split.train,
            wanted.discovery,
            source=f"training rows of {report.source}",
            seed=spec.seed,
            stability=wanted.stability,
            declared=None if spec.causal.graph is None else known_graph(spec, draft).graph,
        )
    except CrdaError as error:
        raise type(error)(draft.placed(complaint) for complaint in error.complaints) from error
    return found, wanted


def _in_file(
    file: Path, kind: DataKind | None, target: str | None, overrides: list[str], wish: _Wish
) -> tuple[Findings, WantedSearch]:
    """Searches all rows of a table."""
    _check_file(file, kind, target, overrides)
    wanted = _wanted(None, wish)

    from crda_spec.api import read_table, search

    try:
        table = read_table(file, kind or "csv", target=target or "")
    except CrdaError as error:
        # There is no spec whose places could be meant.
        raise type(error)(
            replace(one, path="--target" if one.path == "dataset.target" else "") for one in error.complaints
        ) from error
    where = f"rows of {file.name}"
    return search(table, wanted.discovery, source=where, seed=0, stability=wanted.stability), wanted


def _check_file(file: Path, kind: DataKind | None, target: str | None, overrides: list[str]) -> None:
    complaints = []
    if kind is None:
        what = f"--target goes with a table, and the ending of {show(file.name)} is not that of one"
        hint = f"endings: {', '.join(_DATA)}; a spec names its own target, and --set dataset.target=... changes it"
        complaints.append(Complaint(code="unknown-ending", what=what, hint=hint))
    elif target is None:
        hint = "add --target with the name of one of its columns"
        complaints.append(
            Complaint(code="no-target", what=f"{show(file.name)} does not say what to predict", hint=hint)
        )
    if overrides:
        what = "--set changes a spec, and a table has none"
        complaints.append(Complaint(code="idle-option", what=what, hint="leave it out, or write a spec"))
    if complaints:
        raise SpecError(complaints)


def _check_output(out: Path | None, chosen: DraftFormat | None, *, as_json: bool) -> None:
    """What can be known to fail is said before the search begins."""
    if out is None and chosen is not None and as_json:
        what = "--json and --format both want to be printed"
        raise OutputError(Complaint(code="idle-option", what=what, hint="leave one out, or name a file with --out"))
    if out is None and chosen is DraftFormat.png and sys.stdout.isatty():
        what, hint = "a PNG picture cannot be printed on a terminal", "name a file: --out graph.png, or use > graph.png"
        raise OutputError(Complaint(code="bytes-on-a-terminal", what=what, hint=hint))


def _by_ending(out: Path) -> DraftFormat:
    ending = out.suffix.lower()
    if ending not in _ENDINGS:
        what = f"the ending of {show(out.name)} tells no format"
        hint = did_you_mean(ending, list(_ENDINGS), otherwise="endings")
        joint = "" if hint.endswith("?") else ";"
        raise SpecError(Complaint(code="unknown-ending", what=what, hint=f"{hint}{joint} or say --format"))
    return _ENDINGS[ending]


def _write(found: Findings, form: DraftFormat, out: Path | None) -> None:
    """Writes the picture or the draft; every guess goes to the error stream, where it is seen."""
    data, notes = _made(found, form)
    if out is None:
        sys.stdout.buffer.write(data) if form is DraftFormat.png else sys.stdout.write(data.decode())
    else:
        try:
            out.write_bytes(data)
        except OSError as error:
            what = f"cannot write {show(str(out))}: {(error.strerror or str(error)).lower()}"
            raise OutputError(Complaint(code="cannot-write", what=what, hint="choose another file")) from error
        sys.stderr.write(f"{out}\n")
    for note in notes:
        sys.stderr.write(f"note: {note}\n")


def _made(found: Findings, form: DraftFormat) -> tuple[bytes, tuple[str, ...]]:
    if form is DraftFormat.svg:
        from crda_spec.report.graph_draw import graph_svg

        return graph_svg(found.drawn, ()).encode(), ()
    if form is DraftFormat.png:
        from crda_spec.report.canvas import graph_png

        return graph_png(found.drawn, ()), ()
    from crda_spec.report.discovery import exported

    return exported(found, form.value)


def _print(found: Findings, *, as_json: bool) -> None:
    if as_json:
        from crda_spec.report.discovery import findings_record

        sys.stdout.write(json.dumps(findings_record(found), indent=2, ensure_ascii=False) + "\n")
        return
    from rich.console import Console

    from crda_spec.report.discovery import discovery_sections
    from crda_spec.report.terminal import print_sections

    console = Console(width=None if sys.stdout.isatty() else 100)
    print_sections(f"crda-spec discover: {found.target}", discovery_sections(found), (), console=console)
