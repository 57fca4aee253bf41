"""Whose noise a new row carries, when it is not its own source row's: that of a training row like it.

A matched draw breaks the tie between a real row and its copies, so that synthetic rows are as different from each other
as real ones: the choice for simulation. It asks for the same licence as the row's own noise: rows that agree in X_R
have noise of the same distribution exactly when the noise does not depend on X_P given X_R.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crda_spec.counterfactual.nearness import Space, nearest, reference_rows
from crda_spec.records import Array, IntArray, Table

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
