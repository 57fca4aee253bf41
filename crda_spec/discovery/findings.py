"""What a search found: how stable it is, and which links it shares with a declared graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from crda_spec.discovery.extension import GraphDraft, declarable
from crda_spec.discovery.found import DiscoveredGraph, FoundEdge
from crda_spec.discovery.stability import Scheme
from crda_spec.records import DrawnGraph, EdgeMark
from crda_spec.scm.graph import CausalGraph

Pair = tuple[str, str]
Agreement = Literal[
    "same", "other direction", "direction open", "as a hidden cause", "as an arrow", "not there"
]  # what the declared graph has where the search found a link


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the two graphs say of each pair of searched columns."""

    found: Mapping[Pair, Agreement]  # (first, second) of each link that was found
    unseen: tuple[str, ...]  # `a -> b`, `a <-> b`: declared, and the data show no link

    def of(self, edge: FoundEdge) -> Agreement:
        """What the declared graph has in place of a link that was found."""
        return self.found[edge.first, edge.second]


def compare(found: DiscoveredGraph, declared: CausalGraph) -> Comparison:
    """Compares link by link, over the columns that were searched.

    What was not searched (a latent node, a column that is no feature) is projected out of the declared graph: a chain
    through it counts as an arrow, and a common cause among it as a hidden cause.
    """
    arrows, ties = _projected(declared, found.names)
    linked = {frozenset((edge.first, edge.second)) for edge in found.edges}
    unseen = [f"{a} -> {b}" for a, b in arrows if frozenset((a, b)) not in linked]
    unseen += [f"{a} <-> {b}" for a, b in ties if frozenset((a, b)) not in linked]
    known = frozenset(arrows), frozenset(frozenset(pair) for pair in ties)
    return Comparison(
        found={(edge.first, edge.second): _agreement(found, edge, *known) for edge in found.edges},
        unseen=tuple(unseen),
    )


def _agreement(
    found: DiscoveredGraph, edge: FoundEdge, arrows: frozenset[Pair], ties: frozenset[frozenset[str]]
) -> Agreement:
    forward, back = (edge.first, edge.second) in arrows, (edge.second, edge.first) in arrows
    hidden = frozenset((edge.first, edge.second)) in ties
    if not (forward or back or hidden):
        return "not there"
    if edge.mark in ("->", "o->"):
        if forward or (hidden and edge.mark == "o->"):
            return "same"
        return "other direction" if back else "as a hidden cause"
    if edge.mark == "<->" and found.kind == "pag":
        return "same" if hidden else "as an arrow"
    return "direction open" if forward or back else "as a hidden cause"


def _projected(graph: CausalGraph, names: Sequence[str]) -> tuple[list[Pair], list[Pair]]:
    """The arrows and the hidden common causes among some columns, in the order of the columns."""
    dag, place = graph.dag, {name: position for position, name in enumerate(names)}
    arrows = [(name, end) for name in names for end in _reached(graph, name, place) if name in dag.index]
    ties: set[Pair] = set()
    for name in dag.names:
        if name not in place and name != graph.noise:
            ends = sorted(_reached(graph, name, place), key=place.__getitem__)
            ties.update(combinations(ends, 2))
    arrows.sort(key=lambda pair: (place[pair[0]], place[pair[1]]))
    return arrows, sorted(ties, key=lambda pair: (place[pair[0]], place[pair[1]]))


def _reached(graph: CausalGraph, start: str, searched: Mapping[str, int]) -> set[str]:
    """The searched columns that a node causes directly or through nodes that were not searched."""
    dag = graph.dag
    found, seen, todo = set[str](), {start}, [start]
    while todo:
        for child in dag.children[dag.index[todo.pop()]]:
            name = dag.names[child]
            if name in searched:
                found.add(name)
            elif name not in seen:
                seen.add(name)
                todo.append(name)
    return found - {start}


OFTEN = 0.5  # a link in this share of the resamples is told even when all rows together do not show it


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a search found, on which rows, how stable it is, and how it compares with a declared graph."""

    graph: DiscoveredGraph
    target: str
    source: str  # which rows: `training rows of patients.csv`
    rows: int
    complete: int  # rows without a missing cell: those that were searched
    resamples: int  # 0: the search was not repeated
    scheme: Scheme
    often: tuple[tuple[str, str, float], ...]  # pairs that resamples link often and all rows together do not, and how
    comparison: Comparison | None  # None without a declared graph

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of the search."""
        untested = (
            f"Only {self.complete} rows have no missing cell: nothing could be tested, so every link is still there."
        )
        said = [untested] if self.graph.tests == 0 and self.graph.alpha is not None and self.complete <= 3 else []
        if self.complete < self.rows and not said:
            said.append(f"{self.rows - self.complete} of {self.rows} rows have a missing cell and were left out.")
        return (*said, *self.graph.notes)

    @property
    def drawn(self) -> DrawnGraph:
        """The picture: a conflict is drawn as a link whose direction nobody knows."""
        names = [name for name in self.graph.names if name != self.target]
        return DrawnGraph(
            nodes=(*((name, "feature") for name in names), (self.target, "target")),
            edges=tuple((edge.first, edge.second, self._mark(edge.mark)) for edge in self.graph.edges),
        )

    def draft(self) -> GraphDraft:
        """The graph with every link directed, to be checked by an expert and declared."""
        return declarable(self.graph, target=self.target)

    def _mark(self, mark: EdgeMark) -> EdgeMark:
        return "--" if mark == "<->" and self.graph.kind == "cpdag" else mark
