"""Do the training rows refute the expert's graph?

Every independence that the graph implies (`implied`) is tested on the rows by the generalised covariance measure, and
Holm's correction keeps the chance of refuting a right graph at alpha, however many statements there are. What that test
calls violated counts only when a second opinion, which thresholds, waves and interactions disturb little, agrees
(`judged`).

- **falsified**: at least one statement is violated after the correction. The edges that would excuse the violated
  statements are suggested, and the graph with them is tested again.
- **not informative**: nothing is violated, but nothing could be; or of the graphs with permuted nodes that imply
  something else, more than alpha would have passed the same test, so passing it is no merit of this graph.
- **not falsified**: nothing is violated, and shuffled graphs do worse. This never proves a graph.

The comparison with permuted nodes is that of Eulig, Mastakouri, Blöbaum, Hardt and Janzing (2023), "Toward falsifying
causal graphs using a permutation-based test". Where we differ, and why: docs/design/falsification.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from itertools import permutations as all_orders

import numpy as np
from pydantic import Field

from crda_spec.independence import adjust
from crda_spec.independence.gcm import Gcm, GcmResult, Query
from crda_spec.independence.second_opinion import second_opinion
from crda_spec.records import Array, Falsification, FalsificationOutcome, OnFalsified, Table, TestedStatement
from crda_spec.scm import implied
from crda_spec.scm.graph import CausalGraph, Edge
from crda_spec.scm.implied import BUDGET, MOST_SUGGESTED, Implications, Statement, implications, is_implied
from crda_spec.strict import Fraction, Strict

_MOST_BATCHES = 4  # of second opinions, when all before were in the statements' favour


@dataclass(slots=True)
class Answers:
    """The tests' answers, each asked for once: permuted and corrected graphs often repeat a statement."""

    gcm: Gcm
    first: dict[Statement, GcmResult] = field(default_factory=dict)
    second: dict[Statement, float] = field(default_factory=dict)

    def to(self, statements: Sequence[Statement]) -> list[GcmResult]:
        """The answers, in the order of the statements."""
        new = list(dict.fromkeys(each for each in statements if each not in self.first))
        self.first.update(zip(new, self.gcm.tests([self._query(each) for each in new]), strict=True))
        return [self.first[each] for each in statements]

    def p_values(self, statements: Sequence[Statement]) -> list[float]:
        """Only the p-values."""
        return [result.p_value for result in self.to(statements)]

    def second_opinion(self, statement: Statement) -> float:
        """The p-value of the second opinion."""
        if statement not in self.second:
            self.second[statement] = second_opinion(self.gcm, self._query(statement))
        return self.second[statement]

    def _query(self, statement: Statement) -> Query:
        i, j, *given = map(self.gcm.names.index, (statement.first, statement.second, *statement.given))
        return i, j, tuple(given)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rows say of each statement."""

    tested: tuple[TestedStatement, ...]  # the violated first, the worst of them first
    violated: tuple[Statement, ...]  # the worst first
    suspects: int  # statements that the first test calls violated
    asked: int  # those of them for which a second opinion was asked, the worst


def judged(statements: Sequence[Statement], answers: Answers, *, alpha: float, most_asked: int) -> Judgement:
    """Each statement with its evidence.

    A statement is violated when the first test says so after Holm's correction over all statements, and the second
    opinion after Holm's over those for which it was asked. Whichever of the two is to be trusted keeps the chance of
    a false alarm at alpha, so no correction for all statements is needed twice. The larger p-values are reported.
    """
    results = answers.to(statements)
    p = np.array([result.p_value for result in results], dtype=np.float64)
    adjusted = adjust(p, "holm")
    suspects = sorted(
        np.flatnonzero(adjusted <= alpha).tolist(), key=lambda k: (p[k], -results[k].statistic, statements[k])
    )
    second_p, second_adjusted = _second_opinions([statements[k] for k in suspects], answers, alpha, most_asked)
    asked = suspects[: len(second_p)]
    p[asked] = np.maximum(p[asked], second_p)
    adjusted[asked] = np.maximum(adjusted[asked], second_adjusted)
    confirmed = {k for k in asked if adjusted[k] <= alpha}
    tested = [
        TestedStatement(
            first=statement.first,
            second=statement.second,
            given=statement.given,
            statistic=result.statistic,
            p_value=float(p[k]),
            adjusted=float(adjusted[k]),
            violated=k in confirmed,
        )
        for k, (statement, result) in enumerate(zip(statements, results, strict=True))
    ]
    tested.sort(key=lambda each: (not each.violated, each.p_value, -each.statistic, each.first, each.second))
    violated = tuple(Statement(each.first, each.second, each.given) for each in tested if each.violated)
    return Judgement(tuple(tested), violated, len(suspects), len(asked))


def _second_opinions(suspects: Sequence[Statement], answers: Answers, alpha: float, batch: int) -> tuple[Array, Array]:
    """The p-values of the worst suspects, plain and adjusted: a batch, and further ones while none is confirmed."""
    # Holm's correction is for all that might have been asked, so that stopping early costs nothing of its promise.
    p = np.ones(min(len(suspects), _MOST_BATCHES * batch))
    adjusted, done = p, 0
    while done < len(p) and not (adjusted <= alpha).any():
        asked = suspects[done : min(done + batch, len(p))]
        p[done : done + batch] = [answers.second_opinion(each) for each in asked]
        adjusted, done = adjust(p, "holm"), done + len(asked)
    return p[:done], adjusted[:done]


SHUFFLED_STATEMENTS = 60  # of each permuted graph, drawn at random when it has more
SHUFFLED_BUDGET = 20_000  # tests of all permuted graphs together
REFUTED_BUDGET = 300  # the same for a graph that is refuted, whose outcome they cannot change
_SECOND_BUDGET = 40  # second opinions on statements of permuted graphs
_CHUNK = 8  # tests of a permuted graph between two looks at whether it is decided


# How graphs with permuted nodes fare: how many there were, the share of them that is as good as the graph, the share
# that is equivalent to it, and as_good among the others; None when all are equivalent.
Baseline = tuple[int, float | None, float | None, float | None]


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
        return sum(self.fails(each, p) for each, p in zip(statements, adjusted, strict=True))

    def fails(self, statement: Statement, adjusted: float) -> bool:
        """Whether a statement with this p-value does."""
        if adjusted > self.alpha:
            return False
        if not self.ask_again or len(self.answers.second) >= _SECOND_BUDGET:
            return True
        return self.answers.second_opinion(statement) <= self.alpha

    def no_worse(self, shuffled: Sequence[Statement], original: Sequence[Statement]) -> bool:
        """Whether a permuted graph violates no more of its statements than the graph of its own (Holm in each)."""
        allowed = self.violations(original, self.answers.p_values(original))
        m = len(shuffled)
        p_values: list[float] = []
        while len(p_values) < m:
            p_values += self.answers.p_values(shuffled[len(p_values) : len(p_values) + _CHUNK])
            # A p-value of at most alpha / m is a violation whatever the others are.
            if sum(self.fails(each, p * m) for each, p in zip(shuffled, p_values, strict=False)) > allowed:
                return False
        return self.violations(shuffled, p_values) <= allowed


def _orders(names: tuple[str, ...], most: int, rng: np.random.Generator) -> Iterator[tuple[str, ...]]:
    """All orders of the names but their own when there are at most so many, else that many seeded draws."""
    if len(names) < 9 and math.factorial(len(names)) - 1 <= most:
        yield from (order for order in all_orders(names) if order != names)
        return
    for _ in range(most):
        yield tuple(names[position] for position in rng.permutation(len(names)))


def _equivalent(claims: Implications, statements: Sequence[Statement], names: dict[str, str]) -> bool:
    """Whether graph and permuted graph imply the same: each satisfies the other's statements, under either's names."""
    pairs = set(claims.pairs)
    renamed = [each.renamed(names) for each in statements]
    if any((each.first, each.second) not in pairs for each in renamed):
        return False
    back = {new: old for old, new in names.items()}
    queries = chain(renamed, (each.renamed(back) for each in statements))
    return all(is_implied(claims.graph.dag, each) for each in queries)


MAX_ROWS = 5_000  # more rows make every wrong curve significant and every test slow
MOST_ASKED = 12  # second opinions on the statements of the graph, as long as one of them is confirmed
_ASKED_OF_A_CORRECTION = MOST_SUGGESTED  # and on those of the graph with suggested edges: what could be suggested next
_ROUNDS = 3  # of suggesting edges and testing the graph with them


@dataclass(frozen=True, slots=True)
class Correction:
    """The edges that the rows suggest, and whether the graph with them is no longer contradicted."""

    edges: tuple[Edge, ...]
    explained: bool


class Falsify(Strict):
    """The test of a declared graph: the conditional independencies that it implies, on the training rows."""

    on_falsified: OnFalsified = Field(
        "recertify",
        description=(
            "What a refuted graph leads to. recertify: features are certified by the graph with the suggested edges, "
            "and nothing is augmented only if a cause would carry noise that it may then not, or rows carry noise and "
            "the edges do not explain what is refuted. abstain: nothing is augmented. warn: the run goes on and says "
            "so. ignore: the run goes on, and only the record says so."
        ),
    )
    alpha: Fraction = Field(
        0.05, description="The chance of refuting a right graph, over all its statements together (Holm)."
    )
    permutations: int = Field(
        100, ge=0, le=10_000, description="Graphs with permuted nodes that the declared one is compared with; 0: none."
    )

    def test(
        self, graph: CausalGraph, train: Table, *, rng: np.random.Generator, budget: int = BUDGET
    ) -> Falsification:
        """Whether these rows refute the graph, with every number that the answer rests on.

        At most MAX_ROWS rows are used, drawn by `rng`. Of more than `budget` statements the rest goes untested, and
        `implied` tells how many there are. The answer does not depend on the order of columns or edges.
        """
        rows = _drawn(train, rng)
        claims = implications(graph, train.names)
        chosen = tuple(claims.to_test(budget))
        answers = Answers(Gcm.of_table(rows))
        judgement = judged(chosen, answers, alpha=self.alpha, most_asked=MOST_ASKED)
        count, as_good, equivalent, others = self._baseline(claims, chosen, judgement, answers, rng)
        correction = _correction(graph, train.names, judgement, answers, alpha=self.alpha, budget=budget)
        beaten = others is not None and others <= self.alpha
        uninformative = not judgement.tested or (count and not beaten)
        passed: FalsificationOutcome = "not_informative" if uninformative else "not_falsified"
        return Falsification(
            outcome="falsified" if judgement.violated else passed,
            on_falsified=self.on_falsified,
            alpha=self.alpha,
            rows=len(rows),
            implied=len(claims),
            statements=judgement.tested,
            suggested=tuple(map(implied.as_written, correction.edges)),
            permutations=count,
            as_good=as_good,
            equivalent=equivalent,
            others_as_good=others,
            explained=correction.explained,
            unasked=judgement.suspects - judgement.asked,
        )

    def correct(
        self, graph: CausalGraph, train: Table, *, rng: np.random.Generator, budget: int = BUDGET
    ) -> Correction:
        """What `test` suggests on these rows, without the comparison with permuted graphs; no edge if none is due."""
        chosen = tuple(implications(graph, train.names).to_test(budget))
        answers = Answers(Gcm.of_table(_drawn(train, rng)))
        judgement = judged(chosen, answers, alpha=self.alpha, most_asked=MOST_ASKED)
        return _correction(graph, train.names, judgement, answers, alpha=self.alpha, budget=budget)

    def _baseline(
        self,
        claims: Implications,
        statements: Sequence[Statement],
        judgement: Judgement,
        answers: Answers,
        rng: np.random.Generator,
    ) -> Baseline:
        """Each permuted graph, which implies what the graph implies under other names, against the graph itself.

        The draws of one permutation do not depend on what was found in another. When the budget of tests is spent, the
        permutations so far must do.
        """
        if not self.permutations or not statements:
            return 0, None, None, None
        as_good = equal = count = 0
        limit = len(answers.first) + (REFUTED_BUDGET if judgement.violated else SHUFFLED_BUDGET)
        # Whether the second opinion has freed a statement.
        yardstick = Yardstick(answers, self.alpha, ask_again=judgement.asked > len(judgement.violated))
        for order in _orders(claims.measured, self.permutations, rng):
            names = dict(zip(claims.measured, order, strict=True))
            # In random order, so that a look at the first ones is a fair look.
            drawn = [statements[position] for position in rng.permutation(len(statements))[:SHUFFLED_STATEMENTS]]
            count += 1
            same = _equivalent(claims, statements, names)
            equal += same
            as_good += same or yardstick.no_worse([each.renamed(names) for each in drawn], drawn)
            if len(answers.first) >= limit:
                break
        others = (as_good - equal) / (count - equal) if count > equal else None
        return count, as_good / count, equal / count, others


def _drawn(train: Table, rng: np.random.Generator) -> Table:
    """The rows that are asked."""
    if len(train) <= MAX_ROWS:
        return train
    return train.take(np.sort(rng.choice(len(train), size=MAX_ROWS, replace=False)))


def _correction(
    graph: CausalGraph, features: Sequence[str], judgement: Judgement, answers: Answers, *, alpha: float, budget: int
) -> Correction:
    """Edges for what is violated, and for what the graph with them still violates."""
    edges: list[Edge] = []
    grown = graph
    for _ in range(_ROUNDS):
        if not judgement.violated or len(edges) == MOST_SUGGESTED:
            break
        edges += implied.repairing_edges(grown, judgement.violated, most=MOST_SUGGESTED - len(edges))
        grown = implied.with_edges(graph, edges)
        statements = tuple(implications(grown, features).to_test(budget))
        judgement = judged(statements, answers, alpha=alpha, most_asked=_ASKED_OF_A_CORRECTION)
    return Correction(tuple(edges), explained=not judgement.violated)
