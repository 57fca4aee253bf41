"""What differs between two JSON values, two specs or two runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from crda_spec.errors import show
from crda_spec.report.words.causal import graph_words

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


def changes(
    then: Any,  # noqa: ANN401 - any JSON
    now: Any,  # noqa: ANN401
    path: str = "",
    *,
    same: Callable[[Any, Any], bool] = lambda then, now: type(then) is type(now) and then == now,
    order: Callable[[dict[str, Any]], Iterable[str]] = iter,
) -> Iterator[Change]:
    """Every value that differs, with its path; ABSENT where one of the two has none."""
    inner: Iterable[tuple[object, Any, Any]]
    if isinstance(then, dict) and isinstance(now, dict):
        inner = ((key, then.get(key, ABSENT), now.get(key, ABSENT)) for key in order({**now, **then}))
    elif isinstance(then, list) and isinstance(now, list):
        inner = _aligned(then, now)
    else:
        if not same(then, now):
            yield path, then, now
        return
    for key, one, other in inner:
        yield from changes(one, other, f"{path}.{key}" if path else str(key), same=same, order=order)


def _aligned(then: list[Any], now: list[Any]) -> Iterator[tuple[object, Any, Any]]:
    """Two lists value by value: by position, or, where text came in between or was left out, by what stayed."""
    words = all(
        isinstance(one, str) or (isinstance(one, list) and all(isinstance(cell, str) for cell in one))
        for one in (*then, *now)
    )
    if len(then) == len(now) and not words:
        yield from zip(range(len(then)), then, now, strict=True)
        return
    before, after = ([json.dumps(one, sort_keys=True) for one in side] for side in (then, now))
    for _, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        pairs = zip_longest(then[first:last], now[start:end], fillvalue=ABSENT)
        for at, (one, other) in enumerate(pairs):
            yield (first if first + at < last or start + at >= end else start) + at, one, other


def said(then: object, now: object) -> tuple[str, str]:
    """Two values that differ, as a list of changes shows them: short, unless they would look the same."""

    def short(value: object) -> str:
        return "absent" if value is ABSENT else f"{value:.6g}" if isinstance(value, float) else show(value)

    return (short(then), short(now)) if short(then) != short(now) else (repr(then), repr(now))


def run_changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, list[Change]]:
    """What differs between the records of two runs, part by part: what went in, and what came out."""
    parts = {"spec": list(changes(then["spec"]["resolved"], now["spec"]["resolved"]))}
    parts |= {
        part: list(changes(_part(then, part), _part(now, part), "" if part != "seed" else part)) for part in _INPUTS
    }
    for part, keys in _FOUND.items():
        parts[part] = list(changes(_only(then.get(part), keys), _only(now.get(part), keys), "" if keys else part))
        if part == "test":
            parts["ensemble"] = list(changes(_ensemble(then), _ensemble(now)))
    return {part: listed for part, listed in parts.items() if listed}


def _part(record: Mapping[str, Any], part: str) -> Any:  # noqa: ANN401 - any JSON
    """A part of what went in; of a graph also every edge."""
    more = graph_words(record["certificate"]["graph"]) if part == "graph" else {}
    return {**record[part], **more} if more else record[part]


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
    """The keys that a reader wants to hear of; none of a part that there is not."""
    if keys is None:
        return part
    return {} if part is None else {key: part.get(key) for key in keys}


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
