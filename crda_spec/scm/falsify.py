"""Do the training rows refute the expert's graph?

Every independence that the graph implies (`implied`) is tested on the rows by the generalised covariance measure, and
Holm's correction keeps the chance of refuting a right graph at alpha, however many statements there are. What that test
calls violated counts only when a second opinion, which thresholds, waves and interactions disturb little, agrees
(`falsify_statements`).

- **falsified**: at least one statement is violated after the correction. The edges that would excuse the violated
  statements are suggested, and the graph with them is tested again.
- **not informative**: nothing is violated, but that says little. Either the graph implies nothing that these columns
  could contradict, or names shuffled at random do as well: of the graphs with permuted nodes that imply something else,
  more than alpha would have passed the same test, so passing it is no merit of this graph.
- **not falsified**: nothing is violated, and shuffled graphs do worse. This never proves a graph: one with more edges
  implies less, and equivalent graphs imply the same.

The comparison with permuted nodes is that of Eulig, Mastakouri, Blöbaum, Hardt and Janzing (2023), "Toward falsifying
causal graphs using a permutation-based test". We differ in three points, on purpose. They excuse violations as long as
a graph does better than shuffled ones; here a licence to move data hangs on the graph, so one sure violation refutes
it. They count a statement as violated at an unadjusted alpha, which refutes some statement of almost every right graph
with many; we adjust. They call a test uninformative when many permutations are Markov equivalent to the graph; those
are set apart here, since a graph cannot be expected to beat its equals (in `x1, x2, x3 -> y` a quarter of all
permutations are), and the others are asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crda_spec.records import Falsification, FalsificationOutcome, OnFalsified, Table, TestedStatement
from crda_spec.scm.edge import Edge
from crda_spec.scm.excuses import MOST_SUGGESTED, as_written, excusing_edges, with_edges
from crda_spec.scm.falsify_shuffled import REFUTED_BUDGET, SHUFFLED_BUDGET, Baseline, Yardstick, shuffled
from crda_spec.scm.falsify_statements import TEST, Answers, Judgement, judged
from crda_spec.scm.falsify_words import verdict_sentence
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.implied import BUDGET, implications
from crda_spec.scm.independence.gcm import Gcm

MAX_ROWS = 5_000  # more rows make every wrong curve significant and every test slow
MOST_ASKED = 12  # second opinions on the statements of the graph, as long as one of them is confirmed
_ASKED_OF_A_CORRECTION = MOST_SUGGESTED  # and on those of the graph with suggested edges: what could be suggested next
_ROUNDS = 3  # of suggesting edges and testing the graph with them


def falsify(
    graph: CausalGraph,
    train: Table,
    *,
    alpha: float,
    permutations: int,
    on_falsified: OnFalsified,
    rng: np.random.Generator,
    budget: int = BUDGET,
) -> Falsification:
    """Whether these rows refute the graph, with every number that the answer rests on.

    At most MAX_ROWS rows are used, drawn by `rng`. When the graph implies more than `budget` statements, those about
    the target come first, then those about its neighbours; the rest goes untested and `implied` tells how many there
    are. With `permutations` 0 only the statements decide; once they refute the graph, fewer permutations are looked
    at. The answer does not depend on the order of columns or edges.
    """
    rows = _some_rows(train, rng)
    claims = implications(graph, train.names)
    chosen = tuple(claims.to_test(budget))
    answers = Answers(Gcm.of_table(rows))
    found = judged(chosen, answers, alpha=alpha, most_asked=MOST_ASKED)
    baseline = shuffled(
        claims,
        chosen,
        Yardstick(answers, alpha, ask_again=found.overruled),
        permutations=permutations,
        budget=REFUTED_BUDGET if found.violated else SHUFFLED_BUDGET,
        rng=rng,
    )
    outcome = _outcome(found.tested, baseline, alpha)
    suggested, explained = _correction(graph, train.names, found, answers, alpha=alpha, budget=budget)
    sentence = verdict_sentence(
        outcome,
        found.tested,
        suggested,
        on_falsified,
        explained=explained,
        unasked=found.unasked,
        shuffled_pass=baseline.others_as_good,
    )
    return Falsification(
        outcome=outcome,
        on_falsified=on_falsified,
        sentence=sentence,
        test=TEST,
        alpha=alpha,
        rows=len(rows),
        implied=len(claims),
        statements=found.tested,
        suggested=suggested,
        permutations=baseline.count,
        as_good=baseline.as_good,
        equivalent=baseline.equivalent,
    )


def _some_rows(train: Table, rng: np.random.Generator) -> Table:
    if len(train) <= MAX_ROWS:
        return train
    return train.take(np.sort(rng.choice(len(train), size=MAX_ROWS, replace=False)))


def _correction(
    graph: CausalGraph, features: Sequence[str], found: Judgement, answers: Answers, *, alpha: float, budget: int
) -> tuple[tuple[str, ...], bool]:
    """The suggested edges, and whether the graph with them is no longer contradicted.

    What the corrected graph still violates may call for further edges, for a few rounds and up to MOST_SUGGESTED.
    """
    edges: list[Edge] = []
    grown = graph
    for _ in range(_ROUNDS):
        if not found.violated or len(edges) == MOST_SUGGESTED:
            break
        edges += excusing_edges(grown, found.violated, most=MOST_SUGGESTED - len(edges))
        grown = with_edges(graph, edges)
        statements = tuple(implications(grown, features).to_test(budget))
        found = judged(statements, answers, alpha=alpha, most_asked=_ASKED_OF_A_CORRECTION)
    return tuple(as_written(edge) for edge in edges), not found.violated


def _outcome(tested: Sequence[TestedStatement], baseline: Baseline, alpha: float) -> FalsificationOutcome:
    if any(each.violated for each in tested):
        return "falsified"
    if not tested:
        return "not_informative"
    if baseline.count and (baseline.others_as_good is None or baseline.others_as_good > alpha):
        return "not_informative"
    return "not_falsified"


__all__ = ["MAX_ROWS", "MOST_ASKED", "falsify"]
