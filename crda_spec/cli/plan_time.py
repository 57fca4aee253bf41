"""What `crda-spec plan` says of time: which each fold will be fitted on, and which later one it will be scored on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crda_spec.records import TimeOrder


def time_content(order: TimeOrder | None) -> dict[str, Any]:
    """For `--json`; nothing at all when rows have no order."""
    from dataclasses import asdict

    return {} if order is None else {"time": asdict(order)}


def time_lines(told: dict[str, Any] | None) -> Iterator[tuple[str, int]]:
    """For people: each line with its indent."""
    if told is None:
        return
    test = "" if told["test"] is None else f", {_span(told['test'])} to test"
    tuning = "" if told["tuning"] is None else f", {_span(told['tuning'])} to tune"
    yield f"time: rows in the order of {told['column']}; {_span(told['train'])} to train{test}{tuning}", 2
    for fold in told["folds"]:
        yield f"fold {fold['fold']}: fitted up to {fold['trained']['last']}, scored on {_span(fold['held_out'])}", 4


def _span(span: dict[str, str]) -> str:
    return span["first"] if span["first"] == span["last"] else f"{span['first']} to {span['last']}"
