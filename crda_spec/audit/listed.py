"""The finished runs below a folder, each in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crda_spec.audit.runfolder import PARTIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """What a list of runs says of one."""

    folder: str  # from where the list was asked for
    name: str
    created: str
    decision: str
    reason: str
    metric: str
    change_percent: float | None  # of the test loss of one model by the augmentation, used or not
    sha256: str
    models: int = 1  # that the run hands over; more than one predict by their mean
    trouble: str = ""  # why the record cannot be read; then nothing else is known


def list_runs(folder: Path) -> list[ListedRun]:
    """Every run below the folder, the oldest first; those whose record cannot be read come last."""
    found = [_listed(record) for record in _records(folder)]
    return sorted(found, key=lambda run: (bool(run.trouble), run.created, run.folder))


def _records(folder: Path) -> Iterator[Path]:
    """Not inside a run, nor in what an interrupted run left behind."""
    if (folder / "record.json").is_file():
        yield folder / "record.json"
        return
    for inner in sorted(folder.iterdir()):
        if inner.is_dir() and not inner.is_symlink() and not inner.name.startswith(PARTIAL):
            yield from _records(inner)


def _listed(file: Path) -> ListedRun:
    folder = str(file.parent)
    try:
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return ListedRun(
            folder=folder,
            name=str(record["name"]),
            created=str(record["volatile"]["created"]),
            decision=str(record["verdict"]["decision"]),
            reason=str(record["verdict"]["reason"]),
            metric=str(record["test"]["metric"]),
            change_percent=_number(record["test"]["change_percent"]),
            sha256=str(record["sha256"]),
            models=int((record.get("ensemble") or {"models": 1})["models"]),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        trouble = f"{type(error).__name__}: {error}"
        return ListedRun(
            folder=folder,
            name="",
            created="",
            decision="",
            reason="",
            metric="",
            change_percent=None,
            sha256="",
            trouble=trouble,
        )


def _number(value: Any) -> float | None:  # noqa: ANN401 - JSON
    return None if value is None else float(value)
