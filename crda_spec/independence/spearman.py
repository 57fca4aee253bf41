"""Rank correlation: any rising or falling dependence, however bent, and no outlier can fake or hide it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crda_spec.independence._protocol import Evidence, ScreenResult, ranks, screened, standardized
from crda_spec.independence.pearson import correlation_p_value
from crda_spec.records import Array


@dataclass(frozen=True, slots=True)
class Spearman:
    """Pearson's r of the ranks of each feature with the ranks of the residual; equal values share their mean rank.

    The two-sided p-value uses Student's t, which is close to the exact one from about ten rows on. Missing values and
    constants: as for every screen, rows left out for that feature, statistic 0 and p-value 1.
    """

    name: ClassVar[str] = "spearman"

    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator | None = None) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  rng: not used.  Returns d rank correlations and d p-values."""
        del rng
        return screened(x, z, _rank_correlation)


def _rank_correlation(x: Array, z: Array) -> Evidence:
    a, b = ranks(x), ranks(z[:, None])
    r = standardized(a, np.ones(a.shape, dtype=np.bool_)).T @ standardized(b, np.ones(b.shape, dtype=np.bool_))[:, 0]
    r = np.clip(r, -1.0, 1.0)
    freedom = np.full(len(r), len(x) - 2, dtype=np.int64)
    return r, correlation_p_value(r, freedom), np.zeros(len(r), dtype=np.int64)
