"""The two published gates, re-implemented from what they do, for the calibration study alone.

research: the rows are augmented once, by a model of all training rows; then original and augmented rows together are
torn into folds. Synthetic rows are scored, and perturbed copies of held-out rows are trained on.
package: folds of real rows, and real rows are scored; but the synthetic rows that a fold trains on were labelled by a
model of all training rows, held-out ones included.

Both compare with plain cross-validation by a one-sided Wilcoxon test on the folds' errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crda_spec.counterfactual.procedure import Augmentation
from crda_spec.data.folds import folds
from crda_spec.gate.tests import wilcoxon_p_value
from crda_spec.records import Array, Counterfactuals, IntArray, Table
from crda_spec.regressors import Design, Fitter, Regressor
from crda_spec.regressors._protocol import Estimator
from crda_spec.regressors.fit import FittedModel
from crda_spec.seeds import stream


def _fit(fitter: Fitter, like: Table, x: Array, y: Array, weight: Array, seed: int) -> FittedModel:
    """One model on loose rows, with the weights that the augmentation gives them."""
    table = Table(features=like.features, target=like.target, row_ids=np.arange(len(y)), x=x, y=y)
    design_fitter = Fitter(_Weighted(fitter.regressor, weight))
    return design_fitter.fit(table, seed=seed)


class _Weighted:
    """A regressor that is given its rows' weights beforehand."""

    kind = "weighted"
    stopping = None

    def __init__(self, inner: Regressor, weight: Array) -> None:
        """weight: (n,) of the rows it will be trained on."""
        self.inner, self.weight = inner, weight

    def train(self, design: Design, *, seed: int) -> Estimator:
        """The inner one, weighted."""
        plain = None if np.all(self.weight == 1.0) else self.weight
        return self.inner.train(replace(design, weight=plain), seed=seed)


def _mse(model: FittedModel, x: Array, y: Array) -> float:
    return float(np.mean((y - model.predict(x)) ** 2))


def _plain(fitter: Fitter, train: Table, held: tuple[IntArray, ...], seed: int) -> Array:
    losses = []
    for rows in held:
        rest = np.setdiff1d(np.arange(len(train)), rows)
        model = _fit(fitter, train, train.x[rest], train.y[rest], np.ones(len(rest)), seed)
        losses.append(_mse(model, train.x[rows], train.y[rows]))
    return np.array(losses)


def published(augmentation: Augmentation, train: Table, *, seed: int, count: int = 10) -> dict[str, float]:
    """The p-values of both gates."""
    made = augmentation.counterfactuals
    assert made is not None
    held = folds(len(train), count, rng=stream(seed, "gate-folds"))
    plain = _plain(augmentation.fitter, train, held, seed)
    research = _research(augmentation.fitter, train, made, seed, count)
    package = _package(augmentation.fitter, train, made, held, seed)
    return {
        "research": wilcoxon_p_value(research - plain, "less"),
        "package": wilcoxon_p_value(package - plain, "less"),
    }


def _research(fitter: Fitter, train: Table, made: Counterfactuals, seed: int, count: int) -> Array:
    x, y = np.concatenate([train.x, made.action.x]), np.concatenate([train.y, made.y])
    weight = np.concatenate([np.ones(len(train)), np.full(len(made), made.weight)])
    losses = []
    for rows in folds(len(y), count, rng=stream(seed, "research-folds")):
        rest = np.setdiff1d(np.arange(len(y)), rows)
        model = _fit(fitter, train, x[rest], y[rest], weight[rest], seed)
        losses.append(_mse(model, x[rows], y[rows]))
    return np.array(losses)


def _package(fitter: Fitter, train: Table, made: Counterfactuals, held: tuple[IntArray, ...], seed: int) -> Array:
    losses = []
    for rows in held:
        rest = np.setdiff1d(np.arange(len(train)), rows)
        ours = ~np.isin(made.action.source, rows)
        x = np.concatenate([train.x[rest], made.action.x[ours]])
        y = np.concatenate([train.y[rest], made.y[ours]])
        weight = np.concatenate([np.ones(len(rest)), np.full(int(ours.sum()), made.weight)])
        model = _fit(fitter, train, x, y, weight, seed)
        losses.append(_mse(model, train.x[rows], train.y[rows]))
    return np.array(losses)
