"""The search for links: PC-stable, depth by depth, with any test of conditional independence.

At each depth a link i - j is cut when a set S of `depth` columns, neighbours of i that may cause i (or the same for j),
makes the two look independent: its p-value is above alpha. Neighbourhoods are frozen while a depth is searched and all
its sets are tried, so neither the links nor the evidence depend on the order of the columns (Colombo and Maathuis
2014). Only possible causes are conditioned on: two columns without a link are separated by the causes of one of them.

Of the sets that separate, `strongest` keeps the one with the largest p-value; `union` keeps the members of *all* sets
of that depth, as pgmpy's and causal-learn's stable PC do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from crda_spec.discovery.knowledge import BoolArray, Constraints
from crda_spec.independence.conditional import ConditionalTest, PartialCorrelation, ask_all, sizes_and_p_values, weakest
from crda_spec.independence.correlation import fisher_z
from crda_spec.records import Array, IntArray, read_only

DEFAULT_DEPTH = 3
DEFAULT_BUDGET = 50_000_000  # tests: about a second or two of partial correlations
QUESTIONS = 20_000  # put to a test at once

Separator = Literal["strongest", "union"]
Question = tuple[int, int, tuple[int, ...]]  # columns i and j, and the columns that are held fixed


def answers(test: ConditionalTest, batch: Sequence[Question]) -> Iterator[tuple[Question, float, float]]:
    """Each question, its p-value and its statistic; all questions hold equally many columns fixed."""
    asked = np.array([(i, j, *held) for i, j, held in batch], dtype=np.int64)
    sizes, p_values = ask_all(test, asked[:, 0], asked[:, 1], asked[:, 2:])
    return zip(batch, p_values.tolist(), sizes.tolist(), strict=True)


class SeparatingSets(Mapping[tuple[int, int], tuple[int, ...]]):
    """(i, j), i < j -> the set, ascending, that cut their link.

    In a sparse graph nearly every link is cut by the empty set: half a million of 1000 columns. So these are kept as
    one matrix, and only the others one by one.
    """

    __slots__ = ("_empty", "_sets")

    def __init__(self, empty: BoolArray, sets: Mapping[tuple[int, int], tuple[int, ...]]) -> None:
        """empty: (d, d), true above the diagonal where the empty set separates.  sets: the other pairs."""
        self._empty = empty
        self._sets = dict(sets)

    def __getitem__(self, pair: tuple[int, int]) -> tuple[int, ...]:
        separating = self._sets.get(pair)
        if separating is not None:
            return separating
        i, j = pair
        if 0 <= i < j < len(self._empty) and self._empty[i, j]:
            return ()
        raise KeyError(pair)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        pairs = [*zip(*(ends.tolist() for ends in np.nonzero(self._empty)), strict=True), *self._sets]
        return iter(sorted((i, j) for i, j in pairs))

    def __len__(self) -> int:
        return int(np.count_nonzero(self._empty)) + len(self._sets)

    def with_sets(self, sets: Mapping[tuple[int, int], tuple[int, ...]]) -> SeparatingSets:
        """These, and more pairs."""
        return SeparatingSets(self._empty, {**self._sets, **sets})

    def of(self, i: int, j: int) -> tuple[int, ...] | None:
        """The set that cut the link of two columns in either order; None when no test did."""
        return self.get((min(i, j), max(i, j)))


class _Found(NamedTuple):
    """The strongest evidence of one depth against each tested link, from one end or both: t rows."""

    i: IntArray
    j: IntArray
    p: Array
    size: Array
    sets: IntArray  # (t, depth)


class LinkSearch:
    """The state of one search. `centres` are the columns whose links are looked at: all of them, or one."""

    def __init__(
        self,
        test: ConditionalTest,
        d: int,
        *,
        alpha: float,
        separator: Separator = "strongest",
        constraints: Constraints | None = None,
        centres: Sequence[int] | None = None,
    ) -> None:
        """Begins with every link of the centres in place that knowledge does not rule out."""
        self.test = test
        self.alpha = alpha
        self.separator = separator
        self.centres = range(d) if centres is None else centres
        self.linked = np.zeros((d, d), dtype=np.bool_)
        self.linked[list(self.centres), :] = True
        self.linked |= self.linked.T
        np.fill_diagonal(self.linked, val=False)
        self.fixed: BoolArray = np.zeros((d, d), dtype=np.bool_)  # links that no test may cut
        self.may_cause: BoolArray = ~self.fixed
        if constraints is not None:
            self.may_cause, self.fixed = constraints.may_cause, constraints.always_linked
            self.linked &= self.may_cause | self.may_cause.T  # if neither may cause the other, nothing is tested
        self.p_values = np.zeros((d, d))
        self.sizes = np.zeros((d, d))
        self.empty = np.zeros((d, d), dtype=np.bool_)
        self.separating: dict[tuple[int, int], tuple[int, ...]] = {}
        self.depth = -1
        self.tests = 0
        self.budget_hit = False

    def run(self, max_depth: int, budget: int, *, first: int = 0) -> None:
        """Depth by depth, until no set of that size is left, or rows, depth or budget end the search."""
        for depth in range(first, max_depth + 1):
            cost = self._cost(depth)
            few = isinstance(self.test, PartialCorrelation) and self.test.n <= depth + 3
            if not cost or few:
                return
            if self.tests + cost > budget:
                self.budget_hit = True
                return
            self.tests += cost
            self.depth = depth
            # The strongest evidence against each link is found, then all are cut at once, so that no order matters.
            unions: dict[tuple[int, int], set[int]] = {}
            if depth == 0:
                self._cut_marginal()
            elif isinstance(self.test, PartialCorrelation):
                self._cut(self._partial(self.test, depth, unions), unions)
            else:
                self._cut(self._asked(depth, unions), unions)

    def _links(self) -> tuple[BoolArray, BoolArray]:
        """The links that tests may cut; and, row i, the columns that sets on i's side are made of."""
        return self.linked & ~self.fixed, self.linked & self.may_cause.T

    def _cost(self, depth: int) -> int:
        """The number of tests of a depth: each end of a link asks for itself; without a set once is enough."""
        (tested, made_of), centres = self._links(), list(self.centres)
        if depth == 0:
            ends = int(tested[centres].sum())
            return ends // 2 if len(centres) > 1 else ends
        degree, size = tested[centres].sum(axis=1).tolist(), made_of[centres].sum(axis=1).tolist()
        both = (tested & made_of)[centres].sum(axis=1).tolist()
        return sum(
            (b * comb(q - 1, depth) if b else 0) + (m - b) * comb(q, depth)
            for m, q, b in zip(degree, size, both, strict=True)
        )

    def _cut_marginal(self) -> None:
        """Every open link without a set, each pair once: the step that nearly all links of a sparse graph end in."""
        i, j = np.nonzero(np.triu(self._links()[0]))
        if isinstance(self.test, PartialCorrelation):
            size = np.abs(self.test.r[i, j])
            p = fisher_z(size, self.test.n, 0)
        else:
            size, p = ask_all(self.test, i, j, np.zeros((len(i), 0), dtype=np.int64))
        self.p_values[i, j], self.sizes[i, j] = p, size
        self.p_values += self.p_values.T
        self.sizes += self.sizes.T
        cut = p > self.alpha
        self.empty[i[cut], j[cut]] = True
        self.linked &= ~(self.empty | self.empty.T)

    def _partial(self, test: PartialCorrelation, depth: int, unions: dict[tuple[int, int], set[int]]) -> _Found:
        """The fast path: centres with equally many neighbours are searched together."""
        tested, made_of = self._links()
        groups: dict[tuple[int, int], list[int]] = {}
        for i in self.centres:
            shape = (int(np.count_nonzero(tested[i])), int(np.count_nonzero(made_of[i])))
            if shape[0] and shape[1] >= depth:
                groups.setdefault(shape, []).append(i)
        parts = [_Found(*(np.zeros(0, dtype=np.int64),) * 2, *(np.zeros(0),) * 2, np.zeros((0, depth), dtype=np.int64))]
        for (m, q), members in groups.items():
            centre = np.array(members, dtype=np.int64)
            around = np.nonzero(tested[members])[1].reshape(-1, m)
            given = np.nonzero(made_of[members])[1].reshape(-1, q)
            bar = self.alpha if self.separator == "union" else 1.0
            squares, sets, union = weakest(test, centre, around, given, depth, bar)
            size, p = sizes_and_p_values(squares.ravel(), test.n, depth)
            parts.append(_Found(np.repeat(centre, m), around.ravel(), p, size, sets.reshape(-1, depth)))
            for at, place, member in zip(*np.nonzero(union), strict=True):
                pair = sorted((int(centre[at]), int(around[at, place])))
                unions.setdefault((pair[0], pair[1]), set()).add(int(given[at, member]))
        return _Found(*map(np.concatenate, zip(*parts, strict=True)))

    def _asked(self, depth: int, unions: dict[tuple[int, int], set[int]]) -> _Found:
        """The path for any test: each set of either end once, in lexicographic order, a link's first best set kept."""
        best: dict[tuple[int, int], tuple[float, float, tuple[int, ...]]] = {}
        questions = self._questions(depth)
        while batch := list(islice(questions, QUESTIONS)):
            for (i, j, held), p, size in answers(self.test, batch):
                if p > self.alpha and self.separator == "union":
                    unions.setdefault((i, j), set()).update(held)
                if (i, j) not in best or p > best[i, j][0]:
                    best[i, j] = (p, size, held)
        pairs = np.array(list(best), dtype=np.int64).reshape(-1, 2)
        numbers = np.array([(p, size) for p, size, _ in best.values()], dtype=np.float64).reshape(-1, 2)
        sets = np.array([held for _, _, held in best.values()], dtype=np.int64).reshape(-1, depth)
        return _Found(pairs[:, 0], pairs[:, 1], numbers[:, 0], numbers[:, 1], sets)

    def _questions(self, depth: int) -> Iterator[Question]:
        """Every pair i < j with an open link and every set that one of its ends allows."""
        (tested, made_of), centres = self._links(), set(self.centres)
        for i, j in zip(*(ends.tolist() for ends in np.nonzero(np.triu(tested))), strict=True):
            sides = [np.flatnonzero(made_of[a]).tolist() for a in (i, j) if a in centres]
            sets = {held for side in sides for held in combinations([k for k in side if k not in (i, j)], depth)}
            yield from ((i, j, held) for held in sorted(sets))

    def _cut(self, found: _Found, unions: Mapping[tuple[int, int], set[int]]) -> None:
        """Keeps the evidence and cuts every link with a p-value above alpha."""
        p = np.full(self.linked.shape, -1.0)
        p[found.i, found.j] = found.p
        other = p[found.j, found.i]
        # Of the two ends of a link the larger p-value counts; on a tie the end that comes first.
        won = (found.p > other) | ((found.p == other) & (found.i < found.j))
        i, j, p, size, sets = (part[won] for part in found)
        more = p > self.p_values[i, j]
        self.p_values[i[more], j[more]] = self.p_values[j[more], i[more]] = p[more]
        self.sizes[i[more], j[more]] = self.sizes[j[more], i[more]] = size[more]
        cut = p > self.alpha
        i, j = i[cut], j[cut]
        self.linked[i, j] = self.linked[j, i] = False
        pairs = list(zip(np.minimum(i, j).tolist(), np.maximum(i, j).tolist(), strict=True))
        self.separating.update(zip(pairs, map(tuple, sets[cut].tolist()), strict=True))
        self.separating.update((pair, tuple(sorted(unions[pair]))) for pair in pairs if pair in unions)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Skeleton:
    """Which columns stay linked, and what cut the other links."""

    adjacent: BoolArray  # (d, d), symmetric
    separating: SeparatingSets  # (i, j), i < j -> the set, ascending, that cut their link
    p_values: Array  # (d, d), symmetric: the largest p-value of any test of the pair, 0 where none was possible
    statistics: Array  # (d, d), symmetric: that test's statistic, |partial correlation| for Fisher's z
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


def skeleton_of(
    test: ConditionalTest,
    d: int,
    *,
    alpha: float,
    max_depth: int = DEFAULT_DEPTH,
    budget: int = DEFAULT_BUDGET,
    separator: Separator = "strongest",
    constraints: Constraints | None = None,
) -> Skeleton:
    """The skeleton of d columns. max_depth: the largest set that a test conditions on. budget: of tests."""
    search = LinkSearch(test, d, alpha=alpha, separator=separator, constraints=constraints)
    search.run(max_depth, budget)
    return Skeleton(
        adjacent=read_only(search.linked),
        separating=SeparatingSets(read_only(search.empty), search.separating),
        p_values=read_only(search.p_values),
        statistics=read_only(search.sizes),
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

    Only sets among its own neighbours are tried, where the full search also tries the other end's: links more may stay.
    """
    d = len(correlation)
    target = range(d)[target_index]
    others = np.delete(np.arange(d), target)
    beyond = len(others) > budget
    testable = len(others) > 0 and n > 3 and max_depth >= 0 and not beyond  # if not, every link stays
    p_values = np.zeros(d)
    if testable:
        # Without sets only one row of the matrix counts; with them, only columns that still have a link.
        row = (np.asarray(correlation[target], dtype=np.float64) + np.asarray(correlation)[:, target]) / 2.0
        p_values[others] = fisher_z(np.clip(np.where(np.isfinite(row), row, 0.0), -1.0, 1.0)[others], n, 0)
    separating: dict[int, tuple[int, ...]] = dict.fromkeys(others[p_values[others] > alpha].tolist(), ())
    kept = np.array([target, *(j for j in others.tolist() if j not in separating)])
    test = PartialCorrelation.of(np.asarray(correlation)[np.ix_(kept, kept)], n)
    search = LinkSearch(test, len(kept), alpha=alpha, centres=[0])
    if testable:
        search.depth, search.tests = 0, len(others)
        search.run(max_depth, budget, first=1)
    p_values[kept] = np.maximum(p_values[kept], search.p_values[0])
    separating |= {int(kept[j]): tuple(kept[list(held)].tolist()) for (_, j), held in search.separating.items()}
    return Neighbours(
        target=target,
        linked=tuple(kept[search.linked[0]].tolist()),
        separating=MappingProxyType(dict(sorted(separating.items()))),
        p_values=read_only(p_values),
        depth_reached=search.depth,
        tests=search.tests,
        budget_hit=search.budget_hit or (beyond and n > 3),
    )
