"""Rows that agree in every feature and the target. A missing cell agrees with a missing cell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crda_spec.data.raw import RawTable
from crda_spec.data.rows import counted, listed
from crda_spec.errors import Complaint, Place
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


def copy_complaints(
    raw: RawTable, keep: IntArray, own: IntArray, first: IntArray, foreign: IntArray, *, timed: bool
) -> Iterator[Complaint]:
    """Copies that may not be there.

    keep: (n,) positions of the rows in their source.  own, foreign: which of these rows copy an earlier one of them,
    or a training row.  first: (n,) the row that each copies.  timed: copies agree in their time as well.
    """
    path, place = "dataset.duplicates", Place(file=raw.description)
    if len(own):
        verb = "copies" if len(own) == 1 else "copy"
        pairs = ", ".join(f"row {keep[row] + 1} copies row {keep[first[row]] + 1}" for row in own[:5].tolist())
        line = raw.line_of(int(keep[own[0]]))
        where = "" if line is None else f" (the first on line {line})"
        more = f" and {len(own) - 5} more" if len(own) > 5 else ""
        cells = "every feature, the target and the time" if timed else "every feature and the target"
        what = f"{counted(len(own), 'row')} {verb} an earlier row in {cells}{where}: {pairs}{more}"
        hint = "set dataset.duplicates to kind: keep or kind: drop"
        yield Complaint(code="duplicates", path=path, place=place, what=what, hint=hint)
    if len(foreign):
        verb = "copies" if len(foreign) == 1 else "copy"
        what = f"{counted(len(foreign), 'test row')} {verb} a training row: {listed(raw, keep[foreign])}"
        hint = "a copy may not straddle the split: set dataset.duplicates to kind: drop"
        yield Complaint(code="copies-straddle", path=path, place=place, what=what, hint=hint)
