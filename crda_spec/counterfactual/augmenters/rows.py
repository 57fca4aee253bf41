"""An augmenter's proposals as the rows of a run: legal, finite, each with its source, its label and its noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crda_spec.counterfactual.act import nearest_allowed, values_that_occur
from crda_spec.counterfactual.augmenters._protocol import ALL_ROWS, BaseAugmenter, Given, NewRows
from crda_spec.counterfactual.neighbours import Space, nearest
from crda_spec.counterfactual.predict import label_of
from crda_spec.records import NOBODY, Action, Array, Counterfactuals, IntArray, ResidualDraw, Table


def augmented_rows(
    augmenter: BaseAugmenter,
    given: Given,
    count: int,
    *,
    weight: float,
    rng: np.random.Generator,
    watched: IntArray | None = None,
) -> Counterfactuals | None:
    """The new rows; None when the augmenter makes none. Sources, partners and noise count the rows of `given.train`.

    watched: positions of the rows that early stopping looks at, which an augmenter that learns from all rows must not
    see: any of its rows would be made of them.
    """
    train = given.train
    if augmenter.learns and watched is not None and len(watched):
        seen = np.setdiff1d(np.arange(len(train)), watched)
        part = replace(given, train=train.take(seen), noise=given.noise[seen])
        made = _placed(augmenter.make(part, count, rng=rng), seen)
    else:
        seen, made = np.arange(len(train)), augmenter.make(given, count, rng=rng)
    x, clipped = _legal(made.x, given.reference)
    label = given.teacher.predict(x) if made.label is None else made.label
    kept = np.flatnonzero(np.isfinite(label) & ~np.isinf(x).any(axis=1))
    if not len(kept):
        return None
    x, label = x[kept], label[kept]
    source = seen[_nearest_rows(x, train.take(seen))] if made.source is None else made.source[kept]
    carriers = np.full(len(x), NOBODY, dtype=np.int64) if made.noise_source is None else made.noise_source[kept]
    noise = np.where(carriers == NOBODY, 0.0, given.noise[carriers])
    retention = 0.0 if made.noise_source is None else 1.0
    same = (x == train.x[source]) | (np.isnan(x) & np.isnan(train.x[source]))
    moved = tuple(name for name, kept_all in zip(train.names, same.all(axis=0).tolist(), strict=True) if not kept_all)
    words = f"{augmenter.describe()}; {ALL_ROWS}" if made.source is None else augmenter.describe()
    return Counterfactuals(
        action=Action(
            x=x,
            source=source,
            moved=moved,
            policies=dict.fromkeys(moved, words),
            clipped={name: clipped.get(name, 0) for name in moved},
            copied=int(same.all(axis=1).sum()),
            partner=None if made.partner is None else made.partner[kept],
        ),
        prediction=label,
        noise=noise,
        retention=retention,
        y=label_of(label, retention, None, noise),
        weight=weight,
        basis="augmenter",
        draw=_draw_of(carriers, source),
        noise_source=carriers,
    )


def _placed(made: NewRows, seen: IntArray) -> NewRows:
    """The same rows, their origins counted in the whole table. seen: (k,) the rows of it that were shown."""
    rows = (made.source, made.partner, made.noise_source)
    source, partner, noise_source = (None if one is None else seen[one] for one in rows)
    return replace(made, source=source, partner=partner, noise_source=noise_source)


def _draw_of(carriers: IntArray, source: IntArray) -> ResidualDraw:
    if (carriers == NOBODY).all():
        return "none"
    return "own" if np.array_equal(carriers, source) else "any"


def _legal(x: Array, train: Table) -> tuple[Array, dict[str, int]]:
    """Every number at the nearest value that its column's contract allows, and how many had to be brought there."""
    x, clipped, occurring = x.copy(), {}, values_that_occur(train)
    for position, column in enumerate(train.features):
        if column.is_numeric:
            x[:, position], changed = nearest_allowed(x[:, position], column, occurring.get(column.name))
            clipped[column.name] = int(np.count_nonzero(changed))
    return x, clipped


def _nearest_rows(x: Array, train: Table) -> IntArray:
    """(m,) the training row nearest to each of these."""
    space = Space.learn(train)
    found: IntArray = nearest(space.encode(train.x), space.encode(x), 1)[1][:, 0]
    return found
