"""Several methods on several tables: mean ranks, Friedman's test, the critical difference, paired tests.

After Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from crda_spec.records import Array

_ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Methods compared on blocks (a table at a size), the best first."""

    names: tuple[str, ...]
    blocks: int
    ranks: tuple[float, ...]  # mean over blocks; 1 is best, ties share
    friedman_p: float | None  # None: fewer than three methods or two blocks, or no difference
    critical_difference: float | None  # of two mean ranks, Nemenyi at 0.05; None where there is no test
    p_values: tuple[tuple[float | None, ...], ...]  # Wilcoxon on blocks, Holm over all pairs; None on the diagonal

    @property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """First and last of each longest run of methods that Nemenyi's test cannot tell apart."""
        if self.critical_difference is None:
            return ()
        ends: list[tuple[int, int]] = []
        for start in range(len(self.ranks)):
            near = [
                at for at, rank in enumerate(self.ranks) if 0 <= rank - self.ranks[start] < self.critical_difference
            ]
            end = max(at for at in near if at >= start)
            if end > start and not any(one[0] <= start and end <= one[1] for one in ends):
                ends.append((start, end))
        return tuple(ends)


def rank_methods(names: Sequence[str], losses: Array) -> Ranking:
    """losses: (blocks, methods), all finite; smaller is better."""
    from scipy import stats

    blocks, methods = losses.shape
    ranks = np.asarray(stats.rankdata(losses, axis=1), dtype=np.float64).mean(axis=0)
    order = np.argsort(ranks, kind="stable")
    tested = methods > 2 and blocks > 1
    differ = bool(np.any(np.ptp(losses, axis=1)))
    friedman = float(stats.friedmanchisquare(*losses.T).pvalue) if tested and differ else None
    return Ranking(
        names=tuple(names[at] for at in order),
        blocks=blocks,
        ranks=tuple(float(ranks[at]) for at in order),
        friedman_p=friedman,
        critical_difference=critical_difference(methods, blocks) if tested else None,
        p_values=pairwise(losses[:, order]),
    )


def critical_difference(methods: int, blocks: int) -> float:
    """Two mean ranks differ by Nemenyi's test at 0.05 if they are at least this far apart."""
    from scipy import stats

    q = float(stats.studentized_range.ppf(1.0 - _ALPHA, methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(methods * (methods + 1) / (6.0 * blocks)))


def pairwise(losses: Array) -> tuple[tuple[float | None, ...], ...]:
    """Two-sided Wilcoxon signed-rank tests of every pair of columns, adjusted by Holm over all pairs."""
    from scipy import stats

    methods = losses.shape[1]
    pairs = list(combinations(range(methods), 2))
    raw = []
    for first, second in pairs:
        # Losses of different tables have different sizes, so their ratio is ranked.
        difference = np.log(losses[:, first]) - np.log(losses[:, second])
        same = not np.any(difference)
        raw.append(1.0 if same else float(stats.wilcoxon(difference, zero_method="zsplit").pvalue))
    adjusted = holm(raw)
    table: list[list[float | None]] = [[None] * methods for _ in range(methods)]
    for (first, second), p_value in zip(pairs, adjusted, strict=True):
        table[first][second] = table[second][first] = p_value
    return tuple(map(tuple, table))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted for as many tests as there are; the order stays."""
    adjusted, so_far = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda one: p_values[one])):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = so_far
    return adjusted


def mean_and_error(values: Iterable[float]) -> tuple[float, float | None]:
    """The mean and its standard error; no error of a single value."""
    found = np.array(list(values), dtype=np.float64)
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None
    return float(found.mean()), error


def geometric_mean(changes: Sequence[float]) -> float:
    """Of changes in percent: the mean of their logarithms, as a change in percent."""
    ratios = 1.0 + np.asarray(changes, dtype=np.float64) / 100.0
    return float(100.0 * (np.exp(np.log(np.maximum(ratios, 1e-12)).mean()) - 1.0))
