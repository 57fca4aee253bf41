"""Fitting one model, the same way everywhere: encode, set rows aside if the model stops early, train on one thread."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from crda_spec.records import Array, Counterfactuals, IntArray, Table
from crda_spec.regressors._protocol import Design, Estimator, Regressor, Stopping
from crda_spec.regressors.encoding import Encoder, Fill, fit_encoder
from crda_spec.seeds import stream

_LEAST_UNITS = 4  # rows or groups; with fewer, watching one would cost more than it tells


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """A trained member with the encoding it was trained on: rows of a table in, the target's unit out."""

    kind: str
    encoder: Encoder
    estimator: Estimator

    def predict(self, x: Array) -> Array:
        """x: (m, d) as in a Table. Returns (m,)."""
        if not len(x):
            return np.empty(0)  # most libraries refuse a table without rows
        predicted = self.estimator.predict(self.encoder.encode(x))
        return self.encoder.decode_target(np.asarray(predicted, dtype=np.float64).reshape(-1))


@dataclass(slots=True)
class Fitter:
    """Fits models of one kind and counts what it cost."""

    regressor: Regressor
    fill: Fill = "median"
    fits: int = 0
    seconds: float = 0.0

    def fit(self, train: Table, extra: Counterfactuals | None = None, *, seed: int) -> FittedModel:
        """One model on the training rows, plus synthetic rows made from them where there are any.

        Equal seeds give both arms of a comparison the same early-stopping rows and the same initial state.
        """
        encoder = fit_encoder(train, fill=self.fill)
        design = _design(train, extra, encoder, self.regressor.stopping, seed=seed)
        started = time.perf_counter()
        estimator = self.regressor.train(design, seed=seed)
        self.seconds += time.perf_counter() - started
        self.fits += 1
        return FittedModel(self.regressor.kind, encoder, estimator)


def _design(
    train: Table, extra: Counterfactuals | None, encoder: Encoder, stopping: Stopping | None, *, seed: int
) -> Design:
    """Early-stopping rows are real rows, the same in both arms, and no synthetic row stems from one of them."""
    held = watched_rows(train, stopping, seed=seed)
    seen = np.ones(len(train), dtype=bool)
    seen[held] = False
    x, y, weight = train.x[seen], train.y[seen], None
    if extra is not None:
        usable = seen[extra.action.source]
        x = np.concatenate([x, extra.action.x[usable]])
        y = np.concatenate([y, extra.y[usable]])
        if extra.weight != 1.0:
            weight = np.concatenate([np.ones(int(seen.sum())), np.full(int(usable.sum()), extra.weight)])
    return Design(
        x=encoder.encode(x),
        y=encoder.encode_target(y),
        weight=weight,
        validation_x=encoder.encode(train.x[held]) if len(held) else None,
        validation_y=encoder.encode_target(train.y[held]) if len(held) else None,
    )


def watched_rows(train: Table, stopping: Stopping | None, *, seed: int) -> IntArray:
    """A seeded part of the rows, whole groups only; none when the model does not stop early or rows are too few."""
    member = np.arange(len(train)) if train.groups is None else np.unique(train.groups, return_inverse=True)[1]
    sizes = np.bincount(member)
    if stopping is None or len(sizes) < _LEAST_UNITS:
        return np.empty(0, dtype=np.int64)
    order = stream(seed, "validation").permutation(len(sizes))
    reached = np.cumsum(sizes[order])[:-1]  # one row or group at least stays to train on
    taken = int(np.abs(reached - stopping.validation * len(train)).argmin()) + 1
    return np.flatnonzero(np.isin(member, order[:taken]))
