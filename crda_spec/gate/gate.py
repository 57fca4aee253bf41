"""The gate: K folds, everything refitted inside each, both arms scored on the same real rows that neither has seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import Procedure, augment, fit_augmented, once_more
from crda_spec.data.folds import folds, scoring_folds
from crda_spec.errors import Complaint, DataError
from crda_spec.gate.metrics import MSE, Metric
from crda_spec.gate.tests import Alternative, PairedTest, Wilcoxon
from crda_spec.records import Array, FoldResult, FoldRows, IntArray, Study, Table, read_only, spread_of
from crda_spec.regressors.teachers import GateFolds
from crda_spec.seeds import integer_seed, stream

Stop = Literal["certain", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Accept when the test says so at level alpha."""

    test: PairedTest = field(default_factory=Wilcoxon)
    folds: int = 10
    repeats: int = 1
    starts: int = 1  # how often both models of a fold are trained, each time from another random state
    alpha: float = 0.05
    alternative: Alternative = "less"
    metric: Metric = MSE
    min_effect: float = 0.0  # percent: the gain that has to be shown
    stop: Stop = "never"  # certain: no more folds once they could not make it accept
    enabled: bool = True

    @property
    def name(self) -> str:
        """The test and its side, as records say it."""
        return f"{self.test.kind}, {self.alternative}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """One division of the training rows into folds, with the seed of all that is drawn inside it."""

    number: int  # from 0
    held: tuple[IntArray, ...]
    seed: int
    seen: tuple[IntArray, ...] | None = None  # what each fold trains on, where folds run forward; None: all other rows


def repeats_of(gate: Gate, train: Table, *, seed: int) -> tuple[Repeat, ...]:
    """The gate's divisions of the rows. The first has the run's own seed: its models serve the teacher too.

    Where rows have an order, the folds run forward in time, and there is one division: time flows only once.
    """
    if train.times is not None:
        parts = scoring_folds(train, gate.folds, rng=stream(seed, "gate-folds"))
        seen, held = zip(*parts, strict=True)
        return (Repeat(number=0, seed=seed, held=held, seen=seen),)
    return tuple(
        Repeat(number=number, seed=own, held=_held(train, gate.folds, seed=own))
        for number, own in enumerate(repeat_seeds(seed, gate.repeats))
    )


def repeat_seeds(seed: int, repeats: int) -> list[int]:
    """The seed of each division; the first has the run's own."""
    return [seed, *(integer_seed(seed, "gate-repeat", number) for number in range(1, repeats))]


def _held(train: Table, count: int, *, seed: int) -> tuple[IntArray, ...]:
    return folds(len(train), count, rng=stream(seed, "gate-folds"), groups=train.groups)


def fold_numbers(rows: int, held: Sequence[IntArray]) -> IntArray:
    """(rows,) the fold, counted from 1, that holds each row out; 0 where none does."""
    numbers = np.zeros(rows, dtype=np.int64)
    for number, positions in enumerate(held, start=1):
        numbers[positions] = number
    read_only(numbers)
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldOutcome:
    """One fold's result, what each of its rows cost, and what the fold itself did."""

    result: FoldResult
    fits: int
    seconds: float
    held: IntArray  # (m,) positions of its held-out rows
    plain: Array  # (m,) their losses, whatever they weigh
    augmented: Array  # (m,)
    reused: int = 0  # models that it needed and had from another fold
    studies: tuple[Study, ...] = ()  # the searches inside this fold

    @property
    def rows(self) -> FoldRows:
        """The losses alone."""
        return FoldRows(held=self.held, plain=self.plain, augmented=self.augmented)


def run_fold(
    procedure: Procedure,
    train: Table,
    held: IntArray,
    number: int,
    *,
    metric: Metric,
    seed: int,
    around: GateFolds | None = None,
    seen: IntArray | None = None,
    starts: int = 1,
) -> FoldOutcome:
    """Fold `number` (from 1): the whole procedure on the other rows, both arms scored on the held-out ones.

    A row's loss is its mean over the starts, a fold's loss the mean loss of its rows, weighted where rows are.

    seen: the rows to train on, where these are not all others: in a fold that runs forward, the earlier ones.
    around: the gate's other folds, and models that have not seen this one (`teachers/sharing.py` proves it).
    starts: how often both arms are trained and the synthetic rows are drawn (`once_more`).
    """
    index = (number,)
    rows = train.take(np.setdiff1d(np.arange(len(train)), held) if seen is None else seen)
    x, y, weights = train.x[held], train.y[held], None if train.weights is None else train.weights[held]
    losses = np.zeros((2, len(held)))
    with threadpool_limits(limits=1):  # the same bytes on any machine, and no fight between workers
        first = found = augment(procedure, rows, seed=seed, index=index, around=around)
        for start, own in enumerate(start_seeds(seed, starts)):
            if start:
                found = once_more(first, rows, seed=own, index=index)
            plain_errors = y - found.plain.predict(x)
            augmented = fit_augmented(found, rows, seed=own, index=index)
            augmented_errors = plain_errors if augmented is found.plain else y - augmented.predict(x)
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told below
                losses += np.stack([metric.row_losses(plain_errors), metric.row_losses(augmented_errors)])
    losses /= starts
    spread = spread_of(y, weights)
    plain_loss, augmented_loss = (metric.mean(arm, spread=spread, weights=weights) for arm in losses)
    _check_finite(number, plain_loss, augmented_loss)
    made, fitter = first.counterfactuals, first.fitter
    result = FoldResult(
        fold=number,
        train_rows=len(rows),
        held_out_rows=len(held),
        plain=plain_loss,
        augmented=augmented_loss,
        perturbed=first.moved,
        synthetic_rows=0 if made is None else len(made),
    )
    return FoldOutcome(
        result=result,
        fits=fitter.fits,
        seconds=fitter.seconds,
        held=held,
        plain=losses[0],
        augmented=losses[1],
        reused=fitter.reused,
        studies=first.studies,
    )


def start_seeds(seed: int, starts: int) -> list[int]:
    """The seed of each start; the first has that of its division of the rows."""
    return [seed, *(integer_seed(seed, "gate-start", number) for number in range(1, starts))]


def _check_finite(number: int, plain: float, augmented: float) -> None:
    """A model that has run away is an error that says so, not a verdict."""
    for arm, value in (("plain", plain), ("augmented", augmented)):
        if not math.isfinite(value):
            what = f"the {arm} model of gate fold {number} predicts numbers that are not finite"
            hint = "lower its learning rate, or look for extreme values in the data"
            raise DataError(Complaint(code="diverged", path="regressor", what=what, hint=hint))


def certain(gate: Gate, results: Sequence[FoldResult], planned: int) -> bool:
    """Whether the folds that are still ahead could no longer make the gate accept.

    Exact: it asks for the smallest p-value that any losses of the folds ahead could lead to. Only refusals are certain
    early. An acceptance never is, since one disastrous fold can still undo it.
    """
    least = getattr(gate.test, "least_p_value", None)
    if gate.stop == "never" or least is None or len(results) >= planned:
        return False
    left = 1.0 - gate.min_effect / 100.0
    difference = np.array([result.augmented - left * result.plain for result in results])
    level = gate.alpha / 2.0 if gate.alternative == "two-sided" else gate.alpha
    return bool(least(difference, planned - len(results), enough=level) >= level)
