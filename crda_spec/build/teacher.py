"""The teacher of a spec."""

from __future__ import annotations

from crda_spec.build.regressor import build_member
from crda_spec.errors import SpecError
from crda_spec.regressors import Regressor
from crda_spec.regressors.teachers import (
    BaggedTeacher,
    CommitteeTeacher,
    CrossfitTeacher,
    SingleTeacher,
    TeacherRule,
)
from crda_spec.spec.base import Strict
from crda_spec.spec.run import RunSpec
from crda_spec.spec.teacher import CommitteeTeacher as CommitteeSpec
from crda_spec.spec.teacher import Teacher


def build_teacher(spec: RunSpec) -> TeacherRule:
    """The rule of `counterfactual.teacher`."""
    return build_rule(spec, spec.counterfactual.teacher)


def build_rule(spec: RunSpec, teacher: Teacher) -> TeacherRule:
    """The rule of a teacher that is written somewhere in the spec."""
    match teacher.kind:
        case "single":
            return SingleTeacher()
        case "crossfit":
            blocks = teacher.folds == "blocks"
            return CrossfitTeacher(folds=_count(teacher.folds), repeats=teacher.repeats, in_blocks=blocks)
        case "bagged":
            return BaggedTeacher(members=teacher.members)
        case _:
            blocks = teacher.folds == "blocks"
            return CommitteeTeacher(members=_members(spec, teacher), folds=_count(teacher.folds), in_blocks=blocks)


def _count(folds: int | str) -> int | None:
    return folds if isinstance(folds, int) else None


def _members(spec: RunSpec, teacher: CommitteeSpec) -> tuple[Regressor | None, ...]:
    """None stands for the student, whose models may then serve the gate as well.

    A member that is written as the student is written is the student, unless tuning changes the student's settings.
    """
    own = spec.regressor if spec.tune.kind == "none" else None
    return tuple(
        None if one.kind == "student" or one == own else _member(one, position)
        for position, one in enumerate(teacher.members)
    )


def _member(member: Strict, position: int) -> Regressor:
    try:
        return build_member(member)
    except SpecError as error:
        path = f"counterfactual.teacher.members.{position}"
        raise SpecError(one.moved("regressor", path) for one in error.complaints) from error
