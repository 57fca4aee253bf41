"""What differs between two JSON values, two specs or two runs; and the finished runs below a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crda_spec.audit.runfolder import PARTIAL
from crda_spec.errors import show

Change = tuple[str, Any, Any]  # the path, then, now


class _Absent:
    """Stands for a key that one of the two lacks."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()

# The parts of a run that are compared, in the order in which one leads to the next.
_INPUTS = ("seed", "data", "graph", "versions", "platform")
_FOUND = {
    "certificate": ("basis", "perturbed", "kept", "largest"),
    "falsification": ("outcome",),
    "teacher": ("kind", "members"),
    "counterfactuals": ("rows", "basis", "retention", "weight", "moved", "dropped"),
    "regressor": None,
    "verdict": ("decision", "reason", "p_value", "effect_percent", "alpha", "metric", "test"),
    "test": ("metric", "rows", "plain", "augmented", "change_percent", "interval_percent"),
    "final_model": None,
}


def _same(then: object, now: object) -> bool:
    return type(then) is type(now) and then == now


def changes(
    then: Any,  # noqa: ANN401 - any JSON
    now: Any,  # noqa: ANN401
    path: str = "",
    *,
    same: Callable[[Any, Any], bool] = _same,
    order: Callable[[dict[str, Any]], Iterable[str]] = iter,
) -> Iterator[Change]:
    """Every value that differs, with its path; ABSENT where one of the two has none."""
    inner: Iterable[tuple[object, Any, Any]]
    if isinstance(then, dict) and isinstance(now, dict):
        inner = ((key, then.get(key, ABSENT), now.get(key, ABSENT)) for key in order({**now, **then}))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        inner = zip(range(len(then)), then, now, strict=True)
    else:
        if not same(then, now):
            yield path, then, now
        return
    for key, one, other in inner:
        yield from changes(one, other, f"{path}.{key}" if path else str(key), same=same, order=order)


def said(value: object) -> str:
    """A value as a list of changes shows it."""
    return "absent" if value is ABSENT else f"{value:.6g}" if isinstance(value, float) else show(value)


def run_changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, list[Change]]:
    """What differs between the records of two runs, part by part: what went in, and what came out."""
    found = {"spec": list(changes(then["spec"]["resolved"], now["spec"]["resolved"]))}
    found |= {part: list(changes(then.get(part), now.get(part), "" if part != "seed" else "seed")) for part in _INPUTS}
    for part, keys in _FOUND.items():
        found[part] = list(changes(_only(then.get(part), keys), _only(now.get(part), keys), "" if keys else part))
        if part == "test":
            found["ensemble"] = list(changes(_ensemble(then), _ensemble(now)))
    return {part: listed for part, listed in found.items() if listed}


def _ensemble(record: Mapping[str, Any]) -> dict[str, Any]:
    """How many models the run hands over, and what they score together."""
    recorded = record.get("ensemble")
    if recorded is None:
        return {"models": 1}
    losses = {
        f"{one['arm']} together": one["loss"] for one in recorded["scores"] if one["models"] == recorded["models"]
    }
    return {"models": recorded["models"], **losses}


def _only(part: Any, keys: tuple[str, ...] | None) -> Any:  # noqa: ANN401 - any JSON
    """The keys that a reader wants to hear of."""
    return {key: part.get(key) for key in keys} if keys and isinstance(part, dict) else part


def verdict_sentence(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """How the verdict changed, in one sentence."""
    one, other = then["verdict"], now["verdict"]
    if one["decision"] == other["decision"]:
        same = f"The verdict is the same: {one['decision']} ({one['reason']}"
        return f"{same})." if one["reason"] == other["reason"] else f"{same}, now {other['reason']})."
    return (
        f"The verdict changed from {one['decision']} ({one['reason']}, {_p(one)}) "
        f"to {other['decision']} ({other['reason']}, {_p(other)})."
    )


def _p(verdict: Mapping[str, Any]) -> str:
    return "nothing to test" if verdict["p_value"] is None else f"p = {verdict['p_value']:.4g}"


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
            change_percent=None if (change := record["test"]["change_percent"]) is None else float(change),
            sha256=str(record["sha256"]),
            models=int((record.get("ensemble") or {"models": 1})["models"]),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        return ListedRun(folder=folder, trouble=f"{type(error).__name__}: {error}")
