"""Rows in the order of time: where they may be cut, blocks of them, and folds that run forward.

A cut lies between two moments, so that rows of equal time are never torn apart. Where rows belong together, a cut may
not go through a group either: all rows from a group's first moment to its last are one piece. Hence every row before a
cut is earlier than every row behind it, with groups and without, which is all that the folds below rest on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crda_spec.records import IntArray


def pieces(times: IntArray, groups: IntArray | None = None) -> IntArray:
    """(n,) which piece each row is in, counted from 0, the earliest first. Between two pieces a cut is possible.

    times: (n,) any numbers that grow with time.  groups: (n,) rows of equal number stay together.
    """
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
    """The positions of the rows in `count` blocks, one after the other in time, about as many rows in each.

    There must be as many pieces as blocks: who asks has counted them.
    """
    piece = pieces(times, groups)
    sizes = np.bincount(piece)
    if not 1 <= count <= len(sizes):
        message = f"{count} blocks cannot be made of {len(sizes)} pieces"
        raise ValueError(message)
    cuts = cut_at(sizes.tolist(), [len(times) * number / count for number in range(1, count)])
    block = np.searchsorted(cuts, piece, side="right")
    return tuple(np.flatnonzero(block == number).astype(np.int64) for number in range(count))


def forward_folds(times: IntArray, count: int, groups: IntArray | None = None) -> tuple[tuple[IntArray, IntArray], ...]:
    """`count` folds that run forward: for each, the rows trained on and the rows held out, all of them later.

    The rows are cut into one block more than there are folds. Fold j holds out block j and trains on all blocks before
    it; the first block is never held out.
    """
    blocks = time_blocks(times, count + 1, groups)
    return tuple((np.sort(np.concatenate(blocks[:number])), blocks[number]) for number in range(1, count + 1))


def latest(times: IntArray, rows: float, groups: IntArray | None = None) -> IntArray:
    """The positions of about `rows` rows at the end; at least one piece on either side of the cut.

    There must be two pieces: who asks has counted them.
    """
    piece = pieces(times, groups)
    (cut,) = cut_at(np.bincount(piece).tolist(), [len(times) - rows])
    return np.flatnonzero(piece >= cut).astype(np.int64)
