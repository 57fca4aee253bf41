"""Columns made ready to be compared: the same missing-value, constant and scale rules for every screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from crda_spec.records import Array, IntArray
from crda_spec.scm.independence._protocol import ScreenResult

BoolArray = npt.NDArray[np.bool_]
Evidence = tuple[Array, Array, IntArray]  # statistic, p-value and permutations, each (k,)
LEAST_ROWS = 6  # with fewer, no shuffle of the rows is rare enough to mean anything


def standardized(x: Array, present: BoolArray) -> Array:
    """Columns with mean 0 and length 1 over their present rows, 0 elsewhere; all 0 for a constant.

    Each column is first brought to size 1, and once more after centring, so that no square overflows or vanishes.
    """
    if not len(x):
        return np.zeros(x.shape)
    rows = np.maximum(present.sum(axis=0), 1)
    filled = np.where(present, x, 0.0)
    size = np.abs(filled).max(axis=0)
    filled = filled / np.where(size > 0, size, 1.0)
    centred = np.where(present, filled - filled.sum(axis=0) / rows, 0.0)
    # A constant over its own size is exactly 1, and so is its mean: its centred values are 0 without rounding errors.
    spread = np.abs(centred).max(axis=0)
    centred = centred / np.where(spread > 0, spread, 1.0)
    length = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    result: Array = centred / np.where(length > 0, length, 1.0)
    return result


def ranks(x: Array) -> Array:
    """The rank of each value in its column, from 1; equal values share the mean of their ranks.  x, result: (n, d)."""
    result = np.empty(x.shape)
    for j in range(x.shape[1]):
        ascending = np.sort(x[:, j])
        below = np.searchsorted(ascending, x[:, j], side="left")
        result[:, j] = (below + np.searchsorted(ascending, x[:, j], side="right") + 1) / 2.0
    return result


def screened(x: Array, z: Array, test: Callable[[Array, Array], Evidence]) -> ScreenResult:
    """Asks `test` about every column that can be asked about; the others get statistic 0 and p-value 1.

    `test` is given columns that miss no value, (m, k), and the residual in the same rows, (m,); all have mean 0,
    length 1 and at least two different values. It is called once for each pattern of missing cells.
    """
    d = x.shape[1]
    statistic, p_value = np.zeros(d), np.ones(d)
    rows, permutations = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    for columns, present in _patterns(np.isfinite(x) & np.isfinite(z)[:, None]):
        rows[columns] = present.sum()
        if present.sum() < LEAST_ROWS:
            continue
        whole = np.ones((int(present.sum()), 1), dtype=np.bool_)
        a = standardized(x[np.ix_(present, columns)], np.broadcast_to(whole, (len(whole), len(columns))))
        b = standardized(z[present, None], whole)[:, 0]
        varies = a.any(axis=0)
        if varies.any() and b.any():
            asked = columns[varies]
            statistic[asked], p_value[asked], permutations[asked] = test(np.ascontiguousarray(a[:, varies]), b)
    return ScreenResult(statistic, p_value, rows, permutations)


def _patterns(present: BoolArray) -> Iterator[tuple[IntArray, BoolArray]]:
    """Columns that miss the same rows, with the rows that they have: nearly always one pattern for all."""
    if not present.shape[1]:
        return
    masks, pattern = np.unique(present, axis=1, return_inverse=True)
    for number in range(masks.shape[1]):
        yield np.flatnonzero(pattern.reshape(-1) == number), masks[:, number]
