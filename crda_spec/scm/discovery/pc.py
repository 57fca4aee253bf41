"""PC-stable's skeleton search from one correlation matrix, in batches; and the same for one column's neighbours.

Depth by depth, a link i - j is cut when a set S of `depth` neighbours of i (or of j) makes them look independent:
some p-value of the partial correlation of i and j given S is above alpha. Neighbourhoods are frozen while a depth is
searched and all its sets are tried; the set with the largest p-value is kept as the separating one. So neither the
links nor the evidence depend on the order of the columns (Colombo and Maathuis 2014).

What an empty neighbourhood does *not* say: a column without links need not be independent of the others. Collinear
columns explain each other away: each link is cut given the others, although together they predict the column well. PC
alone certifies nothing; marginal screens stand beside it.

The residual Z is searched as one more column beside the features. The target Y must not be among them: Z is a
function of features and Y, and Y given features *is* Z.

Outcomes that need a rule, each on the side of keeping a link:

- A set that determines i or j (a copy, a perfect linear combination) leaves nothing to correlate: it cuts no link.
- Collinear members of a set count once: what the earlier ones determine adds nothing.
- n <= depth + 3 rows leave nothing to test with: the search ends before that depth.
- A depth with more tests than the budget has left is not begun: `budget_hit`, and its links stay.
- A constant (correlation 0, or not finite, with every column) loses its links at depth 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from crda_spec.records import Array, IntArray, read_only
from crda_spec.scm.independence.fisher_z import fisher_z

DEFAULT_DEPTH = 3
DEFAULT_BUDGET = 5_000_000  # tests
_BATCH = 1_000_000  # matrix cells per step, so that memory does not grow with the number of sets
_DETERMINED = 1e-10  # a column of variance 1 with less left than this is determined by the others

Separators = Mapping[tuple[int, int], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Skeleton:
    """Which columns stay linked, and what cut the other links."""

    adjacent: npt.NDArray[np.bool_]  # (d, d), symmetric
    separating: Separators  # (i, j), i < j -> the set, ascending, that cut their link
    p_values: Array  # (d, d), symmetric: the largest p-value of any test of the pair, 0 where none was possible
    depth_reached: int  # the size of the largest sets tried, -1 when nothing could be tested
    tests: int
    budget_hit: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours:
    """Which columns stay linked to one column, and what cut the other links."""

    target: int
    linked: tuple[int, ...]
    separating: Mapping[int, tuple[int, ...]]  # column -> the set that cut its link
    p_values: Array  # (d,) the largest p-value of any test with the column, 0 where none was possible
    depth_reached: int
    tests: int
    budget_hit: bool


def pc_skeleton(
    correlation: Array, n: int, *, alpha: float, max_depth: int = DEFAULT_DEPTH, budget: int = DEFAULT_BUDGET
) -> Skeleton:
    """The skeleton of all columns.

    correlation: (d, d).  n: the rows it was computed from.  alpha: links with a p-value above it are cut.
    max_depth: the largest set that a test conditions on.  budget: the number of tests that may be spent.
    """
    search = _Search(correlation, n, alpha, range(len(correlation)))
    search.run(max_depth, budget)
    d = len(search.r)
    np.fill_diagonal(search.p_values, 0.0)
    return Skeleton(
        adjacent=read_only(search.linked & ~np.eye(d, dtype=np.bool_)),
        separating=MappingProxyType(dict(sorted(search.separating.items()))),
        p_values=read_only(search.p_values),
        depth_reached=search.depth,
        tests=search.tests,
        budget_hit=search.budget_hit,
    )


def neighbours(
    correlation: Array,
    n: int,
    target_index: int,
    *,
    alpha: float,
    max_depth: int = DEFAULT_DEPTH,
    budget: int = DEFAULT_BUDGET,
) -> Neighbours:
    """The neighbours of one column, without the skeleton of the rest.

    Only sets among the column's own current neighbours are tried, where the full search also tries those of the
    other end: a few links more may stay. See `pc_skeleton` for the arguments.
    """
    target = range(len(correlation))[target_index]
    search = _Search(correlation, n, alpha, [target])
    search.run(max_depth, budget)
    p_values = search.p_values[target].copy()
    p_values[target] = 0.0
    other = {i + j - target: s for (i, j), s in search.separating.items()}
    return Neighbours(
        target=target,
        linked=tuple(int(j) for j in np.flatnonzero(search.linked[target]) if j != target),
        separating=MappingProxyType(dict(sorted(other.items()))),
        p_values=read_only(p_values),
        depth_reached=search.depth,
        tests=search.tests,
        budget_hit=search.budget_hit,
    )


class _Search:
    """The state of one search. `centres` are the columns whose links are looked at: all of them, or one."""

    def __init__(self, correlation: Array, n: int, alpha: float, centres: Sequence[int]) -> None:
        """Begins with every link of the centres in place."""
        self.r = _tidy(correlation)
        self.n = n
        self.alpha = alpha
        self.centres = centres
        d = len(self.r)
        self.linked = np.zeros((d, d), dtype=np.bool_)
        self.linked[list(centres), :] = True
        self.linked |= self.linked.T
        np.fill_diagonal(self.linked, val=False)
        self.p_values = np.zeros((d, d))
        self.separating: dict[tuple[int, int], tuple[int, ...]] = {}
        self.depth = -1
        self.tests = 0
        self.budget_hit = False

    def run(self, max_depth: int, budget: int) -> None:
        """Depth by depth, until no set of that size is left, or rows, depth or budget end the search."""
        for depth in range(max_depth + 1):
            degrees = [int(self.linked[i].sum()) for i in self.centres]
            cost = sum(m * comb(m - 1, depth) for m in degrees if m)
            if depth == 0 and len(self.centres) > 1:
                cost //= 2  # a correlation is the same from both ends
            if not cost or self.n <= depth + 3:
                return
            if self.tests + cost > budget:
                self.budget_hit = True
                return
            self.tests += cost
            self.depth = depth
            self._search_depth(depth)

    def _search_depth(self, depth: int) -> None:
        """Finds the weakest partial correlation of each link, then cuts at once, so that no order matters."""
        size, sets = self._weakest_of_all(depth)
        # Both ends of a link have tried the sets of their own neighbours.
        mine, yours = np.nonzero(np.triu(self.linked))
        one, other = size[mine, yours], size[yours, mine]
        p = fisher_z(np.minimum(one, other), self.n, depth)
        p[np.isinf(np.minimum(one, other))] = 0.0  # no set allowed a test
        best = np.maximum(self.p_values[mine, yours], p)
        self.p_values[mine, yours] = self.p_values[yours, mine] = best
        cut = p > self.alpha
        chosen = np.where((other < one)[:, None], sets[yours, mine], sets[mine, yours])[cut]
        mine, yours = mine[cut], yours[cut]
        self.linked[mine, yours] = self.linked[yours, mine] = False
        pairs = zip(mine.tolist(), yours.tolist(), strict=True)
        self.separating.update(zip(pairs, map(tuple, chosen.tolist()), strict=True))

    def _weakest_of_all(self, depth: int) -> tuple[Array, IntArray]:
        """For each centre i and neighbour j the smallest |partial correlation| and its set: (d, d), (d, d, depth)."""
        d = len(self.r)
        sets = np.zeros((d, d, depth), dtype=np.int64)
        if depth == 0:
            return np.abs(self.r), sets
        size = np.full((d, d), np.inf)
        for i in self.centres:
            around = np.flatnonzero(self.linked[i])
            if len(around) > depth:
                size[i, around], sets[i, around] = _weakest(self.r, i, around, depth)
        return size, sets


def _tidy(correlation: Array) -> Array:
    """A symmetric copy with a unit diagonal; what is not finite is no correlation."""
    r = np.array(correlation, dtype=np.float64)
    r = np.clip(np.where(np.isfinite(r), r, 0.0), -1.0, 1.0)
    r = (r + r.T) / 2.0
    np.fill_diagonal(r, 1.0)
    return r


def _weakest(r: Array, i: int, around: IntArray, depth: int) -> tuple[Array, IntArray]:
    """For each neighbour j of i: the smallest |partial correlation| of i and j over sets of the other neighbours.

    around: (m,) the neighbours.  Returns the sizes (m,), infinite where no set allows a test, and the sets (m, depth).
    """
    m = len(around)
    size = np.full(m, np.inf)
    best = np.zeros((m, depth), dtype=np.int64)
    for sets in _batches(m, depth, max(1, _BATCH // (m + 1))):
        partial = _partial_sizes(r, i, around, sets)
        row = partial.argmin(axis=0)
        value = partial[row, np.arange(m)]
        better = value < size
        size[better] = value[better]
        best[better] = sets[row[better]]
    return size, around[best]


def _batches(m: int, depth: int, rows: int) -> Iterator[IntArray]:
    """All sets of `depth` numbers below m, in lexicographic order, at most `rows` at a time."""
    sets = combinations(range(m), depth)
    while batch := list(islice(sets, rows)):
        yield np.array(batch, dtype=np.int64)


def _partial_sizes(r: Array, i: int, around: IntArray, sets: IntArray) -> Array:
    """|partial correlation| of i with each of m neighbours given each of c sets: (c, m), infinite where undefined.

    sets: (c, k) positions within `around`. One Cholesky factor per set serves all m neighbours: row t of the factor
    is the t-th member's column less what the earlier members explain. At k = 1 this is the closed form
    (r_ij - r_is r_js) / sqrt((1 - r_is^2)(1 - r_js^2)).
    """
    c, k = sets.shape
    columns = np.append(around, i)
    rows = np.arange(c)
    explained = np.zeros((c, len(columns)))  # of each column's variance
    shared = np.zeros((c, len(columns)))  # of each column's covariance with i
    factor: list[Array] = []
    for t in range(k):
        member = sets[:, t]
        row = r[around[member][:, None], columns]
        for earlier in factor:
            row = row - earlier[rows, member][:, None] * earlier
        left = row[rows, member]
        sound = left > _DETERMINED
        row = np.where(sound[:, None], row, 0.0) / np.sqrt(np.where(sound, left, 1.0))[:, None]
        factor.append(row)
        explained += row**2
        shared += row * row[:, -1:]
    left = 1.0 - explained  # nothing of a member, so that no column is tested given itself
    covariance = r[i, around] - shared[:, :-1]
    defined = (left[:, :-1] > _DETERMINED) & (left[:, -1:] > _DETERMINED)
    scale = np.sqrt(np.where(defined, left[:, :-1] * left[:, -1:], 1.0))
    return np.where(defined, np.abs(covariance) / scale, np.inf)
