"""Which columns are common effects: the unshielded triples i - k - j, with i and j not linked, told apart.

k is a collider, i -> k <- j, when what separates i and j does without k. Three rules (Ramsey, Zhang and Spirtes 2006;
Colombo and Maathuis 2014):

- `plain`: the set that cut the link decides;
- `conservative`: all separating sets among the neighbours of i, or of j, must agree; else the triple is ambiguous;
- `majority`: most of them decide; a draw is ambiguous.

An ambiguous triple orients nothing and lets no later rule conclude anything from it. Where no test has cut a link,
because the expert ruled it out, no set is at hand: then the plain rule asks the majority too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from crda_spec.records import IntArray
from crda_spec.scm.discovery._protocol import ConditionalTest, ask_all
from crda_spec.scm.discovery.constraints import Constraints
from crda_spec.scm.discovery.pc import Skeleton

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


def classify_triples(
    skeleton: Skeleton,
    test: ConditionalTest,
    *,
    rule: ColliderRule,
    alpha: float,
    max_depth: int,
    budget: int,
    constraints: Constraints,
) -> Triples:
    """Tells the colliders among the skeleton's unshielded triples; see the module for the rules."""
    middles = _unshielded(skeleton)
    plain = _by_the_set_that_cut(skeleton, middles)
    asked = {
        pair: between for pair, between in middles.items() if rule != "plain" or skeleton.separating.of(*pair) is None
    }
    questions = _questions(skeleton, asked, max_depth, constraints, budget)
    if questions is None:
        return Triples(plain.colliders, plain.ambiguous, fell_back=True)
    separating = _all_separating(test, questions, alpha)
    colliders = {triple for triple in plain.colliders if (triple[0], triple[2]) not in asked}
    ambiguous: set[Triple] = set()
    for (i, j), between in asked.items():
        cut = skeleton.separating.of(i, j)
        sets = separating[i, j] | ({cut} if cut is not None else set())
        for k in between:
            share = sum(k in held for held in sets) / len(sets) if sets else 0.5
            if share == 0.0 or (rule != "conservative" and share < 0.5):
                colliders.add((i, k, j))
            elif share < 1.0 and (rule == "conservative" or share == 0.5):
                ambiguous.add((i, k, j))
    return Triples(frozenset(colliders), frozenset(ambiguous), tests=sum(len(sets) for sets in questions.values()))


def _unshielded(skeleton: Skeleton) -> dict[Pair, tuple[int, ...]]:
    """Unlinked pairs and the columns linked to both."""
    middles: dict[Pair, list[int]] = defaultdict(list)
    for k, row in enumerate(skeleton.adjacent):
        for i, j in combinations(np.flatnonzero(row).tolist(), 2):
            if not skeleton.adjacent[i, j]:
                middles[i, j].append(k)
    return {pair: tuple(between) for pair, between in sorted(middles.items())}


def _by_the_set_that_cut(skeleton: Skeleton, middles: Mapping[Pair, tuple[int, ...]]) -> Triples:
    colliders: set[Triple] = set()
    ambiguous: set[Triple] = set()
    for (i, j), between in middles.items():
        held = skeleton.separating.of(i, j)
        if held is None:
            ambiguous.update((i, k, j) for k in between)
        else:
            colliders.update((i, k, j) for k in between if k not in held)
    return Triples(frozenset(colliders), frozenset(ambiguous))


def _questions(
    skeleton: Skeleton,
    middles: Mapping[Pair, tuple[int, ...]],
    max_depth: int,
    constraints: Constraints,
    budget: int,
) -> dict[Pair, set[tuple[int, ...]]] | None:
    """For each pair every set that one of its ends allows; None when the budget has no room for all."""
    made_of = skeleton.adjacent & constraints.may_cause.T
    near = [np.flatnonzero(row).tolist() for row in made_of]
    questions: dict[Pair, set[tuple[int, ...]]] = {}
    total = 0
    for i, j in middles:
        questions[i, j] = {
            held for end in (i, j) for size in range(max_depth + 1) for held in combinations(near[end], size)
        }
        total += len(questions[i, j])
        if total > budget:
            return None
    return questions


def _all_separating(
    test: ConditionalTest, questions: Mapping[Pair, set[tuple[int, ...]]], alpha: float
) -> dict[Pair, set[tuple[int, ...]]]:
    """The sets with a p-value above alpha."""
    by_size: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for (i, j), sets in questions.items():
        for held in sorted(sets):
            by_size[len(held)].append((i, j, *held))
    found: dict[Pair, set[tuple[int, ...]]] = {pair: set() for pair in questions}
    for asked in by_size.values():
        rows: IntArray = np.array(asked, dtype=np.int64)
        p = ask_all(test, rows[:, 0], rows[:, 1], rows[:, 2:])[1]
        for i, j, *held in rows[p > alpha].tolist():
            found[i, j].add(tuple(held))
    return found
