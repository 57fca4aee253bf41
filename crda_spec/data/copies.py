"""Rows that agree in every feature and the target. A missing cell agrees with a missing cell."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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


def merge_groups(groups: IntArray, first: IntArray) -> IntArray:
    """Group numbers in which groups that share a copy are one; each keeps the smallest number of its parts.

    groups: (n,) numbers from 0.  first: (n,) the row that each row copies, its own position when it copies none.
    """
    size = int(groups.max()) + 1
    links = coo_array((np.ones(len(groups)), (groups, groups[first])), shape=(size, size))
    part = connected_components(links, directed=False)[1]
    smallest = np.full(part.max() + 1, size, dtype=np.int64)
    np.minimum.at(smallest, part, np.arange(size))
    return smallest[part][groups]
