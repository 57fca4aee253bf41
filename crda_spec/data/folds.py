"""Folds: every row is held out exactly once, and a group is never torn."""

from __future__ import annotations

import heapq

import numpy as np

from crda_spec.data.rows import counted
from crda_spec.errors import Complaint, DataError
from crda_spec.records import IntArray


def folds(n: int, k: int, *, rng: np.random.Generator, groups: IntArray | None = None) -> tuple[IntArray, ...]:
    """The positions held out in each of k folds, sorted.

    Groups are shuffled, taken largest first, and each goes to the fold with the fewest rows so far. Without groups
    the sizes of the folds differ by at most one.

    n: the number of rows.  groups: (n,) rows of equal number stay together.
    """
    units = n if groups is None else len(np.unique(groups))
    if not 2 <= k <= units:
        raise DataError(_impossible(n, k, None if groups is None else units))
    if groups is None:
        order = rng.permutation(n)
        return tuple(np.sort(order[fold::k]).astype(np.int64) for fold in range(k))
    _, member, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(units)
    largest_first = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    fold_of = np.empty(units, dtype=np.int64)
    fullness = [(0, fold) for fold in range(k)]
    for group in largest_first.tolist():
        rows, fold = fullness[0]
        fold_of[group] = fold
        heapq.heapreplace(fullness, (rows + int(sizes[group]), fold))
    return tuple(np.flatnonzero(fold_of[member] == fold).astype(np.int64) for fold in range(k))


def _impossible(n: int, k: int, groups: int | None) -> Complaint:
    if k < 2:
        what = f"{counted(k, 'fold')} cannot be made: what is trained and what is held out need one each"
        return Complaint(code="too-few-folds", path="gate.folds", what=what, hint="use at least 2 folds")
    if groups is None:
        what = f"{k} folds need at least {k} rows, but there are {n} to train on"
        units = n
    else:
        what = f"{k} folds need at least {k} groups, but the {n} training rows form {groups}"
        units = groups
    hint = f"use at most {units} folds" if units >= 2 else "use more data"
    return Complaint(code="too-many-folds", path="gate.folds", what=what, hint=hint)
