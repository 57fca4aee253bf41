"""The gate's work, spread over worker processes: shared models first, then the folds that use them.

The order of results and their bytes do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from joblib import Parallel, cpu_count, delayed

from crda_spec.counterfactual.procedure import Procedure
from crda_spec.gate.around import around_fold
from crda_spec.gate.gate import FoldOutcome, Gate, Repeat, certain, run_fold
from crda_spec.records import Table
from crda_spec.regressors.teachers import FoldModels, GateFolds
from crda_spec.regressors.teachers.sharing import FoldFitting, ModelKey, asks_whole, shared_fits

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
