"""Several kinds of models, cross-fitted on the same folds and weighed by what they say of rows they have not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, PrivateAttr

from crda_spec.data.folds import group_numbers
from crda_spec.errors import SpecError
from crda_spec.records import Array, SignedMembers, Signs, Table, Trust, relative, spread_of, weighted_mean
from crda_spec.regressors import AnyRegressor, GaussianProcess, Mlp, Regressor, Xgboost
from crda_spec.regressors.boosting import STUDENTS_STEP
from crda_spec.regressors.teachers._protocol import FOLDS, Folds, Learner
from crda_spec.regressors.teachers.fold_models import CrossFit, FoldTeacher, Weighing, unseen_error
from crda_spec.strict import Strict


class Student(Strict):
    """The run's own regressor as a member of the committee; its models may then serve the gate as well."""

    kind: Literal["student"] = Field(
        "student", description="The regressor of this spec, with its settings (tuned, if they are)."
    )


CommitteeMember = Annotated[Student | AnyRegressor, Field(discriminator="kind")]

# Cheap, different from each other, and at home with many rows as well as few (docs/evidence/teachers.md). A student
# with the settings of one of them takes its learner.
DEFAULT_COMMITTEE: tuple[CommitteeMember, ...] = (
    Xgboost(learning_rate=STUDENTS_STEP),
    # Two wide layers: where a table has hardly any noise they follow it better than three narrow ones.
    Mlp(averaging=0.99, hidden_layer_sizes=(256, 128)),
    # Smooth and linear at once, with a length scale for each feature.
    GaussianProcess(),
)


class CommitteeTeacher(FoldTeacher):
    """Stacked regression with weights that are not negative (Breiman 1996), normalised to sum 1."""

    # Where blocks leave their members two thirds of the rows, these only tell how the kinds are to be weighed: a
    # quarter of the say for them cost the gate a quarter of its gain on Energy Efficiency (docs/design/fold-models.md).
    whole_share: ClassVar[float] = 1.0

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
    hedge: bool = Field(
        default=False,
        description=(
            "Fit each kind twice where the declared graph calls some features irrelevant: on all features and on the "
            "others alone. Rows that neither has seen decide how much the graph's members count."
        ),
    )
    _boundary: tuple[int, ...] | None = PrivateAttr(default=None)
    _signs: Signs = PrivateAttr(default=())
    _student_holds: bool = PrivateAttr(default=False)

    def with_boundary(self, columns: tuple[int, ...] | None) -> Self:
        """With a second member of each kind, that looks at these columns only."""
        if not self.hedge or self._boundary == columns:
            return self
        hedged = self.model_copy()
        hedged._boundary = columns  # noqa: SLF001 - our own copy
        return hedged

    def with_signs(self, signs: Signs, *, student_holds: bool) -> Self:
        """With one member more of each kind that can hold signs."""
        if not signs:
            return self
        signed = self.model_copy()
        signed._signs, signed._student_holds = signs, student_holds  # noqa: SLF001 - our own copy
        return signed

    def with_student(self, student: Regressor | None) -> Self:
        """With the student in the place of a member that is written as it is, and every plugin loaded."""
        members: list[Any] = []
        for position, member in enumerate(self.members):
            path = f"counterfactual.teacher.members.{position}"
            try:
                if isinstance(member, Student) or member == student:
                    members.append(Student())
                else:
                    members.append(member.placed(path).load())
            except SpecError as error:
                raise SpecError(one.moved("regressor", path) for one in error.complaints) from error
        return self.model_copy(update={"members": tuple(members)})

    @property
    def all_learners(self) -> tuple[Learner, ...]:
        """One a kind, two where the committee is hedged; and one more with signs, on the boundary if it is."""
        kinds = tuple(None if isinstance(member, Student) else member for member in self.members)
        views = (None,) if self._boundary is None else (None, self._boundary)
        free = tuple(Learner(regressor=kind, columns=columns) for columns in views for kind in kinds)
        return free + tuple(replace(one, signs=self._signs) for one in free[-len(kinds) :] if self._holds(one))

    def _holds(self, learner: Learner) -> bool:
        """Whether there are signs, and models of this kind can be made to hold them."""
        holds = self._student_holds if learner.regressor is None else getattr(learner.regressor, "holds_signs", False)
        return bool(self._signs) and holds

    def weigh(self, train: Table, crossfits: Sequence[CrossFit]) -> Weighing:
        """By what each kind says of rows it has not seen. One without weight is never asked again.

        Members of all features, of the boundary, and with signs are weighed among themselves, then one number a side
        mixes the sides: few rows cannot choose among so many kinds. A kind that cannot hold signs takes its seat among
        those that do, so that signs may be followed altogether; signs that the rows do not bear out are not followed.
        """
        signs = _signed_members(train, crossfits)
        sides = _sides(crossfits, signed=signs is not None and signs.passed)
        within = [stacking_weights(train, [one.out_of_fold for one in side]) for side in sides]
        mixed = [
            reduce(add, (weight * one.out_of_fold for weight, one in zip(weights, side, strict=True) if weight > 0))
            for weights, side in zip(within, sides, strict=True)
        ]
        shares = stacking_weights(train, mixed)
        total = dict.fromkeys(crossfits, 0.0)
        for share, side, own in zip(shares, sides, within, strict=True):
            for one, weight in zip(side, own, strict=True):
                total[one] += share * weight
        hedged = any(one.learner.columns is not None for one in crossfits)
        return Weighing(
            weights=list(total.values()),
            trust=_trust(train, *mixed[:2], weight=sum(shares[1:])) if hedged else None,
            signs=signs and replace(signs, weight=sum(total[one] for one in crossfits if one.learner.signs)),
        )


def _sides(crossfits: Sequence[CrossFit], *, signed: bool) -> list[list[CrossFit]]:
    """Of all features; of the boundary, where it is smaller; and the last of these with signs, where they are held."""
    free = [one for one in crossfits if not one.learner.signs]
    sides = [[one for one in free if (one.learner.columns is not None) == bounded] for bounded in (False, True)]
    sides = [side for side in sides if side]
    if signed:
        twins = _free_twins(crossfits)
        sides.append([one for one in (*sides[-1], *crossfits[len(free) :]) if one not in twins])
    return sides


def _free_twins(crossfits: Sequence[CrossFit]) -> list[CrossFit]:
    """Those without signs that stand beside one with them."""
    signed = [replace(one.learner, signs=()) for one in crossfits if one.learner.signs]
    return [one for one in crossfits if one.learner in signed]


# In standard errors. Any margin trusts too many graphs that are only nearly right (docs/evidence/recipe-choices.md).
_MARGIN = 0.0
_SIGNS_MARGIN = 1.0  # standard errors (docs/how-to/declare-known-signs.md)


def _trust(train: Table, everything: Array, boundary: Array, *, weight: float) -> Trust:
    """The boundary's members must do about as well without the features that the graph calls irrelevant.

    everything, boundary: (n,) what members of all features, and of the boundary, predict for rows they have not seen.
    """
    losses, worse, error = _paired(train, everything, boundary)
    return Trust(
        everything=losses[0],
        boundary=losses[1],
        standard_error=error,
        margin=_MARGIN,
        weight=weight,
        passed=worse <= _MARGIN * error,
    )


def _signed_members(train: Table, crossfits: Sequence[CrossFit]) -> SignedMembers | None:
    """The kinds that hold signs against themselves without, not weighed yet; None where none does."""
    signed = [one for one in crossfits if one.learner.signs]
    if not signed:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        means = [np.mean([one.out_of_fold for one in side], axis=0) for side in (_free_twins(crossfits), signed)]
        losses, worse, error = _paired(train, *means)
    return SignedMembers(
        free=losses[0],
        signed=losses[1],
        standard_error=error,
        margin=_SIGNS_MARGIN,
        weight=0.0,
        passed=worse <= _SIGNS_MARGIN * error,
    )


def _paired(train: Table, first: Array, second: Array) -> tuple[tuple[float, float], float, float]:
    """Both mean squared errors, by how much the second is larger, and that difference's standard error.

    first, second: (n,) what is predicted for rows unseen.
    """
    losses = [(train.y - predicted) ** 2 for predicted in (first, second)]
    row_weight = relative(train.weights)
    worse = losses[1] - losses[0] if row_weight is None else row_weight * (losses[1] - losses[0])
    unit = group_numbers(train)  # rows of one group err alike: the group is what was drawn
    sums = np.bincount(unit, weights=worse) * (unit.max() + 1) / len(unit)
    error = float(sums.std(ddof=1) / math.sqrt(len(sums))) if len(sums) > 1 else math.inf
    means = weighted_mean(losses[0], train.weights), weighted_mean(losses[1], train.weights)
    return means, float(sums.mean()), error


def stacking_weights(train: Table, out_of_fold: Sequence[Array]) -> list[float]:
    """The weights, none negative, of sum 1, whose mix of out-of-fold predictions errs least; equal when none does.

    A row counts by its own weight: its equation is multiplied by the root of it, so that its squared error is by it.

    Target and predictions are standardised by the target first, so that its level cannot decide. A kind whose
    predictions are not all finite has run away and gets no weight, as long as another has not.
    """
    sane = np.isfinite([unseen_error(train, one) for one in out_of_fold])
    sane = sane if sane.any() else ~sane
    weights = np.zeros(len(out_of_fold))
    weights[sane] = _solved(train, [one for one, keeps in zip(out_of_fold, sane, strict=True) if keeps])
    return weights.tolist()


def _solved(train: Table, predictions: Sequence[Array]) -> list[float]:
    equal = [1.0 / len(predictions)] * len(predictions)
    y, weight = train.y, relative(train.weights)
    center, spread = weighted_mean(y, train.weights), math.sqrt(spread_of(y, train.weights))
    columns = np.column_stack(predictions)
    if len(predictions) == 1 or spread == 0.0 or not np.isfinite(columns).all():
        return equal
    from scipy.optimize import nnls

    try:
        root = np.ones(len(y)) if weight is None else np.sqrt(weight)
        solution, _ = nnls(root[:, None] * ((columns - center) / spread), root * ((y - center) / spread))
    except RuntimeError:  # it gave up: no weights are better founded than equal ones
        return equal
    total = float(solution.sum())
    return (solution / total).tolist() if total > 0 and np.isfinite(total) else equal
