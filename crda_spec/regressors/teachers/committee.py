"""Several kinds of models, cross-fitted on the same folds and weighed by what they say of rows they have not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field

from crda_spec.errors import SpecError
from crda_spec.records import Array, Table, Teacher, relative, spread_of, weighted_mean
from crda_spec.regressors import AnyRegressor, GaussianProcess, Mlp, Regressor, Xgboost
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.regressors.teachers._protocol import FOLDS, FoldContext, Folds, Seat, TeacherRule
from crda_spec.regressors.teachers.fold_models import gate_lines, own_lines, unseen_error, weighed_teacher
from crda_spec.strict import Strict

# Where blocks leave their members two thirds of the rows, these only tell how the kinds are to be weighed: a quarter of
# the say for them cost the gate a quarter of the gain that it could see on Energy Efficiency (docs/teachers.md).
_WHOLE_SHARE = 1.0


class Student(Strict):
    """The run's own regressor as a member of the committee; its models may then serve the gate as well."""

    kind: Literal["student"] = Field(
        "student", description="The regressor of this spec, with its settings (tuned, if they are)."
    )


CommitteeMember = Annotated[Student | AnyRegressor, Field(discriminator="kind")]

# Cheap, different from each other, and at home with many rows as well as few (docs/teachers.md). A student with the
# settings of one of them takes its seat.
DEFAULT_COMMITTEE: tuple[CommitteeMember, ...] = (
    Xgboost(),
    # Two wide layers: where a table has hardly any noise they follow it better than three narrow ones.
    Mlp(averaging=0.99, hidden_layer_sizes=(256, 128)),
    # Smooth and linear at once, with a length scale for each feature.
    GaussianProcess(),
)


class CommitteeTeacher(TeacherRule):
    """Stacked regression with weights that are not negative (Breiman 1996), normalised to sum 1."""

    kind: Literal["committee"] = Field(
        "committee",
        description=(
            "Models of several kinds, one of each kind for each fold, weighed by non-negative least squares on their "
            "predictions for rows they have not seen."
        ),
    )
    members: tuple[CommitteeMember, ...] = Field(
        DEFAULT_COMMITTEE,
        description=(
            "The kinds, 2 to 20, with their settings; left out: xgboost, an mlp of two wide layers with averaged "
            "weights, and a gaussian_process."
        ),
    )
    folds: Folds = Field("gate", description=FOLDS)

    def with_student(self, student: Regressor | None) -> Self:
        """With the student in the place of a member that is written as it is, and every plugin loaded."""
        members = []
        for position, member in enumerate(self.members):
            try:
                members.append(Student() if isinstance(member, Student) or member == student else member.load())
            except SpecError as error:
                path = f"counterfactual.teacher.members.{position}"
                raise SpecError(one.moved("regressor", path) for one in error.complaints) from error
        return self.model_copy(update={"members": tuple(members)})

    @property
    def _all_seats(self) -> tuple[Seat, ...]:
        return tuple(Seat(regressor=None if isinstance(member, Student) else member) for member in self.members)

    @property
    def in_blocks(self) -> bool:
        """Whether `folds` says so."""
        return self.folds == "blocks"

    @property
    def seats(self) -> tuple[Seat, ...]:
        """One a kind."""
        return self._all_seats if isinstance(self.folds, str) else ()

    def fits(self, parts: int) -> int:
        """One member a fold and kind."""
        return len(self.members) * (parts if isinstance(self.folds, str) else self.folds)

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """Costs one fit a fold and kind, less what is ready. A kind without weight is never asked again."""
        if isinstance(self.folds, str):
            lines = gate_lines(train, fitter, self._all_seats, plain, context)
        else:
            lines = own_lines(train, fitter, self._all_seats, self.folds, context)
        weights = stacking_weights(train, [line.out_of_fold for line in lines])
        return weighed_teacher(self.kind, train, lines, weights, whole_share=_WHOLE_SHARE)


def stacking_weights(train: Table, out_of_fold: Sequence[Array]) -> list[float]:
    """The weights, none negative, of sum 1, whose mix of out-of-fold predictions errs least; equal when none does.

    A row counts by its own weight: its equation is multiplied by the root of it, so that its squared error is by it.

    Target and predictions are standardised by the target first, so that its level cannot decide. A kind whose
    predictions are not all finite has run away and gets no weight, as long as another has not.
    """
    sane = [position for position, one in enumerate(out_of_fold) if np.isfinite(unseen_error(train, one))]
    sane = sane or list(range(len(out_of_fold)))
    weights = [0.0] * len(out_of_fold)
    for position, weight in zip(sane, _solved(train, [out_of_fold[position] for position in sane]), strict=True):
        weights[position] = weight
    return weights


def _solved(train: Table, predictions: Sequence[Array]) -> list[float]:
    equal = [1.0 / len(predictions)] * len(predictions)
    y, heft = train.y, relative(train.weights)
    center, spread = weighted_mean(y, train.weights), math.sqrt(spread_of(y, train.weights))
    columns = np.column_stack(predictions)
    if len(predictions) == 1 or spread == 0.0 or not np.isfinite(columns).all():
        return equal
    from scipy.optimize import nnls

    try:
        root = np.ones(len(y)) if heft is None else np.sqrt(heft)
        found, _ = nnls(root[:, None] * ((columns - center) / spread), root * ((y - center) / spread))
    except RuntimeError:  # it gave up: no weights are better founded than equal ones
        return equal
    total = float(found.sum())
    return (found / total).tolist() if total > 0 and np.isfinite(total) else equal
