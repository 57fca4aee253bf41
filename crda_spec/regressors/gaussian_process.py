"""A Gaussian process with a length scale for each feature, which finds out by itself which features matter.

On tables of some hundred rows with smooth outcomes it is often the best single model there is, and it needs no search.
Our own, because the search for the scales is most of its cost: where scikit-learn's gradient fills n x n x p numbers,
ours takes a few matrix products (`evidence.py`). And because of what it does with weights and with many rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular

from crda_spec.records import Array
from crda_spec.regressors._protocol import Design
from crda_spec.regressors.evidence import SHAPES, Scales, covariance, likeliest, squared_distances
from crda_spec.seeds import stream

_BLOCK = 256  # rows at a time: they stay in the cache, and memory does not grow with the rows
_FIRM = (1e-10, 1e-8, 1e-6, 1e-4)  # parts of the variance added to a matrix that rounding has made indefinite

Kernel = Literal["rational_quadratic", "matern", "rbf"]


@dataclass(frozen=True, slots=True, eq=False)
class Process:
    """The posterior mean: a linear part, and a sum of bumps at some of the training rows."""

    kernel: Kernel
    lengths: Array  # (p,)
    slopes: Array  # (p,)
    points: Array  # (m, p) in length scales
    heights: Array  # (m,)
    level: float = 0.0

    def predict(self, x: Array) -> Array:
        """x: (n, p). Returns (n,)."""
        predicted = x @ self.slopes
        for rows in _blocks(len(x)):
            bumps, _ = SHAPES[self.kernel](squared_distances(x[rows] / self.lengths, self.points))
            predicted[rows] += bumps @ self.heights
        return np.asarray(predicted + self.level, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianProcess:
    """Scales by maximum evidence on some rows, then the posterior of all rows.

    A row of weight 2 has half of the noise's variance in the posterior, as the mean of two rows has.

    Up to `points` rows the posterior is exact, O(rows^3). With more, the bumps sit at that many of the rows, and all
    rows weigh them (subset of regressors: Rasmussen and Williams 2006, section 8.3.1), O(rows * points^2).
    """

    kind: ClassVar[str] = "gaussian_process"
    stopping: ClassVar[None] = None

    kernel: Kernel = "rational_quadratic"
    evidence_rows: int = 400
    steps: int = 60
    points: int = 1000

    def train(self, design: Design, *, seed: int) -> Process:
        """The seed changes nothing: which rows stand for all is settled by their number alone."""
        del seed
        counts = np.ones(len(design.y)) if design.weight is None else design.weight
        counted = np.flatnonzero(counts > 0.0)  # a row without weight says nothing
        order = counted[stream(0, "gaussian-process").permutation(len(counted))]
        x, y, heft = design.x[order], design.y[order], counts[order]
        # Standardised outcomes have mean 0 as long as rows weigh alike.
        level = 0.0 if design.weight is None else float(np.average(y, weights=heft))
        y = y - level
        few = slice(0, self.evidence_rows)
        scales = likeliest(x[few], y[few], SHAPES[self.kernel], steps=self.steps)
        solve = self._exact if len(y) <= self.points else self._at_points
        slopes, heights = solve(x, y, heft, scales)
        return Process(self.kernel, scales.lengths, slopes, x[: self.points] / scales.lengths, heights, level)

    def _exact(self, x: Array, y: Array, heft: Array, scales: Scales) -> tuple[Array, Array]:
        """Slopes and heights of the bumps at every row."""
        total = covariance(x, scales, SHAPES[self.kernel])
        total[np.diag_indices_from(total)] += scales.noise / heft
        pulls = cho_solve((_factor(total), True), y, check_finite=False)
        return scales.linear * (x.T @ pulls), scales.smooth * pulls

    def _at_points(self, x: Array, y: Array, heft: Array, scales: Scales) -> tuple[Array, Array]:
        """The same with bumps at the first `points` rows only: least squares with a unit penalty on whitened bumps."""
        shape = SHAPES[self.kernel]
        points = x[: self.points] / scales.lengths
        bumps, _ = shape(squared_distances(points, points))
        lower = _factor(scales.smooth * bumps)
        size, root = self.points, np.sqrt(scales.linear)
        normal, right = np.eye(size + x.shape[1]), np.zeros(size + x.shape[1])
        for rows in _blocks(len(y)):
            near, _ = shape(squared_distances(x[rows] / scales.lengths, points))
            white = solve_triangular(lower, scales.smooth * near.T, lower=True, check_finite=False)
            columns = np.concatenate([white, root * x[rows].T])
            heavy = columns * (heft[rows] / scales.noise)
            normal += heavy @ columns.T
            right += heavy @ y[rows]
        solved = cho_solve(cho_factor(normal, lower=True), right)
        heights = solve_triangular(lower, solved[:size], lower=True, trans="T", check_finite=False)
        return root * solved[size:], scales.smooth * heights


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, rows, _BLOCK))


def _factor(matrix: Array) -> Array:
    """The lower factor; a matrix that rounding has made indefinite is firmed up a little first."""
    # A very light row has a huge entry on the diagonal, which says nothing about the rounding of the others.
    size = min(float(np.trace(matrix)) / len(matrix), 1000.0 * float(np.diag(matrix).min()))
    for part in _FIRM:
        firm = matrix.copy()
        firm[np.diag_indices_from(firm)] += part * size
        try:
            return np.asarray(cholesky(firm, lower=True, check_finite=False))
        except LinAlgError:
            continue
    raise LinAlgError  # pragma: no cover - a ten-thousandth of the variance is a thousand times what rounding takes
