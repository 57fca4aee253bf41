"""PC from end to end: columns in, a CPDAG with its evidence out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crda_spec.discovery._protocol import ConditionalTest
from crda_spec.discovery.found import DiscoveredGraph, EdgeMark, FoundEdge, budget_note
from crda_spec.discovery.knowledge import Constraints, Knowledge
from crda_spec.discovery.orient import ColliderRule, Orientation, Triples, classify_triples, orient
from crda_spec.discovery.partial import PartialCorrelation
from crda_spec.discovery.skeleton import DEFAULT_BUDGET, DEFAULT_DEPTH, Separator, Skeleton, skeleton_of
from crda_spec.errors import Complaint, DataError, show

NOTHING_KNOWN = Knowledge()
SLOW_BUDGET = 500_000  # tests, when each is a computation of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How PC and FCI search."""

    alpha: float = 0.05  # a link with a p-value above it is cut
    max_depth: int = DEFAULT_DEPTH  # the largest set that a test conditions on
    budget: int | None = None  # tests; None: about what a few seconds allow
    separator: Separator = "strongest"
    colliders: ColliderRule = "plain"

    def budget_for(self, test: ConditionalTest) -> int:
        """The number of tests that may be spent."""
        if self.budget is not None:
            return self.budget
        return DEFAULT_BUDGET if isinstance(test, PartialCorrelation) else SLOW_BUDGET


DEFAULT_SETTINGS = SearchSettings()


def pc(
    test: ConditionalTest,
    names: Sequence[str],
    *,
    settings: SearchSettings = DEFAULT_SETTINGS,
    knowledge: Knowledge = NOTHING_KNOWN,
) -> DiscoveredGraph:
    """The CPDAG of the columns that a test knows by position, in the order of their names.

    PC assumes that no two columns share a hidden cause; see `discovery.fci` for when they may. The target and its
    residual never go into one search: one given the features is the other.
    """
    columns = checked_names(names)
    constraints = constraints_for(knowledge, columns)
    budget = settings.budget_for(test)
    skeleton = skeleton_of(
        test,
        len(columns),
        alpha=settings.alpha,
        max_depth=settings.max_depth,
        budget=budget,
        separator=settings.separator,
        constraints=constraints if knowledge else None,
    )
    triples = colliders_of(skeleton, test, settings, constraints)
    return _graph(columns, skeleton, triples, orient(skeleton.adjacent, triples, constraints), settings, budget)


def colliders_of(
    skeleton: Skeleton, test: ConditionalTest, settings: SearchSettings, constraints: Constraints
) -> Triples:
    """The skeleton's unshielded triples told apart, with the tests that the search has left."""
    return classify_triples(
        skeleton,
        test,
        rule=settings.colliders,
        alpha=settings.alpha,
        max_depth=min(settings.max_depth, max(skeleton.depth_reached, 0)),
        budget=settings.budget_for(test) - skeleton.tests,
        constraints=constraints,
    )


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple; a DataError when one occurs twice."""
    twice = sorted({name for name in names if list(names).count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise DataError(
            Complaint(code="duplicate-column", what=f"two columns are called {show(name)}", hint="rename one")
            for name in twice
        )
    return tuple(names)


def constraints_for(knowledge: Knowledge, names: tuple[str, ...]) -> Constraints:
    """The knowledge over these columns; a SpecError with all that is wrong with it."""
    if not knowledge:
        return Constraints.none(len(names))
    knowledge.check(names)
    return Constraints.of(knowledge, names)


def _graph(
    names: tuple[str, ...],
    skeleton: Skeleton,
    triples: Triples,
    oriented: Orientation,
    settings: SearchSettings,
    budget: int,
) -> DiscoveredGraph:
    marks: dict[tuple[int, int], EdgeMark] = dict.fromkeys(oriented.directed, "->")
    marks |= dict.fromkeys(oriented.undirected, "--")
    marks |= dict.fromkeys(oriented.conflicted, "<->")
    edges = tuple(
        FoundEdge(
            first=names[i],
            second=names[j],
            mark=mark,
            p_value=float(skeleton.p_values[i, j]),
            statistic=float(skeleton.statistics[i, j]),
            by_knowledge=(i, j) in oriented.known,
        )
        for (i, j), mark in sorted(marks.items(), key=lambda item: (min(item[0]), max(item[0])))
    )
    return DiscoveredGraph(
        method="pc",
        kind="cpdag",
        names=names,
        edges=edges,
        alpha=settings.alpha,
        tests=skeleton.tests + triples.tests,
        depth_reached=skeleton.depth_reached,
        budget_hit=skeleton.budget_hit or triples.fell_back,
        notes=tuple(_notes(names, skeleton, triples, oriented, budget)),
        evidence=skeleton,
    )


def _notes(
    names: tuple[str, ...], skeleton: Skeleton, triples: Triples, oriented: Orientation, budget: int
) -> Iterator[str]:
    if skeleton.budget_hit:
        yield budget_note(skeleton.depth_reached, budget)
    if triples.fell_back:
        yield (
            f"Comparing all separating sets would take more than the {budget - skeleton.tests:,} tests left, so "
            "directions were decided by the set that cut each link."
        )
    for i, j in sorted(oriented.conflicted):
        yield f"The data argue for both directions between {names[i]} and {names[j]}: do not rely on either."
    for i, k, j in sorted(oriented.overruled):
        yield (
            f"The data suggest that {names[k]} is caused by both {names[i]} and {names[j]}; "
            "what you told the search rules that out, and was followed."
        )
