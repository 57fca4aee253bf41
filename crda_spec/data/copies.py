"""Rows that agree in every column used. A missing cell agrees with a missing cell."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crda_spec.records import Array, IntArray


def find_copies(before: Array, cells: Array) -> IntArray:
    """For each row of `cells`, the position of the first row that it equals (its own when it is the first).

    before: (m, d) rows of another table; a row that equals one of them gets -2 instead.
    cells: (n, d).  Returns (n,).
    """
    frame = pd.DataFrame(np.vstack([before, cells]))
    group = frame.groupby(list(frame.columns), dropna=False, sort=False).ngroup().to_numpy(dtype=np.int64)
    _, first = np.unique(group, return_index=True)
    origin = first[group].astype(np.int64) - len(before)
    return np.where(origin < 0, -2, origin)[len(before) :]


def copy_codes(first: IntArray) -> IntArray:
    """Group numbers that bind each row to its copies, counted in the order of first appearance."""
    return np.unique(first, return_inverse=True)[1].astype(np.int64)
