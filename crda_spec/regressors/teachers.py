"""Who labels the counterfactual rows: one model, or the mean of one model per fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from crda_spec.data.folds import folds
from crda_spec.records import Predictor, Table, Teacher
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.seeds import integer_seed, stream


class TeacherRule(Protocol):
    """How a teacher comes from training rows."""

    kind: ClassVar[str]

    @property
    def fits(self) -> int:
        """How many models it fits, beside the plain one."""
        ...

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, *, seed: int, index: tuple[int, ...]) -> Teacher:
        """`plain` is the model already fitted on all of `train`, so that it need not be fitted twice."""
        ...


@dataclass(frozen=True, slots=True)
class SingleTeacher:
    """The paper's g: the plain model itself."""

    kind: ClassVar[str] = "single"
    fits: ClassVar[int] = 0

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, *, seed: int, index: tuple[int, ...]) -> Teacher:
        """Costs no fit."""
        del fitter, seed, index
        return Teacher(kind=self.kind, members=(plain,), in_sample=plain.predict(train.x), out_of_fold=None)


@dataclass(frozen=True, slots=True)
class CrossfitTeacher:
    """The mean of one model per fold; each member predicts its own fold without having seen it."""

    kind: ClassVar[str] = "crossfit"
    folds: int = 5

    @property
    def fits(self) -> int:
        """One member a fold."""
        return self.folds

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, *, seed: int, index: tuple[int, ...]) -> Teacher:
        """Costs `folds` fits."""
        del plain
        members: list[Predictor] = []
        out_of_fold = np.empty(len(train))
        for number, held in enumerate(
            folds(len(train), self.folds, rng=stream(seed, "teacher-folds", *index), groups=train.groups)
        ):
            rest = np.setdiff1d(np.arange(len(train)), held)
            member = fitter.fit(train.take(rest), seed=integer_seed(seed, "teacher", *index, number))
            out_of_fold[held] = member.predict(train.x[held])
            members.append(member)
        in_sample = np.mean([member.predict(train.x) for member in members], axis=0)
        return Teacher(kind=self.kind, members=tuple(members), in_sample=in_sample, out_of_fold=out_of_fold)
