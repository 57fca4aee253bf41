"""The paper's Algorithm 1 (CRDA), top to bottom, without its leaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from crda_spec.counterfactual.procedure import Augmentation, Procedure, Tuned, augment, fit_augmented, tune
from crda_spec.data.folds import Division
from crda_spec.execution import Clock, Progress, stage, workers_for
from crda_spec.gate.controls import control_fits, score_controls
from crda_spec.gate.cost import CostEstimate, FitCounts, estimate_cost
from crda_spec.gate.cross_validate import (
    CrossValidation,
    cross_validate,
    divisions,
    fit_fold_models,
    fold_numbers,
    tuning_context,
)
from crda_spec.gate.describe import describe_rows, describe_sensitivity, describe_signs, describe_time
from crda_spec.gate.ensemble import fit_ensemble
from crda_spec.gate.intervals import FittedIntervals, errors_by_arm, held_out_errors, measure_intervals
from crda_spec.gate.score import Scored, score_on_equal_footing
from crda_spec.gate.tests import Gate
from crda_spec.gate.verdict import abstain, judge, mean_losses, why_no_test
from crda_spec.records import (
    Arm,
    DataReport,
    Falsification,
    IntArray,
    Predictor,
    RowErrors,
    RunResult,
    Split,
    Table,
    Verdict,
)
from crda_spec.regressors.intervals import Intervals
from crda_spec.regressors.metrics import Metric
from crda_spec.regressors.teachers import FoldContext, FoldModelCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run needs, ready to compute. `spec/build.py` makes it from a spec."""

    load: Callable[[], tuple[Split, DataReport]]  # reads, checks and splits the rows
    procedure: Procedure
    gate: Gate
    seed: int
    falsify: Callable[[Table], Falsification] | None = None  # the declared graph against the training rows
    jobs: int | None = None  # None: one per core
    inspect: bool = True  # whether the report looks at the new rows, and at controls, by some fits more
    without_graph: Procedure | None = None  # what the control without the graph makes; None: it would change nothing
    models: int = 1  # how many the run hands over
    intervals: Intervals | None = None  # None: nobody asks how sure a prediction is
    noise_parents: tuple[str, ...] = ()  # features that drive the size of the noise, where the graph declares them


def run(plan: Plan, *, progress: Progress) -> RunResult:
    """Algorithm 1. Whether the gate accepts or abstains, the result says why."""
    clock = Clock(progress)
    split, report = load(clock, plan)
    train, tuned = split.train, tune_apart(plan, split.tuning, clock)
    procedure = tuned.procedure.on(train)
    falsification = None if plan.falsify is None else falsify(clock, plan.falsify, train)
    parts = divisions(plan.gate, train, seed=plan.seed)
    models = fit_fold_models(procedure, train, parts[0], clock, jobs=plan.jobs)
    first = tuned.cost + models.cost
    augmented = augment_rows(clock, procedure, train, models.on_all_rows(), falsification)
    verdict, folds = gate(plan, procedure, augmented, falsification, parts, models, clock)
    errors = held_out_errors(folds.outcomes, len(train), plan.gate.folds)
    metric = plan.gate.loss.given(errors_by_arm(errors, train.weights))
    scored = refit_and_score(clock, plan, split, augmented, metric)
    cost = first + augmented.fitter.cost + folds.cost
    taught = scored.augmented if verdict.uses_augmented else None
    ensemble = fit_ensemble(split, augmented, taught, plan.models, clock, metric=metric, jobs=plan.jobs)
    fold = fold_numbers(len(train), parts[0].held if folds.outcomes else ())
    sure = None
    if plan.intervals is not None and errors is not None:
        sure = fit_intervals(clock, plan, split, procedure, folds, scored, errors, fold, augmented.plain)
    final: Arm = "augmented" if taught is not None else "plain"
    return RunResult(
        data=report,
        split=split,
        falsification=falsification,
        certificate=augmented.certificate,
        signs=describe_signs(train, procedure.signs),
        teacher=augmented.teacher,
        abduction=augmented.abduction,
        counterfactuals=augmented.counterfactuals,
        movements=augmented.movements,
        settings=augmented.settings,
        watched=augmented.watched(train),
        watch=augmented.watches(train),
        gate_fold=fold,
        verdict=verdict,
        gate_losses=mean_losses(folds.outcomes, len(train)) if folds.outcomes else None,
        gate_rows=folds.rows if verdict.repeats > 1 else (),
        gate_errors=errors,
        score=scored.score,
        test_losses=scored.rows,
        test_errors=scored.errors,
        intervals=None if sure is None else sure.report,
        interval_rows=() if sure is None else sure.rows,
        band=None if sure is None else sure.bands[final],
        fold_models=() if sure is None else sure.fold_models[final],
        model=augmented.plain if taught is None else taught,
        plain=augmented.plain,
        studies=(*tuned.studies, *augmented.studies, *folds.studies),
        cost=cost if ensemble is None else cost + ensemble.cost,
        timings=clock.seconds,
        diagnostics=scored.diagnostics,
        controls=scored.controls,
        sensitivity=describe_sensitivity(train, augmented.counterfactuals, augmented.certificate, verdict),
        time=describe_time(split, parts[0] if folds.outcomes else None),
        ensemble=None if ensemble is None else ensemble.scores,
        members=() if ensemble is None else ensemble.members,
    )


@stage("read the data")
def load(plan: Plan) -> tuple[Split, DataReport]:
    """Reads, checks and splits the rows."""
    return plan.load()


def tune_apart(plan: Plan, rows: Table | None, clock: Clock) -> Tuned:
    """Spends the rows that are declared for it on all searches; without such rows nothing happens here.

    None of them is ever trained on, held out or tested on again, so what they settle is as good as declared.
    """
    if rows is None:
        return Tuned(procedure=plan.procedure)
    with clock.stage("tune on the rows set aside"):
        tuned = tune(plan.procedure, rows, tuning_context(plan.gate, rows, seed=plan.seed))
    return replace(tuned, studies=tuple(replace(study, set_aside=True) for study in tuned.studies))


@stage("test the graph")
def falsify(test: Callable[[Table], Falsification], train: Table) -> Falsification:
    """Do the training rows contradict the declared graph?"""
    return test(train)


@stage("abduct, partition, act, predict")
def augment_rows(
    procedure: Procedure, train: Table, context: FoldContext, falsification: Falsification | None
) -> Augmentation:
    """The procedure on all training rows; a graph that they contradict makes none."""
    return augment(procedure, train, context, make_rows=falsification is None or not falsification.forbids)


def gate(
    plan: Plan,
    procedure: Procedure,
    augmented: Augmentation,
    falsification: Falsification | None,
    parts: Sequence[Division],
    models: FoldModelCache,
    clock: Clock,
) -> tuple[Verdict, CrossValidation]:
    """The verdict, and the folds that it rests on; none when there is nothing to test, or nobody asks."""
    asked, train = plan.gate, models.fitting.train
    if augmented.counterfactuals is None or not asked.enabled:
        return abstain(asked, why_no_test(augmented, falsification)), CrossValidation()
    counts = FitCounts(procedure=procedure, gate=asked, in_time=train.times is not None)
    seconds = (models.cost if models.shares else augmented.fitter.cost).seconds_a_fit
    workers = workers_for(plan.jobs, asked.folds, len(parts) * counts.of_division * seconds)
    with clock.stage("gate", len(parts) * (len(models.missing(models.numbers)) + asked.folds)) as step:
        keep = plan.intervals is not None and plan.intervals.form == "cv_plus"
        folds = cross_validate(procedure, train, parts, models, asked, workers=workers, advance=step.advance, keep=keep)
    cost, stopped = models.plain_models + folds.cost, counts.stopped(len(folds.outcomes), folds.shared.fits)
    return judge(asked, folds.outcomes, train, seed=plan.seed, cost=cost, stopped_fits=stopped), folds


@stage("refit and score")
def refit_and_score(plan: Plan, split: Split, augmented: Augmentation, metric: Metric) -> Scored:
    """Both arms on all training rows, scored on the same test rows, if any; then what rows and gain are made of."""
    taught = None if augmented.counterfactuals is None else fit_augmented(augmented, split.train)
    scored = score_on_equal_footing(split, augmented.plain, taught, metric=metric, seed=plan.seed)
    if not plan.inspect:
        return scored
    controls = score_controls(split, augmented, scored, plan.without_graph, metric)
    return replace(scored, diagnostics=describe_rows(split, augmented, scored), controls=controls)


@stage("calibrate intervals")
def fit_intervals(
    plan: Plan,
    split: Split,
    procedure: Procedure,
    folds: CrossValidation,
    scored: Scored,
    errors: RowErrors,
    fold: IntArray,
    plain: Predictor,
) -> FittedIntervals | None:
    """Intervals of both arms from the rows that the gate held out, and their scores."""
    if plan.intervals is None:
        return None
    models: dict[Arm, Predictor] = {"plain": plain}
    if scored.augmented is not None:
        models["augmented"] = scored.augmented
    boundary = procedure.partitioner.boundary(split.train.names)
    return measure_intervals(
        plan.intervals,
        split,
        models,
        errors,
        fold,
        folds.outcomes[: plan.gate.folds],
        parents=plan.noise_parents,
        boundary=boundary,
    )


def estimate(plan: Plan) -> CostEstimate:
    """What a run will do and cost: reads and checks the data, asks the graph, counts the fits."""
    split, _ = plan.load()
    looks = plan.inspect and split.test is not None  # a control is scored on test rows
    controls = control_fits(plan.procedure, split.train, plan.without_graph) if looks else 0
    cost = estimate_cost(split, plan.procedure, plan.gate, seed=plan.seed, models=plan.models)
    return replace(cost, fits_of_controls=controls)
