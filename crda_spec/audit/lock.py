"""`spec.lock`: what a run depends on, written down before it is run, so that `--locked` can refuse anything else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crda_spec.audit.canonical import canonical_json, plain
from crda_spec.audit.compare import changes, said
from crda_spec.audit.record import data_record
from crda_spec.errors import Complaint, DataError, OutputError, Place, show
from crda_spec.records import DataReport, Split

LOCK_VERSION = 1
_PARTS = ("spec", "data", "graph", "versions", "platform")


def lock_file(spec: Path) -> Path:
    """`spec.lock` beside `spec.yaml`."""
    return spec.with_suffix(".lock")


def make_lock(
    *,
    spec: Mapping[str, Any],
    split: Split,
    report: DataReport,
    graph: Mapping[str, Any],
    versions: Mapping[str, str],
    platform: Mapping[str, str],
) -> dict[str, Any]:
    """All that the numbers of a run depend on. spec: as resolved, without what changes no number."""
    return {
        "lock_version": LOCK_VERSION,
        "spec": plain(spec),
        "data": plain(data_record(split, report)),
        "graph": dict(graph),
        "versions": dict(versions),
        "platform": dict(platform),
    }


def write_lock(file: Path, lock: Mapping[str, Any]) -> None:
    """Canonical JSON: equal locks are equal bytes."""
    try:
        file.write_text(canonical_json(lock), encoding="utf-8")
    except OSError as error:
        what = f"cannot write '{file}': {(error.strerror or str(error)).lower()}"
        raise OutputError(Complaint(code="cannot-write", what=what, hint="choose another file with --out")) from error


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
            what=f"{'' if part == 'spec' else f'{part} {path}: '}{said(then)} when locked, {said(today)} now",
            hint=hint,
        )
        for part in _PARTS
        for path, then, today in changes(lock[part], plain(now)[part])
    ]
