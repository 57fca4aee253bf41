"""The verdict in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crda_spec.gate.gate import Gate
from crda_spec.records import FoldResult, VerdictReason

ABSTENTIONS: Mapping[VerdictReason, str] = {
    "no_perturbable_features": "No feature may be perturbed, so nothing was augmented: use the plain model.",
    "graph_falsified": (
        "The data contradict the declared graph, so nothing it promises was used and nothing was augmented: "
        "use the plain model."
    ),
    "off_support": (
        "Every new row lay off the data, so the support guard dropped them all and nothing was augmented: "
        "use the plain model, or move features less far."
    ),
    "gate_disabled": (
        "UNGATED: the spec switches the gate off, so nobody tested whether augmentation helps or hurts. "
        "The augmented model is handed over all the same; set gate.enabled to true before you rely on it."
    ),
}
_LEADS: Mapping[VerdictReason, str] = {
    "improved": "Augmentation helps",
    "worse": "Augmentation hurts",
    "unstable_partition": "The partition is not stable",
    "no_gain_worth_having": "No gain worth having",
    "cannot_pass": "Not enough gain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the sentence speaks of."""

    results: tuple[FoldResult, ...]
    p_value: float
    effect: float
    reason: VerdictReason
    interval: tuple[float, float] | None
    level: float
    rows: int
    wanted: int | None
    planned: int
    stopped_fits: int


def sentence(gate: Gate, told: Told) -> str:
    """What was seen, what it means, and what to do."""
    better = sum(result.augmented < result.plain for result in told.results)
    name = gate.metric.name.upper()
    compared = f"p = {told.p_value:.4g} {'<' if told.p_value < gate.alpha else '>='} {gate.alpha:g}"
    asked = f", a gain of {gate.min_effect:g} % or more asked for" if gate.min_effect else ""
    much = ""
    if gate.min_effect:
        enough = sum(result.augmented < (1.0 - gate.min_effect / 100.0) * result.plain for result in told.results)
        much = f" (by more than {gate.min_effect:g} % in {enough})"
    folds = f"held-out {name} fell in {better} of {len(told.results)} folds{much}, {told.effect:+.1f} % on average"
    lead = _LEADS.get(told.reason, "No convincing gain")
    advice = "use the augmented model." if told.reason == "improved" else "keep the plain model."
    return f"{lead}: {folds} ({compared}{asked}): {advice}{_asides(told)}"


def _asides(told: Told) -> str:
    said = ""
    idle = sum(not result.perturbed for result in told.results)
    if idle:
        said += f" In {idle} {'fold' if idle == 1 else 'folds'} no feature could be perturbed."
    if told.reason == "no_gain_worth_having" and told.interval is not None:
        said += f" The change is {told.interval[0]:+.1f} % or more ({told.level:.0%} interval)."
    if len(told.results) < told.planned:
        ahead, fits = told.planned - len(told.results), told.stopped_fits
        folds = f"{ahead} more {'fold' if ahead == 1 else 'folds'}"
        said += f" Stopped there: {folds} could not have made it pass ({fits} {'fit' if fits == 1 else 'fits'} saved)."
    if told.reason == "not_significant":
        said += _wanted(told)
    return said


def _wanted(told: Told) -> str:
    if told.wanted is None:
        return ""
    times = told.wanted / told.rows
    if times > 100.0:
        return " More than 100 times as many rows would be needed to decide."
    return f" About {_rounded(told.wanted)} training rows instead of {told.rows} would decide."


def _rounded(rows: int) -> int:
    """Two digits: it is a guess."""
    unit: int = 10 ** max(0, len(str(rows)) - 2)
    return -(-rows // unit) * unit
