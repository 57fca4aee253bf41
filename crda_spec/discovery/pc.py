"""PC: discovery that assumes no hidden common causes. With it, what all searches by conditional tests share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.discovery._protocol import (
    DiscoveredGraph,
    FoundEdge,
    Search,
    Stability,
    Ties,
    checked_names,
)
from crda_spec.discovery.conditional import ConditionalTest, Dependence, PartialCorrelation, conditional_test
from crda_spec.discovery.knowledge import Constraints, Knowledge
from crda_spec.discovery.orient import ColliderRule, Orientation, Triples, classify_triples, orient
from crda_spec.discovery.skeleton import DEFAULT_BUDGET, Separator, Skeleton, neighbours, skeleton_of
from crda_spec.independence import correlation_matrix, numbers
from crda_spec.records import Array, Column, EdgeMark, Note, SearchTie, SearchUsed, Table, Untested
from crda_spec.strict import Fraction

_SLOW_BUDGET = 500_000  # tests, when each is a computation of its own
_MOST_MIXED = 150  # columns; with more, categories are searched by their labels, which is fast


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

    @abstractmethod
    def search(
        self,
        test: ConditionalTest,
        names: Sequence[str],
        *,
        noise: Sequence[str] = (),
        separator: Separator = "strongest",
    ) -> DiscoveredGraph:
        """The graph of the columns that a test knows by position, in the order of their names.

        noise: columns that nothing causes.  What is known of columns that are not among the names is left out.
        """

    def find(self, x: Array, columns: Sequence[Column], *, noise: Sequence[str] = ()) -> DiscoveredGraph:
        """The graph of these rows, by the test that suits the columns' types."""
        test = conditional_test(x, [column.type for column in columns], dependence=self.dependence)
        return self.search(test, [column.name for column in columns], noise=noise)

    def ties(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Ties:
        """The features that the method links to the residual, which must stay fixed."""
        mixed = any(column.type in ("category", "boolean") for column in train.features)
        plain = self.dependence == "linear" and not self.knowledge and self.stability is None
        if plain and (not mixed or len(train.features) > _MOST_MIXED):
            return self._ties_nearby(train, residuals)
        return super().ties(train, residuals, seed=seed, index=index)

    def _ties_nearby(self, train: Table, residuals: Array) -> Ties:
        """Only the residual's own neighbourhood decides, so only that is searched."""
        columns, owner = numbers(train)
        correlation, rows = correlation_matrix(np.column_stack([columns, residuals]))
        budget = DEFAULT_BUDGET if self.budget is None else self.budget
        found = neighbours(correlation, rows, len(owner), alpha=self.alpha, max_depth=self.max_depth, budget=budget)
        if found.depth_reached < 0:
            return Ties(untested=Untested(rows=rows, of=len(train)))
        names = train.names
        linked = {names[int(owner[at])]: SearchTie(kind="linked", method="pc") for at in found.linked}
        return Ties(tied=linked, notes=(Note(code="budget_of_neighbours"),) if found.budget_hit else ())

    def budget_for(self, test: ConditionalTest) -> int:
        """The number of tests that may be spent."""
        if self.budget is not None:
            return self.budget
        return DEFAULT_BUDGET if isinstance(test, PartialCorrelation) else _SLOW_BUDGET

    def triples(self, skeleton: Skeleton, test: ConditionalTest, constraints: Constraints) -> Triples:
        """The skeleton's unshielded triples told apart, with the tests that the search has left."""
        return classify_triples(
            skeleton,
            test,
            rule=self.colliders,
            alpha=self.alpha,
            max_depth=min(self.max_depth, max(skeleton.depth_reached, 0)),
            budget=self.budget_for(test) - skeleton.tests,
            constraints=constraints,
        )

    @property
    def used(self) -> tuple[SearchUsed, ...]:
        """The method and what a reader must know of its settings."""
        (search,) = super().used
        return (
            replace(
                search,
                alpha=self.alpha,
                max_depth=self.max_depth,
                nonlinear=self.dependence == "nonlinear",
                knowledge=bool(self.knowledge),
            ),
        )


class Pc(ConditionalSearch):
    """The PC algorithm: no hidden common causes among the columns.

    See `discovery.fci` for when there may be some. The target and its residual never go into one search: one given the
    features is the other.
    """

    kind: Literal["pc"] = Field(
        "pc", description="PC (order-independent); assumes that no hidden cause ties two columns."
    )

    def search(
        self,
        test: ConditionalTest,
        names: Sequence[str],
        *,
        noise: Sequence[str] = (),
        separator: Separator = "strongest",
    ) -> DiscoveredGraph:
        """The CPDAG of the columns that a test knows by position, in the order of their names."""
        columns = checked_names(names)
        constraints = Constraints.of(self.knowledge, columns, noise=noise)
        budget = self.budget_for(test)
        skeleton = skeleton_of(
            test,
            len(columns),
            alpha=self.alpha,
            max_depth=self.max_depth,
            budget=budget,
            separator=separator,
            constraints=constraints if self.knowledge or noise else None,
        )
        triples = self.triples(skeleton, test, constraints)
        oriented = orient(skeleton.adjacent, triples, constraints)
        return DiscoveredGraph(
            method="pc",
            kind="cpdag",
            names=columns,
            edges=tuple(_edges(columns, skeleton, oriented)),
            alpha=self.alpha,
            tests=skeleton.tests + triples.tests,
            depth_reached=skeleton.depth_reached,
            budget_hit=skeleton.budget_hit or triples.fell_back,
            notes=tuple(_notes(columns, skeleton, triples, oriented, budget)),
            evidence=skeleton,
        )


def _edges(names: tuple[str, ...], skeleton: Skeleton, oriented: Orientation) -> Iterator[FoundEdge]:
    marks: dict[tuple[int, int], EdgeMark] = dict.fromkeys(oriented.directed, "->")
    marks |= dict.fromkeys(oriented.undirected, "--")
    marks |= dict.fromkeys(oriented.conflicted, "<->")
    for (i, j), mark in sorted(marks.items(), key=lambda item: (min(item[0]), max(item[0]))):
        yield FoundEdge(
            first=names[i],
            second=names[j],
            mark=mark,
            p_value=float(skeleton.p_values[i, j]),
            statistic=float(skeleton.statistics[i, j]),
            by_knowledge=(i, j) in oriented.known,
        )


def _notes(
    names: tuple[str, ...], skeleton: Skeleton, triples: Triples, oriented: Orientation, budget: int
) -> Iterator[Note]:
    if skeleton.budget_hit:
        yield Note(code="budget", amount=budget, depth=skeleton.depth_reached + 1)
    if triples.fell_back:
        yield Note(code="directions_by_cutting_set", amount=budget - skeleton.tests)
    for i, j in sorted(oriented.conflicted):
        yield Note(code="conflict", names=(names[i], names[j]))
    for i, k, j in sorted(oriented.overruled):
        yield Note(code="overruled", names=(names[k], names[i], names[j]))
