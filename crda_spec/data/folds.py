"""Folds: every row is held out exactly once, a group is never torn, and rows in time are cut forward only."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crda_spec.data.raw import counted
from crda_spec.errors import Complaint, DataError
from crda_spec.records import IntArray, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """One division of the training rows into folds, with the seed of all that is drawn inside it."""

    held: tuple[IntArray, ...]
    seed: int
    number: int = 0
    seen: tuple[IntArray, ...] | None = None  # what each fold trains on, where folds run forward; None: all other rows

    @property
    def in_time(self) -> bool:
        """Whether the folds run forward in time."""
        return self.seen is not None


def group_numbers(rows: Table) -> IntArray:
    """(n,) the group of each row, counted from 0; every row is its own where there are none."""
    return np.arange(len(rows)) if rows.groups is None else np.unique(rows.groups, return_inverse=True)[1]


def draw_groups(rows: Table, wanted: float, *, rng: np.random.Generator) -> IntArray:
    """The positions of about `wanted` rows, the first of the shuffled groups; one group at least stays behind."""
    member = group_numbers(rows)
    sizes = np.bincount(member)
    order = rng.permutation(len(sizes))
    reached = np.cumsum(sizes[order])[:-1]
    taken = int(np.abs(reached - wanted).argmin()) + 1
    return np.flatnonzero(np.isin(member, order[:taken]))


def pieces(times: IntArray, groups: IntArray | None = None) -> IntArray:
    """(n,) which piece each row is in, from 0, the earliest first: between two pieces a cut tears no group."""
    moments, at = np.unique(times, return_inverse=True)
    if groups is None:
        return at.astype(np.int64)
    member = np.unique(groups, return_inverse=True)[1]
    first = np.full(int(member.max()) + 1, len(moments))
    last = np.full(int(member.max()) + 1, -1)
    np.minimum.at(first, member, at)
    np.maximum.at(last, member, at)
    # How many groups reach from each moment to the next one: no cut where there is one.
    opened = np.bincount(first, minlength=len(moments)) - np.bincount(last, minlength=len(moments))
    cut = np.cumsum(opened)[:-1] == 0
    return np.concatenate([[0], np.cumsum(cut)]).astype(np.int64)[at]


def count_pieces(times: IntArray, groups: IntArray | None = None) -> int:
    """Into how many parts these rows could be cut."""
    return int(pieces(times, groups).max(initial=-1)) + 1


def cut_at(sizes: Sequence[int], wanted: Sequence[float]) -> list[int]:
    """Before which pieces to cut, so that about `wanted` rows lie before each cut; the earlier of two as near.

    sizes: rows of each piece, in order.  wanted: rows before each cut, ascending.  There must be one piece more than
    cuts; every part gets at least one piece.
    """
    reached = np.cumsum(sizes)
    cuts: list[int] = []
    for number, rows in enumerate(wanted):
        least = (cuts[-1] if cuts else 0) + 1
        most = len(sizes) - (len(wanted) - number)
        cuts.append(least + int(np.abs(reached[least - 1 : most] - rows).argmin()))
    return cuts


def time_blocks(times: IntArray, count: int, groups: IntArray | None = None) -> tuple[IntArray, ...]:
    """The positions of the rows in `count` blocks of about equal size, one after the other in time."""
    piece = pieces(times, groups)
    sizes = np.bincount(piece)
    if not 1 <= count <= len(sizes):
        message = f"{count} blocks cannot be made of {len(sizes)} pieces"
        raise ValueError(message)
    cuts = cut_at(sizes.tolist(), [len(times) * number / count for number in range(1, count)])
    block = np.searchsorted(cuts, piece, side="right")
    return tuple(np.flatnonzero(block == number).astype(np.int64) for number in range(count))


def forward_folds(times: IntArray, count: int, groups: IntArray | None = None) -> tuple[tuple[IntArray, IntArray], ...]:
    """`count` folds that run forward: each trains on all blocks of time before the one that it holds out."""
    blocks = time_blocks(times, count + 1, groups)
    return tuple((np.sort(np.concatenate(blocks[:number])), blocks[number]) for number in range(1, count + 1))


def latest(times: IntArray, rows: float, groups: IntArray | None = None) -> IntArray:
    """The positions of about `rows` rows at the end; at least one piece, of two or more, on either side of the cut."""
    piece = pieces(times, groups)
    (cut,) = cut_at(np.bincount(piece).tolist(), [len(times) - rows])
    return np.flatnonzero(piece >= cut).astype(np.int64)


def scoring_folds(rows: Table, k: int, *, rng: np.random.Generator) -> tuple[tuple[IntArray, IntArray], ...]:
    """For each of k folds the rows to train on and the rows to score, all of them later where rows have an order."""
    if rows.times is not None:
        _require_pieces(rows, rows.times, k + 1, f"{k} folds that run forward")
        return forward_folds(rows.times, k, rows.groups)
    held = folds(len(rows), k, rng=rng, groups=rows.groups)
    return tuple((np.setdiff1d(np.arange(len(rows)), fold), fold) for fold in held)


def left_out_folds(rows: Table, k: int, *, rng: np.random.Generator) -> tuple[IntArray, ...]:
    """What is left out in turn so that every row has a model that has not seen it: blocks where rows have an order.

    Such a model may have seen later rows than those it leaves out. It scores nothing, so nobody is told a prediction
    that the past could not make: whoever holds rows out has done so before, and they are not among these.
    """
    if rows.times is not None:
        _require_pieces(rows, rows.times, k, f"{k} blocks of time")
        return time_blocks(rows.times, k, rows.groups)
    return folds(len(rows), k, rng=rng, groups=rows.groups)


def _require_pieces(rows: Table, times: IntArray, needed: int, what: str) -> None:
    times_there = count_pieces(times, rows.groups)
    if times_there < needed:
        have = "have" if rows.groups is None else "can, groups kept whole, be parted into"
        what += f" need at least {needed} different times, but the {counted(len(rows), 'row')} at hand {have}"
        hint = "use fewer folds, or more data"
        raise DataError(Complaint(code="too-few-times", path="dataset.time", what=f"{what} {times_there}", hint=hint))


def folds(n: int, k: int, *, rng: np.random.Generator, groups: IntArray | None = None) -> tuple[IntArray, ...]:
    """The positions held out in each of k folds of n rows, sorted. groups: (n,) rows of equal number stay together.

    Groups are shuffled, taken largest first, and each goes to the fold with the fewest rows so far. Without groups the
    sizes of the folds differ by at most one.
    """
    units = n if groups is None else len(np.unique(groups))
    if k < 2:
        what = f"{counted(k, 'fold')} cannot be made: what is trained and what is held out need one each"
        raise DataError(Complaint(code="too-few-folds", path="gate.folds", what=what, hint="use at least 2 folds"))
    if k > units:
        what = f"{k} folds need at least {k} rows, but there are {n} to train on"
        if groups is not None:
            what = f"{k} folds need at least {k} groups, but the {n} training rows form {units}"
        hint = f"use at most {units} folds" if units >= 2 else "use more data"
        raise DataError(Complaint(code="too-many-folds", path="gate.folds", what=what, hint=hint))
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
