"""After the verdict: several models instead of one, of the arm that the gate chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from crda_spec.counterfactual.procedure import Augmentation
from crda_spec.errors import Complaint, DataError
from crda_spec.execution import Clock, in_order, workers_for
from crda_spec.gate.score import change_of
from crda_spec.records import (
    Arm,
    Array,
    Cost,
    Counterfactuals,
    Ensemble,
    EnsembleScore,
    HeldOut,
    Predictor,
    Split,
    Table,
)
from crda_spec.regressors import FittedModel, Fitter, Regressor
from crda_spec.regressors.fit import Fill, MeanModel, Watch, student_seed
from crda_spec.regressors.metrics import Metric

Members = Mapping[Arm, tuple[Predictor, ...]]


def ensemble_fits(models: int, *, both: bool) -> int:
    """How many models are fitted beside the one of each arm that a run fits anyway. both: of both arms, to compare."""
    return (models - 1) * (2 if both else 1)


def member_seed(seed: int, number: int) -> int:
    """Model 1 is the run's own. Both arms of a model start from the same seed."""
    return student_seed(seed, (0,) if number == 1 else (0, number))


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedEnsemble:
    """Several models of the chosen arm, the run's own first, and how they score."""

    scores: Ensemble
    members: tuple[Predictor, ...]
    cost: Cost


def fit_ensemble(
    split: Split,
    augmentation: Augmentation,
    augmented: Predictor | None,
    models: int,
    clock: Clock,
    *,
    metric: Metric,
    jobs: int | None,
) -> FittedEnsemble | None:
    """As many models of the chosen arm as are asked for, scored beside as many plain ones; None for one model.

    Without test rows nothing is compared, and no model is fitted for a comparison.
    augmented: the augmented model, when it is the one to use. Its further members train on the same synthetic rows.
    """
    if models == 1:
        return None
    final: Arm = "plain" if augmented is None else "augmented"
    members: dict[Arm, tuple[Predictor, ...]] = {"plain": (augmentation.plain,)}
    if augmented is not None:
        members["augmented"] = (augmented,)
    if split.test is None:
        members = {final: members[final]}
    fitter, seed = augmentation.fitter, augmentation.context.seed
    made = {"plain": None, "augmented": augmentation.counterfactuals}
    fit = partial(_fit_member, fitter.regressor, fitter.fill, split.train, watch=augmentation.procedure.watch)
    tasks, cost = [(arm, number) for arm in members for number in range(2, models + 1)], Cost()
    workers = workers_for(jobs, len(tasks), fitter.cost.seconds_a_fit * len(tasks))
    with clock.stage("fit the ensemble", len(tasks)) as step:
        fits = (partial(fit, made[arm], seed=member_seed(seed, number)) for arm, number in tasks)
        for (arm, _), (model, spent) in zip(tasks, in_order(fits, workers=workers), strict=True):
            members[arm] = (*members[arm], model)
            cost += spent
            step.advance()
        scores: tuple[EnsembleScore, ...] = ()
        if split.test is not None:
            scores = score_ensemble(split.test, members, metric=metric, seed=seed)
        else:
            _forbid_runaway(final, MeanModel(members[final]).predict(split.train.x), "training")
    found = Ensemble(models=models, arm=final, fits=len(tasks), scores=scores)
    return FittedEnsemble(scores=found, members=members[final], cost=cost)


def _fit_member(
    regressor: Regressor, fill: Fill, train: Table, extra: Counterfactuals | None, *, watch: Watch, seed: int
) -> tuple[FittedModel, Cost]:
    """One member and what it took. extra: the synthetic rows, for the augmented arm."""
    fitter = Fitter(regressor, fill)
    return fitter.fit(train, extra, seed=seed, watch=watch), fitter.cost


def _forbid_runaway(arm: Arm, seen: Sequence[float] | Array, rows: str) -> None:
    """One model would take the mean with it. seen: its losses or predictions."""
    if not np.isfinite(seen).all():
        what = f"one of the {arm} models of the ensemble predicts numbers that are not finite on the {rows} rows"
        hint = "lower its learning rate, or look for extreme values in the data"
        raise DataError(Complaint(code="diverged", path="regressor", what=what, hint=hint))


def score_ensemble(test: HeldOut, members: Members, *, metric: Metric, seed: int) -> tuple[EnsembleScore, ...]:
    """One model and all models of each arm on the test rows, with the intervals that the test score has, too."""
    models = len(members["plain"])
    loss = partial(metric.loss, spread=test.spread, weights=test.weights)
    change_between = partial(change_of, test, metric=metric, seed=seed)
    singles = {arm: tuple(loss(test.errors(model), arm=arm) for model in own) for arm, own in members.items()}
    for arm, losses in singles.items():
        _forbid_runaway(arm, losses, "test")

    def score(arm: Arm, count: int) -> EnsembleScore:
        """The first `count` models of an arm."""
        own, plain = (test.errors(MeanModel(members[one][:count])) for one in (arm, "plain"))
        nothing: tuple[None, None] = (None, None)
        one_plain = (arm, count) == ("plain", 1)
        change = nothing if one_plain else change_between(test.errors(members["plain"][0]), own, arm)
        gain = nothing if arm == "plain" else change_between(plain, own, arm)
        return EnsembleScore(
            arm=arm,
            models=count,
            loss=loss(own, arm=arm),
            singles=singles[arm][:count],
            change_percent=change[0],
            interval_percent=change[1],
            augmentation_percent=gain[0],
            augmentation_interval=gain[1],
        )

    return tuple(score(arm, count) for count in (1, models) for arm in members)
