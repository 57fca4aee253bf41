"""`crda-spec graph`: the declared graph as a picture, or in another tool's language."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crda_spec.cli.options import ENDINGS, Overrides, SpecFile, check_terminal, format_by_ending, write_graph_file
from crda_spec.errors import Complaint, SpecError, show

GraphFormat = StrEnum("GraphFormat", ["svg", "png", "edges", "dagitty", "dot", "gml", "graphml"])


def graph(
    spec: SpecFile,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write to this file; its ending tells the format.")
    ] = None,
    form: Annotated[
        GraphFormat | None, typer.Option("--format", help="The format; svg when neither this nor --out tells.")
    ] = None,
    overrides: Overrides = None,
) -> None:
    """Draw the declared graph with its verdicts (svg, png), or export it (edges, dagitty, dot, gml, graphml).

    Prints to the screen unless --out names a file. No system graphviz is needed.
    """
    from crda_spec import api

    chosen = _chosen(form, out)
    check_terminal(chosen, out)
    data, lost = api.graph(spec, chosen, overrides=overrides or ())
    write_graph_file(data, chosen, out, lost)


def _chosen(form: GraphFormat | None, out: Path | None) -> str:
    """What --format says, or else the ending; an ending that other programs would read as another format is refused."""
    if form is None:
        return "svg" if out is None else format_by_ending(out, ENDINGS)
    ending = "" if out is None else out.suffix.lower()
    any_text = ending == ".txt" and form not in ("svg", "png")
    if out is not None and ENDINGS.get(ending, form) != form and not any_text:
        what = f"--format says {form.value}, but the ending of {show(out.name)} says {ENDINGS[ending]}"
        hint = f"write --out {out.stem}.{form.value}, or leave --format out"
        raise SpecError(Complaint(code="ending-and-format", what=what, hint=hint))
    return form.value
