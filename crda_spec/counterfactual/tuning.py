"""The augmentation, chosen inside the rows at hand: among named candidates, or by Optuna's TPE over the knobs.

Inside each gate fold an inner cross-validation on that fold's training rows chooses. The gate then compares the plain
model with the whole procedure, choice included: one hypothesis and one test, however many candidates there are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from crda_spec import records
from crda_spec.counterfactual.partition import Partition, Partitioner
from crda_spec.counterfactual.policies import BasePolicy
from crda_spec.counterfactual.procedure import Procedure, Tuned, augment, fit_augmented, tune_regressor
from crda_spec.data.folds import scoring_folds
from crda_spec.errors import Complaint, DataError
from crda_spec.records import Array, Certificate, Cost, FeatureVerdict, Study, Table, Trial, TrialState, weighted_mean
from crda_spec.regressors import Fitter
from crda_spec.regressors.metrics import MSE, Metric
from crda_spec.regressors.teachers import FoldContext, TeacherRule
from crda_spec.regressors.teachers.fold_models import laid_out
from crda_spec.regressors.tune import best_trial
from crda_spec.seeds import integer_seed, stream
from crda_spec.strict import Finite, Strict

if TYPE_CHECKING:
    import optuna

DECLARED = "declared"  # the spec as it stands is the first candidate
_WHOLE_TRIALS_FIRST = 5  # before the median of earlier trials is worth anything

Value = float | int | str
Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Options:
    """One of these values. Numbers are in ascending order, which the search makes use of; words have no order."""

    values: tuple[Value, ...]

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers."""
        return not any(isinstance(value, str) for value in self.values)

    def suggest(self, name: str, trial: optuna.Trial) -> Value:
        """The search's next value."""
        if self.ordered:
            return self.values[trial.suggest_int(name, 0, len(self.values) - 1)]
        return self.values[self.values.index(trial.suggest_categorical(name, self.values))]

    def internal(self, value: Value) -> Value | None:
        """What the search knows this value as; None when it is not among them."""
        if value not in self.values:
            return None
        return self.values.index(value) if self.ordered else value


class NumberRange(Strict):
    """Any number between two."""

    low: Finite = Field(description="The least value that is tried.")
    high: Finite = Field(description="The greatest value that is tried.")
    log: bool = Field(default=False, description="Whether values are spread evenly in their logarithm.")

    def suggest(self, name: str, trial: optuna.Trial) -> Value:
        """The search's next value."""
        return trial.suggest_float(name, float(self.low), float(self.high), log=self.log)

    def internal(self, value: Value) -> Value | None:
        """The value itself; None when it lies outside."""
        return value if not isinstance(value, str) and self.low <= value <= self.high else None


class CountRange(Strict):
    """Any whole number between two."""

    low: int = Field(description="The least count that is tried.")
    high: int = Field(description="The greatest count that is tried.")

    def suggest(self, name: str, trial: optuna.Trial) -> Value:
        """The search's next value."""
        return trial.suggest_int(name, self.low, self.high)

    def internal(self, value: Value) -> Value | None:
        """The value itself; None when it lies outside."""
        return value if isinstance(value, int) and self.low <= value <= self.high else None


Prior = Options | NumberRange | CountRange


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobSpace:
    """What is searched, and what the words among the values stand for."""

    priors: Mapping[str, Prior]
    teachers: Mapping[str, TeacherRule] = field(default_factory=dict)
    policies: Mapping[str, BasePolicy] = field(default_factory=dict)

    def suggest(self, trial: optuna.Trial) -> dict[str, Value]:
        """The next values to try."""
        return {name: prior.suggest(name, trial) for name, prior in self.priors.items()}

    def declared(self, procedure: Procedure) -> dict[str, Value] | None:
        """The values that the procedure has as it stands; None when one of them is not among those searched."""
        knobs = {name: self._current(name, procedure) for name in self.priors}
        return None if self.internal(knobs) is None else {name: one for name, one in knobs.items() if one is not None}

    def internal(self, values: Mapping[str, Value | None]) -> dict[str, Value] | None:
        """The values as the search knows them; None when one lies outside."""
        known: dict[str, Value] = {}
        for name, prior in self.priors.items():
            value = values[name]
            inside = None if value is None else prior.internal(value)
            if inside is None:
                return None
            known[name] = inside
        return known

    def applied(self, procedure: Procedure, values: Values) -> Procedure:
        """The procedure with these values."""
        changes: dict[str, Any] = {name: values[name] for name in ("retention", "weight") if name in values}
        policy: BasePolicy = procedure.perturbation.default
        if "factor" in values:
            changes["factor"] = float(values["factor"])
        if "policy" in values:
            policy = self.policies[str(values["policy"])]
        if "reach" in values:
            policy = policy.model_copy(update={str(policy.size): values["reach"]})
        if "teacher" in values:
            changes["teacher"] = self.teachers[str(values["teacher"])]
        if "max_features" in values:
            changes["choice"] = procedure.choice.model_copy(update={"max_features": int(values["max_features"])})
            changes["partitioner"] = replace(procedure.partitioner, choice=changes["choice"])  # type: ignore[type-var]
        perturbation = procedure.perturbation.model_copy(update={"default": policy})
        return replace(procedure, perturbation=perturbation, **changes)

    def _current(self, name: str, procedure: Procedure) -> Any:  # noqa: ANN401 - the knob's value, None when it has none
        policy: BasePolicy = procedure.perturbation.default
        named: dict[str, tuple[Mapping[str, object], object]] = {
            "teacher": (self.teachers, procedure.teacher),
            "policy": (self.policies, policy),
        }
        if name in named:
            options, chosen = named[name]
            return next((words for words, one in options.items() if one == chosen), None)
        if name == "reach":
            return getattr(policy, str(policy.size))
        return procedure.choice.max_features if name == "max_features" else getattr(procedure, name)


@dataclass(frozen=True, slots=True, eq=False)
class _Remembering:
    """A partitioner that is asked the same again and again: its answer is a function of rows, residuals and choice."""

    partitioner: Partitioner
    choice: Partition
    memo: dict[tuple[Partition, bytes], Certificate]

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """The certificate, the one of an earlier trial where nothing that it depends on has changed."""
        key = (self.choice, residuals.tobytes())
        if key not in self.memo:
            self.memo[key] = self.partitioner.partition(train, residuals, seed=seed, index=index)
        return self.memo[key]

    def on(self, train: Table, known: Partitioner | None = None) -> _Remembering:
        """The partitioner has asked the rows of its fold."""
        return self

    def boundary(self, features: Sequence[str]) -> tuple[str, ...]:
        """The partitioner's own."""
        return self.partitioner.boundary(features)

    def known_before_fitting(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """What the partitioner itself foresees."""
        return self.partitioner.known_before_fitting(features)


@dataclass(slots=True, kw_only=True, eq=False)
class InnerFold:
    """One inner fold: the rows that everything is fitted on, and the real rows that score it."""

    procedure: Procedure
    train: Table
    held: Table
    metric: Metric
    context: FoldContext
    gate_folds: int
    _fitter: Fitter | None = field(default=None, init=False)
    _certificates: dict[tuple[Partition, bytes], Certificate] = field(default_factory=dict, init=False)
    _partitioner: Partitioner | None = field(default=None, init=False)  # of an earlier trial, which has asked the rows

    @property
    def fitter(self) -> Fitter:
        """Fits with the settings found on these rows alone, and remembers what trials have in common."""
        if self._fitter is None:
            tuned = tune_regressor(self.procedure, self.train, self.context)
            self._fitter = Fitter(tuned.procedure.regressor, self.procedure.fill, memo={}).spent(tuned.cost)
        return self._fitter

    def losses(self, candidate: Procedure) -> tuple[float, float]:
        """The plain and the augmented model's mean loss on the held-out rows, weighted where rows are."""
        context = self.context
        if context.numbers:
            context = laid_out(context, self.gate_folds, in_blocks=candidate.in_blocks)
        self._partitioner = candidate.partitioner.on(self.train, known=self._partitioner)
        remembering = _Remembering(self._partitioner, candidate.choice, self._certificates)
        whole = replace(candidate, search=None, tuner=None, partitioner=remembering)
        made = augment(whole, self.train, context, fitter=self.fitter)
        augmented = fit_augmented(made, self.train)
        plain = self._loss(self.held.y - made.plain.predict(self.held.x))
        if augmented is made.plain:
            return plain, plain
        return plain, self._loss(self.held.y - augmented.predict(self.held.x))

    def _loss(self, errors: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):  # a trial that ran away is known by its loss
            return weighted_mean(self.metric.row_losses(errors), self.held.weights)


def inner_folds(
    procedure: Procedure, train: Table, count: int, context: FoldContext, *, metric: Metric
) -> tuple[InnerFold, ...]:
    """The inner folds of these rows; groups stay whole, and where rows have an order the folds run forward."""
    parts = scoring_folds(train, count, rng=stream(context.seed, "knob-folds", *context.index))
    return tuple(
        InnerFold(
            procedure=procedure,
            train=train.take(rest),
            held=train.take(rows),
            metric=metric,
            context=replace(_inside(context, rest), index=(*context.index, number)),
            gate_folds=context.folds,
        )
        for number, (rest, rows) in enumerate(parts, start=1)
    )


def _inside(context: FoldContext, rest: records.IntArray) -> FoldContext:
    """The gate's folds as they lie in the inner training rows, so that a teacher that follows them has as many."""
    if context.in_time or not context.numbers:
        return replace(context, ready={}, plain=None)  # blocks of time are cut anew in whatever rows there are
    kept = [(number, np.intersect1d(held, rest)) for number, held in zip(context.numbers, context.held, strict=True)]
    full = [(number, np.searchsorted(rest, held).astype(np.int64)) for number, held in kept if len(held)]
    if len(full) < 2:
        what = "the inner folds of the search leave too few rows for a teacher that follows the gate's folds"
        hint = "write a number as counterfactual.teacher.folds, or use fewer gate folds"
        raise DataError(Complaint(code="too-few-rows", path="tune.augmentation.folds", what=what, hint=hint))
    numbers, held = tuple(number for number, _ in full), tuple(held for _, held in full)
    return replace(context, numbers=numbers, held=held, parts=(), ready={}, plain=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobSearch:
    """How the knobs are found."""

    space: KnobSpace
    trials: int = 30
    folds: int = 3
    prune: bool = True
    seconds: float | None = None
    warm_start: bool = True
    metric: Metric = MSE  # mae, or pinball

    @property
    def in_blocks(self) -> bool:
        """Whether every teacher to choose from leaves out the gate's folds in blocks."""
        return all(teacher.in_blocks for teacher in self.space.teachers.values())

    def fits(self, procedure: Procedure, parts: int) -> int:
        """At most this many models: in each inner fold, all that trials share once, and one augmented model a trial."""
        searched = procedure.search
        regressor = 0 if searched is None else searched.trials * searched.folds
        rules = tuple(self.space.teachers.values()) if "teacher" in self.space.priors else (procedure.teacher,)
        shared = sum(replace(procedure, search=None, tuner=None, teacher=one).fits(parts) - 2 for one in rules)
        return self.folds * (regressor + 1 + shared + self.trials)

    def tune(self, procedure: Procedure, train: Table, context: FoldContext) -> Tuned:
        """The procedure with the best knobs found on these rows, and the whole search."""
        inside = inner_folds(procedure, train, self.folds, context, metric=self.metric)
        seed = integer_seed(context.seed, "knobs", *context.index)
        trials, plain, stopped = _Trials(self, procedure, inside).run(seed)
        return _tuned(
            self,
            inside,
            partial(self.space.applied, procedure),
            fold=context.index[0],
            rows=len(train),
            held_rows=tuple(len(fold.held) for fold in inside),
            budget=self.trials,
            seconds=self.seconds,
            stopped=stopped,
            plain=plain,
            trials=trials,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Named procedures that differ in how they augment; the regressor is the same in all."""

    named: Mapping[str, Procedure]
    folds: int = 3
    metric: Metric = MSE  # mae, or pinball

    @property
    def in_blocks(self) -> bool:
        """Whether every candidate leaves out the gate's folds in blocks."""
        return all(one.in_blocks for one in self.named.values())

    def fits(self, procedure: Procedure, parts: int) -> int:
        """In each inner fold, every candidate from top to bottom; and what the dearest needs beyond the declared."""
        needs = [one.fits(parts) for one in self.named.values()]
        return self.folds * sum(needs) + max(needs) - replace(procedure, tuner=None).fits(parts)

    def tune(self, procedure: Procedure, train: Table, context: FoldContext) -> Tuned:
        """The candidate with the least loss on the inner folds, the first of equals; and all their losses."""
        trials: list[Trial] = []
        plain: tuple[float, ...] = ()
        inside: list[InnerFold] = []
        for number, (name, candidate) in enumerate(self.named.items(), start=1):
            own = inner_folds(candidate, train, self.folds, context, metric=self.metric)
            inside += own
            pairs = [fold.losses(candidate) for fold in own]
            losses = tuple(augmented for _, augmented in pairs)
            plain = plain or tuple(loss for loss, _ in pairs)
            state: TrialState = "complete" if all(map(math.isfinite, losses)) else "failed"
            values = {"candidate": name}
            trials.append(Trial(number=number, values=values, losses=losses, state=state, origin="declared"))
        return _tuned(
            self,
            inside,
            lambda values: self.named[values["candidate"]],
            fold=context.index[0],
            rows=len(train),
            held_rows=tuple(len(fold.held) for fold in inside[: len(plain)]),
            budget=len(trials),
            seconds=None,
            stopped="trials",
            plain=plain,
            trials=tuple(trials),
        )


def _tuned(
    tuner: KnobSearch | Candidates,
    inside: Sequence[InnerFold],
    chosen: Callable[[Mapping[str, Any]], Procedure],
    **what: Any,  # noqa: ANN401 - the rest of the study
) -> Tuned:
    """The procedure of the best trial, with nothing left to choose, and the whole search.

    What an inner fold reuses saves nothing that a plan counts.
    """
    hint = "look for extreme values in the data, or search smaller steps"
    best = best_trial(what["trials"], what["held_rows"], path="tune.augmentation", hint=hint)
    cost = replace(sum((fold.fitter.cost for fold in inside), Cost()), reused=0)
    study = Study(what="augmentation", metric=tuner.metric.kind, best=best.number, fits=cost.fits, **what)
    return Tuned(procedure=replace(chosen(best.values), tuner=None), studies=(study,), cost=cost)


@dataclass(slots=True)
class _Trials:
    """The trials of one search."""

    search: KnobSearch
    procedure: Procedure
    inside: Sequence[InnerFold]
    clock: Callable[[], float] = time.perf_counter

    def run(self, seed: int) -> tuple[tuple[Trial, ...], tuple[float, ...], records.StoppedBy]:
        """The trials, the plain model's loss on each inner fold, and what ended the search."""
        from optuna.trial import TrialState as State

        search, started = self.search, self.clock()
        study = _new_study(seed, prune=search.prune)
        declared = search.space.declared(self.procedure) if search.warm_start else None
        if declared is not None:
            study.enqueue_trial(search.space.internal(declared) or {})
        trials: list[Trial] = []
        plain: dict[int, float] = {}  # by fold, in their order: no trial leaves one out
        known: dict[tuple[object, ...], Trial] = {}
        for number in range(1, search.trials + 1):
            if number > 1 and search.seconds is not None and self.clock() - started > search.seconds:
                return tuple(trials), tuple(plain.values()), "time"
            asked = study.ask()
            values = search.space.suggest(asked)
            earlier = known.get(tuple(values.values()))
            losses, state = self._score(asked, values, earlier, plain)
            trial = Trial(
                number=number,
                values=values,
                losses=losses,
                state=state,
                origin="declared" if number == 1 and declared is not None else "drawn",
                repeats=None if earlier is None else earlier.repeats or earlier.number,
            )
            trials.append(trial)
            known.setdefault(tuple(values.values()), trial)
            if state == "complete":
                study.tell(asked, _mean(losses, self.inside))
            else:
                study.tell(asked, state=State.PRUNED if state == "pruned" else State.FAIL)
        return tuple(trials), tuple(plain.values()), "trials"

    def _score(
        self, asked: optuna.Trial, values: Values, earlier: Trial | None, plain: dict[int, float]
    ) -> tuple[tuple[float, ...], TrialState]:
        """Fold by fold; a trial that was tried before costs no fit."""
        candidate = self.search.space.applied(self.procedure, values)
        losses: list[float] = []
        for step, fold in enumerate(self.inside):
            if earlier is not None:
                if step == len(earlier.losses):
                    return tuple(losses), earlier.state
                loss = earlier.losses[step]
            else:
                plain[step], loss = fold.losses(candidate)
            losses.append(loss)
            if not math.isfinite(loss):
                return tuple(losses), "failed"
            asked.report(_mean(losses, self.inside), step)
            if step < len(self.inside) - 1 and asked.should_prune():
                return tuple(losses), "pruned"
        return tuple(losses), "complete"


def _new_study(seed: int, *, prune: bool) -> optuna.Study:
    import optuna
    from optuna.pruners import MedianPruner, NopPruner
    from optuna.samplers import TPESampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)  # a run has its own voice
    pruner = MedianPruner(n_startup_trials=_WHOLE_TRIALS_FIRST) if prune else NopPruner()
    return optuna.create_study(sampler=TPESampler(seed=seed), pruner=pruner)


def _mean(losses: Sequence[float], inside: Sequence[InnerFold]) -> float:
    rows = [len(fold.held) for fold in inside[: len(losses)]]
    return sum(loss * count for loss, count in zip(losses, rows, strict=True)) / sum(rows)
