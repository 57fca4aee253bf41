"""The algorithm, top to bottom: the paper's Algorithm 1, without its leaks.

split -> test the graph -> fit g -> abduct -> partition -> act -> predict -> gate -> refit -> score
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.licence import licence_of, movements
from crda_spec.counterfactual.procedure import (
    Augmentation,
    Procedure,
    Settled,
    augment,
    fit_augmented,
    settle,
    student_seed,
)
from crda_spec.errors import Complaint, DataError
from crda_spec.gate.ensemble import Asked, ensemble_fits, inspect, with_ensemble
from crda_spec.gate.gate import (
    FoldOutcome,
    Gate,
    GateRun,
    Repeat,
    around_all,
    around_tuning,
    fit_singles,
    fits_ahead,
    fits_foreseen,
    fits_in_folds,
    fits_stopped,
    fold_numbers,
    repeats_of,
    run_folds,
    shared_models,
    time_order,
    workers_for,
)
from crda_spec.gate.score import score, scored_rows
from crda_spec.gate.verdict import abstain, judge, mean_losses
from crda_spec.records import (
    DataReport,
    Falsification,
    FeatureVerdict,
    IntArray,
    Licence,
    RunResult,
    Sensitivity,
    Split,
    Table,
    TimeOrder,
    Verdict,
    VerdictReason,
    read_only,
)
from crda_spec.regressors.fit import watched_rows, watches_synthetic
from crda_spec.regressors.teachers import FoldModels
from crda_spec.scm.sensitivity import sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run needs, ready to compute. `build.py` makes it from a spec."""

    load: Callable[[], tuple[Split, DataReport]]  # reads, checks and splits the rows
    procedure: Procedure
    gate: Gate
    seed: int
    falsify: Callable[[Table], Falsification] | None = None  # the declared graph against the training rows
    jobs: int | None = None  # None: one per core
    inspect: bool = True  # whether the report looks at the new rows, by one fit more
    models: int = 1  # how many are handed over


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a run will do and cost, as far as that is known before anything is fitted."""

    train_rows: int
    test_rows: int
    synthetic_rows: int
    folds: int  # of the gate, over all its repeats; none when it is switched off
    features: tuple[FeatureVerdict, ...]  # empty when residuals will decide
    licence: Licence  # on which the new rows will stand, unless a search changes how much noise they carry
    fits_per_fold: int  # models that one gate fold needs
    fits_on_all: int  # models that all training rows need
    fits_at_most: int  # what is fitted, models that serve several of them counted once
    fits_unshared: int  # what would be fitted if no model served twice
    tuning_rows: int = 0  # training rows that are spent on searches
    fits_to_tune: int = 0  # models that these searches fit, before anything else
    fits_of_ensemble: int = 0  # models beside one, should the gate accept
    time: TimeOrder | None = None  # which time each fold will be fitted and scored on; None when rows have no order


def foresee(plan: Plan) -> Outlook:
    """Reads and checks the data, asks the graph, counts the fits."""
    split, _ = plan.load()
    train, procedure, gate, to_tune = split.train, plan.procedure, plan.gate, 0
    if split.tuning is not None:
        settled = replace(procedure, search=None, tuner=None)
        to_tune, procedure = procedure.fits(gate.folds) - settled.fits(gate.folds), settled
    in_time = train.times is not None
    in_folds, on_all = fits_in_folds(procedure, gate, in_time=in_time), procedure.fits(gate.folds)
    times, more = gate.repeats if gate.enabled else 0, ensemble_fits(plan.models, augmented=True)
    return Outlook(
        train_rows=len(train),
        test_rows=len(split.test),
        synthetic_rows=round(procedure.acting.factor * len(train)),
        folds=gate.folds * times,
        features=procedure.partitioner.foreseen(train.names),
        licence=licence_of(procedure.carried),
        fits_per_fold=max(in_folds),
        fits_unshared=to_tune + on_all + times * sum(in_folds) + more,
        fits_on_all=on_all,
        fits_at_most=fits_foreseen(procedure, gate, in_time=train.times is not None) + to_tune + more,
        tuning_rows=0 if split.tuning is None else len(split.tuning),
        fits_to_tune=to_tune,
        fits_of_ensemble=more,
        time=time_order(split, repeats_of(gate, train, seed=plan.seed)[0] if gate.enabled else None),
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
    first = _tuned_first(plan, split.tuning, clock)
    plan, train = replace(plan, procedure=first.procedure), split.train
    falsification = None
    if plan.falsify is not None:
        with clock.stage("test the graph"), threadpool_limits(limits=1):
            falsification = plan.falsify(train)
    refuted = falsification is not None and falsification.forbids
    repeats = repeats_of(plan.gate, train, seed=seed)
    held, models = repeats[0].held, shared_models(plan.procedure, train, repeats[0])
    if models is not None:
        with clock.stage("fit the fold models", 1 + len(models.singles())) as step:
            fit_singles(models, jobs=plan.jobs, advance=step.advance)
    with clock.stage("abduct, partition, act, predict"), threadpool_limits(limits=1):
        around = around_all(repeats[0], len(train)) if models is None else models.around(None)
        augmentation = augment(plan.procedure, train, seed=seed, index=whole, make_rows=not refuted, around=around)
    outcomes: list[FoldOutcome] = []
    extra = 0 if models is None else models.fits
    if augmentation.counterfactuals is None or not plan.gate.enabled:
        held = ()
        if augmentation.counterfactuals is not None:
            verdict = abstain(plan.gate, "gate_disabled")
        else:
            nothing: VerdictReason = "off_support" if augmentation.permit.names else "no_perturbable_features"
            verdict = abstain(plan.gate, "graph_falsified" if refuted else nothing)
    else:
        outcomes, verdict, pairs = _gate(plan, train, repeats, augmentation, models, clock)
        extra += pairs
    with clock.stage("refit and score"), threadpool_limits(limits=1):
        result = _finish(plan, split, report, augmentation, verdict, outcomes, fold_numbers(len(train), held))
    if models is not None:
        result = replace(result, fits=result.fits + extra, spared_fits=result.spared_fits - extra)
        result = replace(result, fit_seconds=result.fit_seconds + models.seconds)
    studies = (*first.studies, *augmentation.studies, *(one for outcome in outcomes for one in outcome.studies))
    result = replace(
        result, fits=result.fits + first.fits, fit_seconds=result.fit_seconds + first.seconds, studies=studies
    )
    if plan.models > 1:
        asked = Asked(models=plan.models, metric=plan.gate.metric, seed=seed, jobs=plan.jobs)
        with clock.stage("fit the ensemble", ensemble_fits(plan.models, augmented=verdict.uses_augmented)) as step:
            result = with_ensemble(result, augmentation, asked, advance=step.advance)
    promise = _sensitivity(train, augmentation, verdict)
    order = time_order(split, repeats[0] if held else None)
    return replace(result, falsification=falsification, sensitivity=promise, timings=clock.seconds, time=order)


def _tuned_first(plan: Plan, rows: Table | None, clock: _Clock) -> Settled:
    """Spends the rows that are declared for it on all searches; without such rows nothing happens here.

    None of them is ever trained on, held out or tested on again, so what they settle is as good as declared.
    """
    if rows is None:
        return Settled(procedure=plan.procedure)
    with clock.stage("tune on the rows set aside"), threadpool_limits(limits=1):
        around = around_tuning(plan.gate, rows, seed=plan.seed)
        settled = settle(plan.procedure, rows, seed=plan.seed, index=(0,), around=around)
    return replace(settled, studies=tuple(replace(study, set_aside=True) for study in settled.studies))


def _sensitivity(train: Table, augmentation: Augmentation, verdict: Verdict) -> Sensitivity | None:
    """How strong a hidden cause must be to use up the gain that the gate measured; None without such a gain."""
    made, folds_ = augmentation.counterfactuals, verdict.folds
    if made is None or verdict.metric != "mse" or not folds_:
        return None
    gain = float(np.mean([fold.plain - fold.augmented for fold in folds_]))
    return sensitivity(train, made, augmentation.certificate, gain=gain) if gain > 0 else None


def _gate(
    plan: Plan,
    train: Table,
    repeats: Sequence[Repeat],
    augmentation: Augmentation,
    models: FoldModels | None,
    clock: _Clock,
) -> tuple[list[FoldOutcome], Verdict, int]:
    """Every fold, the verdict on all of them, and how many models that leave out two folds were fitted for them."""
    count, in_time = plan.gate.folds, train.times is not None
    ahead = 0 if models is None else len(models.pairs(models.numbers))
    fitted = models or augmentation.fitter
    needed = len(repeats) * fits_ahead(plan.procedure, plan.gate, models, in_time=in_time)
    workers = workers_for(plan.jobs, count, needed * fitted.seconds / fitted.fits)
    done = GateRun(outcomes=[])
    with clock.stage("gate", (ahead + count) * len(repeats)) as step:
        for repeat in repeats:
            own = models if repeat.number == 0 else shared_models(plan.procedure, train, repeat)
            run_folds(
                plan.procedure,
                train,
                repeat,
                gate=plan.gate,
                models=own,
                workers=workers,
                advance=step.advance,
                to=done,
            )
    plain = 0 if models is None else models.plain_fits()
    verdict = judge(
        plan.gate,
        done.outcomes,
        train,
        seed=plan.seed,
        shared=plain + done.pair_fits,
        stopped_fits=fits_stopped(plan.procedure, plan.gate, len(done.outcomes), done.pair_fits, in_time=in_time),
    )
    return done.outcomes, verdict, done.pair_fits


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
    fitter, made = augmentation.fitter, augmentation.counterfactuals
    diagnostics = None
    if plan.inspect and made is not None and augmented is not None and np.isfinite(tested.augmented or 0.0):
        diagnostics = inspect(split, augmentation, made, augmented, metric=plan.gate.metric, seed=plan.seed)
    watched = watched_rows(split.train, fitter.regressor.stopping, seed=student_seed(plan.seed, (0,)))
    by_synthetic = made is not None and watches_synthetic(made, watched, augmentation.watch)
    return RunResult(
        data=report,
        split=split,
        certificate=augmentation.certificate,
        teacher=augmentation.teacher,
        abduction=augmentation.abduction,
        counterfactuals=made,
        movements=movements(augmentation.certificate, augmentation.permit, None if made is None else made.action),
        watched=read_only(watched),
        watch="synthetic" if by_synthetic else "real",
        gate_fold=gate_fold,
        verdict=verdict,
        score=tested,
        gate_losses=mean_losses(outcomes, len(split.train)) if outcomes else None,
        gate_rows=tuple(outcome.rows for outcome in outcomes) if verdict.repeats > 1 else (),
        test_losses=scored_rows(split.test, augmentation.plain, augmented, metric=plan.gate.metric),
        model=augmented if verdict.uses_augmented and augmented is not None else augmentation.plain,
        diagnostics=diagnostics,
        settings=augmentation.settings,
        timings={},
        fit_seconds=fitter.seconds + sum(outcome.seconds for outcome in outcomes),
        fits=fitter.fits + sum(outcome.fits for outcome in outcomes),
        spared_fits=fitter.reused + sum(outcome.reused for outcome in outcomes),
    )
