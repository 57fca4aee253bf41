"""Ridge regressions on a basis of the given columns, what they leave of a column, and the test of two such ends.

The parts that the generalised covariance measure (`gcm`) and the second opinion on it (`second_opinion`) share: they
differ in the basis, and in which rows are compared with which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from crda_spec.records import Array, IntArray
from crda_spec.scm.independence._gcm_basis import Terms, normal_scores

Mask = npt.NDArray[np.bool_]

_NOTHING_LEFT = 1e-9  # a residual with less of the column's variance is rounding error: the given columns determine it
_STRENGTHS = np.logspace(-6, 1, 15)  # ridge strengths that are tried, in units of the basis's mean eigenvalue


@dataclass(frozen=True, slots=True)
class Ridge:
    """Ridge regressions of anything on one centred basis (n, p), from a single eigendecomposition."""

    basis: Array  # (n, p), rotated to its principal axes
    size: Array  # (p,) squared lengths of those

    @classmethod
    def of(cls, basis: Array) -> Ridge:
        if not basis.shape[1]:
            return cls(basis, np.empty(0))
        centred = basis - basis.mean(axis=0)
        size, axes = np.linalg.eigh(centred.T @ centred)
        return cls(centred @ axes, np.maximum(size, 0.0))

    def residuals(self, targets: Array) -> Residuals:
        """The centred targets (n, m) less their ridge fits.

        Strength by generalised cross-validation (Golub, Heath and Wahba 1979), for each target by itself.
        """
        centred = targets - targets.mean(axis=0)
        total = _squares(centred)
        if not len(self.size):
            return Residuals(centred, np.ones((targets.shape[1], 0)), np.ones(len(total)), total > 0)
        n = len(targets)
        along = self.basis.T @ centred  # (p, m)
        strengths = _STRENGTHS * max(float(self.size.mean()), np.finfo(np.float64).tiny)
        left = strengths[:, None] / (self.size + strengths[:, None])  # (s, p): what a fit leaves along each axis
        freedom = (1.0 - left).sum(axis=1)  # (s,)
        safe = np.where(self.size > 0, self.size, 1.0)
        explained = (1.0 - left**2) @ (along**2 / safe[:, None])  # (s, m)
        loss = np.maximum(total - explained, 0.0) / np.square(1.0 - (1.0 + freedom) / n)[:, None]
        best = np.argmin(loss, axis=0)
        coefficients = along * ((1.0 - left[best].T) / safe[:, None])
        values = centred - self.basis @ coefficients
        share = loss[best, np.arange(len(best))] / np.where(total > 0, total, 1.0)
        return Residuals(values, left[best], share, _squares(values) > _NOTHING_LEFT * total)


@dataclass(frozen=True, slots=True)
class Residuals:
    values: Array  # (n, m)
    left: Array  # (m, p): what each fit leaves of each axis of the basis
    unexplained: Array  # (m,) the share of variance that a fit is expected to leave in new rows
    alive: Mask  # (m,) whether more is left than rounding errors


class Regression(Protocol):
    """Whatever takes out of a column what the given columns explain."""

    def residuals(self, targets: Array) -> Residuals:
        """targets: (n, m), each taken by itself."""
        ...


@dataclass(frozen=True, slots=True)
class Scores:
    """One end of a test: what is left of a column, in several guises, each of mean about 0."""

    values: Array  # (n, m)
    left: Array  # (m, p): what the last regression left of each axis of the basis
    guises: tuple[int, ...]  # (m,) which guise each is: a number's score 0, its size 1; a category's label

    @property
    def freedom(self) -> float:
        """The degrees of freedom that the most flexible regression used."""
        return float((1.0 - self.left).sum(axis=1).max())


def scores_of(terms: Terms, rows: IntArray | None, regression: Regression) -> Scores | None:
    """The guises of a column, or None when the given columns leave nothing of it.

    A number has two ends, itself and its normal score; the one that the given columns explain better is taken, as
    products of causes become sums on the right scale. The choice looks at one end of the test only.
    """
    residuals = regression.residuals(terms.ends if rows is None else terms.ends[rows])
    if not terms.is_numeric:
        return _alive(residuals)
    if not residuals.alive.all():
        return None
    score = normal_scores(residuals.values[:, int(np.argmin(residuals.unexplained))])
    return _alive(regression.residuals(np.column_stack([score, np.abs(score)])))


def _alive(residuals: Residuals) -> Scores | None:
    kept = np.flatnonzero(residuals.alive)
    return Scores(residuals.values[:, kept], residuals.left[kept], tuple(kept.tolist())) if len(kept) else None


def _squares(values: Array) -> Array:
    """(n, m) -> (m,): sums of squares."""
    return np.asarray(np.einsum("ij,ij->j", values, values), dtype=np.float64)


def studentised(a: Scores, b: Scores, groups: IntArray | None) -> tuple[Array, int]:
    """sqrt(n) * mean / sd of the products of all guises of both ends, and the number of independent observations.

    Fitted residuals are shorter than the noise they stand for, and the sum of their products varies less than the
    products suggest row by row. For noise of equal variance the ratio is known from the two smoothers: the variance
    of sum_i (M_a e)_i (M_b f)_i is tr(M_a^2 M_b^2), where its row-wise estimate expects tr(M_a^2) tr(M_b^2) / n.
    """
    units, axes = len(a.values), a.left.shape[1]
    left_a, left_b = a.left**2, b.left**2
    rest = units - 1.0 - axes
    true = rest + left_a @ left_b.T
    expected = (rest + left_a.sum(axis=1))[:, None] * (rest + left_b.sum(axis=1)) / units
    if groups is None:
        squares = np.square(a.values).T @ np.square(b.values)
    else:
        sums = _sums_by_group(a.values[:, :, None] * b.values[:, None, :], groups)
        units, squares = len(sums), np.square(sums).sum(axis=0)
    spread = np.sqrt(squares * np.maximum(true / expected, 1.0))
    return (a.values.T @ b.values) / np.where(spread > 0, spread, 1.0), units


def _sums_by_group(products: Array, groups: IntArray) -> Array:
    """(n, m, k) -> (g, m, k)."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return np.asarray(np.add.reduceat(products[order], starts, axis=0), dtype=np.float64)


__all__ = ["Mask", "Regression", "Residuals", "Ridge", "Scores", "scores_of", "studentised"]
