"""Screens that see any dependence: distance correlation, the Hilbert-Schmidt criterion, mutual information.

**Distance correlation**: the bias-corrected estimate of Székely and Rizzo (2014). Sums over all pairs of rows are found
in O(n log^2 n) steps by merging sorted halves, after Huo and Székely (2016) and Chaudhuri and Hu (2019), but with whole
levels of the merge done at once, for many columns side by side. The p-value is the chi-square bound of Shen, Panda and
Vogelstein (2022); where it falls near the threshold, shuffles decide, because the bound is on the cautious side.

**HSIC**: Gretton et al. (2008), with Gaussian kernels as wide as the median distance between rows and the gamma
approximation of the null distribution. A Gaussian kernel on one column is, to many digits, a product of some ten to
twenty functions of it: we find them from landmarks at the column's quantiles (Nyström). That makes the cost linear in
the rows, and a shuffle as cheap as one small matrix product.

**Mutual information** by nearest neighbours is the paper's Table 8, as a screen.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from crda_spec.independence._protocol import BaseScreen, Evidence, ScreenResult, screened, shuffled_p_value
from crda_spec.records import Array, IntArray

_CELLS = 2_000_000  # numbers held at a time, so that memory does not grow with columns or shuffles


class ShufflingScreen(BaseScreen):
    """A screen that shuffles the residual, everywhere or where a fast p-value is near alpha."""

    if TYPE_CHECKING:  # each screen declares it, in the order in which a spec shows its fields
        permutations: int

    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  Returns d statistics and d p-values."""
        seed = int(rng.integers(2**62))  # one for the table: each feature meets the same shuffles whatever is beside it
        return screened(x, z, lambda a, b: self.evidence(a, b, seed))

    @abstractmethod
    def evidence(self, x: Array, z: Array, seed: int) -> Evidence:
        """What is seen in columns (n, k) and a residual (n,), all of mean 0 and length 1."""

    def checked(
        self, p_value: Array, observed: Array, null: Callable[[IntArray, IntArray], Array], *, seed: int, n: int
    ) -> IntArray:
        """Replaces the fast p-values (k,) too close to alpha to decide on by shuffles; (k,) how many each took."""
        used = np.zeros(len(p_value), dtype=np.int64)
        asked = np.flatnonzero((p_value >= self.alpha / 2.0) & (p_value <= self.alpha * 2.0))
        if len(asked) and self.permutations:
            draws = {"seed": seed, "n": n, "most": self.permutations, "enough": max(1, self.permutations // 5)}
            p_value[asked], used[asked] = shuffled_p_value(
                observed[asked], lambda orders, which: null(orders, asked[which]), **draws
            )
        return used


_LEAF = 16  # blocks this small are compared pair by pair
_NO_SPREAD = 1e-12  # a distance variance this small, of a column of length 1, is rounding


class Distance(ShufflingScreen):
    """Distance correlation: zero only under independence.

    The statistic is 0 where its bias-corrected square is not positive. A feature in which a single row differs from all
    others has no distance variance: statistic 0, p-value 1. With no permutations the chi-square bound decides.
    """

    kind: Literal["distance"] = Field(
        "distance",
        description="Distance correlation of each feature with the residual: any dependence, its spread included.",
    )
    threshold: float | None = Field(
        None, gt=0, le=1, description="A distance correlation this large keeps the feature fixed; null: p-values only."
    )
    permutations: int = Field(199, ge=0, le=100_000, description="Shuffles where the fast p-value is near alpha.")

    def evidence(self, x: Array, z: Array, seed: int) -> Evidence:
        """Distance correlations and p-values."""
        from scipy import special

        n, k = x.shape
        pairs = _Pairs.of(x, z)
        covariance = pairs.covariance(np.arange(n)[None, :], np.arange(k))[0]
        seen = pairs.scale > 0
        square = np.clip(np.where(seen, covariance / np.where(seen, pairs.scale, 1.0), 0.0), -1.0, 1.0)
        p_value = np.where(seen, special.chdtrc(1.0, np.maximum(n * square + 1.0, 0.0)), 1.0)
        used = self.checked(p_value, covariance, pairs.covariance, seed=seed, n=n)
        return np.sqrt(np.maximum(square, 0.0)), p_value, used


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Columns sorted once, ready to be compared with the residual in any order of its rows."""

    order: IntArray  # (k, n) the rows, by ascending x
    x: Array  # (k, n) ascending
    x_sums: Array  # (k, n) each row's distances to all others, in the rows' own order
    z: Array  # (n,)
    z_rank: IntArray  # (n,)
    z_sums: Array  # (n,)
    scale: Array  # (k,) the root of the product of both distance variances, 0 where one has none

    @classmethod
    def of(cls, x: Array, z: Array) -> _Pairs:
        columns = np.ascontiguousarray(x.T)
        order = np.argsort(columns, axis=1, kind="stable")
        x_sums, z_sums = _distance_sums(columns), _distance_sums(z[None, :])
        variance_x, variance_z = _variance(columns, x_sums), _variance(z[None, :], z_sums)
        spread = (variance_x > _NO_SPREAD / len(z)) & (variance_z > _NO_SPREAD / len(z))
        return cls(
            order=order,
            x=np.take_along_axis(columns, order, axis=1),
            x_sums=x_sums,
            z=z,
            z_rank=np.argsort(np.argsort(z, kind="stable"), kind="stable"),
            z_sums=z_sums[0],
            scale=np.where(spread, np.sqrt(np.maximum(variance_x * variance_z, 0.0)), 0.0),
        )

    def covariance(self, orders: IntArray, which: IntArray) -> Array:
        """The unbiased squared distance covariance, (b, k), of each column with the residual in each of b orders."""
        n = len(self.z)
        result = np.empty((len(orders), len(which)))
        step = max(1, _CELLS // (8 * n))
        for at, column in enumerate(which):
            for start in range(0, len(orders), step):
                mine = orders[start : start + step]
                rows = mine[:, self.order[column]]
                products = _product_sum(np.broadcast_to(self.x[column], rows.shape), self.z[rows], self.z_rank[rows])
                result[start : start + step, at] = _u_centred(
                    products, self.z_sums[mine] @ self.x_sums[column], self.x_sums[column].sum(), self.z_sums.sum(), n
                )
        return result


def _u_centred(products: Array, rows: Array, total_a: float | Array, total_b: float | Array, n: int) -> Array:
    """The mean product of two U-centred distance matrices, from the sums over their cells, rows and whole."""
    return (products - 2.0 * rows / (n - 2) + total_a * total_b / ((n - 1) * (n - 2))) / (n * (n - 3))


def _variance(x: Array, sums: Array) -> Array:
    """The unbiased squared distance variance of each row of x, (k, n), given its distance sums.  Returns (k,)."""
    n = x.shape[1]
    squares = 2.0 * (n * (x * x).sum(axis=1) - x.sum(axis=1) ** 2)
    return _u_centred(squares, (sums * sums).sum(axis=1), sums.sum(axis=1), sums.sum(axis=1), n)


def _distance_sums(x: Array) -> Array:
    """Each value's absolute differences from all values of its row, summed.  x, result: (k, n)."""
    n = x.shape[1]
    order = np.argsort(x, axis=1, kind="stable")
    ascending = np.take_along_axis(x, order, axis=1)
    below = np.cumsum(ascending, axis=1) - ascending
    total = ascending.sum(axis=1, keepdims=True)
    sums = np.empty_like(x)
    at = np.arange(n)
    np.put_along_axis(sums, order, ascending * (2 * at - n + 1) - 2.0 * below + total - ascending, axis=1)
    return sums


def _product_sum(x: Array, z: Array, rank: IntArray) -> Array:
    """The sum over all pairs (i, j) of |x_i - x_j| |z_i - z_j|, for each of b rows.

    x: (b, n), ascending in each row.  z: (b, n).  rank: (b, n), z's ranks from 0; ties in any order.  Returns (b,).

    A pair that rises in both adds (x_j - x_i)(z_j - z_i), one that falls in z subtracts it. So the sum is twice that
    over the rising pairs less that over all, and the latter needs no pairs.
    """
    n = x.shape[1]
    everything = n * (x * z).sum(axis=1) - x.sum(axis=1) * z.sum(axis=1)
    padded = _LEAF << max(0, (n - 1) // _LEAF).bit_length()
    fill = ((0, 0), (0, padded - n))
    one = np.pad(np.ones(x.shape), fill)  # rows that only fill up the last block weigh nothing
    x, z, rank = np.pad(x, fill), np.pad(z, fill), np.pad(rank, fill, constant_values=n)
    weights = np.stack([one, x, z, x * z])
    rising = _rising_in_leaves(one, x, z)
    size = _LEAF
    while size < padded:
        size *= 2
        shape = (len(x), padded // size, size)
        rank = rank.reshape(shape)
        # Halves that were sorted before merge in linear time: numpy's stable sort of integers sees their runs.
        order = np.argsort(rank, axis=2, kind="stable")
        rank = np.take_along_axis(rank, order, axis=2)
        weights = np.take_along_axis(weights.reshape(4, *shape), order[None], axis=3)
        left = order < size // 2
        w1, wx, wz, wxz = np.cumsum(weights * left, axis=3)
        w, u, v, uv = weights * ~left
        rising += (uv * w1 - u * wz - v * wx + w * wxz).sum(axis=(1, 2))
    return np.asarray(2.0 * (2.0 * rising - everything))


def _rising_in_leaves(one: Array, x: Array, z: Array) -> Array:
    """The sum over pairs within each small block, i before j, of (x_j - x_i)(z_j - z_i) where z rises.  (b,)."""
    shape = (len(x), -1, _LEAF)
    w, u, v = one.reshape(shape), x.reshape(shape), z.reshape(shape)
    total = np.zeros(len(x))
    for lag in range(1, _LEAF):
        rise = np.maximum(v[..., lag:] - v[..., :-lag], 0.0)
        total += ((u[..., lag:] - u[..., :-lag]) * rise * w[..., lag:]).sum(axis=(1, 2))
    return total


_LANDMARKS = 50
_MEDIAN_POINTS = 400  # quantiles whose pairwise distances give the median one
_KEPT = 1e-7  # functions that carry less than this share of the kernel are rounding
_EQUAL = 1e-12  # values closer than this share of the range are equal, whatever their last digits say


class Hsic(ShufflingScreen):
    """The Hilbert-Schmidt independence criterion.

    The share of each feature's and the residual's kernel that they have in common, from 0 to 1 (a squared r).
    It sees any dependence that is not much narrower than the median distance between rows. The p-value comes from a
    gamma distribution with the null's mean and variance; near alpha shuffles decide, unless there are none.
    """

    kind: Literal["hsic"] = Field("hsic", description="Kernel dependence (HSIC) of each feature with the residual.")
    permutations: int = Field(499, ge=0, le=100_000, description="Shuffles where the fast p-value is near alpha.")

    def evidence(self, x: Array, z: Array, seed: int) -> Evidence:
        """Normalised criteria and p-values."""
        n = len(z)
        of_x, of_z = [kernel_functions(column) for column in x.T], kernel_functions(z)
        criterion = np.array([_criteria(mine, of_z, np.arange(n)[None, :])[0] for mine in of_x])
        spread_x, spread_z = np.array([_moments(mine) for mine in of_x]), _moments(of_z)
        p_value = _gamma_p_value(criterion, spread_x, spread_z, n)

        def null(orders: IntArray, which: IntArray) -> Array:
            return np.column_stack([_criteria(of_x[j], of_z, orders) for j in which])

        used = self.checked(p_value, criterion, null, seed=seed, n=n)
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
    return np.asarray(functions - functions.mean(axis=0))


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


class MutualInformation(ShufflingScreen):
    """Mutual information by nearest neighbours.

    In nats; 0 where the estimate is not positive. There is no formula for its distribution under independence, so every
    p-value comes from shuffles, and none is below 1 / (permutations + 1). More neighbours give more power against
    dependence that spreads over the whole range, fewer against a narrow one; the paper's figures use 3.
    """

    kind: Literal["mutual_information"] = Field(
        "mutual_information",
        description="Mutual information of each feature with the residual (nearest neighbours, shuffled null); slow.",
    )
    neighbours: int = Field(10, ge=1, le=100, description="Neighbours of the estimate.")
    permutations: int = Field(199, ge=19, le=100_000, description="Shuffles for the p-value.")

    def evidence(self, x: Array, z: Array, seed: int) -> Evidence:
        """Estimates and p-values."""
        # A quarter of the rows is more than a neighbourhood; tables this small get smaller ones.
        k = max(1, min(self.neighbours, len(z) // 4))
        observed = np.array([nearest_neighbour_information(column, z, k) for column in x.T])

        def null(orders: IntArray, which: IntArray) -> Array:
            return np.array([[nearest_neighbour_information(x[:, j], z[order], k) for j in which] for order in orders])

        p_value, used = shuffled_p_value(
            observed, null, seed=seed, n=len(z), most=self.permutations, enough=max(1, self.permutations // 10)
        )
        return np.maximum(observed, 0.0), p_value, used


def nearest_neighbour_information(x: Array, z: Array, k: int) -> float:
    """The first estimator of Kraskov, Stögbauer and Grassberger (2004), in nats; may be negative.

    x, z: (n,), n > k.  Each is brought to variance 1 first. Where k or more rows share both values with a row, its
    neighbourhood has no size, and the rows that share them are counted instead (Gao et al. 2017); so a feature with
    few values, a boolean or a rounded residual needs no added noise.
    """
    from scipy import spatial, special

    n = len(x)
    points = np.column_stack([x / x.std(), z / z.std()])
    distances, _ = spatial.KDTree(points).query(points, k=[k + 1], p=np.inf)  # each row is its own first neighbour
    radius = np.asarray(distances, dtype=np.float64)[:, 0]
    tied = radius == 0.0
    # KSG counts the rows that are strictly nearer in each coordinate. The k-th neighbour is at the radius itself in one
    # of them; it must stay out whatever the last digit of a sum says, or units and origins would matter.
    reach = radius * (1.0 - 1e-9)
    near_x, near_z = _within(points[:, 0], reach), _within(points[:, 1], reach)
    own = np.full(n, float(k))
    if tied.any():
        same = np.unique(points, axis=0, return_inverse=True, return_counts=True)
        own[tied] = same[2][same[1].reshape(-1)][tied] - 1.0
    terms = special.digamma(own) - special.digamma(near_x) - special.digamma(near_z)
    return float(special.digamma(n) + terms.mean())


def _within(values: Array, reach: Array) -> IntArray:
    """How many values lie within reach of each, itself included.  values, reach: (n,)."""
    ascending = np.sort(values)
    above = np.searchsorted(ascending, values + reach, side="right")
    return above - np.searchsorted(ascending, values - reach, side="left")
