"""The base regressor's settings by random search, scored by cross-validation inside the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.data.folds import scoring_folds
from crda_spec.data.raw import counted
from crda_spec.errors import Complaint, DataError
from crda_spec.records import Cost, IntArray, Study, Table, Trial, weighted_mean
from crda_spec.regressors._protocol import BaseRegressor, Regressor
from crda_spec.regressors.fit import Fill, Fitter
from crda_spec.regressors.metrics import Metric
from crda_spec.seeds import integer_seed, stream
from crda_spec.strict import Strict


class RandomSearch(Strict):
    """The paper's search: random trials, each scored by cross-validation on the same folds of the training rows."""

    kind: Literal["randomized"] = Field(
        "randomized",
        description=(
            "Random trials from the regressor's search space, scored by cross-validation inside the training rows; "
            "repeated inside every gate fold. Settings written in `regressor` are not searched. What is found serves "
            "the plain and the augmented model alike."
        ),
    )
    trials: int = Field(20, ge=1, le=1000, description="How many settings to try; the paper tries 20.")
    folds: int = Field(3, ge=2, le=20, description="Folds of the inner cross-validation; the paper uses 3.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The best settings found, the whole search, and what it cost."""

    regressor: Regressor
    cost: Cost
    study: Study


def tune(
    regressor: Regressor, search: RandomSearch, train: Table, *, fill: Fill, seed: int, index: tuple[int, ...]
) -> Tuned:
    """The settings with the least squared error, or pinball loss, over the folds; the first of equals.

    Where rows have an order, the folds run forward: settings are wanted that predict later rows.
    """
    assert isinstance(regressor, BaseRegressor)  # noqa: S101 - a plugin has no space, and a spec that tunes it is refused
    space = regressor.open_space()
    draws = stream(seed, "tune", *index).random((search.trials, len(space)))
    parts = scoring_folds(train, search.folds, rng=stream(seed, "tune-folds", *index))
    cost = Cost()
    trials: list[Trial] = []
    for number, quantiles in enumerate(draws, start=1):
        chosen = {name: prior.at(float(u)) for (name, prior), u in zip(space.items(), quantiles, strict=True)}
        fitter = Fitter(regressor.model_copy(update=chosen), fill)
        losses = tuple(
            _loss(fitter, regressor.own_metric, train, seen, held, seed=integer_seed(seed, "tune-fit", *index, fold))
            for fold, (seen, held) in enumerate(parts)
        )
        cost += fitter.cost
        failed = not np.isfinite(losses).all()  # a trial that ran away never wins
        trials.append(Trial(number=number, values=chosen, losses=losses, state="failed" if failed else "complete"))
    sizes = tuple(len(held) for _, held in parts)
    best = best_trial(trials, sizes, path="tune", hint="look for extreme values in the data")
    study = Study(
        what="regressor",
        fold=index[0] if index else 0,
        rows=len(train),
        held_rows=sizes,
        budget=search.trials,
        seconds=None,
        stopped="trials",
        metric=regressor.own_metric.name,
        plain=(),
        trials=tuple(trials),
        best=best.number,
        fits=cost.fits,
    )
    tuned = regressor.model_copy(update=dict(best.values))
    return Tuned(regressor=tuned, cost=cost, study=study)


def best_trial(trials: Sequence[Trial], sizes: Sequence[int], *, path: str, hint: str) -> Trial:
    """The whole trial with the least mean loss, the first of equals. sizes: rows of each inner fold."""
    whole = [trial for trial in trials if trial.state == "complete"]
    if not whole:
        what = f"all {counted(len(trials), 'trial')} of the search ended with numbers that are not finite"
        raise DataError(Complaint(code="diverged", path=path, what=what, hint=hint))
    return min(whole, key=lambda one: sum(loss * rows for loss, rows in zip(one.losses, sizes, strict=True)))


def _loss(fitter: Fitter, metric: Metric, train: Table, seen: IntArray, held: IntArray, *, seed: int) -> float:
    """The (weighted) mean loss on rows that the model has not seen."""
    model = fitter.fit(train.take(seen), seed=seed)
    unseen = train.take(held)
    with np.errstate(over="ignore", invalid="ignore"):
        return weighted_mean(metric.row_losses(unseen.y - model.predict(unseen.x)), unseen.weights)
