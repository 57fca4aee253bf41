"""The mean of one model per fold, all of the student's own kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crda_spec.records import Table, Teacher
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.regressors.teachers._protocol import FoldContext, Seat
from crda_spec.regressors.teachers.fold_models import gate_lines, own_lines, weighed_teacher

# Of the member of all rows, where blocks leave the others two thirds of them each. That one is the plain model itself,
# so that without the others there would be nothing to teach.
_WHOLE_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class CrossfitTeacher:
    """Each member predicts its own fold without having seen it; the teacher's word is the mean of all members.

    Repeats average over more models. On the gate's folds a repeat starts the same folds from another seed, so that its
    members can be shared too; with folds of its own, each repeat draws new ones.
    """

    kind: ClassVar[str] = "crossfit"
    predicts_unseen: ClassVar[bool] = True
    folds: int | None = None  # None: the gate's
    repeats: int = 1
    in_blocks: bool = False

    @property
    def _all_seats(self) -> tuple[Seat, ...]:
        return tuple(Seat(repeat=repeat) for repeat in range(self.repeats))

    @property
    def seats(self) -> tuple[Seat, ...]:
        """One a repeat."""
        return self._all_seats if self.folds is None else ()

    def fits(self, parts: int) -> int:
        """One member a fold and repeat."""
        return self.repeats * (parts if self.folds is None else self.folds)

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """Costs one fit a fold and repeat, less what is ready."""
        if self.folds is None:
            lines = gate_lines(train, fitter, self._all_seats, plain, context)
        else:
            lines = own_lines(train, fitter, self._all_seats, self.folds, context)
        weights = [1.0 / len(lines)] * len(lines)
        return weighed_teacher(self.kind, train, lines, weights, whole_share=_WHOLE_SHARE)
