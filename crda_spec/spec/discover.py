"""Discovery alone: on the training rows of a spec, or on all rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crda_spec.data.raw import RawTable
from crda_spec.discovery.findings import Findings
from crda_spec.discovery.search import search, wanted_search
from crda_spec.errors import Complaint, CrdaError, SpecError, show
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import known_graph
from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec
from crda_spec.spec.scaffold import scaffold

_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".xlsx")  # as `crda-spec init` reads them

Found = tuple[Findings, tuple[str, ...]]  # and what became of the wishes


def is_table(file: Path) -> bool:
    """Whether the file's ending is that of a table, not of a spec."""
    return file.suffix.casefold() in _ENDINGS


def discover_in_spec(spec: RunSpec, draft: Draft, wishes: Mapping[str, Any]) -> Found:
    """Searches the training rows; compares with the declared graph where there is one."""
    wanted = wanted_search(spec.causal.discovery, **wishes)
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


def discover_in_table(
    data: Path | RawTable, target: str | None, wishes: Mapping[str, Any], *, overrides: Sequence[str] = ()
) -> Found:
    """Searches the rows of a table, under the rules that `crda-spec init` would write."""
    _check(data, target, overrides)
    wanted = wanted_search(None, **wishes)
    try:
        made = scaffold(data, target or "", folder=Path())
    except CrdaError as error:
        # There is no spec whose places could be meant.
        raise type(error)(
            replace(one, path="--target" if one.path == "dataset.target" else "") for one in error.complaints
        ) from error
    name = data.description if isinstance(data, RawTable) else data.name
    findings = search(made.table, wanted.discovery, source=f"rows of {name}", seed=0, stability=wanted.stability)
    return findings, (*made.notes(), *wanted.notes)


def _check(data: Path | RawTable, target: str | None, overrides: Sequence[str]) -> None:
    complaints = []
    name = data.description if isinstance(data, RawTable) else data.name
    if isinstance(data, Path) and not is_table(data):
        what = f"--target goes with a table, and the ending of {show(name)} is not that of one"
        hint = f"endings: {', '.join(_ENDINGS)}; a spec names its own target, and --set dataset.target=... changes it"
        complaints.append(Complaint(code="unknown-ending", what=what, hint=hint))
    elif target is None:
        what = f"{show(name)} does not say what to predict"
        hint = "add --target with the name of one of its columns"
        hint = "name a column: target=..." if isinstance(data, RawTable) else hint
        complaints.append(Complaint(code="no-target", what=what, hint=hint))
    if overrides:
        what = "--set changes a spec, and a table has none"
        complaints.append(Complaint(code="idle-option", what=what, hint="leave it out, or write a spec"))
    if complaints:
        raise SpecError(complaints)
