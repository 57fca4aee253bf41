"""Wilcoxon's signed-rank test on paired fold losses, exact for any number of folds, ties included; and the sign test.

Zero differences say nothing for either side and are left out (Wilcoxon's own rule); if all are zero the p-value is 1.
Tied differences share their mean rank, and the null distribution is computed for those very ranks: all 2^n sign
patterns are counted by convolution, so the p-value is exact with ties as well, where tables and approximations are not.

With repeats each row counts once, with its mean loss, and each division's folds are asked in turn. However the
divisions depend on each other, twice the mean of their p-values is one (Rueschendorf 1982; Vovk and Wang 2020).

The sign test leaves folds without any difference out as well. It needs the least of the losses (no symmetry), and has
the least power.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import comb
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.gate.tests._protocol import Alternative, Curtailed, Paired
from crda_spec.records import Array

_MOST_ARRANGEMENTS = 20_000

Tied = tuple[int, int]  # differences of one size: how many, and how many of them are losses


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
        counts: dict[int, int] = {}
        for spare, number in ways.items():
            for taken in range(min(count, spare + lost) + 1):
                left = spare + lost - taken
                counts[left] = counts.get(left, 0) + number * comb(count, taken)
        ways = counts
    return sum(ways.values())


class Wilcoxon(Curtailed):
    """The paper's gate, without its leaks: Wilcoxon's signed-rank test on paired fold losses."""

    kind: Literal["wilcoxon"] = Field(
        "wilcoxon", description="Wilcoxon's signed-rank test on the paired losses of the folds."
    )
    repeats: int = Field(
        1,
        ge=1,
        le=20,
        description="How often the rows are divided into folds anew; each row counts once, with its mean "
        "loss, and twice the mean of the divisions' p-values is the p-value.",
    )

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Exact with one repeat, conservative with several; draws nothing."""
        p_values = [wilcoxon_p_value(difference, "less") for difference in paired.blocks.difference]
        return p_values[0] if len(p_values) == 1 else min(1.0, 2.0 * float(np.mean(p_values)))

    def least_p_value(self, difference: Array, ahead: int, *, enough: float) -> float:
        """See `Curtailed.least_p_value`."""
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


class Sign(Curtailed):
    """How many folds gained, whatever the size of the gain. Exact: under the null, the losing folds are binomial."""

    kind: Literal["sign"] = Field("sign", description="The sign test: assumes least, and sees least.")

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Exact; draws nothing."""
        return self.least_p_value(paired.folds.difference, 0, enough=0.0)

    def least_p_value(self, difference: Array, ahead: int, *, enough: float) -> float:
        """The p-value when all of the folds ahead win: there is no better future."""
        from scipy.stats import binom

        moved = difference[difference != 0.0]
        folds = len(moved) + ahead
        return float(binom.cdf(int((moved > 0).sum()), folds, 0.5)) if folds else 1.0


def wilcoxon_p_value(difference: Array, alternative: Alternative) -> float:
    """P-value of the differences (augmented - plain); `less`: is the augmented loss smaller?"""
    if not np.all(np.isfinite(difference)):
        message = "a fold loss is not finite"
        raise ValueError(message)
    moved = difference[difference != 0.0]
    if not len(moved):
        return 1.0
    from scipy.stats import rankdata

    doubled = np.rint(2.0 * rankdata(np.abs(moved))).astype(np.int64)  # mean ranks are halves: doubled they are whole
    positive = int(doubled[moved > 0].sum())
    at_most = _cumulative(doubled)
    lower = float(at_most[positive])
    if alternative == "less":
        return lower
    upper = float(at_most[len(at_most) - 1 - positive])  # by symmetry; one minus the rest would lose small values
    return min(1.0, 2.0 * min(lower, upper))


def _cumulative(doubled_ranks: np.ndarray) -> Array:
    """P(sum of the positive doubled ranks <= s) for s = 0, 1, ...: each rank is in or out with probability 1/2."""
    chance = np.zeros(int(doubled_ranks.sum()) + 1)
    chance[0] = 1.0
    for rank in doubled_ranks:
        shifted = np.zeros_like(chance)
        shifted[rank:] = chance[: len(chance) - rank]
        chance = 0.5 * (chance + shifted)
    return np.minimum(np.cumsum(chance), 1.0)
