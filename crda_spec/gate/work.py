"""The gate's work, spread over worker processes: shared models first, then the folds that use them.

The order of results and their bytes do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from joblib import Parallel, cpu_count, delayed

from crda_spec.counterfactual.procedure import Procedure
from crda_spec.gate.gate import FoldOutcome, Metric, run_fold
from crda_spec.records import IntArray, Table
from crda_spec.regressors.teachers import FoldModels, GateFolds
from crda_spec.regressors.teachers.sharing import FoldFitting, ModelKey, gate_folds

_WORTH_WORKERS = 8.0  # seconds of fits, below which starting worker processes costs more than it saves

Advance = Callable[[], None]


def shared_models(procedure: Procedure, train: Table, held: tuple[IntArray, ...], *, seed: int) -> FoldModels | None:
    """The place of the models that serve teacher and gate, still empty; None when nothing can be shared."""
    seats = procedure.shared_seats
    if not seats:
        return None
    fitting = FoldFitting(
        regressor=procedure.regressor,
        fill=procedure.fill,
        seats=seats,
        train=train,
        held=held,
        seed=seed,
        in_blocks=procedure.in_blocks,
    )
    return FoldModels(fitting)


def fit_singles(models: FoldModels, *, jobs: int | None, advance: Advance) -> None:
    """The plain model on all rows, then every model that leaves out one fold."""
    _fit(models, [models.whole], workers=1, advance=advance)
    singles = models.singles()
    _fit(models, singles, workers=workers_for(jobs, len(singles), models.seconds * len(singles)), advance=advance)


def run_folds(
    procedure: Procedure,
    train: Table,
    held: Sequence[IntArray],
    *,
    metric: Metric,
    seed: int,
    models: FoldModels | None,
    workers: int,
    advance: Advance,
) -> list[FoldOutcome]:
    """Every fold of the gate; models that leave out two folds are fitted when the first of the two needs them.

    One worker goes fold by fold and keeps at most about half of these models at a time. Several workers fit all of
    them first: waiting for each other at every fold would cost more than the memory.
    """
    numbers = range(1, len(held) + 1)
    outcomes: list[FoldOutcome] = []
    blocks = [[number] for number in numbers] if workers == 1 else [list(numbers)]
    for block in blocks:
        if models is not None:
            _fit(models, models.pairs(block), workers=workers, advance=advance)
        tasks = (
            delayed(run_fold)(
                procedure,
                train,
                held[number - 1],
                number,
                metric=metric,
                seed=seed,
                around=_around(procedure, models, held, len(train), number),
            )
            for number in block
        )
        for outcome in Parallel(n_jobs=workers, return_as="generator")(tasks):
            outcomes.append(outcome)
            advance()
            if models is not None:
                models.release(range(len(outcomes) + 1, len(held) + 1))
    return outcomes


def workers_for(jobs: int | None, tasks: int, expected: float) -> int:
    """As many as asked for; left to us, one unless there is enough work to pay for starting processes.

    expected: seconds of fits that are ahead.
    """
    if jobs is not None:
        return min(jobs, tasks)
    return min(cpu_count(), tasks) if expected > _WORTH_WORKERS else 1


def _around(
    procedure: Procedure, models: FoldModels | None, held: Sequence[IntArray], rows: int, number: int
) -> GateFolds:
    if models is not None:
        return models.around(number)
    return gate_folds(held, rows, number, in_blocks=procedure.in_blocks)


def _fit(models: FoldModels, keys: Sequence[ModelKey], *, workers: int, advance: Advance) -> None:
    tasks = (delayed(models.fitting.fit)(key) for key in keys)
    for key, (model, seconds) in zip(keys, Parallel(n_jobs=workers, return_as="generator")(tasks), strict=True):
        models.put(key, model, seconds)
        advance()
