"""How sure a measured change is: a paired bootstrap over rows, or over groups where rows belong together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crda_spec.records import Array, IntArray
from crda_spec.regressors.metrics import Metric

RESAMPLES = 2000
FEWEST_UNITS = 20  # resampling three rows says nothing about a fourth
_MOST_UNITS = 4096  # beyond this, neighbouring rows are resampled in blocks: the same interval at a bounded cost
_AT_ONCE = 100


def units_of(n: int, groups: IntArray | None) -> IntArray:
    """What is resampled: groups where there are any, else rows. Numbered from 0 without a gap."""
    units = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    count = int(units.max()) + 1
    return units * _MOST_UNITS // count if count > _MOST_UNITS else units


def resampled_sums(sums: Array, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """Draws units with replacement. sums: (units, k). Yields blocks of (resamples, k), together `resamples` of them."""
    even = np.full(len(sums), 1.0 / len(sums))
    for start in range(0, resamples, _AT_ONCE):
        yield rng.multinomial(len(sums), even, size=min(_AT_ONCE, resamples - start)) @ sums


def change_interval(
    plain: Array, augmented: Array, units: IntArray, metric: Metric, *, level: float, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Percentile interval of the relative change; a resample takes the same units in both arms.

    plain, augmented: (n,) losses of the same rows, times their weights where they have any.
    units: (n,) from `units_of`.  None when there are too few of them.
    """
    if int(units.max()) + 1 < FEWEST_UNITS:
        return None
    sums = np.stack([np.bincount(units, plain), np.bincount(units, augmented)], axis=1).astype(np.float64)
    drawn = np.concatenate(list(resampled_sums(sums, RESAMPLES, rng)))
    changes = metric.change(drawn[:, 0], drawn[:, 1])
    # Values that occurred, none in between: a change may be infinite when the plain model makes no error.
    low, high = np.quantile(changes, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(low), float(high)
