"""The tests of conditional independence that searches ask: are columns i and j independent, given others?

`conditional_test` makes the one that suits the columns' types. Partial correlations come from one correlation matrix,
in batches: the fast test behind PC. Rules for what cannot be computed, each on the side of keeping a link:

- A set that determines i or j (a copy, a perfect linear combination) leaves nothing to correlate: no test.
- Collinear members of a set count once: what the earlier ones determine adds nothing.
- n <= |set| + 3 rows leave nothing to test with: no test.
- A correlation that is not finite (a constant column) is no correlation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from crda_spec.independence.correlation import correlation_matrix, fisher_z
from crda_spec.independence.gcm import Gcm
from crda_spec.records import Array, Column, ColumnType, IntArray, read_only

Dependence = Literal["linear", "nonlinear"]


class ConditionalTest(Protocol):
    """A test of conditional independence between columns, which it knows by their position."""

    def p_value(self, i: int, j: int, given: tuple[int, ...]) -> tuple[float, float]:
        """The statistic, 0 when no dependence was seen, and the p-value, 0, which keeps a link, if none is possible."""


class BatchedTest(ABC):
    """A test that answers many questions of one size at once, faster than one by one."""

    __slots__ = ()

    @abstractmethod
    def p_values(self, i: IntArray, j: IntArray, given: IntArray) -> tuple[Array, Array]:
        """i, j: (t,) columns.  given: (t, k) the columns held fixed.  Returns t statistics and t p-values."""

    def p_value(self, i: int, j: int, given: tuple[int, ...]) -> tuple[float, float]:
        """See `ConditionalTest.p_value`."""
        held = np.array(given, dtype=np.int64).reshape(1, len(given))
        size, p = self.p_values(np.array([i]), np.array([j]), held)
        return float(size[0]), float(p[0])


def ask_all(test: ConditionalTest, i: IntArray, j: IntArray, given: IntArray) -> tuple[Array, Array]:
    """The answers of any test to t questions: statistics (t,) and p-values (t,)."""
    if isinstance(test, BatchedTest):
        return test.p_values(i, j, given)
    answers = [
        test.p_value(int(a), int(b), tuple(held))
        for a, b, held in zip(i.tolist(), j.tolist(), given.tolist(), strict=True)
    ]
    numbers = np.array(answers, dtype=np.float64).reshape(len(answers), 2)
    return numbers[:, 0], numbers[:, 1]


def conditional_test(x: Array, types: Sequence[ColumnType], *, dependence: Dependence = "linear") -> ConditionalTest:
    """Partial correlations (Fisher's z) for numbers; of blocks of columns where there is a category or a boolean.

    x: (n, d), categories as codes. Rows with a missing value are left out.  dependence: `nonlinear` takes the
    generalised covariance measure instead, whatever the types: slower, so for a few columns only.
    """
    if dependence == "nonlinear":
        columns = [Column(name=str(place), type=kind) for place, kind in enumerate(types)]
        return GcmTest(Gcm.of(x, columns))
    if "category" in types or "boolean" in types:
        return MixedTest.of(x, types)
    return PartialCorrelation.of(*correlation_matrix(x))


_BATCH = 50_000  # cells of a step's largest array: it stays in the processor's cache, whatever the number of sets
_DETERMINED = 1e-10  # a column of variance 1 with less left than this is determined by the others


@dataclass(frozen=True, slots=True, eq=False)
class PartialCorrelation(BatchedTest):
    """Fisher's z test of partial correlations: right for columns that are jointly normal, or nearly so."""

    r: Array  # (d, d) symmetric, unit diagonal, all finite
    n: int

    @classmethod
    def of(cls, correlation: Array, n: int) -> PartialCorrelation:
        """From any matrix that claims to hold correlations of n rows."""
        return cls(read_only(tidy(correlation)), n)

    def p_values(self, i: IntArray, j: IntArray, given: IntArray) -> tuple[Array, Array]:
        """|partial correlations| (t,) and two-sided p-values (t,) of t pairs, each given its own k columns."""
        squares = squared_partials(self.r, i, j[:, None], given, np.arange(given.shape[1])[None, :])[:, 0, 0]
        return sizes_and_p_values(squares, self.n, given.shape[1])


def sizes_and_p_values(squares: Array, n: int, given: int) -> tuple[Array, Array]:
    """From squared partial correlations, infinite where there was no test: sizes (then 0) and p-values (then 0)."""
    tested = np.isfinite(squares)
    size = np.sqrt(np.where(tested, squares, 0.0))
    return size, np.where(tested, fisher_z(size, n, given), 0.0)


def tidy(correlation: Array) -> Array:
    """A symmetric copy with a unit diagonal; what is not finite is no correlation."""
    r = np.array(correlation, dtype=np.float64)
    np.nan_to_num(r, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
    np.clip(r, -1.0, 1.0, out=r)
    if not np.array_equal(r, r.T):
        r = (r + r.T) / 2.0
    np.fill_diagonal(r, 1.0)
    return r


def weakest(
    test: PartialCorrelation, centre: IntArray, around: IntArray, given: IntArray, depth: int, alpha: float
) -> tuple[Array, IntArray, npt.NDArray[np.bool_]]:
    """Tries every set of `depth` columns out of `given` on each pair of a centre and one of its neighbours.

    centre: (g,).  around: (g, m) neighbours to test.  given: (g, q) columns that sets are made of; a set never holds
    the neighbour itself.  Returns the weakest squared partial correlations (g, m), infinite where no set allowed a
    test, their sets (g, m, depth), and the members (g, m, q) of all sets with a p-value above alpha; alpha 1: of none.
    """
    (g, m), q = around.shape, given.shape[1]
    best = np.full((g, m), np.inf)
    chosen = np.zeros((g, m, depth), dtype=np.int64)
    union = np.zeros((g, m, q if alpha < 1.0 else 0), dtype=np.bool_)
    every = combinations(range(q), depth)
    while batch := list(islice(every, max(1, _BATCH // (m + 1)))):
        sets = np.array(batch, dtype=np.int64).reshape(len(batch), depth)
        step = max(1, _BATCH // (len(sets) * (m + 1)))
        for start in range(0, g, step):
            at = slice(start, start + step)
            squares = squared_partials(test.r, centre[at], around[at], given[at], sets)
            row = squares.argmin(axis=1)
            value = np.take_along_axis(squares, row[:, None, :], axis=1)[:, 0, :]
            better = value < best[at]
            best[at][better] = value[better]
            chosen[at][better] = sets[row[better]]
            if alpha < 1.0:
                hits = sizes_and_p_values(squares, test.n, depth)[1] > alpha
                member = (sets[:, :, None] == np.arange(q)).any(axis=1)
                union[at] |= np.matmul(hits.transpose(0, 2, 1), member)
    return best, given[np.arange(g)[:, None, None], chosen], union


def squared_partials(r: Array, centre: IntArray, around: IntArray, given: IntArray, sets: IntArray) -> Array:
    """Squared partial correlations of g centres with m neighbours each, given each of c sets: (g, c, m).

    centre: (g,).  around: (g, m).  given: (g, q).  sets: (c, k) positions within a row of `given`. Infinite where the
    set determines one of the two. One Cholesky factor per set serves all m neighbours: its row t is the t-th member's
    covariance with every column, less what the earlier members explain.
    """
    if sets.shape[1] == 1:
        return _squared_given_one(r, centre, around, given[:, sets[:, 0]])
    columns = np.concatenate([around, centre[:, None]], axis=1)
    with_columns = r[given[:, :, None], columns[:, None, :]]  # (g, q, m + 1)
    within = r[given[:, :, None], given[:, None, :]]  # (g, q, q)
    left = np.ones((len(centre), len(sets), columns.shape[1]))  # of each column's variance
    covariance = np.repeat(r[centre[:, None], around][:, None, :], len(sets), axis=1)  # with the centre
    factor: list[tuple[Array, list[Array]]] = []
    for t, member in enumerate(sets.T):
        row = with_columns[:, member, :]
        later = [within[:, member, other] for other in sets.T[t:]]
        for earlier, weights in factor:
            weight = weights[t]
            row = row - weight[:, :, None] * earlier
            later = [value - weight * weights[t + place] for place, value in enumerate(later)]
        sound = later[0] > _DETERMINED
        scale = np.where(sound, 1.0 / np.sqrt(np.where(sound, later[0], 1.0)), 0.0)
        row = row * scale[:, :, None]
        factor.append((row, [np.zeros(0)] * t + [value * scale for value in later]))
        left -= row * row
        covariance -= row[:, :, :-1] * row[:, :, -1:]
    # Nothing is left of a member, so that no column is tested given itself.
    return _ratio(covariance, left[:, :, :-1], left[:, :, -1:])


def _squared_given_one(r: Array, centre: IntArray, around: IntArray, given: IntArray) -> Array:
    """The same for sets of one column each, where most tests of a sparse graph are made: the closed form
    (r_ij - r_is r_js)^2 / ((1 - r_is^2)(1 - r_js^2)).  given: (g, c).
    """
    centre_given = r[centre[:, None], given][:, :, None]  # (g, c, 1)
    # (g, c, m): the correlations of set and neighbour. One flat index is gathered faster than two.
    covariance = r.ravel().take(given[:, :, None] * len(r) + around[:, None, :])
    left = covariance * covariance
    np.subtract(1.0, left, out=left)
    covariance *= -centre_given
    covariance += r[centre[:, None], around][:, None, :]
    return _ratio(covariance, left, 1.0 - centre_given * centre_given)


def _ratio(covariance: Array, left: Array, left_of_centre: Array) -> Array:
    """covariance^2 / (left * left_of_centre), infinite where one of these is nothing. Overwrites its arguments."""
    nothing = left <= _DETERMINED
    nothing |= left_of_centre <= _DETERMINED
    left *= left_of_centre
    covariance *= covariance
    np.copyto(left, 1.0, where=nothing)
    covariance /= left
    np.copyto(covariance, np.inf, where=nothing)
    return covariance


_FEWEST_ROWS = 20  # with fewer, Gcm tests nothing


@dataclass(frozen=True, slots=True, eq=False)
class GcmTest(BatchedTest):
    """Gcm, with the searches' rule for what cannot be tested: a p-value of 0, not of 1, which would cut a link.

    Only a constant, which without a set is the one thing that cannot be tested, loses its links.
    """

    gcm: Gcm

    def p_values(self, i: IntArray, j: IntArray, given: IntArray) -> tuple[Array, Array]:
        """The largest studentised products of residuals and their p-values."""
        asked = zip(i.tolist(), j.tolist(), map(tuple, given.tolist()), strict=True)
        results = [(found.statistic, found.p_value, found.rows) for found in self.gcm.tests(list(asked))]
        size, p, rows = np.array(results, dtype=np.float64).reshape(-1, 3).T.copy()
        impossible = (size == 0.0) & (p == 1.0)
        p[impossible & ((rows < _FEWEST_ROWS) | (given.shape[1] > 0))] = 0.0
        return size, p


_FEWEST_VALUES = 5  # of a number that is bent
_MOST_KNOTS = 5
_ROWS_A_KNOT = 60  # few rows pay for few columns


@dataclass(frozen=True, slots=True, eq=False)
class MixedTest(BatchedTest):
    """Tests columns of any type by *blocks* of columns; make one with `MixedTest.of`.

    A number or a boolean is a block of one column; a category of L labels is a block of L - 1 indicator columns. Linear
    regressions take the given blocks out of both ends; what they leave is compared by its canonical correlations rho:
    Pillai's trace V = sum of rho^2, with the F approximation of Pillai (1955) as in Muller and Peterson (1984). With
    two single columns V is the squared partial correlation, and Fisher's z decides, exactly as for numbers alone. The
    idea of testing mixed data by residual blocks is that of Ankan and Textor (AAAI 2023); they fit other regressions.

    Each given number is held fixed with its curve as well: its square, and a quadratic spline of its normal scores with
    up to five knots. Without them two effects of c^2 look dependent given c. What is still assumed: that means are
    about linear in these columns, and spreads about equal. Two booleans that both follow one number steeply still
    reject about twice too often, and so do ends that follow a wave of a number with heavy tails. In a table of numbers
    alone nothing is curved, and the answers are those of `PartialCorrelation`.

    A column that the others determine counts once, in the given set and in an end. An end of which nothing is left, or
    too few rows, allows no test (p-value 0, so that a link stays).
    """

    r: Array  # (D, D) correlations of all indicator and number columns
    n: int  # the rows without a missing value
    blocks: tuple[tuple[int, ...], ...]  # for each column of the data its columns in r; none for a constant
    curves: tuple[tuple[int, ...], ...]  # for each column those of its curve; none unless it is a number

    @classmethod
    def of(cls, x: Array, types: Sequence[ColumnType]) -> MixedTest:
        """x: (n, d), categories as codes.  types: of each column. Rows with a missing value are left out."""
        whole = x[np.isfinite(x).all(axis=1)]
        parts = [_block(whole[:, place], kind) for place, kind in enumerate(types)]
        mixed = "category" in types or "boolean" in types
        parts += [_curve(whole[:, place], kind if mixed else "boolean") for place, kind in enumerate(types)]
        ends = np.cumsum([0, *(part.shape[1] for part in parts)]).tolist()
        columns = [tuple(range(start, end)) for start, end in pairwise(ends)]
        r, n = correlation_matrix(np.concatenate([np.zeros((len(whole), 0)), *parts], axis=1))
        return cls(read_only(r), n, tuple(columns[: len(types)]), tuple(columns[len(types) :]))

    def p_values(self, i: IntArray, j: IntArray, given: IntArray) -> tuple[Array, Array]:
        """sqrt(V / s), with s the smaller block's width, and p-values; equally wide blocks go together."""
        size, p = np.zeros(len(i)), np.zeros(len(i))
        groups: dict[tuple[int, int, int], list[tuple[int, list[int]]]] = {}
        for q, (a, b, held) in enumerate(zip(i.tolist(), j.tolist(), given.tolist(), strict=True)):
            first, second = self.blocks[a], self.blocks[b]
            fixed = [k for one in held for k in (*self.blocks[one], *self.curves[one])]
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


def _block(values: Array, kind: ColumnType) -> Array:
    """The columns of one column: itself, or an indicator for each label but the last; none when it is constant."""
    levels = np.unique(values)
    if len(levels) < 2:
        return np.zeros((len(values), 0))
    if kind == "category":
        return np.asarray(values[:, None] == (levels[:-1] if len(levels) > 2 else levels[1:]), dtype=np.float64)
    return values[:, None]


def _curve(values: Array, kind: ColumnType) -> Array:
    """How means may bend along a number: its square, its normal scores and their quadratic spline.

    None for what has few values. The square is of the number itself: under heavy tails no spline of scores follows it.
    """
    from scipy import special, stats

    if kind in ("category", "boolean") or len(np.unique(values)) < _FEWEST_VALUES:
        return np.zeros((len(values), 0))
    score = special.ndtri((stats.rankdata(values) - 0.5) / len(values))
    knots = min(_MOST_KNOTS, len(values) // _ROWS_A_KNOT)
    at = special.ndtri(np.arange(1, knots + 1) / (knots + 1))
    away = values - values.mean()
    square = (away / np.abs(away).max()) ** 2
    return np.column_stack([square, score, score**2, np.maximum(score[:, None] - at, 0.0) ** 2])


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
    """(t, w, w) maps that turn an end's columns into uncorrelated ones of variance 1, and how many are left."""
    values, vectors = np.linalg.eigh(covariance)
    sound = values > _DETERMINED
    scale = np.where(sound, 1.0 / np.sqrt(np.where(sound, values, 1.0)), 0.0)
    return np.swapaxes(vectors * scale[:, None, :], 1, 2), sound.sum(axis=1)
