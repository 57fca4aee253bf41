"""The smallest p-value of Wilcoxon's test that folds still ahead can lead to, ties and all.

All of them win: a win adds nothing to the losses' rank sum. None of them is without a difference: one more win, larger
than all others, leaves the count of patterns with a smaller sum below twice what it was, and halves its share. What
remains open is where the wins stand among the differences so far. One would think beyond all of them, so that the
losses keep the lowest ranks; but ties move ranks by halves, and with (1, 1, 1) lost and five folds ahead, tied wins
reach a smaller p-value than distinct ones. So every place is tried: between two sizes so far, or tied with one, and
tied among themselves or not. With ten folds that is some thousand arrangements. Where they are too many, a bound is
told instead that no arrangement can get below, and the gate stops later than it could.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import comb

import numpy as np

from crda_spec.records import Array

_MOST_ARRANGEMENTS = 20_000

Tied = tuple[int, int]  # differences of one size: how many, and how many of them are losses


def least_p_value(difference: Array, ahead: int, *, enough: float = 0.0) -> float:
    """No future of `ahead` more folds has a smaller p-value (`less`), or else one below `enough` was found.

    difference: (k,) augmented - plain so far.
    """
    moved = difference[difference != 0.0]
    sizes, member = np.unique(np.abs(moved), return_inverse=True)
    lost = np.bincount(member, moved > 0, minlength=len(sizes))
    levels = tuple(zip(np.bincount(member, minlength=len(sizes)).tolist(), lost.astype(int).tolist(), strict=True))
    patterns = float(2 ** (len(moved) + ahead))
    if arrangements(len(levels), ahead) > _MOST_ARRANGEMENTS:
        return _dominated(levels) / patterns
    least = 1.0
    for future in _futures(levels, ahead):  # the first of them has all wins beyond the rest, no two alike
        least = min(least, _at_most(future) / patterns)
        if least < enough:
            break
    return least


def arrangements(levels: int, ahead: int) -> int:
    """In how many ways so many equal things stand among levels: tied with one, or between two in any tied groups.

    The coefficient of x^ahead in (1 - x) / (1 - 2x)^(levels + 1): a level takes any number, a gap any composition.
    """
    less = 2 ** (ahead - 1) * comb(ahead - 1 + levels, levels) if ahead else 0
    return int(2**ahead * comb(ahead + levels, levels) - less)


def _futures(levels: tuple[Tied, ...], ahead: int) -> Iterator[tuple[Tied, ...]]:
    """All arrangements, smallest sizes first."""
    for below in range(ahead + 1):
        for groups in _compositions(below):
            if not levels:
                if below == ahead:
                    yield groups
                continue
            (count, lost), *rest = levels
            for tied in range(ahead - below + 1):
                for after in _futures(tuple(rest), ahead - below - tied):
                    yield (*groups, (count + tied, lost), *after)


@cache
def _compositions(total: int) -> tuple[tuple[Tied, ...], ...]:
    """All ways to part so many wins into groups of one size each, in order."""
    if not total:
        return ((),)
    return tuple(((first, 0), *rest) for first in range(1, total + 1) for rest in _compositions(total - first))


def _at_most(groups: tuple[Tied, ...]) -> int:
    """How many sign patterns have a rank sum of losses no larger than the one here."""
    ranks, total, before = [], 0, 0
    for count, lost in groups:
        doubled = 2 * before + count + 1  # the mean rank of a group, doubled to be whole
        ranks += [doubled] * count
        total += lost * doubled
        before += count
    ways = np.zeros(total + 1, dtype=np.int64)
    ways[0] = 1
    for rank in ranks:
        if rank <= total:
            ways[rank:] += ways[: total + 1 - rank].copy()
    return int(ways.sum())


def _dominated(levels: tuple[Tied, ...]) -> int:
    """How many sets of differences so far stand, one by one, no higher than the losses: no future ranks them higher."""
    ways = {0: 1}  # by how many losses are left unmatched, from the largest size down
    for count, lost in reversed(levels):
        found: dict[int, int] = {}
        for spare, number in ways.items():
            for taken in range(min(count, spare + lost) + 1):
                left = spare + lost - taken
                found[left] = found.get(left, 0) + number * comb(count, taken)
        ways = found
    return sum(ways.values())
