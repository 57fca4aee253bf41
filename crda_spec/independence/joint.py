"""The joint check: do the features that may move, together, help to predict the residual where they were not fitted?

Screens ask about one feature at a time, and PC explains collinear features away by each other
(docs/design/discovery.md). So one question is asked of the whole partition, in the words of the assumption
P(Z | X_P, X_R) = P(Z | X_R): once X_R has said what it can about the residual of a row, does X_P have anything to add?
And about the residual's size?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.records import Array, IntArray
from crda_spec.strict import Fraction, Strict

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
        knots = [np.unique(places) for places in np.quantile((x - centre) / spread, quantiles, axis=0).T]
        return cls(centre, spread, tuple(places if len(places) >= 3 else np.empty(0) for places in knots))

    def unit(self, x: Array) -> Array:
        """The columns with mean 0 and spread 1 in the training rows, and none far beyond them.  x, result: (m, d)."""
        return np.clip((x - self.centre) / self.spread, -_BORDER, _BORDER)

    def columns(self, x: Array, beside: Array) -> Array:
        """Each column, its bends, and its products with the others and those beside it.  x: (m, d).  Returns (m, q)."""
        unit = self.unit(x)
        bends = [_bends(column, knots) for column, knots in zip(unit.T, self.knots, strict=True) if len(knots)]
        return np.concatenate([unit, *bends, products(unit, beside)], axis=1)


def products(first: Array, second: Array) -> Array:
    """Products of each two columns of `first`, (m, p), and of each with each of `second`, (m, r); none if too many."""
    p, r = first.shape[1], second.shape[1]
    if p * (p - 1) // 2 + p * r > _MOST_PRODUCTS:
        return np.empty((len(first), 0))
    i, j = np.triu_indices(p, 1)
    across = (first[:, :, None] * second[:, None, :]).reshape(len(first), p * r)
    return np.concatenate([first[:, i] * first[:, j], across], axis=1)


def _bends(unit: Array, knots: Array) -> Array:
    """Natural cubic splines: lines beyond the outer knots, smooth cubics between.  Returns (m, len(knots) - 2)."""
    last = knots[-1]
    above = np.maximum(unit[:, None] - knots, 0.0)
    cubes = above * above * above  # `**` asks for a logarithm of every cell
    rise = (cubes[:, :-1] - cubes[:, -1:]) / (last - knots[:-1])
    return np.asarray(rise[:, :-1] - rise[:, -1:])


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
        """Predicts the targets, (n, t), in the training rows and in rows x, (m, t); GCV chooses each one's penalty."""
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


_LEAST_ROWS = 20
_ROUNDING = 1e-12  # a standard error this small, of products of numbers about 1, is no evidence
_WILD = 4.0  # a residual further out than this many robust standard deviations counts as being there


@dataclass(frozen=True, slots=True, kw_only=True)
class JointResult:
    """What X_P adds to X_R in rows that were not fitted. A gain is a share of the squared error that X_R leaves."""

    gain: float  # for the residual; negative when X_P only adds noise to the prediction
    p_value: float
    size_gain: float  # for the residual's size
    size_p_value: float
    rows: int
    folds: int  # 0 when nothing could be tested

    @property
    def joint_p_value(self) -> float:
        """For both questions together, corrected for their number; 1 where nothing could be tested."""
        return min(1.0, 2.0 * min(self.p_value, self.size_p_value))


class JointCheck(Strict):
    """Can the features that would move, together, predict the residual of rows that were not fitted?

    In each fold's training rows, m(x_R) predicts the residual; h(x_P, x_R) predicts what m leaves, and is itself freed
    of all that x_R predicts of it. Mixing a little of h into m lowers the squared error of held-out rows exactly when
    (z - m) h is positive on average, so that mean is compared with its standard error, one-sided. This is the projected
    covariance measure of Lundborg, Kim, Shah and Samworth (2024): an error in m spoils the level only through its
    product with an error in h's own regression on x_R. A plain paired test of squared errors misses weak dependence.
    """

    alpha: Fraction = Field(0.05, description="A p-value at most this small means that they can.")
    folds: int = Field(5, ge=2, le=50, description="Folds of its own cross-fitting.")
    on_failure: Literal["prune", "warn"] = Field(
        "prune",
        description=(
            "prune: the feature most tied to the residual is held fixed, until the rest passes. warn: only say so. "
            "With a declared graph it always only warns."
        ),
    )

    def __call__(self, moving: Array, kept: Array, z: Array, *, rng: np.random.Generator) -> JointResult:
        """moving: (n, p), X_P.  kept: (n, r), X_R; r may be 0.  z: (n,) residuals.  rng: assigns rows to folds.

        A category comes as one column of 0 and 1 for each label; rows without a residual are left out.
        """
        known = np.isfinite(z)
        n = int(known.sum())
        # The residual and its size, (n, 2), in units of their spread; a few rows of a heavy tail must not decide alone.
        near = _tamed(z[known])
        targets = np.column_stack([near, _tamed(np.abs(near))])
        fold = rng.permutation(np.arange(n) % self.folds)
        if n < max(_LEAST_ROWS, 2 * self.folds) or not targets.any():
            return JointResult(gain=0.0, p_value=1.0, size_gain=0.0, size_p_value=1.0, rows=n, folds=0)
        x_p, x_r = without_gaps(moving[known]), without_gaps(kept[known])
        left, added = np.empty_like(targets), np.empty_like(targets)
        for number in range(self.folds):
            out = fold == number
            left[out], added[out] = _held_out(x_p, x_r, targets, np.flatnonzero(~out), np.flatnonzero(out))
        (gain, size_gain), (p, size_p) = (found.tolist() for found in _compare(left, added))
        return JointResult(gain=gain, p_value=p, size_gain=size_gain, size_p_value=size_p, rows=n, folds=self.folds)


def _tamed(values: Array) -> Array:
    if not len(values):
        return values
    away = values / (float(np.abs(values).max()) or 1.0)
    away = away - np.median(away)
    # 1.4826 makes the median absolute deviation a standard deviation for normal values.
    spread = 1.4826 * float(np.median(np.abs(away))) or float(np.abs(away).mean())
    return np.clip(away / spread, -_WILD, _WILD) if spread > 0 else np.zeros_like(away)


def _held_out(x_p: Array, x_r: Array, targets: Array, train: IntArray, test: IntArray) -> tuple[Array, Array]:
    """For the test rows: what X_R leaves of the targets, and what X_P adds to the prediction; each (m, 2)."""
    of_r, of_p = Basis.of(x_r[train], FINE), Basis.of(x_p[train], COARSE)
    rich, plain = of_r.columns(x_r, np.empty((len(x_r), 0))), of_p.columns(x_p, of_r.unit(x_r))
    kept = Ridge.of(rich[train])
    fitted, predicted = kept.predict(targets[train], rich[test])
    added, added_out = Ridge.of(plain[train]).predict(targets[train] - fitted, plain[test])
    return targets[test] - predicted, added_out - kept.predict(added, rich[test])[1]


def _compare(left: Array, added: Array) -> tuple[Array, Array]:
    """The share of squared error that X_P takes away, and the one-sided p-value, of each target."""
    from scipy import special

    wrong = (left**2).sum(axis=0)
    gains = 1.0 - ((left - added) ** 2).sum(axis=0) / np.where(wrong > 0, wrong, 1.0)
    slope = left * added
    error = slope.std(axis=0, ddof=1) / np.sqrt(len(slope))
    t = np.divide(slope.mean(axis=0), error, out=np.zeros(len(error)), where=error > _ROUNDING)
    return np.where(wrong > 0, gains, 0.0), special.stdtr(len(slope) - 1.0, -t)
