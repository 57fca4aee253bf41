"""The paper's g: one model on all training rows."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from crda_spec.records import Table, Teacher, TeacherFamily
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.regressors.teachers._protocol import FoldContext, TeacherRule


class SingleTeacher(TeacherRule):
    """The plain model itself; it has seen every row."""

    predicts_unseen: ClassVar[bool] = False

    kind: Literal["single"] = Field("single", description="One model fitted on all training rows, as in the paper.")

    def fits(self, parts: int) -> int:
        """None: the plain model is there anyway."""
        del parts
        return 0

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """Costs no fit."""
        del fitter, context
        return Teacher(
            kind=self.kind,
            members=(plain,),
            in_sample=plain.predict(train.x),
            out_of_fold=None,
            weights=(1.0,),
            names=(plain.kind,),
            families=(TeacherFamily(name=plain.kind, fitted=1, weight=1.0, error=None),),
        )
