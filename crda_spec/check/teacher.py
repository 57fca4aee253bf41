"""What the teacher's section asks that cannot be, or would change nothing."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from crda_spec.errors import Complaint, show
from crda_spec.spaces import SEEDLESS, TAKES_NO_WEIGHTS

_PATH = "counterfactual.teacher"
_MOST_FOLDS, _MOST_MEMBERS = 50, 20


def teacher_complaints(parts: Mapping[str, Any]) -> Iterator[Complaint]:
    """Folds and members out of range, folds that the gate cannot give, repeats of the same."""
    counterfactual = parts.get("counterfactual")
    if counterfactual is None:
        return
    teacher = counterfactual.teacher
    counted = teacher.kind in ("crossfit", "committee") and not isinstance(teacher.folds, str)
    if counted and not 2 <= teacher.folds <= _MOST_FOLDS:
        what = f"must be from 2 to {_MOST_FOLDS}, got {teacher.folds}"
        hint = "or write gate, for the gate's own folds"
        yield Complaint(code="out-of-range", path=f"{_PATH}.folds", what=what, hint=hint)
    if teacher.kind == "committee":
        tuned = "tune" in parts and parts["tune"].kind != "none"
        yield from _members(teacher.members, None if tuned else parts.get("regressor"))
        if "dataset" in parts and parts["dataset"].weights is not None:
            yield from _weightless(teacher.members, parts["dataset"].weights)
    if "gate" in parts and "partition" in parts:
        yield from _gate_folds(teacher, parts["partition"].residuals, parts["gate"].folds)
    if "regressor" in parts:
        in_time = "dataset" in parts and parts["dataset"].time is not None
        yield from _repeats(teacher, parts["regressor"].kind, in_time=in_time)


def _members(members: tuple[Any, ...], student: Any) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """student: the run's own regressor, unless tuning gives it other settings than are written."""
    if not 2 <= len(members) <= _MOST_MEMBERS:
        what = f"a committee needs from 2 to {_MOST_MEMBERS} members, got {len(members)}"
        hint = "leave the key out for the usual ones, or use teacher: {kind: crossfit}"
        yield Complaint(code="out-of-range", path=f"{_PATH}.members", what=what, hint=hint)
    seated: list[Any] = []
    for position, member in enumerate(members):
        model = student if member.kind == "student" and student is not None else member
        seated.append(model)
        if model in seated[:-1]:
            what, hint = f"this member is listed twice: {show(model.kind)} with the same settings", "list it once"
            yield Complaint(code="inconsistent", path=f"{_PATH}.members.{position}", what=what, hint=hint)
        if member.kind == "catboost" and importlib.util.find_spec("catboost") is None:
            what, hint = "the package catboost is not installed", 'install it with: pip install "crda-spec[catboost]"'
            yield Complaint(code="missing-extra", path=f"{_PATH}.members.{position}.kind", what=what, hint=hint)


def _weightless(members: tuple[Any, ...], column: str) -> Iterator[Complaint]:
    """Members that would be given row weights and ignore them."""
    for position, member in enumerate(members):
        if member.kind in TAKES_NO_WEIGHTS:
            what = f"the member {show(member.kind)} takes no row weights, got the column {show(column)}"
            hint = "use another member, or remove dataset.weights"
            yield Complaint(code="no-weights", path=f"{_PATH}.members.{position}.kind", what=what, hint=hint)


def _gate_folds(teacher: Any, screened: str, gate: int) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """Inside one of two gate folds only the other is left: nothing can be left out of it."""
    follows = teacher.kind in ("crossfit", "committee") and isinstance(teacher.folds, str)
    screens = teacher.kind == "single" and screened == "out_of_fold"
    if gate >= 3 or not (follows or screens):
        return
    who = "a teacher that follows the gate's folds" if follows else "a screen of out_of_fold residuals"
    hint = "use at least 3 folds" + (", or write a number as counterfactual.teacher.folds" if follows else "")
    what = f"{who} needs a gate of at least 3 folds, got {gate}"
    yield Complaint(code="too-few-folds", path="gate.folds", what=what, hint=hint)


def _repeats(teacher: Any, regressor: str, *, in_time: bool) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """in_time: the teacher's folds are blocks of time, which no repeat draws anew."""
    repeated = teacher.kind == "crossfit" and teacher.repeats > 1 and (isinstance(teacher.folds, str) or in_time)
    if not repeated or regressor not in SEEDLESS:
        return
    what = f"{teacher.repeats} repeats on the same folds give the same models: {show(regressor)} draws nothing"
    hint = "use repeats: 1" + (
        "" if in_time else ", or a number of teacher folds, which are drawn anew for each repeat"
    )
    yield Complaint(code="repeats-nothing", path=f"{_PATH}.repeats", what=what, hint=hint)
