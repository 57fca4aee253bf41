"""`crda-spec graph`: the declared graph as a picture, or in another tool's language."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import Overrides, SpecFile
from crda_spec.errors import Complaint, OutputError, SpecError, did_you_mean, show

if TYPE_CHECKING:
    from crda_spec.spec.check import KnownGraph


class GraphFormat(StrEnum):
    """What the graph can be written as."""

    svg = "svg"
    png = "png"
    edges = "edges"
    dagitty = "dagitty"
    dot = "dot"
    gml = "gml"
    graphml = "graphml"


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
    from crda_spec.spec.check import known_graph, load_spec

    chosen = _chosen(form, out)
    if chosen is GraphFormat.png and out is None and sys.stdout.isatty():
        what, hint = "a PNG picture cannot be printed on a terminal", "name a file: --out graph.png, or use > graph.png"
        raise OutputError(Complaint(code="bytes-on-a-terminal", what=what, hint=hint))
    found, draft = load_spec(spec, overrides=overrides or ())
    known = known_graph(found, draft)
    data, lost = _written(known, chosen)
    if out is None and chosen is GraphFormat.png:
        sys.stdout.buffer.write(data)
    elif out is None:
        sys.stdout.write(data.decode())
    else:
        try:
            out.write_bytes(data)
        except OSError as error:
            what = f"cannot write {show(str(out))}: {(error.strerror or str(error)).lower()}"
            raise OutputError(Complaint(code="cannot-write", what=what, hint="choose another file")) from error
        sys.stderr.write(f"{out}\n")
    for loss in lost:
        sys.stderr.write(f"note: {loss}\n")


_ENDINGS = {
    ".svg": GraphFormat.svg,
    ".png": GraphFormat.png,
    ".txt": GraphFormat.edges,
    ".dag": GraphFormat.dagitty,
    ".dagitty": GraphFormat.dagitty,
    ".dot": GraphFormat.dot,
    ".gv": GraphFormat.dot,
    ".gml": GraphFormat.gml,
    ".graphml": GraphFormat.graphml,
}
_PICTURES = (GraphFormat.svg, GraphFormat.png)


def _chosen(form: GraphFormat | None, out: Path | None) -> GraphFormat:
    """What --format says, or else the ending; an ending that other programs would read as another format is refused."""
    if form is None:
        return _by_ending(out)
    told = _ENDINGS.get(out.suffix.lower()) if out is not None else None
    any_text = out is not None and out.suffix.lower() == ".txt" and form not in _PICTURES
    if out is not None and told not in (None, form) and not any_text:
        what = f"--format says {form.value}, but the ending of {show(out.name)} says {told}"
        hint = f"write --out {out.stem}.{form.value}, or leave --format out"
        raise SpecError(Complaint(code="ending-and-format", what=what, hint=hint))
    return form


def _by_ending(out: Path | None) -> GraphFormat:
    if out is None:
        return GraphFormat.svg
    if out.suffix.lower() not in _ENDINGS:
        what = f"the ending of {show(out.name)} tells no format"
        hint = did_you_mean(out.suffix.lower(), list(_ENDINGS), otherwise="endings")
        joint = "" if hint.endswith("?") else ";"
        raise SpecError(Complaint(code="unknown-ending", what=what, hint=f"{hint}{joint} or say --format"))
    return _ENDINGS[out.suffix.lower()]


def _written(known: KnownGraph, form: GraphFormat) -> tuple[bytes, tuple[str, ...]]:
    if form is GraphFormat.svg:
        from crda_spec.report.graph_draw import graph_svg

        return graph_svg(known.drawn, known.verdicts).encode(), ()
    if form is GraphFormat.png:
        from crda_spec.report.canvas import graph_png

        return graph_png(known.drawn, known.verdicts), ()
    return known.exported(form.value)
