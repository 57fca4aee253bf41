"""After the verdict: several models instead of one, and what the new rows are like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.diagnostics import comparison, diagnose, unmoved
from crda_spec.counterfactual.procedure import Augmentation
from crda_spec.errors import Complaint, DataError
from crda_spec.gate.gate import workers_for
from crda_spec.gate.metrics import RESAMPLES, Metric, change_interval, charged, units_of
from crda_spec.gate.score import LEVEL
from crda_spec.gate.verdict import percent_change
from crda_spec.records import (
    Arm,
    Array,
    Control,
    Counterfactuals,
    Diagnostics,
    Ensemble,
    EnsembleScore,
    HeldOut,
    Predictor,
    RunResult,
    Split,
    Table,
)
from crda_spec.regressors import FittedModel, Fitter, Regressor
from crda_spec.regressors.fit import Fill, Watch, student_seed
from crda_spec.regressors.mean import MeanModel
from crda_spec.seeds import stream


def inspect(
    split: Split, augmentation: Augmentation, made: Counterfactuals, augmented: Predictor, *, metric: Metric, seed: int
) -> Diagnostics:
    """The diagnostics of the rows that all training rows gave. augmented: the student that was trained on them."""
    train, teacher = split.train, augmentation.teacher
    found = diagnose(train, teacher, augmentation.abduction, made, seed=seed)
    before, after = (split.test.errors(model) for model in (augmentation.plain, augmented))
    # A fitter of its own: this fit is the report's, not the method's.
    fitter = Fitter(augmentation.fitter.regressor, augmentation.fitter.fill)
    still = unmoved(train, teacher, augmentation.abduction, made)
    relabelled = fitter.fit(train, still, seed=student_seed(seed, (0,)), watch=augmentation.watch)
    spread, weights, all_errors = split.test.spread, split.test.weights, (before, split.test.errors(relabelled), after)
    losses = [metric.loss(errors, spread=spread, weights=weights) for errors in all_errors]
    return replace(found, errors=comparison(before, after), control=_control(metric, *losses))


def _control(metric: Metric, plain: float, relabelled: float, augmented: float) -> Control | None:
    """None when there is no loss that could change."""
    if not plain > 0:
        return None
    return Control(
        metric=metric.name,
        plain=plain,
        relabelled=relabelled,
        augmented=augmented,
        teacher_percent=100.0 * (relabelled - plain) / plain,
        places_percent=100.0 * (augmented - relabelled) / plain,
    )


Members = Mapping[Arm, tuple[Predictor, ...]]


def ensemble_fits(models: int, *, augmented: bool) -> int:
    """How many models are fitted beside the one of each arm that a run fits anyway."""
    return (models - 1) * (2 if augmented else 1)


def member_seed(seed: int, number: int) -> int:
    """Model 1 is the run's own. Both arms of a model start from the same seed."""
    return student_seed(seed, (0,) if number == 1 else (0, number))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How many models, and how they are scored, drawn and spread."""

    models: int
    metric: Metric
    seed: int
    jobs: int | None  # None: one per core


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fitting:
    """How one member is fitted, sent to every worker."""

    regressor: Regressor
    fill: Fill
    train: Table
    watch: Watch
    seed: int

    def fit(self, extra: Counterfactuals | None, number: int) -> tuple[FittedModel, float]:
        """Member `number` and the seconds that it took. extra: the synthetic rows, for the augmented arm."""
        fitter = Fitter(self.regressor, self.fill)
        with threadpool_limits(limits=1):  # the same bytes on any machine, and no fight between workers
            model = fitter.fit(self.train, extra, seed=member_seed(self.seed, number), watch=self.watch)
        return model, fitter.seconds


def with_ensemble(
    result: RunResult,
    augmentation: Augmentation,
    asked: Asked,
    *,
    advance: Callable[[], None],
) -> RunResult:
    """The result with as many models of the chosen arm as are asked for, scored beside as many plain ones.

    Every augmented member trains on the same synthetic rows, those of the ledger.

    result: finished but for this; its model is the first of the chosen arm.
    """
    members: dict[Arm, tuple[Predictor, ...]] = {"plain": (augmentation.plain,)}
    if result.verdict.uses_augmented:
        members["augmented"] = (result.model,)
    fitter, made = augmentation.fitter, {"plain": None, "augmented": result.counterfactuals}
    fitting = _Fitting(
        regressor=fitter.regressor,
        fill=fitter.fill,
        train=result.split.train,
        watch=augmentation.watch,
        seed=asked.seed,
    )
    tasks = [(arm, number) for arm in members for number in range(2, asked.models + 1)]
    expected = result.fit_seconds / max(1, result.fits) * len(tasks)
    jobs_done = Parallel(n_jobs=workers_for(asked.jobs, len(tasks), expected), return_as="generator")(
        delayed(fitting.fit)(made[arm], number) for arm, number in tasks
    )
    seconds = 0.0
    for (arm, _), (model, spent) in zip(tasks, jobs_done, strict=True):
        members[arm] = (*members[arm], model)
        seconds += spent
        advance()
    with threadpool_limits(limits=1):
        ensemble = score_ensemble(result.split.test, members, metric=asked.metric, seed=asked.seed)
    return replace(
        result,
        ensemble=ensemble,
        members=members[ensemble.arm],
        fits=result.fits + len(tasks),
        fit_seconds=result.fit_seconds + seconds,
    )


def score_ensemble(test: HeldOut, members: Members, *, metric: Metric, seed: int) -> Ensemble:
    """One model and all models of each arm on the test rows, with the intervals that the test score has, too."""
    models, scoring = len(members["plain"]), _Scoring(test=test, metric=metric, seed=seed)
    singles = {arm: tuple(scoring.alone(model, arm) for model in own) for arm, own in members.items()}
    return Ensemble(
        models=models,
        arm="augmented" if "augmented" in members else "plain",
        fits=ensemble_fits(models, augmented="augmented" in members),
        metric=metric.name,
        rows=len(test),
        level=LEVEL,
        resamples=RESAMPLES,
        scores=tuple(scoring.score(members, singles[arm], arm, count) for count in (1, models) for arm in members),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scoring:
    """The test rows, and how errors on them are charged and compared."""

    test: HeldOut
    metric: Metric
    seed: int

    def score(self, members: Members, singles: tuple[float, ...], arm: Arm, count: int) -> EnsembleScore:
        """The first `count` models of an arm. singles: the losses of all its models, each alone."""
        own, plain = (self.test.errors(MeanModel(members[one][:count])) for one in (arm, "plain"))
        nothing: tuple[None, None] = (None, None)
        one_plain = (arm, count) == ("plain", 1)
        change = nothing if one_plain else self._against(self.test.errors(members["plain"][0]), own)
        gain = nothing if arm == "plain" else self._against(plain, own)
        return EnsembleScore(
            arm=arm,
            models=count,
            loss=self._loss(own),
            singles=singles[:count],
            change_percent=change[0],
            interval_percent=change[1],
            augmentation_percent=gain[0],
            augmentation_interval=gain[1],
        )

    def _loss(self, errors: Array) -> float:
        return self.metric.loss(errors, spread=self.test.spread, weights=self.test.weights)

    def _against(self, before: Array, after: Array) -> tuple[float, tuple[float, float] | None]:
        """The change and its interval; a resample takes the same rows as one of the test score."""
        plain, other = (charged(self.metric.row_losses(errors), self.test.weights) for errors in (before, after))
        units, rng = units_of(len(self.test), self.test.groups), stream(self.seed, "bootstrap")
        interval = change_interval(plain, other, units, self.metric, level=LEVEL, rng=rng)
        return percent_change(self._loss(before), self._loss(after)), interval

    def alone(self, model: Predictor, arm: Arm) -> float:
        """The loss of one member. One that has run away would take the mean with it: an error that says so."""
        loss = self._loss(self.test.errors(model))
        if not np.isfinite(loss):
            what = f"one of the {arm} models of the ensemble predicts numbers that are not finite on the test rows"
            hint = "lower its learning rate, or look for extreme values in the data"
            raise DataError(Complaint(code="diverged", path="regressor", what=what, hint=hint))
        return loss
