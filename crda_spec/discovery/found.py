"""What every discovery method hands back: one graph type, with the evidence for each edge.

Marks. Of a CPDAG: `a -> b`; `a -- b`, a link whose direction the data leave open; `a <-> b`, a *conflict*: the data
argue for both directions, so at least one test erred. Of a PAG, where hidden common causes are allowed: an arrowhead at
b says that b does not cause a, a tail at a that a causes b (perhaps through others), a circle `o` that both occur in
some graph that fits; `a <-> b` there says that a hidden common cause ties them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from crda_spec.discovery.skeleton import Skeleton

EdgeMark = Literal["->", "--", "<->", "o->", "o-o", "o--"]
Method = Literal["pc", "fci", "ges", "consensus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEdge:
    """One link, read `first mark second`, and the evidence for it."""

    first: str  # of `->`, `o->` and `o--` the left end; of the others the column that comes first
    second: str
    mark: EdgeMark
    p_value: float = 0.0  # the largest of any test of the pair: how close the link came to being cut
    statistic: float = 0.0  # of that test; |partial correlation| for Fisher's z
    by_knowledge: bool = False  # the expert decided that it is there, or which way it points
    frequency: float | None = None  # the share of resamples, or of methods, in which the two are linked
    same_mark: float | None = None  # the share in which they are linked by this very mark

    def __str__(self) -> str:
        return f"{self.first} {self.mark} {self.second}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredGraph:
    """The links that a search left, in the order of the columns."""

    method: Method
    kind: Literal["cpdag", "pag"]
    names: tuple[str, ...]
    edges: tuple[FoundEdge, ...]
    alpha: float | None = None  # None for a method without tests
    tests: int = 0
    depth_reached: int = -1  # the size of the largest sets tried; -1 when nothing was tested
    budget_hit: bool = False
    notes: tuple[str, ...] = ()  # sentences for the reader: a budget that was hit, claims that knowledge overruled
    evidence: Skeleton | None = field(default=None, compare=False, repr=False)

    @property
    def directed(self) -> tuple[tuple[str, str], ...]:
        """The edges `a -> b`."""
        return self._with("->")

    @property
    def undirected(self) -> tuple[tuple[str, str], ...]:
        """The links `a -- b`."""
        return self._with("--")

    @property
    def conflicted(self) -> tuple[tuple[str, str], ...]:
        """Of a CPDAG: the links that the data argue about, `a <-> b`."""
        return self._with("<->") if self.kind == "cpdag" else ()

    @property
    def confounded(self) -> tuple[tuple[str, str], ...]:
        """Of a PAG: the pairs that a hidden common cause ties, `a <-> b`."""
        return self._with("<->") if self.kind == "pag" else ()

    def edge(self, a: str, b: str) -> FoundEdge | None:
        """The link of two columns, in either order."""
        return next((edge for edge in self.edges if {edge.first, edge.second} == {a, b}), None)

    def neighbours(self, name: str) -> tuple[str, ...]:
        """The columns linked to one column, in their order."""
        ends = ((edge.first, edge.second) for edge in self.edges)
        near = {b if a == name else a for a, b in ends if name in (a, b)}
        return tuple(other for other in self.names if other in near)

    def separating_set(self, a: str, b: str) -> tuple[str, ...] | None:
        """The columns given which two others looked independent; None when no test cut their link."""
        if self.evidence is None:
            return None
        held = self.evidence.separating.of(self.names.index(a), self.names.index(b))
        return None if held is None else tuple(self.names[k] for k in held)

    def p_value(self, a: str, b: str) -> float | None:
        """The largest p-value of any test of two columns; None when the method made no tests."""
        if self.evidence is None:
            return None
        return float(self.evidence.p_values[self.names.index(a), self.names.index(b)])

    def with_shares(self, shares: Mapping[tuple[str, str], tuple[float, float]]) -> DiscoveredGraph:
        """The same graph; each edge (first, second) with its frequency and the share of its own mark."""
        edges = tuple(
            replace(edge, frequency=shares[edge.first, edge.second][0], same_mark=shares[edge.first, edge.second][1])
            for edge in self.edges
        )
        return replace(self, edges=edges)

    def _with(self, mark: EdgeMark) -> tuple[tuple[str, str], ...]:
        return tuple((edge.first, edge.second) for edge in self.edges if edge.mark == mark)


def budget_note(depth_reached: int, budget: int) -> str:
    """What it means that a search stopped at its budget, and what to do."""
    return (
        f"The search stopped before it tried sets of {depth_reached + 1} columns: they would take more than the "
        f"{budget:,} tests allowed. Links that such sets would have cut are still there. Raise the budget, or tell the "
        "search what you know (tiers, forbidden edges), so that it has less to try."
    )
