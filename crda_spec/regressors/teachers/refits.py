"""The run's teacher, fitted again on other rows: one model a kind, what each kind weighs held fixed.

The mean of a kind's models that leave out a fold is nearly its one model of all rows, which costs a tenth as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crda_spec.data.folds import group_numbers, left_out_folds
from crda_spec.records import Array, Table, Teacher
from crda_spec.regressors._protocol import Regressor
from crda_spec.regressors.fit import Fill, Fitter
from crda_spec.regressors.teachers._protocol import Learner, TeacherRule
from crda_spec.regressors.teachers.fold_models import FoldTeacher, family_names, fit_learner
from crda_spec.seeds import integer_seed, stream

_FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Refits:
    """Whom to fit again."""

    learners: tuple[Learner, ...]  # those with weight
    weights: tuple[float, ...]  # one each, together 1
    regressor: Regressor  # the student's, with the settings that the run found
    fill: Fill

    @classmethod
    def of(cls, rule: TeacherRule, families: Mapping[str, float], regressor: Regressor, fill: Fill) -> Refits | None:
        """families: by name what each kind weighs in the run's teacher; None where the rule has no such kinds."""
        every = rule.all_learners if isinstance(rule, FoldTeacher) else (Learner(),)
        first = dict(zip(reversed(family_names(every, regressor)), reversed(every), strict=True))  # of its repeats
        weights = {name: weight for name, weight in families.items() if weight > 0}
        if not weights or not weights.keys() <= first.keys():
            return None
        learners = tuple(first[name] for name in weights)
        return cls(learners=learners, weights=tuple(weights.values()), regressor=regressor, fill=fill)

    def fit(self, train: Table, *, seed: int) -> Teacher:
        """The teacher of these rows."""
        fitter = Fitter(self.regressor, self.fill)
        members = tuple(
            fit_learner(fitter, train, learner, seed=integer_seed(seed, "whatif-fit", at))
            for at, learner in enumerate(self.learners)
        )
        return Teacher(
            kind="refit", members=members, in_sample=np.empty(0), out_of_fold=None, weights=self.weights, names=()
        )

    def unseen(self, train: Table, *, seed: int) -> Array:
        """(n,) what teachers of the other rows predict for each row."""
        predicted, everyone = np.empty(len(train)), np.arange(len(train))
        count = min(_FOLDS, int(group_numbers(train).max()) + 1)
        for at, held in enumerate(left_out_folds(train, count, rng=stream(seed, "whatif-folds"))):
            rest = train.take(np.setdiff1d(everyone, held))
            predicted[held] = self.fit(rest, seed=integer_seed(seed, "whatif-folds", at)).predict(train.x[held])
        return predicted
