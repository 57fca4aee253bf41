"""Distance correlation: zero only under independence, and computed by sorting.

The estimate is the bias-corrected one of Székely and Rizzo (2014). Sums over all pairs of rows are found in
O(n log^2 n) steps by merging sorted halves, after Huo and Székely (2016) and Chaudhuri and Hu (2019), but with whole
levels of the merge done at once, for many columns side by side. The p-value is the chi-square bound of Shen, Panda and
Vogelstein (2022); where it falls near the threshold, shuffles decide, because the bound is on the cautious side.
"""

from __future__ import annotations

from dataclasses import dataclass
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

_LEAF = 16  # blocks this small are compared pair by pair
_CELLS = 2_000_000  # numbers held at a time, so that memory does not grow with columns or shuffles
_NO_SPREAD = 1e-12  # a distance variance this small, of a column of length 1, is rounding


class Distance(BaseScreen):
    """Distance correlation: zero only under independence.

    The statistic is 0 where its bias-corrected square is not positive. It sees any dependence, also z ~ x^2 and a
    spread of z that changes with x, the latter with less power. A feature in which a single row differs from all others
    has no distance variance: statistic 0, p-value 1. With no permutations the chi-square bound decides.
    """

    kind: Literal["distance"] = Field(
        "distance",
        description="Distance correlation of each feature with the residual: any dependence, its spread included.",
    )
    threshold: float | None = Field(
        None, gt=0, le=1, description="A distance correlation this large keeps the feature fixed; null: p-values only."
    )
    permutations: int = Field(199, ge=0, le=100_000, description="Shuffles where the fast p-value is near alpha.")

    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  Returns d distance correlations and d p-values."""
        seed = drawn_seed(rng)
        return screened(x, z, lambda a, b: self._test(a, b, seed))

    def _test(self, x: Array, z: Array, seed: int) -> Evidence:
        from scipy import special

        n, k = x.shape
        pairs = _Pairs.of(x, z)
        covariance = pairs.covariance(np.arange(n)[None, :], np.arange(k))[0]
        seen = pairs.scale > 0
        square = np.clip(np.where(seen, covariance / np.where(seen, pairs.scale, 1.0), 0.0), -1.0, 1.0)
        p_value = np.where(seen, special.chdtrc(1.0, np.maximum(n * square + 1.0, 0.0)), 1.0)
        used = np.zeros(k, dtype=np.int64)
        asked = near(p_value, self.alpha)
        if len(asked) and self.permutations:
            p_value[asked], used[asked] = shuffled_p_value(
                covariance[asked],
                lambda orders, which: pairs.covariance(orders, asked[which]),
                seed=seed,
                n=n,
                most=self.permutations,
                enough=max(1, self.permutations // 5),
            )
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
    result: Array = 2.0 * (2.0 * rising - everything)
    return result


def _rising_in_leaves(one: Array, x: Array, z: Array) -> Array:
    """The sum over pairs within each small block, i before j, of (x_j - x_i)(z_j - z_i) where z rises.  (b,)."""
    shape = (len(x), -1, _LEAF)
    w, u, v = one.reshape(shape), x.reshape(shape), z.reshape(shape)
    total = np.zeros(len(x))
    for lag in range(1, _LEAF):
        rise = np.maximum(v[..., lag:] - v[..., :-lag], 0.0)
        total += ((u[..., lag:] - u[..., :-lag]) * rise * w[..., lag:]).sum(axis=(1, 2))
    return total
