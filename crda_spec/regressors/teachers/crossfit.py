"""The student's own kind: one model on all training rows, the paper's g, or the mean of one model per fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from crda_spec.records import Table, Teacher, TeacherFamily
from crda_spec.regressors._protocol import label_of
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.regressors.teachers._protocol import FOLDS, FoldContext, Folds, Learner, TeacherRule
from crda_spec.regressors.teachers.fold_models import CrossFit, FoldTeacher, Weighing


class SingleTeacher(TeacherRule):
    """The plain model itself; it has seen every row."""

    predicts_unseen: ClassVar[bool] = False

    kind: Literal["single"] = Field("single", description="One model fitted on all training rows, as in the paper.")

    def fits(self, parts: int) -> int:
        """None: the plain model is there anyway."""
        return 0

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """Costs no fit."""
        return Teacher(
            kind=self.kind,
            members=(plain,),
            in_sample=plain.predict(train.x),
            out_of_fold=None,
            weights=(1.0,),
            names=(label_of(fitter.regressor),),
            families=(TeacherFamily(name=label_of(fitter.regressor), fitted=1, weight=1.0, error=None),),
        )


class CrossfitTeacher(FoldTeacher):
    """Each member predicts its own fold without having seen it; the teacher predicts the mean of all members.

    Repeats average over more models. On the gate's folds a repeat starts the same folds from another seed, so that its
    members can be shared too; with folds of its own, each repeat draws new ones.
    """

    # Where blocks leave the others two thirds of the rows each. The member of all rows is the plain model itself, so
    # that without the others there would be nothing to teach.
    whole_share: ClassVar[float] = 0.75

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
    def all_learners(self) -> tuple[Learner, ...]:
        """One a repeat."""
        return tuple(Learner(repeat=repeat) for repeat in range(self.repeats))

    def weigh(self, train: Table, crossfits: Sequence[CrossFit]) -> Weighing:
        """All the same."""
        return Weighing([1.0 / len(crossfits)] * len(crossfits))
