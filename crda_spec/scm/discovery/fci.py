"""FCI: discovery that allows for hidden common causes (Spirtes et al. 2000; Zhang 2008).

PC's search for links, then a second one: with hidden causes, what separates two columns may lie beyond their
neighbours, in `Possible-D-SEP`: the columns reached over paths on which every inner column is a collider or sits in a
triangle. Sets stay as small as `max_depth`, which keeps every answer sound: it only leaves more circles and links than
a search without that bound would (anytime FCI, Spirtes 2001).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice

import numpy as np

from crda_spec.records import Array, read_only
from crda_spec.scm.discovery._protocol import ConditionalTest, ask_all
from crda_spec.scm.discovery.colliders import Triple, Triples
from crda_spec.scm.discovery.constraints import BoolArray, Constraints
from crda_spec.scm.discovery.found import DiscoveredGraph, EdgeMark, FoundEdge, budget_note
from crda_spec.scm.discovery.knowledge import Knowledge
from crda_spec.scm.discovery.methods import (
    DEFAULT_SETTINGS,
    NOTHING_KNOWN,
    SearchSettings,
    checked_names,
    colliders_of,
    constraints_for,
)
from crda_spec.scm.discovery.pag import ARROW, CIRCLE, NONE, Marks, apply_rules, circles, mark_colliders, mark_known
from crda_spec.scm.discovery.pc import Skeleton, skeleton_of
from crda_spec.scm.discovery.skeleton import SeparatingSets

_QUESTIONS = 20_000  # put to a test at once
Question = tuple[int, int, tuple[int, ...]]


def fci(
    test: ConditionalTest,
    names: Sequence[str],
    *,
    settings: SearchSettings = DEFAULT_SETTINGS,
    knowledge: Knowledge = NOTHING_KNOWN,
) -> DiscoveredGraph:
    """The PAG of the columns that a test knows by position, in the order of their names.

    Knowledge: a forbidden edge a -> b, or a later tier, says that a does not cause b, so that a gets an arrowhead; two
    columns are kept apart only when both directions are forbidden, since a hidden cause may tie all others.
    """
    columns = checked_names(names)
    constraints = constraints_for(knowledge, columns)
    loose = constraints.with_hidden_causes()
    budget = settings.budget_for(test)
    skeleton = skeleton_of(
        test,
        len(columns),
        alpha=settings.alpha,
        max_depth=settings.max_depth,
        budget=budget,
        separator=settings.separator,
        constraints=loose,
    )
    skeleton, beyond = _search_beyond(test, skeleton, settings, budget, loose)
    triples = colliders_of(skeleton, test, settings, loose)
    marks = circles(skeleton.adjacent)
    known = mark_known(marks, constraints)
    refuted = mark_colliders(marks, triples.colliders)
    apply_rules(marks, replace(triples, ambiguous=triples.ambiguous | refuted), skeleton.separating)
    return DiscoveredGraph(
        method="fci",
        kind="pag",
        names=columns,
        edges=tuple(_edges(columns, marks, skeleton, known)),
        alpha=settings.alpha,
        tests=skeleton.tests + triples.tests,
        depth_reached=skeleton.depth_reached,
        budget_hit=skeleton.budget_hit or triples.fell_back,
        notes=tuple(_notes(columns, skeleton, triples, refuted, budget, beyond=beyond)),
        evidence=skeleton,
    )


def _search_beyond(
    test: ConditionalTest, skeleton: Skeleton, settings: SearchSettings, budget: int, constraints: Constraints
) -> tuple[Skeleton, bool]:
    """Cuts links with sets from beyond the neighbours; and whether that search was cut short by the budget."""
    if skeleton.budget_hit or skeleton.depth_reached < 0:
        return skeleton, False
    reach = _possible_d_sep(test, skeleton, settings, constraints)
    adjacent, p_values, sizes = skeleton.adjacent.copy(), skeleton.p_values.copy(), skeleton.statistics.copy()
    cut: dict[tuple[int, int], tuple[int, ...]] = {}
    tests, depth = skeleton.tests, skeleton.depth_reached
    for size in range(1, settings.max_depth + 1):
        questions = _questions(np.triu(adjacent & ~constraints.always_linked), skeleton, reach, size)
        best: dict[tuple[int, int], tuple[float, float, tuple[int, ...]]] = {}
        while batch := list(islice(questions, _QUESTIONS)):
            if tests + len(batch) > budget:
                return _after(skeleton, (adjacent, p_values, sizes), cut, tests, depth, stopped=True), True
            tests += len(batch)
            depth = max(depth, size)
            asked = np.array([(i, j, *held) for i, j, held in batch], dtype=np.int64)
            found, p = ask_all(test, asked[:, 0], asked[:, 1], asked[:, 2:])
            for (i, j, held), value, statistic in zip(batch, p.tolist(), found.tolist(), strict=True):
                if (i, j) not in best or value > best[i, j][0]:
                    best[i, j] = (value, statistic, held)
        for (i, j), (value, statistic, held) in best.items():
            if value > p_values[i, j]:
                p_values[i, j] = p_values[j, i] = value
                sizes[i, j] = sizes[j, i] = statistic
            if value > settings.alpha:
                adjacent[i, j] = adjacent[j, i] = False
                cut[i, j] = held
    return _after(skeleton, (adjacent, p_values, sizes), cut, tests, depth, stopped=False), False


def _possible_d_sep(
    test: ConditionalTest, skeleton: Skeleton, settings: SearchSettings, constraints: Constraints
) -> list[list[int]]:
    """For each column those that may matter for separating it: reached over colliders and triangles."""
    triples = colliders_of(skeleton, test, settings, constraints)
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


def _after(
    skeleton: Skeleton,
    matrices: tuple[BoolArray, Array, Array],
    cut: dict[tuple[int, int], tuple[int, ...]],
    tests: int,
    depth: int,
    *,
    stopped: bool,
) -> Skeleton:
    """The skeleton with the links, p-values and statistics as the second search leaves them."""
    adjacent, p_values, sizes = matrices
    empty, sets = skeleton.separating.parts()
    return Skeleton(
        adjacent=read_only(adjacent),
        separating=SeparatingSets(empty, {**sets, **cut}),
        p_values=read_only(p_values),
        statistics=read_only(sizes),
        depth_reached=depth,
        tests=tests,
        budget_hit=stopped,
    )


def _edges(
    names: tuple[str, ...], marks: Marks, skeleton: Skeleton, known: set[tuple[int, int]]
) -> Iterator[FoundEdge]:
    for i, j in zip(*(ends.tolist() for ends in np.nonzero(np.triu(marks != NONE))), strict=True):
        # The weaker mark goes to the left: a tail or a circle before an arrowhead, a circle before a tail.
        turned = (marks[j, i] == ARROW and marks[i, j] != ARROW) or (marks[i, j] == CIRCLE and marks[j, i] != CIRCLE)
        a, b = (j, i) if turned else (i, j)
        yield FoundEdge(
            first=names[a],
            second=names[b],
            mark=_MARKS[int(marks[b, a]), int(marks[a, b])],
            p_value=float(skeleton.p_values[i, j]),
            statistic=float(skeleton.statistics[i, j]),
            by_knowledge=(i, j) in known or (j, i) in known,
        )


_MARKS: dict[tuple[int, int], EdgeMark] = {
    (1, 1): "o-o",
    (1, 2): "o->",
    (1, 3): "o--",
    (2, 2): "<->",
    (3, 2): "->",
    (3, 3): "--",
}


def _notes(
    names: tuple[str, ...], skeleton: Skeleton, triples: Triples, refuted: set[Triple], budget: int, *, beyond: bool
) -> Iterator[str]:
    if beyond:
        yield (
            f"The search beyond direct neighbours stopped at its budget of {budget:,} tests: links that it would have "
            "cut are still there. Raise the budget, or lower max_depth."
        )
    elif skeleton.budget_hit:
        yield budget_note(skeleton.depth_reached, budget)
    if triples.fell_back:
        yield (
            "Comparing all separating sets would take more tests than were left, so arrowheads were decided by the set "
            "that cut each link."
        )
    for i, k, j in sorted(refuted):
        yield (
            f"The data suggest that {names[k]} is caused by both {names[i]} and {names[j]}; "
            "what you told the search rules that out, and was followed."
        )
