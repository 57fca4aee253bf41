"""The Hilbert-Schmidt independence criterion: covariances of many smooth functions of feature and residual at once.

Gretton et al. (2008), with Gaussian kernels as wide as the median distance between rows and the gamma approximation of
the null distribution. A Gaussian kernel on one column is, to many digits, a product of some ten to twenty functions of
it: we find them from landmarks at the column's quantiles (Nyström). That makes the cost linear in the rows, needs no
random features, and makes a shuffle as cheap as one small matrix product.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.independence._protocol import (
    BaseScreen,
    Evidence,
    ScreenResult,
    drawn_seed,
    near,
    screened,
    shuffled_p_value,
)
from crda_spec.records import Array, IntArray

_LANDMARKS = 50
_MEDIAN_POINTS = 400  # quantiles whose pairwise distances give the median one
_KEPT = 1e-7  # functions that carry less than this share of the kernel are rounding
_EQUAL = 1e-12  # values closer than this share of the range are equal, whatever their last digits say
_CELLS = 2_000_000  # numbers held at a time


class Hsic(BaseScreen):
    """The Hilbert-Schmidt independence criterion.

    The share of each feature's and the residual's kernel that they have in common, from 0 to 1 (a squared r).
    It sees any dependence that is not much narrower than the median distance between rows. The p-value comes from a
    gamma distribution with the null's mean and variance; near alpha shuffles decide, unless there are none.
    """

    kind: Literal["hsic"] = Field("hsic", description="Kernel dependence (HSIC) of each feature with the residual.")
    permutations: int = Field(499, ge=0, le=100_000, description="Shuffles where the fast p-value is near alpha.")

    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  Returns d normalised criteria and d p-values."""
        seed = drawn_seed(rng)
        return screened(x, z, lambda a, b: self._test(a, b, seed))

    def _test(self, x: Array, z: Array, seed: int) -> Evidence:
        n, k = x.shape
        of_x, of_z = [kernel_functions(column) for column in x.T], kernel_functions(z)
        criterion = np.array([_criteria(mine, of_z, np.arange(n)[None, :])[0] for mine in of_x])
        spread_x, spread_z = np.array([_moments(mine) for mine in of_x]), _moments(of_z)
        p_value = _gamma_p_value(criterion, spread_x, spread_z, n)
        used = np.zeros(k, dtype=np.int64)
        asked = near(p_value, self.alpha)
        if len(asked) and self.permutations:
            p_value[asked], used[asked] = shuffled_p_value(
                criterion[asked],
                lambda orders, which: np.column_stack([_criteria(of_x[asked[j]], of_z, orders) for j in which]),
                seed=seed,
                n=n,
                most=self.permutations,
                enough=max(1, self.permutations // 5),
            )
        size = n * np.sqrt(spread_x[:, 1] * spread_z[1])
        return np.clip(criterion / np.where(size > 0, size, 1.0), 0.0, 1.0), p_value, used


def kernel_functions(values: Array) -> Array:
    """Centred functions of one column, (n, q), whose products sum to its centred Gaussian kernel.  values: (n,)."""
    ascending = np.sort(values)
    width = _median_distance(ascending)
    marks = np.unique(ascending[np.linspace(0, len(values) - 1, min(_LANDMARKS, len(values))).round().astype(int)])
    among = np.exp(-0.5 * ((marks[:, None] - marks) / width) ** 2)
    size, directions = np.linalg.eigh(among)
    kept = size > _KEPT * size[-1]
    to_marks = np.exp(-0.5 * ((values[:, None] - marks) / width) ** 2)
    functions = to_marks @ (directions[:, kept] / np.sqrt(size[kept]))
    result: Array = functions - functions.mean(axis=0)
    return result


def _median_distance(ascending: Array) -> float:
    """The median distance between two values; the mean one when most values are equal, to rounding."""
    at = np.linspace(0, len(ascending) - 1, min(_MEDIAN_POINTS, len(ascending))).round().astype(int)
    points = ascending[at]
    distances = (points[:, None] - points)[np.tril_indices(len(points), -1)]
    median = float(np.median(distances))
    seen = median > _EQUAL * float(ascending[-1] - ascending[0])
    return median if seen else float(np.abs(ascending - ascending.mean()).mean())


def _criteria(of_x: Array, of_z: Array, orders: IntArray) -> Array:
    """The biased HSIC, times n, for each of b orders of the residual's rows.  orders: (b, n).  Returns (b,)."""
    n, q = of_z.shape
    result = np.empty(len(orders))
    step = max(1, _CELLS // (n * q))
    for start in range(0, len(orders), step):
        shuffled = of_z[orders[start : start + step]]  # (b, n, q)
        result[start : start + step] = ((of_x.T @ shuffled) ** 2).sum(axis=(1, 2)) / n
    return result


def _moments(functions: Array) -> tuple[float, float]:
    """The trace and the squared size of the functions' covariance: what the null's mean and variance are made of."""
    covariance = functions.T @ functions / len(functions)
    return float(np.trace(covariance)), float((covariance**2).sum())


def _gamma_p_value(criterion: Array, spread_x: Array, spread_z: tuple[float, float], n: int) -> Array:
    """Under independence the criterion is about a gamma variable with these moments.  Each (k,)."""
    from scipy import special

    # n / (n - 1) for each column: the trace of a sample covariance is that much too small.
    mean = spread_x[:, 0] * spread_z[0] * n / (n - 1)
    variance = 2.0 * spread_x[:, 1] * spread_z[1]
    seen = (mean > 0) & (variance > 0)
    shape = np.where(seen, mean**2 / np.where(seen, variance, 1.0), 1.0)
    scale = np.where(seen, variance / np.where(seen, mean, 1.0), 1.0)
    return np.where(seen, special.gammaincc(shape, criterion / scale), 1.0)
