"""A small, fast regressor for the joint check: bent lines of each column, and products, shrunk as the rows advise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crda_spec.records import Array

PENALTIES = np.logspace(-2.0, 6.0, 25)  # of columns with variance 1
_LARGEST_MODEL = 0.5  # degrees of freedom, as a share of the rows; beyond it generalised validation cannot be trusted
_RANK = 1e-9  # directions with a smaller share of the largest one's variance are rounding
COARSE = (0.05, 0.35, 0.65, 0.95)  # the quantiles between which a bent line is a cubic
FINE = (0.0, 0.1, 0.35, 0.65, 0.9, 1.0)
_BORDER = 4.0  # standard deviations beyond which a value counts as if it were there
_MOST_PRODUCTS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """What training rows say of the columns: their middle, spread and knots."""

    centre: Array  # (d,)
    spread: Array  # (d,) infinite for a constant, which then counts for nothing
    knots: tuple[Array, ...]  # of each column, in its standardised unit; empty for one with few values

    @classmethod
    def of(cls, x: Array, quantiles: tuple[float, ...]) -> Basis:
        """x: (n, d), finite.  quantiles: where each column's knots lie."""
        centre, spread = x.mean(axis=0), x.std(axis=0)
        varies = spread > 1e-9 * np.abs(x).max(axis=0, initial=0.0)
        spread = np.where(varies, spread, np.inf)
        return cls(centre, spread, tuple(_knots(column, quantiles) for column in ((x - centre) / spread).T))

    def unit(self, x: Array) -> Array:
        """The columns with mean 0 and spread 1 in the training rows, and none far beyond them.  x, result: (m, d)."""
        return np.clip((x - self.centre) / self.spread, -_BORDER, _BORDER)

    def bent(self, x: Array) -> Array:
        """Each column and its bends, side by side.  x: (m, d).  Returns (m, q)."""
        unit = self.unit(x)
        bends = [_bends(column, knots) for column, knots in zip(unit.T, self.knots, strict=True) if len(knots)]
        return np.concatenate([unit, *bends], axis=1)


def products(first: Array, second: Array) -> Array:
    """Products of each pair of columns of `first`, and of each of them with each of `second`; none if too many.

    first: (m, p).  second: (m, r).  Returns (m, q), q = p (p - 1) / 2 + p r or 0.
    """
    p, r = first.shape[1], second.shape[1]
    if p * (p - 1) // 2 + p * r > _MOST_PRODUCTS:
        return np.empty((len(first), 0))
    i, j = np.triu_indices(p, 1)
    across = (first[:, :, None] * second[:, None, :]).reshape(len(first), p * r)
    return np.concatenate([first[:, i] * first[:, j], across], axis=1)


def _knots(unit: Array, quantiles: tuple[float, ...]) -> Array:
    knots = np.unique(np.quantile(unit, quantiles))
    return knots if len(knots) >= 3 else np.empty(0)


def _bends(unit: Array, knots: Array) -> Array:
    """Natural cubic splines: lines beyond the outer knots, smooth cubics between.  Returns (m, len(knots) - 2)."""
    last = knots[-1]
    cubes = np.maximum(unit[:, None] - knots, 0.0) ** 3
    rise = (cubes[:, :-1] - cubes[:, -1:]) / (last - knots[:-1])
    bends: Array = rise[:, :-1] - rise[:, -1:]
    return bends


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """Columns taken apart once, so that several targets can be fitted, each with its own penalty."""

    centre: Array  # (q,)
    spread: Array  # (q,) infinite for a constant
    directions: Array  # (q, k) with unit length
    sizes: Array  # (k,) squared lengths of the training rows along each
    scores: Array  # (n, k) the training rows along each

    @classmethod
    def of(cls, x: Array) -> Ridge:
        """x: (n, q), the training rows."""
        centre, spread = x.mean(axis=0), x.std(axis=0)
        spread = np.where(spread > 1e-9, spread, np.inf)
        unit = (x - centre) / spread
        wide = x.shape[1] > len(x)  # the smaller of the two products has the same sizes and costs less
        sizes, vectors = np.linalg.eigh(unit @ unit.T if wide else unit.T @ unit)
        kept = sizes > _RANK * max(float(sizes.max(initial=0.0)), 1.0)
        directions = vectors[:, kept]
        if wide:
            directions = unit.T @ (directions / np.sqrt(sizes[kept]))
        return cls(centre, spread, directions, sizes[kept], unit @ directions)

    def predict(self, targets: Array, x: Array) -> tuple[Array, Array]:
        """Fits the targets, (n, t), and predicts them in the training rows, (n, t), and in other rows x, (m, t).

        The penalty of each target minimises the generalised cross-validation score (Golub, Heath and Wahba 1979).
        """
        means = targets.mean(axis=0)
        along = self.scores.T @ (targets - means)  # (k, t)
        keep = self.sizes[:, None] / (self.sizes[:, None] + PENALTIES)  # (k, penalties)
        explained = np.einsum("kp,kt->pt", (2.0 - keep) * keep / self.sizes[:, None], along**2)
        errors = ((targets - means) ** 2).sum(axis=0) - explained
        freedom = keep.sum(axis=0)
        score = errors / (len(targets) - 1.0 - np.minimum(freedom, len(targets) - 2.0))[:, None] ** 2
        score[freedom > _LARGEST_MODEL * len(targets)] = np.inf
        best = np.where(np.isfinite(score).any(axis=0), np.argmin(score, axis=0), len(PENALTIES) - 1)
        weights = keep[:, best] / self.sizes[:, None] * along
        return means + self.scores @ weights, means + ((x - self.centre) / self.spread) @ self.directions @ weights


def without_gaps(x: Array) -> Array:
    """Missing cells filled by their column's mean, and one column of 0 and 1 more for each column that has gaps."""
    gaps = ~np.isfinite(x)
    means = np.where(gaps, 0.0, x).sum(axis=0) / np.maximum((~gaps).sum(axis=0), 1)
    return np.concatenate([np.where(gaps, means, x), gaps[:, gaps.any(axis=0)].astype(np.float64)], axis=1)
