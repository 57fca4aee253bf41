"""Conditional independence of columns of any type: partial correlation between *blocks* of columns.

A number or a boolean is a block of one column; a category of L labels is a block of L - 1 indicator columns. Linear
regressions take the given blocks out of both ends; what they leave is compared by its canonical correlations rho:
Pillai's trace V = sum of rho^2, with the F approximation of Pillai (1955) as in Muller and Peterson (1984). It is
symmetric in both ends. With two single columns V is the squared partial correlation, and Fisher's z decides, exactly
as for numbers alone. Everything comes from one covariance matrix, so a test costs a few small factorisations, and
tests whose blocks have equal widths are made together. The idea of testing mixed data by residual blocks is that of
Ankan and Textor (AAAI 2023); they fit other regressions.

The share of a label is rarely linear in a given number: that of a middle label rises and falls. So when an end is a
category or a boolean, each given number is held fixed with its curve as well: its normal scores, and their hinges at
up to five quantiles. Without them two categories with one cause look dependent given it once there are many rows. What
is still assumed: that means are about linear in these columns, one given column's part added to the next one's; and
that spreads are about equal. Two booleans that both follow one number steeply still reject about twice too often.

Rules for what cannot be computed: a given column that the others determine counts once; so does a column of an end
block; an end of which nothing is left, or too few rows, allows no test (p-value 0, so that a link stays).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from crda_spec.independence.correlation import correlation_matrix, fisher_z
from crda_spec.records import Array, ColumnType, IntArray, read_only

_FEWEST_VALUES = 5  # of a number that is bent
_MOST_KNOTS = 5
_ROWS_A_KNOT = 60  # few rows pay for few columns
_DETERMINED = 1e-10  # a column of variance 1 with less left than this is determined by the others


@dataclass(frozen=True, slots=True, eq=False)
class MixedTest:
    """Tests columns of any type; make one with `MixedTest.of`."""

    r: Array  # (D, D) correlations of all indicator and number columns
    n: int  # the rows without a missing value
    blocks: tuple[tuple[int, ...], ...]  # for each column of the data its columns in r; none for a constant
    curves: tuple[tuple[int, ...], ...]  # for each column those of its curve; none unless it is a number
    shares: tuple[bool, ...]  # whether the column's means are shares of labels

    @classmethod
    def of(cls, x: Array, types: Sequence[ColumnType]) -> MixedTest:
        """x: (n, d), categories as codes.  types: of each column. Rows with a missing value are left out."""
        whole = x[np.isfinite(x).all(axis=1)]
        parts = [_block(whole[:, place], kind) for place, kind in enumerate(types)]
        parts += [_curve(whole[:, place], kind) for place, kind in enumerate(types)]
        ends = np.cumsum([0, *(part.shape[1] for part in parts)]).tolist()
        columns = [tuple(range(start, end)) for start, end in pairwise(ends)]
        r, n = correlation_matrix(np.concatenate([np.zeros((len(whole), 0)), *parts], axis=1))
        d = len(types)
        shares = tuple(kind in ("category", "boolean") for kind in types)
        return cls(read_only(r), n, tuple(columns[:d]), tuple(columns[d:]), shares)

    def p_value(self, i: int, j: int, given: tuple[int, ...]) -> tuple[float, float]:
        """The size of the dependence, sqrt(V / s) with s the smaller block's width, and its p-value."""
        held = np.array(given, dtype=np.int64).reshape(1, len(given))
        size, p = self.p_values(np.array([i]), np.array([j]), held)
        return float(size[0]), float(p[0])

    def p_values(self, i: IntArray, j: IntArray, given: IntArray) -> tuple[Array, Array]:
        """The same for t questions.  i, j: (t,).  given: (t, k).  Those with equally wide blocks go together."""
        size, p = np.zeros(len(i)), np.zeros(len(i))
        groups: dict[tuple[int, int, int], list[tuple[int, list[int]]]] = {}
        for q, (a, b, held) in enumerate(zip(i.tolist(), j.tolist(), given.tolist(), strict=True)):
            first, second, fixed = self.blocks[a], self.blocks[b], self._held(held, a, b)
            shape = (len(first), len(second), len(fixed))
            groups.setdefault(shape, []).append((q, [*first, *second, *fixed]))
        for (width_a, width_b, _), asked in groups.items():
            at = [q for q, _ in asked]
            if not width_a or not width_b:
                p[at] = 1.0  # a constant depends on nothing
                continue
            columns = np.array([found for _, found in asked], dtype=np.int64)
            size[at], p[at] = _pillai(self.r, columns, (width_a, width_b), self.n)
        return size, p

    def _held(self, given: Sequence[int], i: int, j: int) -> list[int]:
        """The columns of r that are held fixed when i and j are compared."""
        curved = self.shares[i] or self.shares[j]
        return [k for held in given for k in (*self.blocks[held], *(self.curves[held] if curved else ()))]


def _block(values: Array, kind: ColumnType) -> Array:
    """The columns of one column: itself, or an indicator for each label but the last; none when it is constant."""
    levels = np.unique(values)
    if len(levels) < 2:
        return np.zeros((len(values), 0))
    if kind == "category" and len(levels) > 2:
        return np.asarray(values[:, None] == levels[:-1], dtype=np.float64)
    if kind == "category":
        return np.asarray(values[:, None] == levels[1:], dtype=np.float64)
    return values[:, None]


def _curve(values: Array, kind: ColumnType) -> Array:
    """How a share may bend along a number: its normal scores and their hinges. None for what has few values."""
    from scipy import special, stats

    if kind in ("category", "boolean") or len(np.unique(values)) < _FEWEST_VALUES:
        return np.zeros((len(values), 0))
    score = special.ndtri((stats.rankdata(values) - 0.5) / len(values))
    knots = min(_MOST_KNOTS, len(values) // _ROWS_A_KNOT)
    at = special.ndtri(np.arange(1, knots + 1) / (knots + 1))
    return np.column_stack([score, np.maximum(score[:, None] - at, 0.0)])


def _pillai(r: Array, columns: IntArray, widths: tuple[int, int], n: int) -> tuple[Array, Array]:
    """Sizes and p-values of t questions.  columns: (t, a + b + c), the two ends and then what is held fixed."""
    from scipy import special

    a, b = widths
    matrix = r[columns[:, :, None], columns[:, None, :]]
    held = columns.shape[1] - a - b
    left, rank = _residual(matrix, range(a + b, a + b + held), a + b)
    first, rank_a = _whitening(left[:, :a, :a])
    second, rank_b = _whitening(left[:, a:, a:])
    # Canonical correlations: of the first end's whitened columns with the second's.
    cross = np.matmul(np.matmul(first, left[:, :a, a:]), np.swapaxes(second, 1, 2))
    trace = np.clip(np.square(cross).sum(axis=(1, 2)), 0.0, None)
    s = np.minimum(rank_a, rank_b)
    trace = np.minimum(trace, s)
    size = np.sqrt(trace / np.maximum(s, 1))
    freedom = n - rank - 1 - np.maximum(rank_a, rank_b)  # rows, less the mean, the held columns and the wider end
    tested = (s > 0) & (freedom > 0)
    top = rank_a * rank_b
    bottom = s * np.maximum(freedom, 1)
    # P(F > f) with f = (V / top) / ((s - V) / bottom), as an incomplete beta function: no division by s - V.
    share = 1.0 - trace / np.maximum(s, 1)
    p = special.betainc(bottom / 2.0, np.maximum(top, 1) / 2.0, share)
    single = tested & (top == 1)
    for count in np.unique(rank[single]).tolist():
        here = single & (rank == count)
        p[here] = fisher_z(size[here], n, count)
    return np.where(tested, size, 0.0), np.where(tested, p, 0.0)


def _residual(matrix: Array, pivots: range, keep: int) -> tuple[Array, IntArray]:
    """Takes the pivot columns out of the first `keep` columns, one after another; and how many of them counted."""
    rank = np.zeros(len(matrix), dtype=np.int64)
    for pivot in pivots:
        variance = matrix[:, pivot, pivot]
        sound = variance > _DETERMINED
        scale = np.where(sound, 1.0 / np.where(sound, variance, 1.0), 0.0)
        column = matrix[:, :, pivot]
        matrix = matrix - column[:, :, None] * column[:, None, :] * scale[:, None, None]
        rank += sound
    return matrix[:, :keep, :keep], rank


def _whitening(covariance: Array) -> tuple[Array, IntArray]:
    """(t, w, w) maps that turn an end's columns into uncorrelated ones of variance 1, and their number.

    Directions in which nothing is left are dropped, so that a column that the others determine does not count.
    """
    values, vectors = np.linalg.eigh(covariance)
    sound = values > _DETERMINED
    scale = np.where(sound, 1.0 / np.sqrt(np.where(sound, values, 1.0)), 0.0)
    return np.swapaxes(vectors * scale[:, None, :], 1, 2), sound.sum(axis=1)
