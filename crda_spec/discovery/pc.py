"""PC: discovery that assumes no hidden common causes. With it, what all searches by conditional tests share.

From a skeleton and its colliders to a CPDAG: which links point one way in every graph that fits. Knowledge comes first,
then the colliders, then Meek's rules (Meek 1995) until nothing changes. Every step looks at the graph as the step
before left it and then orients at once, so that no order of columns matters; a link that is told both ways in one step
is a conflict, takes no further part, and stays marked (Colombo and Maathuis 2014). Links in a directed circle, which
noisy tests can produce, are conflicts too: what stays directed is acyclic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.discovery._protocol import DiscoveredGraph, FoundEdge, ResidualNeighbours, Search, Stability
from crda_spec.discovery.knowledge import BoolArray, Constraints, Knowledge
from crda_spec.discovery.skeleton import DEFAULT_BUDGET, Question, Separator, Skeleton, answers, neighbours, skeleton_of
from crda_spec.independence import correlation_matrix, numbers
from crda_spec.independence.conditional import ConditionalTest, Dependence, PartialCorrelation, conditional_test
from crda_spec.records import Array, Column, EdgeMark, Note, SearchTie, SearchUsed, Table, Untested
from crda_spec.strict import Fraction

ColliderRule = Literal["plain", "conservative", "majority"]
Triple = tuple[int, int, int]  # (i, k, j), i < j: k is the middle
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Triples:
    """All unshielded triples by what they are; those in neither set are chains or forks."""

    colliders: frozenset[Triple]
    ambiguous: frozenset[Triple]
    tests: int = 0
    fell_back: bool = False  # the rule wanted more tests than were left, so the plain one decided


def _unshielded(skeleton: Skeleton) -> dict[Pair, list[int]]:
    """Unlinked pairs, and the columns linked to both."""
    middles: defaultdict[Pair, list[int]] = defaultdict(list)
    for k, row in enumerate(skeleton.adjacent):
        for i, j in combinations(np.flatnonzero(row).tolist(), 2):
            if not skeleton.adjacent[i, j]:
                middles[i, j].append(k)
    return dict(sorted(middles.items()))


def _questions(made_of: BoolArray, pairs: Sequence[Pair], max_depth: int, budget: int) -> list[list[Question]] | None:
    """For each pair every set that one of its ends allows, by size; None when the budget has no room for all."""
    near = [np.flatnonzero(row).tolist() for row in made_of]
    questions: list[list[Question]] = [[] for _ in range(max_depth + 1)]
    for i, j in pairs:
        for size, some in enumerate(questions):
            sets = {held for end in (i, j) for held in combinations(near[end], size)}
            some += [(i, j, held) for held in sorted(sets)]
        if sum(map(len, questions)) > budget:
            return None
    return questions


class Orientation:
    """How each link reads: it is undirected until it is in `parents` or among the conflicts."""

    def __init__(self, adjacent: BoolArray, triples: Triples, constraints: Constraints) -> None:
        """Orients all that knowledge, colliders and Meek's rules decide."""
        self.near = [set(np.flatnonzero(row).tolist()) for row in adjacent]
        self.parents: list[set[int]] = [set() for _ in self.near]
        self.open: list[set[int]] = [set(others) for others in self.near]  # the other ends of undirected links
        self.conflicts: set[Pair] = set()  # (i, j), i < j
        may = constraints.may_cause
        # A collider that knowledge rules out says nothing, not even that the triple is a chain.
        self.overruled = {(i, k, j) for i, k, j in triples.colliders if not (may[i, k] and may[j, k])}
        self.ambiguous = triples.ambiguous | self.overruled
        self.colliders = triples.colliders - self.overruled
        links = zip(*(ends.tolist() for ends in np.nonzero(adjacent)), strict=True)
        self.known = {(i, j) for i, j in links if may[i, j] and not may[j, i]}  # before any test was looked at
        self._apply(self.known)
        self._apply({(end, k) for i, k, j in self.colliders for end in (i, j)} - self.known)
        while proposed := {(i, j) for i, others in enumerate(self.open) for j in others if self._asked_for(i, j)}:
            self._apply(proposed)
        for i, j in in_circles(self._arrows(), len(self.near)) - self.known:
            self.parents[j].discard(i)
            self.conflicts.add((min(i, j), max(i, j)))

    def marks(self) -> dict[Pair, EdgeMark]:
        """How each link reads, (tail, head) of an arrow and (i, j), i < j, of the others, in the columns' order."""
        marks: dict[Pair, EdgeMark] = dict.fromkeys(self._arrows(), "->")
        marks |= {(i, j): "--" for i, others in enumerate(self.open) for j in others if i < j}
        marks |= dict.fromkeys(self.conflicts, "<->")
        return dict(sorted(marks.items(), key=lambda item: (min(item[0]), max(item[0]))))

    def _apply(self, arrows: set[Pair]) -> None:
        """Orients undirected links at once; what is told both ways becomes a conflict."""
        for i, j in arrows:
            if j not in self.open[i]:
                continue  # its mirror image has made it a conflict
            self.open[i].discard(j)
            self.open[j].discard(i)
            if (j, i) in arrows:
                self.conflicts.add((min(i, j), max(i, j)))
            else:
                self.parents[j].add(i)

    def _arrows(self) -> list[Pair]:
        return [(i, j) for j, tails in enumerate(self.parents) for i in sorted(tails)]

    def _passes(self, i: int, k: int, j: int) -> bool:
        """Whether i - k - j is known to be no collider: unshielded, not one, and not ambiguous."""
        triple = (min(i, j), k, max(i, j))
        return j not in self.near[i] and triple not in self.ambiguous and triple not in self.colliders

    def _asked_for(self, i: int, j: int) -> bool:
        """Whether i - j must read i -> j: the other way would make a new collider or a circle."""
        # R1: a -> i - j, and a - i - j is no collider.
        if any(a != j and self._passes(a, i, j) for a in self.parents[i]):
            return True
        # R2: i -> a -> j.
        if any(i in self.parents[a] for a in self.parents[j]):
            return True
        # R3: i - a -> j and i - b -> j, where a - i - b is no collider.
        between = sorted(self.open[i] & self.parents[j])
        if any(self._passes(a, i, b) for a, b in combinations(between, 2)):
            return True
        # R4: i - a -> b -> j with b linked to i, where a - i - j is no collider. Needed with knowledge only.
        return any(
            a in self.open[i] and self._passes(a, i, j) for b in self.parents[j] & self.near[i] for a in self.parents[b]
        )


def in_circles(arrows: Sequence[Pair], d: int) -> set[Pair]:
    """The arrows among d columns that are part of a directed circle."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if not arrows:
        return set()
    rows, columns = np.array(arrows).T
    matrix = csr_array((np.ones(len(arrows)), (rows, columns)), shape=(d, d))
    part = connected_components(matrix, directed=True, connection="strong")[1]
    return {(i, j) for i, j in arrows if part[i] == part[j]}


_SLOW_BUDGET = 500_000  # tests, when each is a computation of its own
_MOST_MIXED = 150  # columns; with more, categories are searched by their labels, which is fast


# The skeleton, which a second search may have cut further, its triples, what is left, and notes for the reader.
# A link is its ends, its mark, and whether the expert decided it.
Oriented = tuple[Skeleton, Triples, Iterable[tuple[Pair, EdgeMark, bool]], Iterable[Note]]


class ConditionalSearch(Search):
    """What the searches by conditional tests share."""

    alpha: Fraction = Field(0.05, description="A link stays unless a test with a p-value above this cuts it.")
    max_depth: int = Field(3, ge=0, le=5, description="The largest set of columns that a test conditions on.")
    dependence: Dependence = Field(
        "linear",
        description=(
            "What the tests look for. linear: partial correlations, of blocks where a column is a category or boolean. "
            "nonlinear: the generalised covariance measure, slower, for a few dozen columns at most."
        ),
    )
    colliders: ColliderRule = Field(
        "plain", description="How unshielded triples are oriented; conservative and majority ask every separating set."
    )
    budget: int | None = Field(
        None, ge=1, description="Tests that may be spent; when they run out, the links that are left stay. null: ours."
    )
    knowledge: Knowledge = Field(Knowledge(), description="What the expert knows, enforced during the search.")
    stability: Stability | None = Field(None, description="Repeat the search on resamples; null: do not.")

    graph_kind: ClassVar[Literal["cpdag", "pag"]]

    def search(
        self,
        test: ConditionalTest,
        names: Sequence[str],
        *,
        noise: Sequence[str] = (),
        separator: Separator = "strongest",
    ) -> DiscoveredGraph:
        """The graph of the columns that a test knows by position, in their order. noise: those that nothing causes."""
        columns = self._distinct(names)
        constraints = Constraints.of(self.knowledge, columns, noise=noise)
        skeleton = skeleton_of(
            test,
            len(columns),
            alpha=self.alpha,
            max_depth=self.max_depth,
            budget=self.budget_for(test),
            separator=separator,
            constraints=self._limits(constraints),
        )
        skeleton, triples, links, notes = self._orient(columns, skeleton, test, constraints)
        return DiscoveredGraph(
            method=self.kind,
            kind=self.graph_kind,
            names=columns,
            edges=tuple(
                FoundEdge(
                    first=columns[i],
                    second=columns[j],
                    mark=mark,
                    p_value=float(skeleton.p_values[i, j]),
                    statistic=float(skeleton.statistics[i, j]),
                    by_knowledge=known,
                )
                for (i, j), mark, known in links
            ),
            alpha=self.alpha,
            tests=skeleton.tests + triples.tests,
            depth_reached=skeleton.depth_reached,
            budget_hit=skeleton.budget_hit or triples.fell_back,
            notes=tuple(notes),
            evidence=skeleton,
        )

    def _limits(self, constraints: Constraints) -> Constraints:
        """What knowledge rules out before any test: links, and members of sets."""
        return constraints

    @abstractmethod
    def _orient(
        self, names: tuple[str, ...], skeleton: Skeleton, test: ConditionalTest, constraints: Constraints
    ) -> Oriented:
        """Tells how the links of the skeleton read."""

    def find(self, x: Array, columns: Sequence[Column], *, noise: Sequence[str] = ()) -> DiscoveredGraph:
        """The graph of these rows, by the test that suits the columns' types."""
        test = conditional_test(x, [column.type for column in columns], dependence=self.dependence)
        return self.search(test, [column.name for column in columns], noise=noise)

    def residual_neighbours(
        self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]
    ) -> ResidualNeighbours:
        """The features that the method links to the residual, which must stay fixed."""
        mixed = any(column.type in ("category", "boolean") for column in train.features)
        plain = self.dependence == "linear" and not self.knowledge and self.stability is None
        if not plain or (mixed and len(train.features) <= _MOST_MIXED):
            return super().residual_neighbours(train, residuals, seed=seed, index=index)
        # Only the residual's own neighbourhood decides, so only that is searched.
        columns, owner = numbers(train)
        correlation, rows = correlation_matrix(np.column_stack([columns, residuals]))
        budget = self.budget or DEFAULT_BUDGET
        found = neighbours(correlation, rows, len(owner), alpha=self.alpha, max_depth=self.max_depth, budget=budget)
        if found.depth_reached < 0:
            return ResidualNeighbours(untested=Untested(rows=rows, of=len(train)))
        linked = {train.names[int(owner[at])]: SearchTie(kind="linked", method="pc") for at in found.linked}
        return ResidualNeighbours(tied=linked, notes=(Note(code="budget_of_neighbours"),) if found.budget_hit else ())

    def budget_for(self, test: ConditionalTest) -> int:
        """The number of tests that may be spent."""
        return self.budget or (DEFAULT_BUDGET if isinstance(test, PartialCorrelation) else _SLOW_BUDGET)

    def triples(self, skeleton: Skeleton, test: ConditionalTest, constraints: Constraints) -> Triples:
        """The skeleton's unshielded triples told apart, with the tests that the search has left."""
        middles = _unshielded(skeleton)
        cuts = {pair: skeleton.separating.of(*pair) for pair in middles}
        colliders = {
            (i, k, j) for (i, j), cut in cuts.items() if cut is not None for k in middles[i, j] if k not in cut
        }
        ambiguous = {(i, k, j) for (i, j), cut in cuts.items() if cut is None for k in middles[i, j]}
        asked = [pair for pair, cut in cuts.items() if self.colliders != "plain" or cut is None]
        depth = min(self.max_depth, max(skeleton.depth_reached, 0))
        left = self.budget_for(test) - skeleton.tests
        questions = _questions(skeleton.adjacent & constraints.may_cause.T, asked, depth, left)
        if questions is None:
            return Triples(frozenset(colliders), frozenset(ambiguous), fell_back=True)
        separating = {pair: set() if (cut := cuts[pair]) is None else {cut} for pair in asked}
        for batch in filter(None, questions):
            for (i, j, held), p, _ in answers(test, batch):
                if p > self.alpha:
                    separating[i, j].add(held)
        shares = {
            (i, k, j): sum(k in held for held in sets) / len(sets) if sets else 0.5
            for (i, j), sets in separating.items()
            for k in middles[i, j]
        }
        # Without `conservative` the majority of the separating sets decides, and only a tie leaves a triple open.
        low, high = (0.0, 1.0) if self.colliders == "conservative" else (0.5, 0.5)
        decided = {triple for triple, share in shares.items() if share == 0.0 or share < low}
        unsure = {triple for triple, share in shares.items() if low <= share <= high and 0.0 < share < 1.0}
        colliders = {triple for triple in colliders if triple not in shares} | decided
        return Triples(frozenset(colliders), frozenset(unsure), tests=sum(map(len, questions)))

    @property
    def used(self) -> tuple[SearchUsed, ...]:
        """The method and what a reader must know of its settings."""
        (search,) = super().used
        nonlinear, knowledge = self.dependence == "nonlinear", bool(self.knowledge)
        return (replace(search, alpha=self.alpha, max_depth=self.max_depth, nonlinear=nonlinear, knowledge=knowledge),)


class Pc(ConditionalSearch):
    """The PC algorithm: no hidden common causes among the columns.

    The target and its residual never go into one search: one given the features is the other.
    """

    kind: Literal["pc"] = Field(
        "pc", description="PC (order-independent); assumes that no hidden cause ties two columns."
    )

    graph_kind = "cpdag"

    def _orient(
        self, names: tuple[str, ...], skeleton: Skeleton, test: ConditionalTest, constraints: Constraints
    ) -> Oriented:
        triples = self.triples(skeleton, test, constraints)
        oriented = Orientation(skeleton.adjacent, triples, constraints)
        links = [(ends, mark, ends in oriented.known) for ends, mark in oriented.marks().items()]
        budget = self.budget_for(test)
        notes = []
        if skeleton.budget_hit:
            notes.append(Note(code="budget", amount=budget, depth=skeleton.depth_reached + 1))
        if triples.fell_back:
            notes.append(Note(code="directions_by_cutting_set", amount=budget - skeleton.tests))
        notes += [Note(code="conflict", names=(names[i], names[j])) for i, j in sorted(oriented.conflicts)]
        notes += [
            Note(code="overruled", names=(names[k], names[i], names[j])) for i, k, j in sorted(oriented.overruled)
        ]
        return skeleton, triples, links, notes
