"""What a graph claims about data: its conditional independencies, one for each pair that can be separated.

The measured nodes are the features and the target, as far as the graph names them: a graph claims nothing about what it
does not draw. All other nodes, the noise and hidden common causes among them, are unmeasured.

For every pair of measured nodes that some set of measured nodes separates there is one statement a _||_ b | S, and S is
minimal: leaving out any of its members opens a path. A pair without a statement is tied whatever is held fixed.

Where the later node of a pair, in one fixed causal order, has only measured parents, S consists of those parents of it
that an open path from the earlier node meets. In a DAG without unmeasured nodes all other independencies then follow,
and no smaller list will do (docs/design/falsification.md). With unmeasured nodes the list still covers every
separable pair, but not constraints that are no independencies.

Minimal separators by two sweeps: van der Zander, Liskiewicz and Textor (2014), "Constructing separators and adjustment
sets in ancestral graphs". If any set of measured nodes separates two nodes, their measured ancestors do.

With them, the edges that would excuse what the data contradict. Of the edges that could join two nodes which should be
independent and are not, the one that excuses most of what is violated is suggested. Among equals, data alone do not
tell which way an arrow points, so the suggestion follows what the expert has already drawn: from the cause side to the
effect side where the graph orders the two nodes, into the target (never out of it) where it is one of them, into the
node that has causes where the other has none, and a hidden common cause where nothing speaks for either way.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from crda_spec.scm.formats.edges import to_edges
from crda_spec.scm.graph import CanonicalDag, CausalGraph, Edge, edge_names, free_name
from crda_spec.scm.separation import reached, shortest_walk

Pair = tuple[str, str]

BUDGET = 2_000  # statements of one graph that are tested: more cost minutes and, corrected for, find less


@dataclass(frozen=True, slots=True, order=True)
class Statement:
    """first _||_ second | given; the two ends, and the names that are given, in the order of the alphabet."""

    first: str
    second: str
    given: tuple[str, ...]

    def __str__(self) -> str:
        held = f" | {', '.join(self.given)}" if self.given else ""
        return f"{self.first} _||_ {self.second}{held}"

    def renamed(self, names: dict[str, str]) -> Statement:
        """The same statement about other nodes."""
        first, second = sorted((names[self.first], names[self.second]))
        return Statement(first, second, tuple(sorted(names[name] for name in self.given)))


@dataclass(frozen=True)  # without slots, which cached_property cannot have
class Implications:
    """The statements of one graph: which pairs have one, and a way to make it, since making all may be dear."""

    graph: CausalGraph
    measured: tuple[str, ...]  # in the order of their names
    pairs: tuple[Pair, ...]  # the separable ones, in the order of their names

    def __len__(self) -> int:
        """How many statements there are. None is made for it."""
        return len(self.pairs)

    @cached_property
    def _ranks(self) -> list[int]:
        return causal_ranks(self.graph.dag)

    def statement(self, pair: Pair) -> Statement:
        """The statement about a separable pair."""
        dag = self.graph.dag
        nodes = frozenset(dag.index[name] for name in self.measured)
        early, late = sorted((dag.index[name] for name in pair), key=self._ranks.__getitem__)
        given = minimal_separator(dag, early, late, nodes)
        if given is None:
            raise AssertionError("a pair that was found separable is not")
        first, second = sorted(pair)
        return Statement(first, second, tuple(dag.names[node] for node in sorted(given)))

    def statements(self) -> tuple[Statement, ...]:
        """All of them, in the order of their pairs."""
        return tuple(map(self.statement, self.pairs))

    def to_test(self, budget: int = BUDGET) -> Iterator[Statement]:
        """The statements that a test with this budget looks at, in the order of their pairs, made one by one.

        When there are more than `budget`, those about the target are kept first, then those about its neighbours.
        """
        target = self.graph.target
        near = {name for edge in self.graph.edges if target in edge.ends for name in edge.ends}
        nearest = sorted(self.pairs, key=lambda pair: 0 if target in pair else 2 - any(name in near for name in pair))
        return map(self.statement, sorted(nearest[:budget]))


def implications(graph: CausalGraph, features: Collection[str]) -> Implications:
    """What the graph claims about these features and the target. An unknown feature is a GraphError."""
    graph.measured(features)
    dag, measured = graph.dag, sorted(graph.named.intersection((*features, graph.target)))
    nodes, ranks = [dag.index[name] for name in measured], causal_ranks(dag)
    seen = frozenset(nodes)
    parents = {node: _direct(dag, node, seen) for node in nodes}
    pairs = []
    for a, b in combinations(nodes, 2):
        early, late = (a, b) if ranks[a] < ranks[b] else (b, a)
        known = parents[late]
        if early not in known if known is not None else _ancestral_separator(dag, early, late, seen) is not None:
            pairs.append((dag.names[a], dag.names[b]))
    return Implications(graph, tuple(measured), tuple(pairs))


def causal_ranks(dag: CanonicalDag) -> list[int]:
    """The place of each node in a causal order: causes first, and among those that could come next the first name."""
    waiting = [len(parents) for parents in dag.parents]
    ready = [node for node, count in enumerate(waiting) if not count]
    ranks = [0] * len(waiting)
    place = 0
    while ready:
        node = heapq.heappop(ready)
        ranks[node] = place
        place += 1
        for child in dag.children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(ready, child)
    return ranks


def _direct(dag: CanonicalDag, node: int, measured: frozenset[int]) -> frozenset[int] | None:
    """The node's measured parents, or None when an unmeasured one, or how rows were chosen, may tie it to more."""
    if dag.selected:
        return None
    reached_nodes: set[int] = set()
    for parent in dag.parents[node]:
        if parent in measured:
            reached_nodes.add(parent)
        elif len(dag.children[parent]) == 1 and measured.issuperset(dag.parents[parent]):
            # Such a parent, the noise for example, ties the node to nothing but its own parents.
            reached_nodes.update(dag.parents[parent])
        else:
            return None
    return frozenset(reached_nodes)


def minimal_separator(dag: CanonicalDag, early: int, late: int, measured: frozenset[int]) -> frozenset[int] | None:
    """A set of measured nodes that separates the two and of which no member can be spared; None when there is none."""
    known = _direct(dag, late, measured)
    if known is not None:
        return None if early in known else _shrunk(dag, early, late, known)
    whole = _ancestral_separator(dag, early, late, measured)
    if whole is None:
        return None
    return min((_shrunk(dag, a, b, whole) for a, b in ((early, late), (late, early))), key=len)


def _ancestral_separator(dag: CanonicalDag, a: int, b: int, measured: frozenset[int]) -> frozenset[int] | None:
    """All measured ancestors of the two, when they separate them: if these do not, nothing measured does."""
    above = dag.ancestors([a, b, *dag.selected])
    whole = frozenset(node for node in measured if above[node]) - {a, b}
    return whole if shortest_walk(dag, [a], [b], whole) is None else None


def _shrunk(dag: CanonicalDag, a: int, b: int, separator: frozenset[int]) -> frozenset[int]:
    """The members that have an open way to either end, so that none can be spared."""
    near = separator & reached(dag, [a], separator)
    return near & reached(dag, [b], near)


MOST_SUGGESTED = 5
_WEIGHED = 50  # violations, the worst, by which candidates are compared


def repairing_edges(
    graph: CausalGraph, violated: Sequence[Statement], *, most: int = MOST_SUGGESTED
) -> tuple[Edge, ...]:
    """At most so many edges, for the worst violations first.

    violated: the worst first. Each edge is added to the graph before the next violation is looked at, and what no
    longer follows from the graph with the edges so far needs none of its own: one missing edge often violates many.
    """
    dag = graph.dag
    chosen_edges: list[Edge] = []
    open_cases = list(violated)
    while open_cases and len(chosen_edges) < most:
        # None leaves the target: an effect of it would freeze what the graph lets move, and is for an expert to draw.
        likely = _candidates(graph, dag, open_cases[0])
        trials = [(edge, _with(dag, edge)) for edge in likely if edge.mark == "<->" or edge.tail != graph.target]
        left = [[case for case in open_cases[:_WEIGHED] if is_implied(trial, case)] for _, trial in trials]
        best = min(range(len(trials)), key=lambda position: len(left[position]))
        edge, dag = trials[best]
        chosen_edges.append(edge)
        open_cases = [*left[best], *(case for case in open_cases[_WEIGHED:] if is_implied(dag, case))]
    return tuple(chosen_edges)


def with_edges(graph: CausalGraph, edges: Sequence[Edge]) -> CausalGraph:
    """The graph and these edges, which close no cycle."""
    tied = edge_names(edges)
    return CausalGraph.build(
        [*graph.edges, *edges],
        columns=graph.observed,
        target=graph.target,
        latents=graph.latents,
        noise_parents=graph.noise_parents,
        selected=graph.selected,
        additive=graph.additive,
        unrelated=[name for name in graph.unrelated if name not in tied],
    )


def as_written(edge: Edge) -> str:
    """The edge as an entry of a spec, its names quoted where they must be."""
    return to_edges(CausalGraph.build([edge], columns=edge.ends, target=edge.head))[0]


def is_implied(dag: CanonicalDag, statement: Statement) -> bool:
    """Whether the statement follows from the graph."""
    first, second, *given = (dag.index[name] for name in (statement.first, statement.second, *statement.given))
    return shortest_walk(dag, [first], [second], given) is None


def _candidates(graph: CausalGraph, dag: CanonicalDag, statement: Statement) -> list[Edge]:
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
    selected = [dag.names[node] for node in dag.selected]
    if edge.mark == "->":
        return CanonicalDag.of(dag.names, [*arrows, (edge.tail, edge.head)], selected)
    hidden = free_name(f"({edge})", set(dag.names))
    return CanonicalDag.of([*dag.names, hidden], [*arrows, (hidden, edge.tail), (hidden, edge.head)], selected)
