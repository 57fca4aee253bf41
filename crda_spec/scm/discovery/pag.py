"""Orienting a graph with hidden common causes: arrowheads, tails and circles, by Zhang's rules (Zhang 2008).

`marks[i, j]` is the mark at j of the link i - j. An arrowhead at j: j does not cause i. A tail at j: j causes i. A
circle: not decided. Selection bias is not allowed for, so rules R5 to R7 have no place. Every rule looks at the
graph as the round before left it; a circle that one round wants to be both arrowhead and tail stays a circle for good,
so that no order of the columns matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from crda_spec.scm.discovery.colliders import Triple, Triples
from crda_spec.scm.discovery.constraints import BoolArray, Constraints
from crda_spec.scm.discovery.skeleton import SeparatingSets

NONE, CIRCLE, ARROW, TAIL = 0, 1, 2, 3
Marks = npt.NDArray[np.int8]
Proposal = tuple[int, int, int]  # marks[i, j] becomes the third


def circles(adjacent: BoolArray) -> Marks:
    """A graph in which nothing is decided."""
    return adjacent.astype(np.int8) * np.int8(CIRCLE)


def mark_known(marks: Marks, constraints: Constraints) -> set[tuple[int, int]]:
    """Sets what knowledge decides, and says at which ends.

    What may not cause another gets an arrowhead; a required cause gets a tail; noise has a tail at its own end.
    """
    known: set[tuple[int, int]] = set()
    for i, j in zip(*(ends.tolist() for ends in np.nonzero(marks)), strict=True):
        causes = constraints.required[j, i] or (constraints.exogenous[j] and constraints.may_cause[j, i])
        if causes or not constraints.may_cause[j, i]:
            marks[i, j] = TAIL if causes else ARROW
            known.add((i, j))
    return known


def mark_colliders(marks: Marks, colliders: frozenset[Triple]) -> set[Triple]:
    """Arrowheads at common effects; the colliders that a known tail rules out are returned, and left alone."""
    refuted = {(i, k, j) for i, k, j in colliders if TAIL in (marks[i, k], marks[j, k])}
    for i, k, j in colliders - refuted:
        marks[i, k] = marks[j, k] = ARROW
    return refuted


def apply_rules(marks: Marks, triples: Triples, separating: SeparatingSets) -> None:
    """R1 to R4 and R8 to R10, round by round, until none has anything to say."""
    rules = _Rules(marks, triples, separating)
    disputed: set[tuple[int, int]] = set()
    arrowheads: tuple[Callable[[], Iterator[Proposal]], ...] = (rules.r1, rules.r2, rules.r3, rules.r4)
    tails: tuple[Callable[[], Iterator[Proposal]], ...] = (rules.r8, rules.r9, rules.r10)
    while True:
        proposed = {p for rule in arrowheads for p in rule() if p[:2] not in disputed}
        if not proposed:
            proposed = {p for rule in tails for p in rule() if p[:2] not in disputed}
        if not proposed:
            return
        for i, j, mark in proposed:
            if (i, j, ARROW + TAIL - mark) in proposed:
                disputed.add((i, j))
            else:
                marks[i, j] = mark


class _Rules:
    """Each rule yields the marks it asks for, circles only. Letters are those of Zhang's paper, alpha to delta."""

    def __init__(self, marks: Marks, triples: Triples, separating: SeparatingSets) -> None:
        self.marks = marks
        self.triples = triples
        self.separating = separating
        self.near = [np.flatnonzero(row).tolist() for row in marks]

    def _apart(self, i: int, j: int) -> bool:
        return i != j and self.marks[i, j] == NONE

    def _chain(self, i: int, k: int, j: int) -> bool:
        """Whether i - k - j is unshielded and known to be no collider."""
        triple = (min(i, j), k, max(i, j))
        known = triple not in self.triples.ambiguous and triple not in self.triples.colliders
        return known and self._apart(i, j)

    def _causes(self, i: int, j: int) -> bool:
        """I -> j."""
        return bool(self.marks[i, j] == ARROW and self.marks[j, i] == TAIL)

    def _ask(self, i: int, j: int, mark: int) -> Iterator[Proposal]:
        if self.marks[i, j] == CIRCLE:
            yield i, j, mark

    def r1(self) -> Iterator[Proposal]:
        """If a *-> b o-* c, with a and c apart, then b -> c."""
        for b, near in enumerate(self.near):
            for a, c in permutations(near, 2):
                if self.marks[a, b] == ARROW and self.marks[c, b] == CIRCLE and self._chain(a, b, c):
                    yield c, b, TAIL
                    yield from self._ask(b, c, ARROW)

    def r2(self) -> Iterator[Proposal]:
        """If a -> b *-> c or a *-> b -> c, and a *-o c, then a *-> c."""
        m = self.marks
        for b, near in enumerate(self.near):
            for a, c in permutations(near, 2):
                if m[a, c] == CIRCLE and m[a, b] == m[b, c] == ARROW and TAIL in (m[b, a], m[c, b]):
                    yield a, c, ARROW

    def r3(self) -> Iterator[Proposal]:
        """If a *-> b <-* c, a *-o d o-* c, a and c apart, and d *-o b, then d *-> b."""
        m = self.marks
        for d, near in enumerate(self.near):
            into = [a for a in near if m[a, d] == CIRCLE]
            for a, c in combinations(into, 2):
                if self._chain(a, d, c):
                    for b in near:
                        if m[d, b] == CIRCLE and m[a, b] == m[c, b] == ARROW:
                            yield d, b, ARROW

    def r4(self) -> Iterator[Proposal]:
        """At the end of a discriminating path d .. a, b, c: is b part of what separates d and c?"""
        m = self.marks
        for c, near in enumerate(self.near):
            for b in near:
                if m[c, b] != CIRCLE:
                    continue
                for a, d in self._discriminating(b, c):
                    held = self.separating.of(d, c)
                    if held is None:
                        continue
                    if b in held:
                        yield c, b, TAIL
                        yield from self._ask(b, c, ARROW)
                    else:
                        yield c, b, ARROW
                        for i, j in ((b, c), (a, b), (b, a)):
                            yield from self._ask(i, j, ARROW)

    def _discriminating(self, b: int, c: int) -> Iterator[tuple[int, int]]:
        """The second last column a and the start d of each path: between d and b all are colliders and cause c."""
        m = self.marks
        for a in self.near[b]:
            if m[b, a] != ARROW or not self._causes(a, c):
                continue
            reached, seen = [a], {a, b, c}
            for v in reached:  # grows while it is read
                for d in self.near[v]:
                    if d in seen or m[d, v] != ARROW:
                        continue
                    seen.add(d)
                    if self._apart(d, c):
                        yield a, d
                    elif m[v, d] == ARROW and self._causes(d, c):
                        reached.append(d)

    def r8(self) -> Iterator[Proposal]:
        """If a -> b -> c and a o-> c, then a -> c."""
        for a, c in self._half_open():
            if any(self._causes(a, b) and self._causes(b, c) for b in self.near[a]):
                yield c, a, TAIL

    def r9(self) -> Iterator[Proposal]:
        """If a o-> c, and an uncovered path that may run from a to c leaves over b, with b and c apart, then a -> c."""
        for a, c in self._half_open():
            if any(self._apart(b, c) and self._may_run((a, b), c) for b in self.near[a]):
                yield c, a, TAIL

    def r10(self) -> Iterator[Proposal]:
        """If a o-> c, b -> c <- d, and such paths run from a to b and to d over columns that are apart: a -> c."""
        for a, c in self._half_open():
            parents = [b for b in self.near[c] if b != a and self._causes(b, c)]
            if len(parents) < 2:
                continue
            first = [n for n in self.near[a] if n != c]
            reach = {n: {b for b in parents if self._may_run((a, n), b, avoid=c)} for n in first}
            for n, o in combinations(first, 2):
                if self._apart(n, o) and any(b != d for b in reach[n] for d in reach[o]):
                    yield c, a, TAIL

    def _half_open(self) -> Iterator[tuple[int, int]]:
        """All a o-> c."""
        m = self.marks
        return ((a, c) for a, near in enumerate(self.near) for c in near if m[a, c] == ARROW and m[c, a] == CIRCLE)

    def _step(self, i: int, j: int) -> bool:
        """Whether the link may point from i to j."""
        return bool(self.marks[j, i] in (CIRCLE, TAIL) and self.marks[i, j] in (CIRCLE, ARROW))

    def _may_run(self, start: tuple[int, int], end: int, avoid: int = -1) -> bool:
        """Whether a path that begins like this may point all the way to the end, no three in a row shielded."""
        if not self._step(*start):
            return False
        stack: list[tuple[int, ...]] = [start]
        while stack:
            path = stack.pop()
            if path[-1] == end:
                return True
            stack += [
                (*path, v)
                for v in self.near[path[-1]]
                if v not in path and v != avoid and self._apart(path[-2], v) and self._step(path[-1], v)
            ]
        return False
