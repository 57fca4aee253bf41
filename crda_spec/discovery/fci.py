"""FCI: discovery that allows for hidden common causes (Spirtes et al. 2000; Zhang 2008).

PC's search for links, then a second one: with hidden causes, what separates two columns may lie beyond their
neighbours, in `Possible-D-SEP`: the columns reached over paths on which every inner column is a collider or sits in a
triangle. Sets stay as small as `max_depth`, which keeps every answer sound: it only leaves more circles and links than
a search without that bound would (anytime FCI, Spirtes 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, islice, permutations
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from crda_spec.discovery._protocol import DiscoveredGraph, HiddenCauses, ResidualNeighbours
from crda_spec.discovery.knowledge import BoolArray, Constraints
from crda_spec.discovery.pc import ConditionalSearch, Oriented, Triples
from crda_spec.discovery.skeleton import QUESTIONS, Question, SeparatingSets, Skeleton, answers
from crda_spec.errors import Complaint, GraphError
from crda_spec.independence.conditional import ConditionalTest
from crda_spec.records import Array, EdgeMark, Note, SearchTie, Table, read_only
from crda_spec.scm.graph import unknown_node
from crda_spec.seeds import integer_seed

NONE, CIRCLE, ARROW, TAIL = 0, 1, 2, 3
Marks = npt.NDArray[np.int8]
Proposal = tuple[int, int, int]  # marks[i, j] becomes the third


def mark_known(marks: Marks, constraints: Constraints) -> set[tuple[int, int]]:
    """Sets what knowledge decides, and says at which ends: what cannot cause an arrowhead, what must cause a tail."""
    known: set[tuple[int, int]] = set()
    for i, j in zip(*(ends.tolist() for ends in np.nonzero(marks)), strict=True):
        causes = constraints.required[j, i] or (constraints.exogenous[j] and constraints.may_cause[j, i])
        if causes or not constraints.may_cause[j, i]:
            marks[i, j] = TAIL if causes else ARROW
            known.add((i, j))
    return known


def apply_rules(marks: Marks, triples: Triples, separating: SeparatingSets) -> None:
    """R1 to R4 and R8 to R10, round by round, until none has anything to say."""
    rules = _Rules(marks, triples, separating)
    disputed: set[tuple[int, int]] = set()

    def said(*asked: Callable[[], Iterator[Proposal]]) -> set[Proposal]:
        return {p for rule in asked for p in rule() if p[:2] not in disputed}

    # Tails only once there is no arrowhead left to set.
    while proposed := said(rules.r1, rules.r2, rules.r3, rules.r4) or said(rules.r8, rules.r9, rules.r10):
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


def possibly_confounded_with(graph: DiscoveredGraph, target: str) -> tuple[str, ...]:
    """The columns that, for all the PAG says, a hidden common cause may tie to the target, in their order.

    These are the columns with a link to it, except where the link is a *visible* edge (Zhang 2008): x -> y, and some
    other column, not linked to y, has an arrow into x, directly or over a path of colliders that all cause y. Were x
    and y confounded, that column would have a link to y. A column without a link to the target shares no hidden cause
    with it directly.
    """
    if graph.kind != "pag":
        what = f"a graph found by {graph.method} assumes that there are no hidden causes"
        raise GraphError(Complaint(code="not-a-pag", what=what, hint="search with fci"))
    if target not in graph.names:
        raise GraphError(unknown_node(target, graph.names))
    # (a, b) -> the mark at b of their link: `>`, `-` or `o`.
    ends = {(edge.first, edge.second): edge.mark[-1] for edge in graph.edges}
    ends |= {(edge.second, edge.first): edge.mark[0].replace("<", ">") for edge in graph.edges}
    return tuple(
        name
        for name in graph.neighbours(target)
        if not _visible(graph, ends, name, target) and not _visible(graph, ends, target, name)
    )


def _visible(graph: DiscoveredGraph, ends: dict[tuple[str, str], str], x: str, y: str) -> bool:
    """Whether x -> y cannot be confounded."""
    if ends[x, y] != ">" or ends[y, x] != "-":
        return False
    near = {name: graph.neighbours(name) for name in graph.names}
    reached, seen = [x], {x, y}
    for at in reached:  # grows while it is read
        for before in near[at]:
            if before in seen or ends[before, at] != ">":
                continue
            if (before, y) not in ends:
                return True
            # To go on, the path must collide here, and the collider must cause y.
            if ends[at, before] == ">" and ends[before, y] == ">" and ends[y, before] == "-":
                seen.add(before)
                reached.append(before)
    return False


class Fci(ConditionalSearch):
    """FCI: hidden common causes are allowed.

    Knowledge: a forbidden edge a -> b, or a later tier, says that a does not cause b, so that a gets an arrowhead; two
    columns are kept apart only when both directions are forbidden, since a hidden cause may tie all others.
    """

    hidden_causes: ClassVar[HiddenCauses] = "hidden_causes_leave_traces"
    graph_kind = "pag"

    kind: Literal["fci"] = Field(
        "fci", description="FCI; a feature that may share a hidden cause with the target stays fixed as well."
    )

    def residual_neighbours(
        self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]
    ) -> ResidualNeighbours:
        """What the method links to the residual, and what may share a hidden cause with the target."""
        neighbours = super().residual_neighbours(train, residuals, seed=seed, index=index)
        if neighbours.untested:
            return neighbours
        pag = self.graph(
            np.column_stack([train.x, train.y]),
            (*train.features, train.target),
            seed=integer_seed(seed, "search-target", *index),
        )
        target = train.target.name
        tie = SearchTie(kind="hidden_cause", method="fci", target=target)
        hidden = dict.fromkeys(possibly_confounded_with(pag, target), tie)
        return ResidualNeighbours(tied=hidden | dict(neighbours.tied), notes=(*neighbours.notes, *pag.notes))

    def _limits(self, constraints: Constraints) -> Constraints:
        return constraints.with_hidden_causes()

    def _orient(
        self, names: tuple[str, ...], skeleton: Skeleton, test: ConditionalTest, constraints: Constraints
    ) -> Oriented:
        limits = self._limits(constraints)
        skeleton, stopped = self._beyond(test, skeleton, limits)
        triples = self.triples(skeleton, test, limits)
        marks = skeleton.adjacent.astype(np.int8) * np.int8(CIRCLE)
        known = mark_known(marks, constraints)
        # Arrowheads at common effects, but for those that a known tail rules out.
        refuted = {(i, k, j) for i, k, j in triples.colliders if TAIL in (marks[i, k], marks[j, k])}
        for i, k, j in triples.colliders - refuted:
            marks[i, k] = marks[j, k] = ARROW
        apply_rules(marks, replace(triples, ambiguous=triples.ambiguous | refuted), skeleton.separating)
        notes: list[Note] = []
        if stopped:
            notes.append(Note(code="budget_beyond", amount=self.budget_for(test)))
        elif skeleton.budget_hit:
            notes.append(Note(code="budget", amount=self.budget_for(test), depth=skeleton.depth_reached + 1))
        if triples.fell_back:
            notes.append(Note(code="arrowheads_by_cutting_set"))
        notes += [Note(code="overruled", names=(names[k], names[i], names[j])) for i, k, j in sorted(refuted)]
        return skeleton, triples, _links(marks, known), notes

    def _beyond(self, test: ConditionalTest, skeleton: Skeleton, constraints: Constraints) -> tuple[Skeleton, bool]:
        """Cuts links with sets from beyond the neighbours; and whether that search was cut short by the budget."""
        if skeleton.budget_hit or skeleton.depth_reached < 0:
            return skeleton, False
        reach = _possible_d_sep(skeleton, self.triples(skeleton, test, constraints))
        adjacent, p_values, sizes = skeleton.adjacent.copy(), skeleton.p_values.copy(), skeleton.statistics.copy()
        cut: dict[tuple[int, int], tuple[int, ...]] = {}
        tests, depth = skeleton.tests, skeleton.depth_reached
        stopped = False
        for size in range(1, self.max_depth + 1):
            questions = _questions(np.triu(adjacent & ~constraints.always_linked), skeleton, reach, size)
            best: dict[tuple[int, int], tuple[float, float, tuple[int, ...]]] = {}
            while batch := list(islice(questions, QUESTIONS)):
                stopped = tests + len(batch) > self.budget_for(test)
                if stopped:
                    break
                tests += len(batch)
                depth = max(depth, size)
                for (i, j, held), p, statistic in answers(test, batch):
                    if (i, j) not in best or p > best[i, j][0]:
                        best[i, j] = (p, statistic, held)
            if stopped:
                break  # what a part of the sets says would depend on their order
            for (i, j), (p, statistic, held) in best.items():
                if p > p_values[i, j]:
                    p_values[i, j] = p_values[j, i] = p
                    sizes[i, j] = sizes[j, i] = statistic
                if p > self.alpha:
                    adjacent[i, j] = adjacent[j, i] = False
                    cut[i, j] = held
        graph_found = replace(
            skeleton,
            adjacent=read_only(adjacent),
            separating=skeleton.separating.with_sets(cut),
            p_values=read_only(p_values),
            statistics=read_only(sizes),
            depth_reached=depth,
            tests=tests,
            budget_hit=stopped,
        )
        return graph_found, stopped


def _possible_d_sep(skeleton: Skeleton, triples: Triples) -> list[list[int]]:
    """For each column those that may matter for separating it: reached over colliders and triangles."""
    # An ambiguous triple may be a collider: leaving it out could miss the set that separates.
    inner = triples.colliders | triples.ambiguous
    near = [np.flatnonzero(row).tolist() for row in skeleton.adjacent]
    reach = []
    for start, first in enumerate(near):
        steps = [(start, k) for k in first]
        seen = set(steps)
        for before, at in steps:  # grows while it is read
            for after in near[at]:
                passes = skeleton.adjacent[before, after] or (min(before, after), at, max(before, after)) in inner
                if after not in (before, start) and passes and (at, after) not in seen:
                    seen.add((at, after))
                    steps.append((at, after))
        reach.append(sorted({at for _, at in steps}))
    return reach


def _questions(links: BoolArray, skeleton: Skeleton, reach: list[list[int]], size: int) -> Iterator[Question]:
    """Every linked pair with every set that reaches beyond the neighbours; the others have been tried."""
    for i, j in zip(*(ends.tolist() for ends in np.nonzero(links)), strict=True):
        sets = set()
        for end in (i, j):
            near = set(np.flatnonzero(skeleton.adjacent[end]).tolist())
            candidates = [k for k in reach[end] if k not in (i, j)]
            sets |= {held for held in combinations(candidates, size) if not near.issuperset(held)}
        yield from ((i, j, held) for held in sorted(sets))


def _links(marks: Marks, known: set[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], EdgeMark, bool]]:
    for i, j in zip(*(ends.tolist() for ends in np.nonzero(np.triu(marks != NONE))), strict=True):
        # The weaker mark goes to the left: a tail or a circle before an arrowhead, a circle before a tail.
        turned = (marks[j, i] == ARROW and marks[i, j] != ARROW) or (marks[i, j] == CIRCLE and marks[j, i] != CIRCLE)
        a, b = (j, i) if turned else (i, j)
        yield (a, b), _MARKS[int(marks[b, a]), int(marks[a, b])], (i, j) in known or (j, i) in known


_MARKS: dict[tuple[int, int], EdgeMark] = {
    (1, 1): "o-o",
    (1, 2): "o->",
    (1, 3): "o--",
    (2, 2): "<->",
    (3, 2): "->",
    (3, 3): "--",
}
