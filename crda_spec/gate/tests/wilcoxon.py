"""Wilcoxon's signed-rank test on paired fold losses, exact for any number of folds, ties included.

Zero differences say nothing for either side and are left out (Wilcoxon's own rule); if all are zero the p-value is 1.
Tied differences share their mean rank, and the null distribution is computed for those very ranks: all 2^n sign
patterns are counted by convolution, so the p-value is exact with ties as well, where tables and
approximations are not.

Repeats: the folds of a second division hold the rows of the first once more, so twenty differences are not twenty
pieces of evidence. Each row counts once, with its mean loss over the repeats, and the differences are those of one
division's folds. Each division is asked in turn, and the mean of their p-values counts: a division sees how its own
models differ but not how those of the others do, so each alone says yes a little too often, and the largest of them
too seldom (benchmarks/gate_calibration.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import rankdata

from crda_spec.gate.tests._protocol import Alternative, Paired
from crda_spec.gate.tests.curtailment import least_p_value
from crda_spec.records import Array


@dataclass(frozen=True, slots=True)
class Wilcoxon:
    """The paper's test."""

    kind: ClassVar[str] = "wilcoxon"

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Exact with one repeat; draws nothing."""
        del rng
        return float(np.mean([wilcoxon_p_value(difference, "less") for difference in paired.block_difference]))

    def least_p_value(self, difference: Array, ahead: int, *, enough: float) -> float:
        """The smallest p-value that `ahead` more folds can lead to, or a bound below it, or one below `enough`."""
        return least_p_value(difference, ahead, enough=enough)


def wilcoxon_p_value(difference: Array, alternative: Alternative) -> float:
    """P-value of the differences (augmented - plain); `less`: is the augmented loss smaller?"""
    if not np.all(np.isfinite(difference)):
        message = "a fold loss is not finite"
        raise ValueError(message)
    moved = difference[difference != 0.0]
    if not len(moved):
        return 1.0
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
