"""Prediction: the outcome of a changed row, the noise that it carries held fixed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crda_spec.counterfactual.basis import basis_of
from crda_spec.counterfactual.neighbours import Space, nearest, reference_rows
from crda_spec.records import (
    NOBODY,
    Abduction,
    Action,
    Array,
    Counterfactuals,
    IntArray,
    NoiseScale,
    Predictor,
    ResidualDraw,
    Table,
)

LENDERS = 10  # so many rows with the most similar kept features can lend their noise, each as likely as the other


def matched_rows(train: Table, kept: Sequence[str], x: Array, *, rng: np.random.Generator) -> IntArray:
    """(m,) a training row for each row of x: one of the `LENDERS` nearest in the kept features, its own among them.

    With no kept feature all training rows are alike, and any may lend. Of very many training rows only a random sample
    is looked at, as `nearness` says. x: (m, d) as in the table; only its kept columns are looked at.
    """
    if not kept:
        return rng.integers(0, len(train), size=len(x), dtype=np.int64)
    positions = train.positions(kept)
    # Copies of one source row have the same kept features: each distinct row is looked up once.
    wanted, where = np.unique(x[:, list(positions)], axis=0, return_inverse=True, equal_nan=True)
    rows = np.empty((len(wanted), x.shape[1]))
    rows[:, list(positions)] = wanted
    space = Space.learn(train)
    lenders = reference_rows(len(train), len(wanted), rng=rng)
    count = min(LENDERS, len(lenders))
    _, found = nearest(space.encode(train.x[lenders], positions), space.encode(rows, positions), count)
    chosen = rng.integers(0, count, size=len(x))
    return lenders[found[where.reshape(-1), chosen]]


def predict_outcome(
    g: Predictor,
    action: Action,
    abduction: Abduction,
    *,
    retention: float,
    weight: float,
    draw: ResidualDraw = "own",
    train: Table | None = None,
    rng: np.random.Generator | None = None,
) -> Counterfactuals:
    """Y' = g(x') + retention * (s(x') * z), z the noise that the draw gives to the row.

    draw: `own`, z of the row that x' came from; `none`, no noise; `matched`, z of a training row with similar kept
    features, for which the training rows and a generator are needed.
    """
    retention = 0.0 if draw == "none" else retention
    draw = draw if retention > 0 else "none"
    carriers = _carriers(action, draw, train, rng)
    noise = np.where(carriers == NOBODY, 0.0, abduction.noise[carriers])
    return labelled(g, action, noise, carriers, abduction.scale_model, retention=retention, weight=weight, draw=draw)


def labelled(
    g: Predictor,
    action: Action,
    noise: Array,
    carriers: IntArray,
    scale_model: NoiseScale | None,
    *,
    retention: float,
    weight: float,
    draw: ResidualDraw,
) -> Counterfactuals:
    """The new rows with their labels. noise, carriers: (m,) the noise that each carries, and whose it is."""
    scale, clipped = None, 0
    if retention > 0 and scale_model is not None:
        scale, clipped = scale_model.at(action.x)
    prediction = g.predict(action.x)
    return Counterfactuals(
        action=action,
        prediction=prediction,
        noise=noise,
        retention=retention,
        y=label(prediction, retention, scale, noise),
        weight=weight,
        basis=basis_of(retention),
        draw=draw,
        scale=scale,
        noise_source=carriers,
        scale_clipped=clipped,
    )


def label(prediction: Array, retention: float, scale: Array | None, noise: Array) -> Array:
    """The one formula of a label, in the one order of operations by which anyone gets the same bits."""
    return prediction + retention * (noise if scale is None else scale * noise)


def _carriers(action: Action, draw: ResidualDraw, train: Table | None, rng: np.random.Generator | None) -> IntArray:
    """(m,) whose noise each new row carries."""
    if draw == "own":
        return action.source
    if draw == "none":
        return np.full(len(action.source), NOBODY, dtype=np.int64)
    if train is None or rng is None:
        message = "a matched draw needs the training rows and a generator"
        raise ValueError(message)
    changed = action.changed
    kept = tuple(name for name in train.names if name not in changed)
    return matched_rows(train, kept, train.x[action.source], rng=rng)
