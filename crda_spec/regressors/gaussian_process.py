"""A Gaussian process with a length scale for each feature, which finds out by itself which features matter.

On tables of some hundred rows with smooth outcomes it is often the best single model there is, and it needs no search.
Our own, because the search for the scales is most of its cost: where scikit-learn's gradient fills n x n x p numbers,
ours takes a few matrix products (`minus_log_evidence`). And because of what it does with weights and with many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.linalg import LinAlgError
from pydantic import Field

from crda_spec.records import Array
from crda_spec.regressors._protocol import BaseRegressor, Choice, Design, Space
from crda_spec.seeds import stream

# A kernel's shape: the squared distance, in length scales, to its value and to -2 times its slope there.
Shape = Callable[[Array], tuple[Array, Array]]


def _rational_quadratic(squared: Array) -> tuple[Array, Array]:
    """1 / (1 + r^2 / 2): Gaussian bumps of many widths at once, so that it is neither too smooth nor too rough."""
    value = 1.0 / (1.0 + 0.5 * squared)
    return value, value * value


def _matern(squared: Array) -> tuple[Array, Array]:
    """Matern's kernel of order 5/2: functions with two derivatives."""
    r = np.minimum(np.sqrt(5.0 * squared), 1e3)  # beyond that it is zero, and squares could overflow
    fall = np.exp(-r)
    return (1.0 + r + r * r / 3.0) * fall, (5.0 / 3.0) * (1.0 + r) * fall


def _rbf(squared: Array) -> tuple[Array, Array]:
    """The Gaussian kernel: functions that are smooth without end."""
    value = np.exp(-0.5 * squared)
    return value, value


SHAPES: Mapping[str, Shape] = {"rational_quadratic": _rational_quadratic, "matern": _matern, "rbf": _rbf}

# Logarithms of standard deviations (smooth part, linear part, noise) and of length scales, for standardised numbers.
# The noise is bounded from below so that the matrices stay well-conditioned: 0.0025 standard deviations of the target.
_HEAD_BOUNDS = ((-5.0, 5.0), (-5.0, 4.0), (-6.0, 1.0))
_LENGTH_BOUNDS = (-3.0, 7.0)
_START = (0.0, -1.0, -1.0)
# Weak beliefs, normal in the logarithm: with few rows they keep scales from running to a bound.
_NOISE_BELIEF, _BELIEF_WIDTH = -1.5, 2.0
_HOPELESS = 1e25  # stands for the density of a matrix that cannot be factored


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """How large each part is, and how fast it changes along each feature."""

    smooth: float  # variance of the smooth part
    linear: float  # variance of a slope
    noise: float  # variance
    lengths: Array  # (p,)

    @classmethod
    def of(cls, logs: Array) -> Scales:
        """logs: (3 + p,) as the search moves them."""
        smooth, linear, noise = np.exp(2.0 * logs[:3]).tolist()
        return cls(smooth, linear / max(1, len(logs) - 3), noise, np.exp(logs[3:]))


def squared_distances(a: Array, b: Array) -> Array:
    """(m, p) and (n, p), in length scales. Returns (m, n)."""
    squared: Array = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)
    squared -= 2.0 * (a @ b.T)
    np.maximum(squared, 0.0, out=squared)  # rounding may leave a hair below zero
    return squared


def minus_log_evidence(logs: Array, x: Array, y: Array, shape: Shape) -> tuple[float, Array]:
    """Up to a constant, beliefs included, and its gradient along `logs`.

    Rows count alike here, whatever they weigh: a light row as one of much noise would say that there is little noise in
    the others, and shorten every scale. Weights are the posterior's matter. The gradient's sums over pairs of rows are
    matrix products, O(n^2 p), not a tensor of n x n x p numbers.
    """
    from scipy.linalg import cho_solve, cholesky
    from scipy.linalg.lapack import dpotri

    scales = Scales.of(logs)
    scaled = x / scales.lengths
    value, slope = shape(squared_distances(scaled, scaled))
    value = scales.smooth * value  # not in place: a shape may hand out one array twice
    linear = scales.linear * (x @ x.T)
    total = value + linear
    total[np.diag_indices_from(total)] += scales.noise
    try:
        lower = cholesky(total, lower=True, check_finite=False)
    except LinAlgError:
        return _HOPELESS, np.zeros_like(logs)
    solved = cho_solve((lower, True), y, check_finite=False)
    inverse, _ = dpotri(lower, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    pull = np.outer(solved, solved) - inverse
    gradient = np.empty_like(logs)
    gradient[0] = -np.vdot(pull, value)
    gradient[1] = -np.vdot(pull, linear)
    gradient[2] = -float(np.diag(pull) @ np.full(len(y), scales.noise))
    pull *= scales.smooth * slope
    gradient[3:] = (scaled * (pull @ scaled)).sum(axis=0) - pull.sum(axis=1) @ (scaled * scaled)
    density = 0.5 * float(y @ solved) + float(np.log(np.diag(lower)).sum())
    belief = (logs - _believed(len(logs) - 3)) / _BELIEF_WIDTH
    belief[:2] = 0.0
    return density + 0.5 * float(belief @ belief), gradient + belief / _BELIEF_WIDTH


def _believed(features: int) -> Array:
    """Length scales grow with the root of the number of features, as distances do."""
    return np.concatenate([[0.0, 0.0, _NOISE_BELIEF], np.full(features, 0.5 * np.log(max(1, features)))])


def likeliest(x: Array, y: Array, shape: Shape, *, steps: int) -> Scales:
    """The scales of a local maximum of the evidence, found from a fixed start: no draw, no held-out row."""
    from scipy.optimize import minimize

    start = np.concatenate([_START, _believed(x.shape[1])[3:]])
    bounds = [*_HEAD_BOUNDS, *[_LENGTH_BOUNDS] * x.shape[1]]
    optimum = minimize(
        minus_log_evidence,
        start,
        args=(x, y, shape),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps},
    )
    return Scales.of(np.clip(optimum.x, [low for low, _ in bounds], [high for _, high in bounds]))


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


class GaussianProcess(BaseRegressor):
    """Scales by maximum evidence on some rows, then the posterior of all rows.

    A row of weight 2 has half of the noise's variance in the posterior, as the mean of two rows has.

    Up to `points` rows the posterior is exact, O(rows^3). With more, the bumps sit at that many of the rows, and all
    rows weigh them (subset of regressors: Rasmussen and Williams 2006, section 8.3.1), O(rows * points^2).
    """

    space: ClassVar[Space] = {"kernel": Choice(("rational_quadratic", "matern", "rbf"))}
    seedless: ClassVar[bool] = True

    kind: Literal["gaussian_process"] = Field(
        "gaussian_process",
        description="A Gaussian process that settles a length scale for each feature by maximum evidence.",
    )
    kernel: Kernel = Field("rational_quadratic", description="How smooth: rbf most, matern (of order 5/2) least.")
    evidence_rows: int = Field(
        400, ge=10, le=5000, description="Scales are settled on at most this many rows; cost grows with the cube."
    )
    steps: int = Field(30, ge=1, le=10_000, description="Steps of the search for the scales at most.")
    points: int = Field(
        1000,
        ge=10,
        le=10_000,
        description="Exact up to this many rows; with more, so many of them carry the function and all weigh it.",
    )

    def train(self, design: Design, *, seed: int) -> Process:
        """The seed changes nothing: which rows stand for all is settled by their number alone."""
        counts = np.ones(len(design.y)) if design.weight is None else design.weight
        counted = np.flatnonzero(counts > 0.0)  # a row without weight says nothing
        order = counted[stream(0, "gaussian-process").permutation(len(counted))]
        x, y, weights = design.x[order], design.y[order], counts[order]
        # Standardised outcomes have mean 0 as long as rows weigh alike.
        level = 0.0 if design.weight is None else float(np.average(y, weights=weights))
        y = y - level
        few = slice(0, self.evidence_rows)
        scales = likeliest(x[few], y[few], SHAPES[self.kernel], steps=self.steps)
        solve = self._exact if len(y) <= self.points else self._at_points
        slopes, heights = solve(x, y, weights, scales)
        return Process(self.kernel, scales.lengths, slopes, x[: self.points] / scales.lengths, heights, level)

    def _exact(self, x: Array, y: Array, weights: Array, scales: Scales) -> tuple[Array, Array]:
        """Slopes and heights of the bumps at every row."""
        from scipy.linalg import cho_solve

        scaled = x / scales.lengths
        bumps, _ = SHAPES[self.kernel](squared_distances(scaled, scaled))
        total = scales.smooth * bumps + scales.linear * (x @ x.T)
        total[np.diag_indices_from(total)] += scales.noise / weights
        pulls = cho_solve((_factor(total), True), y, check_finite=False)
        return scales.linear * (x.T @ pulls), scales.smooth * pulls

    def _at_points(self, x: Array, y: Array, weights: Array, scales: Scales) -> tuple[Array, Array]:
        """The same with bumps at the first `points` rows only: least squares with a unit penalty on whitened bumps."""
        from scipy.linalg import cho_factor, cho_solve, solve_triangular

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
            heavy = columns * (weights[rows] / scales.noise)
            normal += heavy @ columns.T
            right += heavy @ y[rows]
        solved = cho_solve(cho_factor(normal, lower=True), right)
        heights = solve_triangular(lower, solved[:size], lower=True, trans="T", check_finite=False)
        return root * solved[size:], scales.smooth * heights


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, rows, _BLOCK))


def _factor(matrix: Array) -> Array:
    """The lower factor; a matrix that rounding has made indefinite is firmed up a little first."""
    from scipy.linalg import cholesky

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
