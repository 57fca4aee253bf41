"""Optuna's TPE over the knobs: seeded, on one thread, with a trial budget and, if asked for, a clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import optuna
from optuna.pruners import MedianPruner, NopPruner
from optuna.samplers import TPESampler

from crda_spec.counterfactual.procedure import Procedure, Settled
from crda_spec.counterfactual.tuning.inner import InnerFold, inner_folds
from crda_spec.counterfactual.tuning.knobs import KnobSpace, Values
from crda_spec.data.rows import counted
from crda_spec.errors import Complaint, DataError
from crda_spec.records import StoppedBy, Study, Table, Trial, TrialState
from crda_spec.regressors.teachers import GateFolds, TeacherRule
from crda_spec.seeds import integer_seed

_WHOLE_TRIALS_FIRST = 5  # before the median of earlier trials is worth anything


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobSearch:
    """How the knobs are found."""

    space: KnobSpace
    trials: int = 30
    folds: int = 3
    prune: bool = True
    seconds: float | None = None
    warm_start: bool = True
    metric: str = "mse"  # or mae, or pinball
    quantile: float = 0.5  # read by pinball alone

    @property
    def in_blocks(self) -> bool:
        """Whether every teacher to choose from leaves out the gate's folds in blocks."""
        return all(teacher.in_blocks for teacher in self.space.teachers.values())

    def fits(self, procedure: Procedure, parts: int) -> int:
        """At most this many models: in each inner fold, all that trials share once, and one augmented model a trial."""
        searched = procedure.search
        regressor = 0 if searched is None else searched.trials * searched.folds
        rules: list[TeacherRule] = [procedure.teacher] if "teacher" not in self.space.priors else []
        rules += self.space.teachers.values() if "teacher" in self.space.priors else []
        shared = sum(replace(procedure, search=None, tuner=None, teacher=one).fits(parts) - 2 for one in rules)
        return self.folds * (regressor + 1 + shared + self.trials)

    def settle(
        self, procedure: Procedure, train: Table, *, seed: int, index: tuple[int, ...], around: GateFolds | None
    ) -> Settled:
        """The procedure with the best knobs found on these rows, and the whole search."""
        inside = inner_folds(
            procedure,
            train,
            self.folds,
            metric=self.metric,
            seed=seed,
            index=index,
            around=around,
            quantile=self.quantile,
        )
        trials, plain, stopped = _Trials(self, procedure, inside).run(integer_seed(seed, "knobs", *index))
        sizes = tuple(len(one.held) for one in inside)
        best = _best(trials, sizes)
        fits = sum(one.fitter.fits for one in inside)
        study = Study(
            what="augmentation",
            fold=index[0],
            rows=len(train),
            held_rows=sizes,
            budget=self.trials,
            seconds=self.seconds,
            stopped=stopped,
            metric=self.metric,
            plain=plain,
            trials=trials,
            best=best.number,
            fits=fits,
        )
        chosen = self.space.applied(procedure, best.values)  # type: ignore[arg-type] # as it was suggested
        seconds = sum(one.fitter.seconds for one in inside)
        return Settled(procedure=replace(chosen, tuner=None), studies=(study,), fits=fits, seconds=seconds)


@dataclass(slots=True)
class _Trials:
    """The trials of one search."""

    search: KnobSearch
    procedure: Procedure
    inside: Sequence[InnerFold]
    clock: Callable[[], float] = time.perf_counter

    def run(self, seed: int) -> tuple[tuple[Trial, ...], tuple[float, ...], StoppedBy]:
        """The trials, the plain model's loss on each inner fold, and what ended the search."""
        search, started = self.search, self.clock()
        study = _new_study(seed, prune=search.prune)
        declared = search.space.declared(self.procedure) if search.warm_start else None
        if declared is not None:
            study.enqueue_trial(search.space.internal(declared) or {})
        trials: list[Trial] = []
        plain: dict[int, float] = {}
        known: dict[tuple[object, ...], Trial] = {}
        for number in range(1, search.trials + 1):
            if number > 1 and search.seconds is not None and self.clock() - started > search.seconds:
                return tuple(trials), _in_order(plain), "time"
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
            self._tell(study, asked, trial)
        return tuple(trials), _in_order(plain), "trials"

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

    def _tell(self, study: optuna.Study, asked: optuna.Trial, trial: Trial) -> None:
        match trial.state:
            case "complete":
                study.tell(asked, _mean(trial.losses, self.inside))
            case "pruned":
                study.tell(asked, state=optuna.trial.TrialState.PRUNED)
            case _:
                study.tell(asked, state=optuna.trial.TrialState.FAIL)


def _new_study(seed: int, *, prune: bool) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # a run has its own voice
    pruner = MedianPruner(n_startup_trials=_WHOLE_TRIALS_FIRST) if prune else NopPruner()
    return optuna.create_study(sampler=TPESampler(seed=seed), pruner=pruner)


def _mean(losses: Sequence[float], inside: Sequence[InnerFold]) -> float:
    rows = [len(fold.held) for fold in inside[: len(losses)]]
    return sum(loss * count for loss, count in zip(losses, rows, strict=True)) / sum(rows)


def _in_order(plain: dict[int, float]) -> tuple[float, ...]:
    return tuple(plain[step] for step in sorted(plain))


def _best(trials: Sequence[Trial], sizes: Sequence[int]) -> Trial:
    """The whole trial with the least mean loss; the first of equals."""
    whole = [trial for trial in trials if trial.state == "complete"]
    if not whole:
        what = f"all {counted(len(trials), 'trial')} of the search ended with numbers that are not finite"
        hint = "look for extreme values in the data, or search smaller steps"
        raise DataError(Complaint(code="diverged", path="tune.augmentation", what=what, hint=hint))
    return min(whole, key=lambda one: sum(loss * rows for loss, rows in zip(one.losses, sizes, strict=True)))
