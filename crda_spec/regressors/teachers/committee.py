"""Several kinds of models, cross-fitted on the same folds and weighed by what they say of rows they have not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import nnls

from crda_spec.records import Array, Table, Teacher, relative, spread_of, weighted_mean
from crda_spec.regressors._protocol import Regressor
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.regressors.teachers._protocol import FoldContext, Seat
from crda_spec.regressors.teachers.fold_models import gate_lines, own_lines, unseen_error, weighed_teacher

# Where blocks leave their members two thirds of the rows, these only tell how the kinds are to be weighed: a quarter of
# the say for them cost the gate a quarter of the gain that it could see on Energy Efficiency (docs/teachers.md).
_WHOLE_SHARE = 1.0


@dataclass(frozen=True, slots=True)
class CommitteeTeacher:
    """Stacked regression with weights that are not negative (Breiman 1996), normalised to sum 1."""

    kind: ClassVar[str] = "committee"
    predicts_unseen: ClassVar[bool] = True
    members: tuple[Regressor | None, ...]  # None: the student's own kind
    folds: int | None = None  # None: the gate's
    in_blocks: bool = False

    @property
    def _all_seats(self) -> tuple[Seat, ...]:
        return tuple(Seat(regressor=member) for member in self.members)

    @property
    def seats(self) -> tuple[Seat, ...]:
        """One a kind."""
        return self._all_seats if self.folds is None else ()

    def fits(self, parts: int) -> int:
        """One member a fold and kind."""
        return len(self.members) * (parts if self.folds is None else self.folds)

    def teach(self, train: Table, fitter: Fitter, plain: FittedModel, context: FoldContext) -> Teacher:
        """Costs one fit a fold and kind, less what is ready. A kind without weight is never asked again."""
        if self.folds is None:
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
    try:
        root = np.ones(len(y)) if heft is None else np.sqrt(heft)
        found, _ = nnls(root[:, None] * ((columns - center) / spread), root * ((y - center) / spread))
    except RuntimeError:  # it gave up: no weights are better founded than equal ones
        return equal
    total = float(found.sum())
    return (found / total).tolist() if total > 0 and np.isfinite(total) else equal
