"""The finished runs below a folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crda_spec.audit.open_run import read_record, seal_findings
from crda_spec.audit.runfolder import MARKER
from crda_spec.errors import OutputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """What a list of runs says of one."""

    folder: str  # from where the list was asked for
    name: str = ""
    created: str = ""
    decision: str = ""
    reason: str = ""
    metric: str = ""
    change_percent: float | None = None  # of the test loss of one model by the augmentation, used or not
    sha256: str = ""
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
        if inner.is_dir() and not inner.is_symlink() and not (inner / MARKER).exists():
            yield from _records(inner)


def _listed(file: Path) -> ListedRun:
    folder = str(file.parent)
    try:
        record = read_record(file.parent)
    except OutputError as error:
        return ListedRun(folder=folder, trouble=error.complaints[0].what)
    broken = [one.what for one in seal_findings(record)]
    if broken:
        return ListedRun(folder=folder, trouble=broken[0])
    change = record["test"]["change_percent"]
    return ListedRun(
        folder=folder,
        name=record["name"],
        created=record["volatile"]["created"],
        decision=record["verdict"]["decision"],
        reason=record["verdict"]["reason"],
        metric=record["test"]["metric"],
        change_percent=None if change is None else float(change),
        sha256=record["sha256"],
        models=(record["ensemble"] or {"models": 1})["models"],
    )
