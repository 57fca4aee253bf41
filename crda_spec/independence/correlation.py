"""Correlation, of values (the paper's screen) or of ranks; the matrix that PC works from, and Fisher's z."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.independence._protocol import BaseScreen, Evidence, ScreenResult, ranks, screened, standardized
from crda_spec.records import Array, IntArray

# atanh of the largest number below 1 is about 18.4: finite, and far beyond any threshold.
_LARGEST = np.nextafter(1.0, 0.0)


def fisher_z(r: Array, n: int, given: int) -> Array:
    """Two-sided p-values of partial correlations r (any shape) from n rows, given that many other columns.

    Where n <= given + 3, or r is NaN because there was nothing to correlate, no test is possible; the result is 0, so
    that a rule which cuts a link at large p-values leaves it in place.
    """
    from scipy import special

    freedom = n - given - 3
    if freedom <= 0:
        return np.zeros(np.shape(r))
    size = np.minimum(np.abs(r), _LARGEST)
    p: Array = special.erfc(np.sqrt(freedom / 2.0) * np.arctanh(np.where(np.isnan(size), 0.0, size)))
    return np.where(np.isnan(size), 0.0, p)


class Pearson(BaseScreen):
    """The paper's screen: linear correlation with the residual.

    The p-value is two-sided and exact under normality. Rows with a missing cell are left out for that feature.
    """

    kind: Literal["pearson"] = Field("pearson", description="Linear correlation of each feature with the residual.")
    threshold: float | None = Field(
        0.1, gt=0, le=1, description="A correlation at least this large keeps the feature fixed; null: p-values only."
    )

    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator | None = None) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  rng: not used.  Returns d correlations and d p-values."""
        present = np.isfinite(x) & np.isfinite(z)[:, None]
        rows = present.sum(axis=0)
        a = standardized(x, present)
        b = standardized(np.broadcast_to(z[:, None], x.shape), present)
        r = np.clip(np.einsum("ij,ij->j", a, b), -1.0, 1.0)
        r[rows < 3] = 0.0
        p = correlation_p_value(r, rows - 2)
        return ScreenResult(statistic=r, p_value=p, rows=rows, permutations=np.zeros(len(r), dtype=np.int64))


class Spearman(BaseScreen):
    """Rank correlation: any rising or falling dependence, however bent, and no outlier can fake or hide it.

    Equal values share their mean rank. The two-sided p-value uses Student's t, close to the exact one from ten rows on.
    """

    kind: Literal["spearman"] = Field(
        "spearman", description="Rank correlation of each feature with the residual: any monotone tie."
    )
    threshold: float | None = Field(
        0.1, gt=0, le=1, description="A correlation at least this large keeps the feature fixed; null: p-values only."
    )

    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator | None = None) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  rng: not used.  Returns d rank correlations and d p-values."""

        def evidence(x: Array, z: Array) -> Evidence:
            a, b = (standardized(ranks(one), np.ones(one.shape, dtype=np.bool_)) for one in (x, z[:, None]))
            r = np.clip(a.T @ b[:, 0], -1.0, 1.0)
            freedom = np.full(len(r), len(x) - 2, dtype=np.int64)
            return r, correlation_p_value(r, freedom), np.zeros(len(r), dtype=np.int64)

        return screened(x, z, evidence)


def correlation_p_value(r: Array, freedom: IntArray) -> Array:
    """P(|R| >= |r|) for R of independent normal columns: Student's t with t^2 = freedom * r^2 / (1 - r^2)."""
    from scipy import special

    # The t distribution's two tails as an incomplete beta function of freedom / (freedom + t^2) = 1 - r^2.
    # (1 - r)(1 + r) keeps the digits that 1 - r^2 loses near 1.
    p = special.betainc(np.maximum(freedom, 1) / 2.0, 0.5, (1.0 - r) * (1.0 + r))
    return np.asarray(p, dtype=np.float64)


def correlation_matrix(x: Array) -> tuple[Array, int]:
    """The correlations of all columns, (d, d), and the number of rows they come from.

    Only rows without a missing (not finite) value count: correlations taken from different rows need not fit together
    in one table of random variables. A constant has correlation 0 with every other column; the diagonal is 1.
    """
    whole = x[np.isfinite(x).all(axis=1)]
    unit = standardized(whole, np.ones(whole.shape, dtype=np.bool_))
    r = np.clip(unit.T @ unit, -1.0, 1.0)
    r = (r + r.T) / 2.0
    np.fill_diagonal(r, 1.0)
    return r, len(whole)
