"""How graphs with permuted nodes fare in the same test: the yardstick for a graph that passes it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations as all_orders

import numpy as np

from crda_spec.scm.falsify_statements import Answers
from crda_spec.scm.implied import Implications, Statement
from crda_spec.scm.independence.multiplicity import adjust
from crda_spec.scm.separation import shortest_walk

SHUFFLED_STATEMENTS = 60  # of each permuted graph, drawn at random when it has more
SHUFFLED_BUDGET = 20_000  # tests of all permuted graphs together
REFUTED_BUDGET = 300  # the same for a graph that is refuted, whose outcome they cannot change
_SECOND_BUDGET = 40  # second opinions on statements of permuted graphs
_CHUNK = 8  # tests of a permuted graph between two looks at whether it is decided


@dataclass(frozen=True, slots=True)
class Baseline:
    """How graphs with permuted nodes fare."""

    count: int
    as_good: float | None = None
    equivalent: float | None = None
    others_as_good: float | None = None  # as_good among those that are not equivalent; None when all are


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What counts as a violation here.

    The first test alone, as long as the graph itself needs no second opinion: it is the same for all. Where a second
    opinion has freed a statement of the graph, the permuted graphs have a right to it too, within a budget.
    """

    answers: Answers
    alpha: float
    ask_again: bool

    def violations(self, statements: Sequence[Statement], p_values: Sequence[float]) -> int:
        """How many fail after Holm's correction."""
        adjusted = adjust(np.array(p_values, dtype=np.float64), "holm")
        return sum(self._fails(each, p) for each, p in zip(statements, adjusted, strict=True))

    def sure_violations(self, statements: Sequence[Statement], p_values: Sequence[float], of: int) -> int:
        """How many of these fail whatever the rest of `of` statements are: those of p-value at most alpha / of."""
        return sum(self._fails(each, p * of) for each, p in zip(statements, p_values, strict=False))

    def _fails(self, statement: Statement, adjusted: float) -> bool:
        if adjusted > self.alpha:
            return False
        if not self.ask_again or self.answers.second_opinions >= _SECOND_BUDGET:
            return True
        return self.answers.second(statement) <= self.alpha


def shuffled(
    claims: Implications,
    statements: tuple[Statement, ...],
    yardstick: Yardstick,
    *,
    permutations: int,
    budget: int,
    rng: np.random.Generator,
) -> Baseline:
    """Each permuted graph against the graph itself, on the same drawn statements.

    What a permuted graph implies is what the graph implies, under the permuted names. The draws of one permutation do
    not depend on what was found in another. When the budget of tests is spent, the permutations so far must do.
    """
    if not permutations or not statements:
        return Baseline(0)
    as_good = equal = count = 0
    limit = len(yardstick.answers) + budget
    for order in _orders(claims.measured, permutations, rng):
        names = dict(zip(claims.measured, order, strict=True))
        drawn = _drawn(statements, rng)
        count += 1
        if _equivalent(claims, statements, names):
            equal += 1
            as_good += 1
        elif _no_worse([each.renamed(names) for each in drawn], drawn, yardstick):
            as_good += 1
        if len(yardstick.answers) >= limit:
            break
    others = (as_good - equal) / (count - equal) if count > equal else None
    return Baseline(count, as_good / count, equal / count, others)


def _orders(names: tuple[str, ...], most: int, rng: np.random.Generator) -> Iterator[tuple[str, ...]]:
    """All orders of the names but their own when there are at most so many, else that many seeded draws."""
    if len(names) < 9 and math.factorial(len(names)) - 1 <= most:
        yield from (order for order in all_orders(names) if order != names)
        return
    for _ in range(most):
        yield tuple(names[position] for position in rng.permutation(len(names)))


def _drawn(statements: tuple[Statement, ...], rng: np.random.Generator) -> list[Statement]:
    """At most SHUFFLED_STATEMENTS of them, in random order, so that a look at the first ones is a fair look."""
    order = rng.permutation(len(statements))[:SHUFFLED_STATEMENTS]
    return [statements[position] for position in order]


def _equivalent(claims: Implications, statements: Sequence[Statement], names: dict[str, str]) -> bool:
    """Whether graph and permuted graph imply the same: each satisfies the other's statements.

    A query of the permuted graph is a query of the graph under the original names.
    """
    pairs = set(claims.pairs)
    renamed = [each.renamed(names) for each in statements]
    if any((each.first, each.second) not in pairs for each in renamed):
        return False
    back = {new: old for old, new in names.items()}
    return all(_holds(claims, each) for each in renamed) and all(
        _holds(claims, each.renamed(back)) for each in statements
    )


def _holds(claims: Implications, statement: Statement) -> bool:
    dag = claims.graph.dag
    first, second, *given = (dag.index[name] for name in (statement.first, statement.second, *statement.given))
    return shortest_walk(dag, [first], [second], given) is None


def _no_worse(shuffled: Sequence[Statement], own: Sequence[Statement], yardstick: Yardstick) -> bool:
    """Whether the permuted graph violates no more of its statements than the graph of its own (Holm in each).

    A p-value of at most alpha / m is a violation whatever the others are, so testing stops once there are enough.
    """
    answers = yardstick.answers
    allowed = yardstick.violations(own, answers.p_values(own))
    m = len(shuffled)
    found: list[float] = []
    while len(found) < m:
        found += answers.p_values(shuffled[len(found) : len(found) + _CHUNK])
        if yardstick.sure_violations(shuffled, found, m) > allowed:
            return False
    return yardstick.violations(shuffled, found) <= allowed


__all__ = ["REFUTED_BUDGET", "SHUFFLED_BUDGET", "SHUFFLED_STATEMENTS", "Baseline", "Yardstick", "shuffled"]
