"""`crda-spec init DATA --target y`: a first spec, commented, that runs as it is."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crda_spec.cli.options import ENDINGS, AsJson, check_new_file, print_json, say
from crda_spec.errors import Complaint, GraphError, Place, SpecError, show

if TYPE_CHECKING:
    from crda_spec.spec.scaffold import GraphPart, Scaffold

_SCHEMA = "crda-spec.v1.schema.json"
_LANGUAGES = {ending: form for ending, form in ENDINGS.items() if form not in ("svg", "png", "edges")}
_LANGUAGES |= {".txt": "edges"}


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
    check_new_file(out, "choose another file with --out")
    from crda_spec.audit.runfolder import writing
    from crda_spec.spec.scaffold import folds_for, scaffold, spec_text
    from crda_spec.spec.schema import spec_schema_text

    table = scaffold(data, target, written=_relative(data, out))
    if table.training < (needed := folds_for(table)):
        what = f"{table.units} rows that differ are too few: the gate needs {needed} to train on, beside those to test"
        raise SpecError(Complaint(code="too-few-rows", place=Place(file=data.name), what=what, hint="gather more rows"))
    part = None if graph is None else _graph_part(graph, out, table)
    run_name = re.sub(r"[^A-Za-z0-9._-]+", "_", data.stem).lstrip("._-")[:64] or "run"
    named = {"name": run_name, "schema": _SCHEMA}
    text = spec_text(table, **named, graph=part)
    certified = _certified(text, out)
    if part is not None:
        text = spec_text(table, **named, graph=replace(part, said=certified))
    schema = out.parent / _SCHEMA
    with writing(out, "choose another file", "--out"):
        out.write_text(text, encoding="utf-8")
        if not schema.exists():
            schema.write_text(spec_schema_text(), encoding="utf-8")
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


def _relative(file: Path, out: Path) -> str:
    """The file's path from the spec's folder, as a spec writes it."""
    return Path(os.path.relpath(file, out.parent)).as_posix()


def _graph_part(file: Path, out: Path, table: Scaffold) -> GraphPart:
    """The graph's section; nodes that are no columns are taken for unmeasured ones."""
    from crda_spec.spec.scaffold import GraphPart, graph_nodes

    language = _LANGUAGES.get(file.suffix.casefold())
    if language is None:
        what, hint = f"the ending of '{file.name}' tells no language", f"use one of {', '.join(_LANGUAGES)}"
        raise GraphError(Complaint(code="unknown-ending", path="--graph", what=what, hint=hint))
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        what = f"{show(str(file))} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
        complaint = Complaint(code="unreadable-graph", path="--graph", what=what, hint="check the file")
        raise GraphError(complaint) from error
    edges = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    columns = {one.name for one in table.columns} | set(table.left_out)
    unknown, unsaid = graph_nodes(edges if language == "edges" else text, language, file=file.name, columns=columns)
    settings: dict[str, Any] = {"kind": language}
    settings |= {"edges": edges} if language == "edges" else {"path": _relative(file, out)}
    settings |= {"latent": list(unsaid)} if unsaid else {}
    return GraphPart(settings=settings, latent=unknown)


def _certified(text: str, out: Path) -> tuple[str, ...]:
    """What the declared graph says of each feature; raises whatever is wrong with the spec before it is written."""
    from crda_spec.records import movable
    from crda_spec.report.words.causal import movable_words, reason_sentence
    from crda_spec.spec.check import known_graph, load_spec

    with tempfile.TemporaryDirectory(prefix="crda-init-") as folder:
        draft_file = Path(folder) / out.name
        draft_file.write_text(text, encoding="utf-8")
        spec, draft = load_spec(draft_file, environ={}, base=out.parent)
    if spec.causal.graph is None:
        return ()
    verdicts = known_graph(spec, draft).verdicts
    free = movable(verdicts)
    head = f"The certificate: {movable_words(verdicts)}{': ' if free else ''}{', '.join(free)}."
    return (
        head,
        *(f"fixed: {one.name}: {reason_sentence(one.held or one.reason)}" for one in verdicts if not one.perturbable),
    )
