"""The algorithm, top to bottom: the paper's Algorithm 1, without its leaks.

split -> fit g -> abduct -> partition -> act -> predict -> gate -> refit -> score
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import Augmentation, Procedure, augment, fit_augmented, student_seed
from crda_spec.data.folds import folds
from crda_spec.errors import Complaint, DataError
from crda_spec.gate.gate import FoldOutcome, WilcoxonGate, abstain, judge, run_fold
from crda_spec.gate.score import score
from crda_spec.records import DataReport, FeatureVerdict, IntArray, RunResult, Split, Table, Verdict, read_only
from crda_spec.regressors.fit import watched_rows
from crda_spec.seeds import stream

_WORTH_WORKERS = 8.0  # seconds of fits, below which starting worker processes costs more than it saves


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run needs, ready to compute. `build.py` makes it from a spec."""

    load: Callable[[], tuple[Split, DataReport]]  # reads, checks and splits the rows
    procedure: Procedure
    gate: WilcoxonGate
    seed: int
    jobs: int | None = None  # None: one per core


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a run will do and cost, as far as that is known before anything is fitted."""

    train_rows: int
    test_rows: int
    synthetic_rows: int
    features: tuple[FeatureVerdict, ...]  # empty when residuals will decide
    fits_per_set: int
    fits_at_most: int  # one set a gate fold, and all training rows


def foresee(plan: Plan) -> Outlook:
    """Reads and checks the data, asks the graph, counts the fits."""
    split, _ = plan.load()
    train, procedure = split.train, plan.procedure
    return Outlook(
        train_rows=len(train),
        test_rows=len(split.test),
        synthetic_rows=round(procedure.acting.factor * len(train)),
        features=procedure.partitioner.foreseen(train.names),
        fits_per_set=procedure.fits,
        fits_at_most=procedure.fits * (plan.gate.folds + 1),
    )


class Step(Protocol):
    """One piece of work under way."""

    def advance(self) -> None:
        """One more part is done."""
        ...


class Progress(Protocol):
    """Who watches."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Step]:
        """Announces a piece of work of `total` parts, None when it has none."""
        ...


@dataclass(slots=True)
class _Clock:
    """Announces each stage and keeps its seconds."""

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Step]:
        started = time.perf_counter()
        with self.progress.stage(name, total) as step:
            yield step
        self.seconds[name] = time.perf_counter() - started


def run(plan: Plan, *, progress: Progress) -> RunResult:
    """Runs the plan. Whether the gate accepts or abstains, the result says why."""
    clock = _Clock(progress)
    seed, whole = plan.seed, (0,)  # index 0 is all training rows; fold k of the gate has index k
    with clock.stage("read the data"):
        split, report = plan.load()
    train = split.train
    with clock.stage("abduct, partition, act, predict"), threadpool_limits(limits=1):
        augmentation = augment(plan.procedure, train, seed=seed, index=whole)
    held: tuple[IntArray, ...] = ()
    if augmentation.counterfactuals is None:
        outcomes: list[FoldOutcome] = []
        verdict = abstain(plan.gate)
    else:
        held = folds(len(train), plan.gate.folds, rng=stream(seed, "gate-folds"), groups=train.groups)
        with clock.stage("gate", len(held)) as step:
            outcomes = _gate_folds(plan, train, held, step, workers=_workers(plan, augmentation))
        verdict = judge(plan.gate, outcomes)
    with clock.stage("refit and score"), threadpool_limits(limits=1):
        result = _finish(plan, split, report, augmentation, verdict, outcomes, _fold_numbers(len(train), held))
    return replace(result, timings=clock.seconds)


def _fold_numbers(rows: int, held: Sequence[IntArray]) -> IntArray:
    numbers = np.zeros(rows, dtype=np.int64)
    for number, positions in enumerate(held, start=1):
        numbers[positions] = number
    return read_only(numbers)


def _workers(plan: Plan, augmentation: Augmentation) -> int:
    """As many as asked for; left to us, one unless the gate has enough work to pay for starting processes."""
    if plan.jobs is not None:
        return min(plan.jobs, plan.gate.folds)
    fitter = augmentation.fitter
    expected = fitter.seconds / fitter.fits * plan.procedure.fits * plan.gate.folds
    return min(cpu_count(), plan.gate.folds) if expected > _WORTH_WORKERS else 1


def _gate_folds(plan: Plan, train: Table, held: Sequence[IntArray], step: Step, *, workers: int) -> list[FoldOutcome]:
    """The folds; their order and bytes do not depend on the number of workers."""
    tasks = (
        delayed(run_fold)(plan.procedure, train, rows, number, metric=plan.gate.metric, seed=plan.seed)
        for number, rows in enumerate(held, start=1)
    )
    outcomes: list[FoldOutcome] = []
    for outcome in Parallel(n_jobs=workers, return_as="generator")(tasks):
        outcomes.append(outcome)
        step.advance()
    return outcomes


def _finish(
    plan: Plan,
    split: Split,
    report: DataReport,
    augmentation: Augmentation,
    verdict: Verdict,
    outcomes: list[FoldOutcome],
    gate_fold: IntArray,
) -> RunResult:
    """Refits with the synthetic rows, scores both models on the test rows, and picks the one the gate chose."""
    augmented = None
    if augmentation.counterfactuals is not None:
        augmented = fit_augmented(augmentation, split.train, seed=plan.seed, index=(0,))
    tested = score(split.test, augmentation.plain, augmented, metric=plan.gate.metric, seed=plan.seed)
    if not np.isfinite(tested.plain):
        what = "the plain model predicts numbers that are not finite on the test rows"
        hint = "lower its learning rate, or look for extreme values in the data"
        raise DataError(Complaint(code="diverged", path="regressor", what=what, hint=hint))
    fitter = augmentation.fitter
    seed = student_seed(plan.seed, (0,))
    return RunResult(
        data=report,
        split=split,
        certificate=augmentation.certificate,
        teacher=augmentation.teacher,
        abduction=augmentation.abduction,
        counterfactuals=augmentation.counterfactuals,
        watched=read_only(watched_rows(split.train, fitter.regressor.stopping, seed=seed)),
        gate_fold=gate_fold,
        verdict=verdict,
        score=tested,
        model=augmented if verdict.accepted and augmented is not None else augmentation.plain,
        settings=augmentation.settings,
        timings={},
        fit_seconds=fitter.seconds + sum(outcome.seconds for outcome in outcomes),
        fits=fitter.fits + sum(outcome.fits for outcome in outcomes),
    )
