"""d-separation on the canonical DAG, with a shortest open path as the witness when it fails.

A path is open given a set S when every collider on it (`-> c <-`) is in S or has a descendant in S, and no other
inner node is in S. Reachability over (node, direction of arrival) finds the open walks in time linear in the graph
(Shachter's Bayes ball; Geiger, Verma and Pearl 1990). A shortest open walk never meets a node twice: cutting out the
loop leaves an open walk, since a node that the cut turns into a collider had, on the loop, a collider below it.
So the walk that a breadth-first search finds first is a shortest open *path*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from crda_spec.errors import Complaint, GraphError, show
from crda_spec.scm.graph import CanonicalDag, CausalGraph

Arrow = Literal["->", "<-", "<->"]
_TURNED: dict[Arrow, Arrow] = {"->": "<-", "<-": "->", "<->": "<->"}


@dataclass(frozen=True, slots=True)
class Path:
    """Nodes and the arrows between them, as read from left to right; `a <-> b` stands for a hidden common cause."""

    nodes: tuple[str, ...]
    arrows: tuple[Arrow, ...]  # one fewer than nodes

    @property
    def tokens(self) -> tuple[str, ...]:
        """The path as it is read: ("dose", "<-", "severity", "->", "recovery")."""
        rest = (token for pair in zip(self.arrows, self.nodes[1:], strict=True) for token in pair)
        return (self.nodes[0], *rest)

    def __str__(self) -> str:
        return " ".join(self.tokens)

    def turned(self) -> Path:
        """The same path, read from its other end."""
        return Path(self.nodes[::-1], tuple(_TURNED[arrow] for arrow in reversed(self.arrows)))


def open_path(
    graph: CausalGraph, sources: Collection[str], targets: Collection[str], given: Collection[str]
) -> Path | None:
    """A shortest path from a source to a target that is open given the set, or None when they are d-separated.

    Latent nodes, the noise and hidden common causes `(a <-> b)` may be named. Among shortest paths, the earliest
    source wins, then the names' order. An unknown name, or one that stands in two of the three sets, is a GraphError.
    """
    positions = [graph.positions(group) for group in (sources, targets, given)]
    _check_disjoint(graph.dag, positions)
    walk = shortest_walk(graph.dag, *positions)
    return None if walk is None else path_along(graph, walk)


def separated(graph: CausalGraph, sources: Collection[str], targets: Collection[str], given: Collection[str]) -> bool:
    """Whether the sources are d-separated from the targets given the set; see `open_path`."""
    return open_path(graph, sources, targets, given) is None


def path_along(graph: CausalGraph, walk: Sequence[int]) -> Path:
    """The path through these positions; `a <- (a <-> b) -> b` is written as `a <-> b`."""
    dag = graph.dag
    nodes: list[str] = [dag.names[walk[0]]]
    arrows: list[Arrow] = []
    for before, after in pairwise(walk):
        arrow: Arrow = "->" if after in dag.children[before] else "<-"
        if len(nodes) > 1 and nodes[-1] in graph.confounders and arrow == "->" and arrows[-1] == "<-":
            nodes.pop()
            arrows[-1] = "<->"
        else:
            arrows.append(arrow)
        nodes.append(dag.names[after])
    return Path(tuple(nodes), tuple(arrows))


def shortest_walk(
    dag: CanonicalDag, sources: Iterable[int], targets: Iterable[int], given: Iterable[int]
) -> tuple[int, ...] | None:
    """`open_path` on positions, without the checks: the positions along a shortest open path, or None."""
    came_from, end = _explore(dag, sources, frozenset(targets), given)
    if end is None:
        return None
    walk = [end]
    while came_from[walk[-1]] != walk[-1]:
        walk.append(came_from[walk[-1]])
    return tuple(state >> 1 for state in reversed(walk))


def reached(dag: CanonicalDag, sources: Iterable[int], given: Iterable[int]) -> set[int]:
    """All nodes at which an open walk from a source *arrives*, the last node itself not having to be open.

    A given node can be arrived at, but only colliders let a walk through.
    """
    came_from, _ = _explore(dag, sources, frozenset(), given)
    return {state >> 1 for state, before in enumerate(came_from) if before >= 0 and before != state}


def _explore(
    dag: CanonicalDag, sources: Iterable[int], targets: frozenset[int], given: Iterable[int]
) -> tuple[list[int], int | None]:
    """Breadth-first search over states 2 * node + (1 if the last edge points into the node), until a target is met.

    Returns for each state the one it came from (itself for a start, -1 if never met), and the state at the target.
    """
    observed = list(given)
    blocked = bytearray(len(dag.names))
    for node in observed:
        blocked[node] = 1
    opened = dag.ancestors(observed)  # a collider lets a walk through if it is one of these
    came_from = [-1] * (2 * len(dag.names))
    queue = [2 * source for source in sources]  # a start behaves like a node left along its tail: all ways are open
    for state in queue:
        came_from[state] = state
    for state in queue:
        node, into = state >> 1, state & 1
        start = came_from[state] == state
        steps: list[int] = []
        if opened[node] if into else (start or not blocked[node]):
            steps += [2 * parent for parent in dag.parents[node]]
        if start or not blocked[node]:
            steps += [2 * child + 1 for child in dag.children[node]]
        for step in steps:
            if came_from[step] < 0:
                came_from[step] = state
                if step >> 1 in targets:
                    return came_from, step
                queue.append(step)
    return came_from, None


def _check_disjoint(dag: CanonicalDag, groups: Sequence[Sequence[int]]) -> None:
    """Separation of a node from itself, or from what is given, has no meaning worth guessing."""
    sources, targets, given = (set(group) for group in groups)
    shared = sorted((sources & targets) | (sources & given) | (targets & given))
    if shared:
        raise GraphError(
            Complaint(
                code="overlapping-sets",
                what=f"{show(dag.names[node])} stands in two of the sets sources, targets and given",
                hint="name each node once",
            )
            for node in shared
        )
