"""Edges that would excuse what the data contradict: the smallest corrections to show an expert.

Of the edges that could join two nodes which should be independent and are not, the one that excuses most of what is
violated is suggested. Among equals, data alone do not tell which way an arrow points, so the suggestion follows what
the expert has already drawn: from the cause side to the effect side where the graph orders the two nodes, into the
target where it is one of them, into the node that has causes where the other has none, and a hidden common cause where
nothing speaks for either way.
"""

from __future__ import annotations

from collections.abc import Sequence

from crda_spec.scm.formats.edges import to_edges
from crda_spec.scm.graph import CanonicalDag, CausalGraph, Edge, free_name
from crda_spec.scm.implied import Statement
from crda_spec.scm.separation import shortest_walk

MOST_SUGGESTED = 5
_WEIGHED = 50  # violations, the worst, by which candidates are compared


def excusing_edges(
    graph: CausalGraph, violated: Sequence[Statement], *, most: int = MOST_SUGGESTED
) -> tuple[Edge, ...]:
    """At most so many edges, for the worst violations first.

    violated: the worst first. Each edge is added to the graph before the next violation is looked at, and what no
    longer follows from the graph with the edges so far needs none of its own: one missing edge often violates many.
    """
    dag = graph.dag
    found: list[Edge] = []
    open_cases = list(violated)
    while open_cases and len(found) < most:
        trials = [(edge, _with(dag, edge)) for edge in _excuses(graph, dag, open_cases[0])]
        left = [[case for case in open_cases[:_WEIGHED] if _implied(trial, case)] for _, trial in trials]
        best = min(range(len(trials)), key=lambda position: len(left[position]))
        edge, dag = trials[best]
        found.append(edge)
        open_cases = [*left[best], *(case for case in open_cases[_WEIGHED:] if _implied(dag, case))]
    return tuple(found)


def with_edges(graph: CausalGraph, edges: Sequence[Edge]) -> CausalGraph:
    """The graph and these edges, which close no cycle."""
    return CausalGraph.build(
        [*graph.edges, *edges],
        columns=graph.observed,
        target=graph.target,
        latents=graph.latents,
        noise_parents=graph.noise_parents,
    )


def as_written(edge: Edge) -> str:
    """The edge as an entry of a spec, its names quoted where they must be."""
    return to_edges(CausalGraph.build([edge], columns=edge.ends, target=edge.head))[0]


def _implied(dag: CanonicalDag, statement: Statement) -> bool:
    first, second, *given = (dag.index[name] for name in (statement.first, statement.second, *statement.given))
    return shortest_walk(dag, [first], [second], given) is None


def _excuses(graph: CausalGraph, dag: CanonicalDag, statement: Statement) -> list[Edge]:
    """The edges between the two ends that close no cycle, the likeliest first. Each makes the statement untenable."""
    first, second = statement.first, statement.second
    a, b = dag.index[first], dag.index[second]
    forward, backward, hidden = Edge(first, second), Edge(second, first), Edge(first, second, "<->")
    if dag.ancestors([b])[a]:
        return [forward, hidden]
    if dag.ancestors([a])[b]:
        return [backward, hidden]
    if graph.target in (first, second):
        return [forward, hidden, backward] if second == graph.target else [backward, hidden, forward]
    caused = [bool(dag.parents[node]) for node in (a, b)]
    if caused[0] == caused[1]:
        return [hidden, forward, backward]
    return [forward, hidden, backward] if caused[1] else [backward, hidden, forward]


def _with(dag: CanonicalDag, edge: Edge) -> CanonicalDag:
    """The DAG and one more edge, which closes no cycle."""
    arrows = [(dag.names[tail], dag.names[head]) for head, tails in enumerate(dag.parents) for tail in tails]
    if edge.mark == "->":
        return CanonicalDag.of(dag.names, [*arrows, (edge.tail, edge.head)])
    hidden = free_name(f"({edge})", set(dag.names))
    return CanonicalDag.of([*dag.names, hidden], [*arrows, (hidden, edge.tail), (hidden, edge.head)])


__all__ = ["MOST_SUGGESTED", "as_written", "excusing_edges", "with_edges"]
