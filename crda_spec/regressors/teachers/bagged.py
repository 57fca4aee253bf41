"""The mean of models on bootstrap samples of the rows (Breiman 1996, "Bagging predictors")."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.data.folds import group_numbers
from crda_spec.data.raw import counted
from crda_spec.errors import Complaint, DataError
from crda_spec.records import IntArray, Table, Teacher, TeacherFamily
from crda_spec.regressors._protocol import label_of
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.regressors.teachers._protocol import FoldContext, TeacherRule
from crda_spec.regressors.teachers.fold_models import unseen_error
from crda_spec.seeds import integer_seed, stream


class BaggedTeacher(TeacherRule):
    """Every member trains on a bag of rows drawn with repetition, whole groups when rows belong together.

    Its out-of-fold prediction of a row is the mean of the members whose bag lacks that row. About a third of the rows
    is missing from each bag, but with few bags some row would be in all of them: see `bags`.
    """

    kind: Literal["bagged"] = Field(
        "bagged",
        description=(
            "The mean of models that each train on rows drawn with repetition (whole groups, where rows are grouped); "
            "a row's out-of-fold prediction comes from the members that did not draw it."
        ),
    )
    members: int = Field(10, ge=2, le=200, description="How many models.")

    def fits(self, parts: int) -> int:
        """One a bag."""
        return self.members

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """Costs one fit a bag."""
        seed, index = context.seed, context.index
        unit = group_numbers(train)
        drawn = bags(int(unit.max()) + 1, self.members, rng=stream(seed, "bags", *index))
        rows_of = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])  # by unit
        members: list[FittedModel] = []
        total, voices = np.zeros(len(train)), np.zeros(len(train))
        for number, bag in enumerate(drawn):
            rows = np.sort(np.concatenate([rows_of[one] for one in bag.tolist()]))
            # Copies of a row belong together: early stopping sets whole groups aside, and were copies free, a member
            # would be watched on rows it trains on.
            table = train.take(rows)
            table = replace(table, groups=rows.copy()) if table.groups is None else table
            member = fitter.fit(table, seed=integer_seed(seed, "bag", *index, number))
            unseen = np.flatnonzero(~np.isin(unit, bag))
            total[unseen] += member.predict(train.x[unseen])
            voices[unseen] += 1
            members.append(member)
        out_of_fold = total / voices  # every row is missing from at least one bag
        in_sample = np.mean([member.predict(train.x) for member in members], axis=0)
        kind, error = label_of(fitter.regressor), unseen_error(train, out_of_fold)
        return Teacher(
            kind=self.kind,
            members=tuple(members),
            in_sample=in_sample,
            out_of_fold=out_of_fold,
            weights=(1.0 / len(members),) * len(members),
            names=tuple(f"{kind} on bag {number}" for number in range(1, len(members) + 1)),
            families=(TeacherFamily(name=kind, fitted=len(members), weight=1.0, error=error),),
        )


def bags(units: int, count: int, *, rng: np.random.Generator) -> tuple[IntArray, ...]:
    """`count` samples with repetition of `units` rows or groups, such that each unit is missing from one at least.

    A unit that every bag drew has no out-of-bag prediction, and its residual would be that of a model which has seen
    it. So it leaves the bag with the most different units, and that bag repeats others of its units instead.
    """
    if units < 2 or count < 2:
        what = f"{counted(count, 'bag')} drawn from {counted(units, 'row')} (or groups) cannot leave each of them out"
        path = "counterfactual.teacher.members" if count < 2 else "counterfactual.teacher"
        hint = "use at least 2 members" if count < 2 else "use teacher: {kind: single}, or more data"
        raise DataError(Complaint(code="too-few-bags", path=path, what=what, hint=hint))
    drawn = rng.integers(0, units, size=(count, units))
    present = np.zeros((count, units), dtype=bool)
    present[np.arange(count)[:, None], drawn] = True
    for unit in np.flatnonzero(present.all(axis=0)).tolist():
        fullest = int(present.sum(axis=1).argmax())
        present[fullest, unit] = False
        others = np.flatnonzero(present[fullest])
        if not len(others):  # this bag held nothing else, and no other bag does: any other unit will do
            others = np.array([(unit + 1) % units])
            present[fullest, others] = True
        gone = drawn[fullest] == unit
        drawn[fullest, gone] = rng.choice(others, size=int(gone.sum()))
    return tuple(bag.astype(np.int64) for bag in drawn)
