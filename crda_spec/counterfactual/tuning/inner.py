"""The inner cross-validation that scores a trial: everything is refitted from the inner training rows.

What does not depend on the knobs (the regressor's settings, the plain model, a teacher's members, a partition) is the
same in every trial, so it is computed once for each inner fold and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from crda_spec.counterfactual.partition import Choice, Partitioner
from crda_spec.counterfactual.procedure import Procedure, augment, fit_augmented, settled_regressor
from crda_spec.data.folds import scoring_folds
from crda_spec.errors import Complaint, DataError
from crda_spec.records import Array, Certificate, FeatureVerdict, IntArray, Table, weighted_mean
from crda_spec.regressors import Fitter
from crda_spec.regressors.teachers import GateFolds
from crda_spec.regressors.teachers.sharing import laid_out
from crda_spec.seeds import stream


@dataclass(frozen=True, slots=True, eq=False)
class _Remembering:
    """A partitioner that is asked the same again and again: its answer is a function of rows, residuals and choice."""

    partitioner: Partitioner
    choice: Choice
    memo: dict[tuple[Choice, bytes], Certificate]

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """The certificate, the one of an earlier trial where nothing that it depends on has changed."""
        key = (self.choice, residuals.tobytes())
        if key not in self.memo:
            self.memo[key] = self.partitioner.partition(train, residuals, seed=seed, index=index)
        return self.memo[key]

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """What the partitioner itself foresees."""
        return self.partitioner.foreseen(features)


@dataclass(slots=True, kw_only=True, eq=False)
class InnerFold:
    """One inner fold: the rows that everything is fitted on, and the real rows that score it."""

    procedure: Procedure
    train: Table
    held: Table
    metric: str
    seed: int
    index: tuple[int, ...]
    around: GateFolds | None
    gate_folds: int
    quantile: float = 0.5  # read by pinball alone
    _fitter: Fitter | None = field(default=None, init=False)
    _certificates: dict[tuple[Choice, bytes], Certificate] = field(default_factory=dict, init=False)

    @property
    def fitter(self) -> Fitter:
        """Fits with the settings found on these rows alone, and remembers what trials have in common."""
        if self._fitter is None:
            found = settled_regressor(self.procedure, self.train, seed=self.seed, index=self.index)
            self._fitter = Fitter(
                found.procedure.regressor, self.procedure.fill, fits=found.fits, seconds=found.seconds, memo={}
            )
        return self._fitter

    def losses(self, candidate: Procedure) -> tuple[float, float]:
        """The plain and the augmented model's mean loss on the held-out rows, weighted where rows are."""
        around = self.around
        if around is not None:
            around = laid_out(around, self.gate_folds, in_blocks=candidate.in_blocks)
        remembering = _Remembering(candidate.partitioner, candidate.choice, self._certificates)
        made = augment(
            replace(candidate, search=None, tuner=None, partitioner=remembering),
            self.train,
            seed=self.seed,
            index=self.index,
            around=around,
            fitter=self.fitter,
        )
        augmented = fit_augmented(made, self.train, seed=self.seed, index=self.index)
        plain = self._loss(self.held.y - made.plain.predict(self.held.x))
        if augmented is made.plain:
            return plain, plain
        return plain, self._loss(self.held.y - augmented.predict(self.held.x))

    def _loss(self, errors: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):  # a trial that ran away is told apart by its loss
            match self.metric:
                case "mae":
                    costs = np.abs(errors)
                case "pinball":
                    costs = np.maximum(self.quantile * errors, (self.quantile - 1.0) * errors)
                case _:
                    costs = errors**2
            return weighted_mean(costs, self.held.weights)


def inner_folds(
    procedure: Procedure,
    train: Table,
    count: int,
    *,
    metric: str,
    seed: int,
    index: tuple[int, ...],
    around: GateFolds | None,
    quantile: float = 0.5,
) -> tuple[InnerFold, ...]:
    """The inner folds of these rows; groups stay whole, and where rows have an order the folds run forward."""
    parts = scoring_folds(train, count, rng=stream(seed, "knob-folds", *index))
    found = []
    for number, (rest, rows) in enumerate(parts, start=1):
        found.append(
            InnerFold(
                procedure=procedure,
                train=train.take(rest),
                held=train.take(rows),
                metric=metric,
                seed=seed,
                index=(*index, number),
                around=None if around is None else _inside(around, rest),
                gate_folds=0 if around is None else around.folds,
                quantile=quantile,
            )
        )
    return tuple(found)


def _inside(around: GateFolds, rest: IntArray) -> GateFolds:
    """The gate's folds as they lie in the inner training rows, so that a teacher that follows them has as many."""
    if around.in_time:
        return around  # its blocks are cut anew in whatever rows the teacher is given
    kept = [(number, np.intersect1d(held, rest)) for number, held in zip(around.numbers, around.held, strict=True)]
    full = [(number, np.searchsorted(rest, held).astype(np.int64)) for number, held in kept if len(held)]
    if len(full) < 2:
        what = "the inner folds of the search leave too few rows for a teacher that follows the gate's folds"
        hint = "write a number as counterfactual.teacher.folds, or use fewer gate folds"
        raise DataError(Complaint(code="too-few-rows", path="tune.augmentation.folds", what=what, hint=hint))
    numbers, held = tuple(number for number, _ in full), tuple(held for _, held in full)
    return GateFolds(outer=around.outer, numbers=numbers, held=held, parts=())
