"""Mutual information by nearest neighbours: the paper's Table 8, as a screen."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.independence._protocol import BaseScreen, Evidence, ScreenResult, drawn_seed, screened, shuffled_p_value
from crda_spec.records import Array, IntArray

_ROUNDING = 1e-9


class MutualInformation(BaseScreen):
    """Mutual information by nearest neighbours.

    In nats; 0 where the estimate is not positive. It sees any dependence, but needs more rows for a plain linear one
    than a correlation does. There is no formula for its distribution under independence, so every p-value comes from
    shuffles: at most `permutations` of them, none below 1 / (permutations + 1), and few for a plainly independent
    feature. One shuffle costs one neighbour search, O(n log n); this is the slowest of the marginal screens. More
    neighbours give more power against dependence that spreads over the whole range, fewer against a narrow one; the
    paper's figures use 3.
    """

    kind: Literal["mutual_information"] = Field(
        "mutual_information",
        description="Mutual information of each feature with the residual (nearest neighbours, shuffled null); slow.",
    )
    neighbours: int = Field(10, ge=1, le=100, description="Neighbours of the estimate.")
    permutations: int = Field(199, ge=19, le=100_000, description="Shuffles for the p-value.")

    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  Returns d estimates and d p-values."""
        seed = drawn_seed(rng)
        return screened(x, z, lambda a, b: self._test(a, b, seed))

    def _test(self, x: Array, z: Array, seed: int) -> Evidence:
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
    reach = radius * (1.0 - _ROUNDING)
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
