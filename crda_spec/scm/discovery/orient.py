"""From a skeleton and its colliders to a CPDAG: which links point one way in every graph that fits.

Knowledge comes first, then the colliders, then Meek's rules (Meek 1995) until nothing changes. Every step looks at
the graph as the step before left it and then orients at once, so that no order of columns matters; a link that is
told both ways in one step is a conflict, takes no further part, and stays marked (Colombo and Maathuis 2014). Links
in a directed circle, which noisy tests can produce, are conflicts too: what stays directed is acyclic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from crda_spec.scm.discovery.colliders import Triple, Triples
from crda_spec.scm.discovery.constraints import BoolArray, Constraints

Arrow = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Orientation:
    """How each link reads."""

    directed: frozenset[Arrow]  # (tail, head)
    undirected: frozenset[Arrow]  # (i, j), i < j
    conflicted: frozenset[Arrow]  # (i, j), i < j
    known: frozenset[Arrow]  # the directed ones that knowledge decided, before any test was looked at
    overruled: frozenset[Triple]  # colliders (i, k, j) that the data claim and knowledge rules out


def orient(adjacent: BoolArray, triples: Triples, constraints: Constraints) -> Orientation:
    """Orients all that knowledge, colliders and Meek's rules decide."""
    state = _State(adjacent, triples.ambiguous)
    links = [(i, j) for i, j in zip(*(ends.tolist() for ends in np.nonzero(adjacent)), strict=True)]
    known = {(i, j) for i, j in links if constraints.one_way(i, j)}
    state.apply(known)
    may = constraints.may_cause
    overruled = {(i, k, j) for i, k, j in triples.colliders if not (may[i, k] and may[j, k])}
    # A claim that knowledge refutes says nothing, not even that the triple is a chain.
    state.ambiguous |= overruled
    state.colliders = triples.colliders - overruled
    state.apply({(end, k) for i, k, j in state.colliders for end in (i, j)} - known)
    while proposed := set(state.proposals()):
        state.apply(proposed)
    state.open_circles(known)
    return Orientation(
        directed=frozenset(state.arrows()),
        undirected=frozenset(state.undirected()),
        conflicted=frozenset(state.conflicts),
        known=frozenset(known),
        overruled=frozenset(overruled),
    )


class _State:
    """A graph that is being oriented. A link is undirected until it is in `parents` or among the conflicts."""

    def __init__(self, adjacent: BoolArray, ambiguous: frozenset[Triple]) -> None:
        self.near = [set(np.flatnonzero(row).tolist()) for row in adjacent]
        self.parents: list[set[int]] = [set() for _ in self.near]
        self.open: list[set[int]] = [set(found) for found in self.near]  # the other ends of undirected links
        self.conflicts: set[Arrow] = set()
        self.ambiguous = set(ambiguous)
        self.colliders: frozenset[Triple] = frozenset()

    def apply(self, arrows: set[Arrow]) -> None:
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

    def arrows(self) -> list[Arrow]:
        """The directed links."""
        return [(i, j) for j, found in enumerate(self.parents) for i in sorted(found)]

    def undirected(self) -> list[Arrow]:
        """The undirected links, each once."""
        return [(i, j) for i, found in enumerate(self.open) for j in sorted(found) if i < j]

    def _passes(self, i: int, k: int, j: int) -> bool:
        """Whether i - k - j is known to be no collider: unshielded, not one, and not ambiguous."""
        triple = (min(i, j), k, max(i, j))
        return j not in self.near[i] and triple not in self.ambiguous and triple not in self.colliders

    def proposals(self) -> Iterator[Arrow]:
        """The arrows that one of Meek's four rules asks for."""
        for i, found in enumerate(self.open):
            for j in found:
                if self._asked_for(i, j):
                    yield i, j

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

    def open_circles(self, known: set[Arrow]) -> None:
        """Turns the arrows of directed circles into conflicts, except those that are known."""
        for i, j in in_circles(self.arrows(), len(self.near)) - known:
            self.parents[j].discard(i)
            self.conflicts.add((min(i, j), max(i, j)))


def in_circles(arrows: Sequence[Arrow], d: int) -> set[Arrow]:
    """The arrows among d columns that are part of a directed circle."""
    if not arrows:
        return set()
    rows, columns = np.array(arrows).T
    matrix = csr_array((np.ones(len(arrows)), (rows, columns)), shape=(d, d))
    part = connected_components(matrix, directed=True, connection="strong")[1]
    return {(i, j) for i, j in arrows if part[i] == part[j]}
