"""`spec.lock`: what a run depends on, written before it, so that `--locked` can refuse anything else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crda_spec import records
from crda_spec.audit.canonical import canonical_json, plain
from crda_spec.audit.compare import changes, said
from crda_spec.audit.record import data_record, graph_of, platform_record, special_packages, versions
from crda_spec.audit.runfolder import writing
from crda_spec.errors import Complaint, DataError, Place, SpecError, show
from crda_spec.pipeline import Plan
from crda_spec.spec.check import known_graph
from crda_spec.spec.load import Draft
from crda_spec.spec.render import resolved
from crda_spec.spec.run import RunSpec

LOCK_VERSION = 1
_PARTS = ("spec", "data", "graph", "versions", "platform")


def lock_file(spec: Path) -> Path:
    """`spec.lock` beside `spec.yaml`."""
    return spec.with_suffix(".lock")


def make_lock(
    spec: Mapping[str, Any],
    data: tuple[records.Split, records.DataReport],
    graph: Mapping[str, Any],
    packages: Sequence[str],
) -> dict[str, Any]:
    """All that the numbers of a run depend on. spec: as resolved, without what changes no number."""
    return {
        "lock_version": LOCK_VERSION,
        "spec": plain(spec),
        "data": plain(data_record(*data)),
        "graph": dict(graph),
        "versions": versions(*packages),
        "platform": platform_record(),
    }


def write_lock(file: Path, lock: Mapping[str, Any]) -> None:
    """Canonical JSON: equal locks are equal bytes."""
    with writing(file, "choose another file with --out"):
        file.write_text(canonical_json(lock), encoding="utf-8")


def read_lock(file: Path) -> dict[str, Any]:
    """The lock; a complaint says how to write one when there is none."""
    place, again = Place(file=file.name), f"write it again: crda-spec lock {file.with_suffix('.yaml').name}"
    try:
        lock = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = f"write it: crda-spec lock {file.with_suffix('.yaml').name}"
        raise DataError(Complaint(code="no-lock", place=place, what="there is no such lock", hint=hint)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(Complaint(code="bad-lock", place=place, what=f"not a lock: {error}", hint=again)) from None
    if not isinstance(lock, dict) or lock.get("lock_version") != LOCK_VERSION or not set(_PARTS) <= set(lock):
        version = lock.get("lock_version") if isinstance(lock, dict) else None
        what = f"not a lock of version {LOCK_VERSION}" + ("" if version is None else f", but {show(version)}")
        raise DataError(Complaint(code="bad-lock", place=place, what=what, hint=again))
    return lock


def lock_complaints(lock: Mapping[str, Any], now: Mapping[str, Any], file: Path) -> list[Complaint]:
    """One complaint for each value that is not as it was when the spec was locked."""
    hint = f"undo the change, or lock anew: crda-spec lock {file.with_suffix('.yaml').name}"
    return [
        Complaint(
            code="locked",
            path=path if part == "spec" else "",
            place=None if part == "spec" else Place(file=file.name),
            what="{}{} when locked, {} now".format("" if part == "spec" else f"{part} {path}: ", *said(then, today)),
            hint=hint,
        )
        for part in _PARTS
        for path, then, today in changes(lock[part], plain(now)[part])
    ]


def lock_now(spec: RunSpec, draft: Draft, plan: Plan) -> tuple[dict[str, Any], Plan]:
    """The lock as it would be written now, and the plan with its rows already read."""
    drawn = None if spec.causal.graph is None else known_graph(spec, draft).drawn
    data = plan.load()
    searched = spec.tune.augmentation is not None and spec.tune.augmentation.kind == "tpe"
    augmenter = None if spec.augmenter is None else spec.augmenter.label
    packages = special_packages(spec.regressor.model_dump(), searched=searched, augmenter=augmenter)
    lock = make_lock(resolved(spec, draft, shared=True), data, graph_of(spec, draft, drawn), packages)
    return lock, replace(plan, load=lambda: data)


def locked_plan(spec: RunSpec, draft: Draft, plan: Plan, file: Path) -> Plan:
    """The plan, if all is as it was locked; else a SpecError with every value that is not."""
    where = lock_file(file)
    lock = read_lock(where)
    now, ready = lock_now(spec, draft, plan)
    complaints = lock_complaints(lock, now, where)
    if complaints:
        raise SpecError(complaints)
    return ready
