"""The gate: K folds, everything refitted inside each, both arms scored on the same real rows that neither has seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import Procedure, augment, fit_augmented, once_more
from crda_spec.data.folds import folds, scoring_folds
from crda_spec.errors import Complaint, DataError
from crda_spec.gate.metrics import MSE, Metric
from crda_spec.gate.tests import Alternative, PairedTest, Wilcoxon
from crda_spec.records import (
    Array,
    Clock,
    FoldResult,
    FoldRows,
    FoldSpan,
    IntArray,
    Span,
    Split,
    Study,
    Table,
    TimeOrder,
    read_only,
    spread_of,
)
from crda_spec.regressors.teachers import FoldModels, GateFolds
from crda_spec.regressors.teachers.fold_models import (
    FoldFitting,
    ModelKey,
    asks_whole,
    gate_folds,
    shared_fits,
    time_folds,
)
from crda_spec.seeds import integer_seed, stream


def around_fold(repeat: Repeat, rows: int, number: int, *, in_blocks: bool) -> GateFolds:
    """Inside one fold of the gate, counted from 1. rows: all training rows."""
    if repeat.seen is not None:
        return time_folds(len(repeat.held), number, in_blocks=in_blocks)
    return gate_folds(repeat.held, rows, number, in_blocks=in_blocks)


def around_all(repeat: Repeat, rows: int) -> GateFolds:
    """On all training rows."""
    if repeat.seen is not None:
        return time_folds(len(repeat.held), None)
    return gate_folds(repeat.held, rows, None)


def around_tuning(gate: Gate, rows: Table, *, seed: int) -> GateFolds:
    """On rows that are spent on searches: folds as the gate's, drawn among these rows."""
    if rows.times is not None:
        return time_folds(gate.folds, None)
    units = len(rows) if rows.groups is None else len(np.unique(rows.groups))
    held = folds(len(rows), min(gate.folds, units), rng=stream(seed, "tuning-gate-folds"), groups=rows.groups)
    return gate_folds(held, len(rows), None)


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


def time_order(split: Split, division: Repeat | None) -> TimeOrder | None:
    """The spans of a run's rows; None when they have no order. division: the gate's folds, where it has been asked."""
    clock, times = split.clock, split.train.times
    if clock is None or times is None:
        return None
    tested, tuned = split.test.times, None if split.tuning is None else split.tuning.times
    seen, held = ((), ()) if division is None or division.seen is None else (division.seen, division.held)
    return TimeOrder(
        column=clock.column,
        train=span_of(clock, times),
        test=None if tested is None else span_of(clock, tested),
        tuning=None if tuned is None else span_of(clock, tuned),
        folds=tuple(
            FoldSpan(fold=number, trained=span_of(clock, times[before]), held_out=span_of(clock, times[later]))
            for number, (before, later) in enumerate(zip(seen, held, strict=True), start=1)
        ),
    )


def span_of(clock: Clock, times: IntArray) -> Span:
    """From the first to the last of these moments. times: (n,) positions among the clock's."""
    return Span(first=clock.moments[int(np.min(times))], last=clock.moments[int(np.max(times))])


_WORTH_WORKERS = 8.0  # seconds of fits, below which starting worker processes costs more than it saves

Advance = Callable[[], None]


def shared_models(procedure: Procedure, train: Table, repeat: Repeat) -> FoldModels | None:
    """The place of the models that serve teacher and gate, still empty; None when nothing can be shared."""
    seats = procedure.shared_seats
    if not seats or train.times is not None:
        return None
    fitting = FoldFitting(
        regressor=procedure.regressor,
        fill=procedure.fill,
        seats=seats,
        train=train,
        held=repeat.held,
        seed=repeat.seed,
        in_blocks=procedure.in_blocks,
    )
    return FoldModels(fitting)


def fit_singles(models: FoldModels, *, jobs: int | None, advance: Advance) -> None:
    """The plain model on all rows, then every model that leaves out one fold."""
    _fit(models, [models.whole], workers=1, advance=advance)
    singles = models.singles()
    _fit(models, singles, workers=workers_for(jobs, len(singles), models.seconds * len(singles)), advance=advance)


@dataclass(slots=True)
class GateRun:
    """The folds that were run, in declared order, and what they cost beside their own fits."""

    outcomes: list[FoldOutcome]
    pair_fits: int = 0  # models that leave out two folds, as far as these folds needed them

    def is_certain(self, gate: Gate) -> bool:
        """Whether the folds that are left could no longer make the gate accept."""
        results = [outcome.result for outcome in self.outcomes]
        return certain(gate, results, gate.folds * gate.repeats)


def run_folds(
    procedure: Procedure,
    train: Table,
    repeat: Repeat,
    *,
    gate: Gate,
    models: FoldModels | None,
    workers: int,
    advance: Advance,
    to: GateRun,
) -> None:
    """Adds the folds of one repeat; models that leave out two folds are fitted when the first of the two needs them.

    One worker goes fold by fold and keeps at most about half of these models at a time. Several workers fit all of
    them first: waiting for each other at every fold would cost more than the memory. Where the gate may stop early,
    they take as many folds at a time as there are workers, and what was fitted beyond the fold at which the verdict
    became certain is forgotten, so that the number of workers changes nothing that is told.
    """
    held, numbers = repeat.held, list(range(1, len(repeat.held) + 1))
    size = workers if workers == 1 or gate.stop == "certain" else len(held)
    used: list[int] = []

    def around(number: int) -> GateFolds:
        if models is not None:
            return models.around(number)
        return around_fold(repeat, len(train), number, in_blocks=procedure.in_blocks)

    for block in (numbers[start : start + size] for start in range(0, len(held), size)):
        if to.is_certain(gate):
            break
        if models is not None:
            _fit(models, models.pairs(block), workers=workers, advance=advance)
        tasks = (
            delayed(run_fold)(
                procedure,
                train,
                held[number - 1],
                number,
                metric=gate.metric,
                seed=repeat.seed,
                around=around(number),
                seen=None if repeat.seen is None else repeat.seen[number - 1],
                starts=gate.starts,
            )
            for number in block
        )
        for number, outcome in zip(block, Parallel(n_jobs=workers, return_as="generator")(tasks), strict=True):
            advance()
            if to.is_certain(gate):
                continue  # was computed beside the fold that made it certain
            to.outcomes.append(_numbered(outcome, repeat.number * len(held) + number))
            used.append(number)
        if models is not None:
            models.release(range(block[-1] + 1, len(held) + 1))
    if models is not None:
        to.pair_fits += models.pair_count(used)


def _numbered(outcome: FoldOutcome, fold: int) -> FoldOutcome:
    """Counted over all repeats, its searches too."""
    studies = tuple(replace(study, fold=fold) for study in outcome.studies)
    return replace(outcome, result=replace(outcome.result, fold=fold), studies=studies)


def fits_in_folds(procedure: Procedure, gate: Gate, *, in_time: bool = False) -> tuple[int, ...]:
    """What each fold of one division needs, shared or not; a further start trains both arms and nothing else."""
    more = _of_starts(gate) - 1
    return tuple(more + first for first in procedure.fits_in_folds(gate.folds, in_time=in_time))


def fits_ahead(procedure: Procedure, gate: Gate, models: FoldModels | None, *, in_time: bool) -> int:
    """About what one division will fit, once the models that leave out one fold are there."""
    if models is None:
        return sum(fits_in_folds(procedure, gate, in_time=in_time))
    return len(models.pairs(models.numbers)) + gate.folds * _of_starts(gate)


def fits_foreseen(procedure: Procedure, gate: Gate, *, in_time: bool = False) -> int:
    """What a run fits at most, models that serve several folds counted once; none does where folds run forward."""
    if in_time or not procedure.shared_seats:
        in_gate = gate.repeats * sum(fits_in_folds(procedure, gate, in_time=in_time))
        return procedure.fits(gate.folds) + (in_gate if gate.enabled else 0)
    singles, pairs = shared_fits(procedure.shared_seats, gate.folds, in_blocks=procedure.in_blocks)
    base = 1 + singles + 1  # plain on all rows, models without one fold, augmented on all rows
    # The first repeat's models of all but one fold are among the singles; the others fit their own.
    own = _own_singles(procedure, gate.folds) * gate.folds * (gate.repeats - 1)
    return base + (gate.repeats * (pairs + gate.folds * _of_starts(gate)) + own if gate.enabled else 0)


def fits_stopped(procedure: Procedure, gate: Gate, run: int, pair_fits: int, *, in_time: bool = False) -> int:
    """What the folds that were not run would have fitted, had every one of them something to move."""
    ahead = gate.folds * gate.repeats - run
    if in_time or not procedure.shared_seats:
        each = fits_in_folds(procedure, gate, in_time=in_time) * gate.repeats
        return sum(each[run:])
    _, pairs = shared_fits(procedure.shared_seats, gate.folds, in_blocks=procedure.in_blocks)
    later = min(ahead, gate.folds * (gate.repeats - 1))
    return gate.repeats * pairs - pair_fits + ahead * _of_starts(gate) + later * _own_singles(procedure, gate.folds)


def _of_starts(gate: Gate) -> int:
    """Models that a fold fits where members are shared: the augmented one, and both arms' in every further start."""
    return 1 + 2 * (gate.starts - 1)


def _own_singles(procedure: Procedure, folds: int) -> int:
    """Models of all rows but one fold that a fold of a later repeat fits for itself: the plain one, its teacher's."""
    others = sum(not seat.is_students for seat in procedure.shared_seats)
    return 1 + (others if asks_whole(folds, in_blocks=procedure.in_blocks) else 0)


def workers_for(jobs: int | None, tasks: int, expected: float) -> int:
    """As many as asked for; left to us, one unless there is enough work to pay for starting processes.

    expected: seconds of fits that are ahead.
    """
    if jobs is not None:
        return min(jobs, tasks)
    return min(cpu_count(), tasks) if expected > _WORTH_WORKERS else 1


def _fit(models: FoldModels, keys: Sequence[ModelKey], *, workers: int, advance: Advance) -> None:
    tasks = (delayed(models.fitting.fit)(key) for key in keys)
    for key, (model, seconds) in zip(keys, Parallel(n_jobs=workers, return_as="generator")(tasks), strict=True):
        models.put(key, model, seconds)
        advance()
