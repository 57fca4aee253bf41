"""The base regressor's settings by random search, scored by cross-validation inside the training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crda_spec.data.folds import scoring_folds
from crda_spec.data.raw import counted
from crda_spec.errors import Complaint, DataError
from crda_spec.records import IntArray, Study, Table, Trial, weighted_mean
from crda_spec.regressors._protocol import Regressor
from crda_spec.regressors.fit import Fill, Fitter
from crda_spec.seeds import integer_seed, stream
from crda_spec.spaces import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSearch:
    """`trials` settings drawn from the space, each scored on the same folds."""

    space: Space
    trials: int
    folds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The best settings found, the whole search, and what it cost."""

    regressor: Regressor
    chosen: dict[str, Any]
    loss: float
    fits: int
    seconds: float
    study: Study


def tune(
    regressor: Regressor, search: RandomSearch, train: Table, *, fill: Fill, seed: int, index: tuple[int, ...]
) -> Tuned:
    """The settings with the least mean squared error over the folds; the first of equals.

    Where rows have an order, the folds run forward: settings are wanted that foretell later rows.
    """
    draws = stream(seed, "tune", *index).random((search.trials, len(search.space)))
    parts = scoring_folds(train, search.folds, rng=stream(seed, "tune-folds", *index))
    fits, seconds = 0, 0.0
    trials: list[Trial] = []
    for number, quantiles in enumerate(draws, start=1):
        chosen = {name: prior.at(float(u)) for (name, prior), u in zip(search.space.items(), quantiles, strict=True)}
        fitter = Fitter(_with(regressor, chosen), fill)
        losses = tuple(
            _loss(fitter, train, seen, held, seed=integer_seed(seed, "tune-fit", *index, fold))
            for fold, (seen, held) in enumerate(parts)
        )
        fits, seconds = fits + fitter.fits, seconds + fitter.seconds
        failed = not np.isfinite(losses).all()  # a trial that ran away never wins
        trials.append(Trial(number=number, values=chosen, losses=losses, state="failed" if failed else "complete"))
    return _tuned(regressor, search, train, trials, [len(held) for _, held in parts], (fits, seconds), index)


def _loss(fitter: Fitter, train: Table, seen: IntArray, held: IntArray, *, seed: int) -> float:
    """The (weighted) mean squared error on rows that the model has not seen."""
    model = fitter.fit(train.take(seen), seed=seed)
    unseen = train.take(held)
    with np.errstate(over="ignore", invalid="ignore"):
        return weighted_mean((unseen.y - model.predict(unseen.x)) ** 2, unseen.weights)


def _tuned(
    regressor: Regressor,
    search: RandomSearch,
    train: Table,
    trials: list[Trial],
    sizes: list[int],
    cost: tuple[int, float],
    index: tuple[int, ...],
) -> Tuned:
    whole = [trial for trial in trials if trial.state == "complete"]
    if not whole:
        what = f"all {counted(search.trials, 'trial')} of the search ended with numbers that are not finite"
        raise DataError(Complaint(code="diverged", path="tune", what=what, hint="look for extreme values in the data"))
    best = min(whole, key=lambda one: sum(loss * rows for loss, rows in zip(one.losses, sizes, strict=True)))
    study = Study(
        what="regressor",
        fold=index[0] if index else 0,
        rows=len(train),
        held_rows=tuple(sizes),
        budget=search.trials,
        seconds=None,
        stopped="trials",
        metric="mse",
        plain=(),
        trials=tuple(trials),
        best=best.number,
        fits=cost[0],
    )
    chosen = dict(best.values)
    return Tuned(
        regressor=_with(regressor, chosen),
        chosen=chosen,
        loss=study.mean_loss(best.losses),
        fits=cost[0],
        seconds=cost[1],
        study=study,
    )


def _with(regressor: Regressor, chosen: dict[str, Any]) -> Regressor:
    changed: Regressor = replace(regressor, **chosen)  # type: ignore[type-var] # members are dataclasses
    return changed
