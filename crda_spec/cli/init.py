"""`crda-spec init DATA --target y`: a first spec, commented, that runs as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.ask import ask as asked
from crda_spec.cli.ask import check_can_ask
from crda_spec.cli.options import AsJson, print_json, say
from crda_spec.errors import Complaint, SpecError

if TYPE_CHECKING:
    from crda_spec.spec.scaffold import FirstSpec


def init(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="The table: .csv, .tsv, .parquet or .xlsx.", show_default=False)
    ],
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="The column to predict.", show_default=False)
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option(
            "--graph", metavar="FILE", help="Your causal graph: .dag, .dot, .gml, .graphml, or .txt of edges."
        ),
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask five questions, and draw the graph from the answers.")
    ] = False,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", metavar="FILE", help="The answers to the five questions, a YAML file."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Write the spec to this file, which must be new.")
    ] = Path("spec.yaml"),
    as_json: AsJson = False,
) -> None:
    """Write a first spec for a table: column contracts as inferred, comments on what is yours to decide.

    It runs as it is. With a graph, the certificate's result stands in it as comments; --ask draws one from your
    answers. The JSON Schema is written beside it, so that editors complete and check the spec.
    """
    from crda_spec import api

    _check(ask=ask, as_json=as_json, answers=answers, graph=graph)
    if ask or answers is not None:
        made = _interviewed(data, target, answers, out)
    else:
        made = api.first_spec(data, target=target, graph=graph, out=out)
    table, schema = made.table, out.parent / api.SCHEMA
    ids = table.dataset.ids
    left_out = {name: why for name, why in table.left_out.items() if name not in ids}
    if as_json:
        content = {"file": str(out), "schema": str(schema), "rows": len(table.table)}
        others = {"id": list(ids), "left_out": left_out}
        print_json({**content, "features": list(table.table.names), **others}, indent=None)
        return
    aside = f", {', '.join(ids)} as id" if ids else ""
    aside += f", {len(left_out)} left out" if left_out else ""
    say(f"{out}: {len(table.table.names)} features{aside}, {len(table.table)} rows\n")
    for note in table.notes():
        say(f"  {note}\n")
    for sentence in made.said if graph is None else ():
        say(f"  {sentence}\n")
    say(f"read it, then: crda-spec plan {out}, crda-run {out}\n")


def _check(*, ask: bool, as_json: bool, answers: Path | None, graph: Path | None) -> None:
    """The graph comes from one place."""
    given = [option for option, value in (("--graph", graph), ("--ask", ask or None), ("--answers", answers)) if value]
    if len(given) > 1:
        what = f"{' and '.join(given)} each say what the graph is"
        raise SpecError(Complaint(code="idle-option", path=given[-1], what=what, hint="leave all but one out"))
    if ask and as_json:
        what, hint = "the questions and the JSON object both want to be printed", "leave --json out, or use --answers"
        raise SpecError(Complaint(code="idle-option", path="--ask", what=what, hint=hint))
    if ask:
        check_can_ask()


def _interviewed(data: Path, target: str | None, file: Path | None, out: Path) -> FirstSpec:
    """The spec that the answers make: those of a file, else those given in the terminal."""
    from crda_spec.interview import Interview, read_answers

    if file is None:
        interview = Interview.about(data, target=target, out=out)
        return interview.first_spec(asked(interview), out=out)
    document = read_answers(file)
    interview = Interview.about(data, target=target, out=out)
    with document.placing():
        interview.draw(document.content)
    return interview.first_spec(document.content, out=out)
