"""Which training rows the new rows are made from.

`every` takes each row as often as the factor says. `uniform` draws with repetition, as a bootstrap does. `leverage` and
`residual` look more often at rows that stand alone among the features, or that the teacher misses; half of their draws
stay even, so that no row is left out (a defensive mixture, Hesterberg 1995).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.nearness import Space
from crda_spec.records import Array, IntArray, Table
from crda_spec.strict import Strict

_EVEN = 0.5  # the part of a weighted draw in which all rows are alike
_FLAT = 1e-10  # a direction of so little variance, against the largest, is rounding


class Sources(Strict):
    """How source rows are drawn."""

    kind: Literal["every", "uniform", "leverage", "residual"] = Field(
        description=(
            "every: each row as often as the factor says, the remainder at random. uniform: drawn with repetition. "
            "leverage, residual: half of the draws even, half by how far the row stands out among the features, or by "
            "the size of its residual."
        )
    )

    def draw(self, train: Table, count: int, *, noise: Array | None, rng: np.random.Generator) -> IntArray:
        """(count,) positions of training rows. noise: (n,) the abducted noise, which `residual` goes by."""
        if self.kind == "every":
            return _balanced(len(train), count, rng=rng)
        if self.kind == "uniform":
            return rng.integers(0, len(train), size=count, dtype=np.int64)
        if self.kind == "leverage":
            return systematic(_mixed(leverage(train)), count, rng=rng)
        if noise is None:
            raise ValueError("sources by residual need the noise of the training rows")
        return systematic(_mixed(np.abs(noise)), count, rng=rng)


def _balanced(n: int, count: int, *, rng: np.random.Generator) -> IntArray:
    """Each row equally often; the remainder is a random sample of rows without repetition, not the first ones."""
    times, rest = divmod(count, n)
    chosen = np.sort(rng.choice(n, size=rest, replace=False))
    return np.concatenate([np.tile(np.arange(n), times), chosen]).astype(np.int64)


def _mixed(weights: Array) -> Array:
    """Half even, half by weight; even when nothing has weight."""
    even, total = 1.0 / len(weights), float(weights.sum())
    return np.full(len(weights), even) if total <= 0.0 else _EVEN * even + (1.0 - _EVEN) * weights / total


def systematic(probability: Array, count: int, *, rng: np.random.Generator) -> IntArray:
    """Row i is drawn count * probability[i] times on average, and never a whole draw more or less than that.

    One random start and equal steps through the summed probabilities (systematic sampling, Madow 1949).
    """
    ends = np.cumsum(probability)
    places = (np.arange(count) + rng.random()) * (ends[-1] / max(1, count))
    return np.asarray(np.minimum(np.searchsorted(ends, places, side="right"), len(ends) - 1), dtype=np.int64)


def leverage(train: Table) -> Array:
    """(n,) how much each row's features alone decide its own fitted value in a linear model with all features."""
    points = Space.learn(train).encode(train.x)
    points = points - points.mean(axis=0)
    strength, directions = np.linalg.eigh(points.T @ points)
    kept = strength > max(float(strength.max(initial=0.0)) * _FLAT, 1e-300)
    along = points @ (directions[:, kept] / np.sqrt(strength[kept]))
    pulls: Array = 1.0 / len(points) + (along**2).sum(axis=1)
    return pulls
