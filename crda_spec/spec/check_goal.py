"""What a goal, and a student that predicts a quantile, cannot go together with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crda_spec.errors import Complaint, inconsistent, show
from crda_spec.regressors import BaseRegressor
from crda_spec.spec.recipes import QUANTILES

_ABLE = f"{', '.join(QUANTILES[:-1])} or {QUANTILES[-1]}"


def goal_complaints(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Everything about goal, objective and quantile; a section that could not be read is absent from `parts`."""
    goal, recipe, regressor = parts.get("goal"), parts.get("recipe"), parts.get("regressor")
    if goal != "mean" and recipe == "paper":
        what = f"recipe: paper is Algorithm 1, and goal: {goal} would change it"
        yield inconsistent("goal", what, "leave out one of them")
        return
    if regressor is None:
        return
    yield from _objective(regressor, goal)
    if regressor.quantile_level is not None and goal == "quantiles":
        yield from _students_gate(regressor.quantile_level, parts)
    yield from quantile_teacher_complaints(parts)


def _objective(regressor: BaseRegressor, goal: str | None) -> Iterator[Complaint]:
    """The student against the goal, and against itself."""
    if not regressor.learns_quantiles:
        if goal == "quantiles":
            what = f"goal: quantiles needs a regressor that predicts quantiles, and {show(regressor.kind)} does not"
            yield inconsistent("regressor.kind", what, f"use {_ABLE}")
        return
    objective, quantile = getattr(regressor, "objective", "mean"), getattr(regressor, "quantile", None)
    if objective == "mean" and goal == "quantiles":
        what = "goal: quantiles asks for a quantile, and this objective is the mean"
        yield inconsistent("regressor.objective", what, "leave it out, or write objective: quantile")
    elif objective == "mean" and quantile is not None:
        what = f"the objective is the mean, so there is no quantile {quantile:g} to predict"
        yield inconsistent("regressor.quantile", what, "add objective: quantile, or remove it")
    if objective == "quantile" and quantile is None:
        what = "a quantile is to be predicted, and nothing says which"
        yield inconsistent("regressor", what, "add for example quantile: 0.9")
    if objective == "quantile" and goal in ("mean", "simulate"):
        what = f"goal: {goal} has no use for a student that predicts a quantile"
        yield inconsistent("goal", what, "write goal: quantiles, or objective: mean")
    if objective == "quantile" and getattr(regressor, "monotone", False):
        what = "trees of a quantile set their leaves anew after they have grown, and then hold no signs"
        yield inconsistent("regressor.monotone", what, "leave monotone out, or use objective: mean")


def _students_gate(level: float, parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """The loss that a quantile is judged by, and the rows that stop it."""
    gate, labels = parts.get("gate"), parts.get("counterfactual")
    if gate is not None and (gate.metric != "pinball" or gate.quantile not in (None, level)):
        told = gate.metric if gate.metric != "pinball" else f"the pinball loss of the {gate.quantile:g}-quantile"
        what = f"the models predict the {level:g}-quantile, but are judged by {told}"
        path = "gate.metric" if gate.metric != "pinball" else "gate.quantile"
        yield inconsistent(path, what, f"use metric: pinball, quantile: {level:g}, or leave both out")
    if labels is not None and labels.watch == "synthetic":
        what = "synthetic rows are watched without their noise, and then have no quantiles"
        yield inconsistent("counterfactual.watch", what, "use watch: real")


def quantile_teacher_complaints(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Noise is what the mean leaves over, so nobody who teaches may predict a quantile."""
    labels, student, path = parts.get("counterfactual"), parts.get("regressor"), "counterfactual.teacher"
    augmenter = parts.get("augmenter")
    if labels is None or (augmenter is not None and not augmenter.asks_teacher):
        return
    of_quantile = student is not None and student.quantile_level is not None
    teacher = labels.teacher
    why = "predicts a quantile, and noise is what the mean leaves over"
    if teacher.kind != "committee":
        if of_quantile:
            what = f"a {teacher.kind} teacher is of the regressor's own kind: it {why}"
            yield inconsistent(f"{path}.kind", what, "use teacher: {kind: committee}")
        return
    for position, member in enumerate(teacher.members):
        if of_quantile if member.kind == "student" else member.quantile_level is not None:
            what = f"the member {show(member.kind)} {why}"
            yield inconsistent(f"{path}.members.{position}", what, "seat models of the mean only")
