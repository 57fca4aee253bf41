"""The mean of one model per fold, all of the student's own kind."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from crda_spec.records import Table, Teacher
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.regressors.teachers._protocol import FOLDS, FoldContext, Folds, Seat, TeacherRule
from crda_spec.regressors.teachers.fold_models import gate_lines, own_lines, weighed_teacher

# Of the member of all rows, where blocks leave the others two thirds of them each. That one is the plain model itself,
# so that without the others there would be nothing to teach.
_WHOLE_SHARE = 0.75


class CrossfitTeacher(TeacherRule):
    """Each member predicts its own fold without having seen it; the teacher's word is the mean of all members.

    Repeats average over more models. On the gate's folds a repeat starts the same folds from another seed, so that its
    members can be shared too; with folds of its own, each repeat draws new ones.
    """

    kind: Literal["crossfit"] = Field(
        "crossfit",
        description="The mean of one model per fold; it also gives predictions for rows that a member has not seen.",
    )
    folds: Folds = Field("gate", description=FOLDS)
    repeats: int = Field(
        1,
        ge=1,
        le=20,
        description=(
            "How many models for each fold, from different seeds; with a number of folds, each repeat draws new folds."
        ),
    )

    @property
    def _all_seats(self) -> tuple[Seat, ...]:
        return tuple(Seat(repeat=repeat) for repeat in range(self.repeats))

    @property
    def in_blocks(self) -> bool:
        """Whether `folds` says so."""
        return self.folds == "blocks"

    @property
    def seats(self) -> tuple[Seat, ...]:
        """One a repeat."""
        return self._all_seats if isinstance(self.folds, str) else ()

    def fits(self, parts: int) -> int:
        """One member a fold and repeat."""
        return self.repeats * (parts if isinstance(self.folds, str) else self.folds)

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """Costs one fit a fold and repeat, less what is ready."""
        if isinstance(self.folds, str):
            lines = gate_lines(train, fitter, self._all_seats, plain, context)
        else:
            lines = own_lines(train, fitter, self._all_seats, self.folds, context)
        weights = [1.0 / len(lines)] * len(lines)
        return weighed_teacher(self.kind, train, lines, weights, whole_share=_WHOLE_SHARE)
