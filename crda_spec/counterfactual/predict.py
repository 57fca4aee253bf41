"""Prediction: the outcome of a changed row, the noise that it carries held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crda_spec import records
from crda_spec.counterfactual.neighbours import Space, nearest, reference_rows
from crda_spec.records import NOBODY, Abduction, Action, Array, Basis, Counterfactuals, IntArray, Predictor, Table

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRule:
    """How a new row gets its outcome.

    y' = g(x' with x_I of the source) + retention * (s * z): z the noise that the draw gives to the row, s its scale at
    the same place, and x_I the irrelevant features, so that no label depends on how they moved. A row in which nothing
    else changed and that carries all of its source's noise has its source's outcome, which is copied, not computed.

    draw: `own`, z of the row that x' came from; `none`, no noise; `matched`, z of a training row with similar kept
    features.
    """

    retention: float
    weight: float
    draw: records.ResidualDraw = "own"
    basis: Basis = "certificate"
    irrelevant: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.draw == "none" or self.retention <= 0:
            object.__setattr__(self, "retention", 0.0)
            object.__setattr__(self, "draw", "none")


def predict_outcome(
    g: Predictor, action: Action, abduction: Abduction, train: Table, rule: LabelRule, *, rng: np.random.Generator
) -> Counterfactuals:
    """The new rows that were made of the training rows, with their outcomes. rng: for a matched draw."""
    carriers = action.source
    if rule.draw == "none":
        carriers = np.full(len(action.source), NOBODY, dtype=np.int64)
    elif rule.draw == "matched":
        kept = tuple(name for name in train.names if name not in set(action.changed))
        carriers = matched_rows(train, kept, train.x[action.source], rng=rng)
    noise = np.where(carriers == NOBODY, 0.0, abduction.noise[carriers])
    return labelled(g, action, noise, carriers, abduction.scale_model, rule, x=train.x, y=train.y, names=train.names)


def labelled(
    g: Predictor,
    action: Action,
    noise: Array,
    carriers: IntArray,
    scale_model: records.NoiseScale | None,
    rule: LabelRule,
    *,
    x: Array,
    y: Array | None,
    names: Sequence[str],
) -> Counterfactuals:
    """The new rows with their labels.

    noise, carriers: (m,) the noise that each carries, and whose it is.  x, y: (b, d), (b,) the rows that they were made
    of; y may be missing where no noise is carried.  names: of the columns of x.
    """
    asked, invariant = asked_at(action.x, x[action.source], names, rule.irrelevant)
    scale, clipped = None, 0
    if rule.retention > 0 and scale_model is not None:
        scale, clipped = scale_model.at(asked)
    prediction = g.predict(asked)
    label = label_of(prediction, rule.retention, scale, noise)
    if invariant is not None and y is not None and rule.retention == 1 and rule.draw == "own":
        label = np.where(invariant, y[action.source], label)
    return Counterfactuals(
        action=action,
        prediction=prediction,
        noise=noise,
        retention=rule.retention,
        y=label,
        weight=rule.weight,
        basis=rule.basis,
        draw=rule.draw,
        scale=scale,
        noise_source=carriers,
        scale_clipped=clipped,
        irrelevant=rule.irrelevant,
        invariant=invariant,
    )


def asked_at(
    x_new: Array, x_source: Array, names: Sequence[str], irrelevant: Sequence[str]
) -> tuple[Array, npt.NDArray[np.bool_] | None]:
    """Where the teacher is asked: the new rows with their irrelevant features as in the source.

    Also which rows differ from their source in irrelevant features only; None when there are none such.
    """
    if not irrelevant:
        return x_new, None
    asked = x_new.copy()
    positions = [position for position, name in enumerate(names) if name in set(irrelevant)]
    asked[:, positions] = x_source[:, positions]
    same = (asked == x_source) | (np.isnan(asked) & np.isnan(x_source))
    return asked, same.all(axis=1)


def label_of(prediction: Array, retention: float, scale: Array | None, noise: Array) -> Array:
    """The one formula of a label, in the one order of operations by which anyone gets the same bits."""
    return prediction + retention * (noise if scale is None else scale * noise)
