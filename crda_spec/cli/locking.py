"""What a spec depends on right now, as `spec.lock` writes it down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crda_spec.audit.lock import lock_complaints, lock_file, make_lock, read_lock
from crda_spec.audit.record import graph_record, platform_record, versions
from crda_spec.check import known_graph
from crda_spec.errors import SpecError
from crda_spec.spec.render import portable, resolved

if TYPE_CHECKING:
    from crda_spec.pipeline import Plan
    from crda_spec.records import DrawnGraph
    from crda_spec.spec.load import Draft
    from crda_spec.spec.run import RunSpec


def graph_of(spec: RunSpec, draft: Draft, drawn: DrawnGraph | None) -> dict[str, Any]:
    """The graph's hash, its language and where it was written. drawn: None before a search has found one."""
    written: Any = spec.causal.graph
    if written is None:
        return graph_record(drawn, source="discovered", language=None, file=None)
    path = getattr(written, "path", None)
    file = None if path is None else draft.file.parent / path
    return graph_record(drawn, source="spec" if file is None else file.name, language=written.kind, file=file)


def lock_now(spec: RunSpec, draft: Draft, plan: Plan) -> tuple[dict[str, Any], Plan]:
    """The lock as it would be written now, and the plan with its rows already read."""
    drawn = None if spec.causal.graph is None else known_graph(spec, draft).drawn
    split, report = plan.load()
    lock = make_lock(
        spec=resolved(portable(spec), draft),
        split=split,
        report=report,
        graph=graph_of(spec, draft, drawn),
        versions=versions(*_others(spec)),
        platform=platform_record(),
    )
    return lock, replace(plan, load=lambda: (split, report))


def _others(spec: RunSpec) -> Iterator[str]:
    """The packages that only some runs use, as the record lists them."""
    if spec.regressor.kind == "catboost":
        yield "catboost"
    if getattr(spec.tune, "augmentation", None) is not None:
        yield "optuna"


def locked_plan(spec: RunSpec, draft: Draft, plan: Plan, file: Path) -> Plan:
    """The plan, if all is as it was locked; else a SpecError with every value that is not."""
    where = lock_file(file)
    lock = read_lock(where)
    now, ready = lock_now(spec, draft, plan)
    complaints = lock_complaints(lock, now, where)
    if complaints:
        raise SpecError(complaints)
    return ready
