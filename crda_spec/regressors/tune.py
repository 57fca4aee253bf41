"""The base regressor's settings by random search, scored by cross-validation inside the training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crda_spec.data.folds import folds
from crda_spec.data.rows import counted
from crda_spec.errors import Complaint, DataError
from crda_spec.records import Table
from crda_spec.regressors._protocol import Regressor
from crda_spec.regressors.encoding import Fill
from crda_spec.regressors.fit import Fitter
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
    """The best settings found, and what finding them cost."""

    regressor: Regressor
    chosen: dict[str, Any]
    loss: float
    fits: int
    seconds: float


def tune(
    regressor: Regressor, search: RandomSearch, train: Table, *, fill: Fill, seed: int, index: tuple[int, ...]
) -> Tuned:
    """The settings with the least mean squared error over the folds; the first of equals."""
    draws = stream(seed, "tune", *index).random((search.trials, len(search.space)))
    held = folds(len(train), search.folds, rng=stream(seed, "tune-folds", *index), groups=train.groups)
    fits, seconds = 0, 0.0
    best: tuple[float, dict[str, Any]] | None = None
    for quantiles in draws:
        chosen = {name: prior.at(float(u)) for (name, prior), u in zip(search.space.items(), quantiles, strict=True)}
        fitter = Fitter(_with(regressor, chosen), fill)
        squared = 0.0
        for number, rows in enumerate(held):
            rest = np.setdiff1d(np.arange(len(train)), rows)
            model = fitter.fit(train.take(rest), seed=integer_seed(seed, "tune-fit", *index, number))
            with np.errstate(over="ignore", invalid="ignore"):
                squared += float(((train.y[rows] - model.predict(train.x[rows])) ** 2).sum())
        fits, seconds = fits + fitter.fits, seconds + fitter.seconds
        squared = squared if np.isfinite(squared) else np.inf  # a trial that ran away never wins
        if best is None or squared < best[0]:
            best = squared, chosen
    assert best is not None  # noqa: S101 - there is at least one trial
    if not np.isfinite(best[0]):
        what = f"all {counted(search.trials, 'trial')} of the search ended with numbers that are not finite"
        raise DataError(Complaint(code="diverged", path="tune", what=what, hint="look for extreme values in the data"))
    return Tuned(
        regressor=_with(regressor, best[1]), chosen=best[1], loss=best[0] / len(train), fits=fits, seconds=seconds
    )


def _with(regressor: Regressor, chosen: dict[str, Any]) -> Regressor:
    changed: Regressor = replace(regressor, **chosen)  # type: ignore[type-var] # members are dataclasses
    return changed
