"""`crda-spec init DATA --target y`: a first spec, commented, that runs as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crda_spec.cli.options import AsJson, print_json, say


def init(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="The table: .csv, .tsv, .parquet or .xlsx.", show_default=False)
    ],
    target: Annotated[str, typer.Option("--target", metavar="COLUMN", help="The column to predict.")],
    graph: Annotated[
        Path | None,
        typer.Option(
            "--graph", metavar="FILE", help="Your causal graph: .dag, .dot, .gml, .graphml, or .txt of edges."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Write the spec to this file, which must be new.")
    ] = Path("spec.yaml"),
    as_json: AsJson = False,
) -> None:
    """Write a first spec for a table: column contracts as inferred, comments on what is yours to decide.

    It runs as it is. With a graph, the certificate's result stands in it as comments. The JSON Schema is written beside
    it, so that editors complete and check the spec.
    """
    from crda_spec import api

    table, schema = api.first_spec(data, target=target, graph=graph, out=out).table, out.parent / api.SCHEMA
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
    say(f"read it, then: crda-spec plan {out}, crda-run {out}\n")
