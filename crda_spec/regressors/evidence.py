"""How likely a Gaussian process finds its rows, and which scales make them likeliest. Numbers in, numbers out.

y = f(x) + s(x) + noise: f is linear, s is smooth with a length scale for each feature, all three are Gaussian. The
evidence is the density of y with f and s integrated out (Rasmussen and Williams 2006, chapter 5); its maximum weighs
fit against complexity without a held-out row, and gives features that do not matter a long scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize

from crda_spec.records import Array

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


def covariance(x: Array, scales: Scales, shape: Shape) -> Array:
    """(n, p). Returns (n, n): of the outcome without its noise."""
    scaled = x / scales.lengths
    value, _ = shape(squared_distances(scaled, scaled))
    value *= scales.smooth
    value += scales.linear * (x @ x.T)
    return value


def minus_log_evidence(logs: Array, x: Array, y: Array, shape: Shape) -> tuple[float, Array]:
    """Up to a constant, beliefs included, and its gradient along `logs`.

    Rows count alike here, whatever they weigh: a light row as one of much noise would say that there is little noise in
    the others, and shorten every scale. Weights are the posterior's matter. The gradient's sums over pairs of rows are
    matrix products, O(n^2 p), not a tensor of n x n x p numbers.
    """
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
    start = np.concatenate([_START, _believed(x.shape[1])[3:]])
    bounds = [*_HEAD_BOUNDS, *[_LENGTH_BOUNDS] * x.shape[1]]
    found = minimize(
        minus_log_evidence,
        start,
        args=(x, y, shape),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps},
    )
    return Scales.of(np.clip(found.x, [low for low, _ in bounds], [high for _, high in bounds]))
