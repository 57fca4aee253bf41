"""d-separation on the canonical DAG, with a shortest open path as the witness when it fails.

A path is open given a set S when every collider on it (`-> c <-`) is in S or has a descendant in S, and no other
inner node is in S. Reachability over (node, direction of arrival) finds the open walks in time linear in the graph
(Shachter's Bayes ball; Geiger, Verma and Pearl 1990). Where rows were chosen by a node, each row that is left is one
in which something below that node is known: such a node opens the colliders above it, and blocks nothing itself.

A shortest open walk never meets a node twice: cutting out the loop leaves an open walk, since a node that the cut turns
into a collider had, on the loop, a collider below it. So the walk that a breadth-first search finds first is a shortest
open *path*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from crda_spec.errors import Complaint, GraphError, show
from crda_spec.records import Unmeasured
from crda_spec.scm.graph import CanonicalDag, CausalGraph, causes_first

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
    uses = Counter(node for group in positions for node in set(group))
    twice = [graph.dag.names[node] for node in sorted(uses) if uses[node] > 1]
    if twice:  # separation of a node from itself, or from what is given, has no meaning worth guessing
        two, hint = "stands in two of the sets sources, targets and given", "name each node once"
        raise GraphError(Complaint(code="overlapping-sets", what=f"{show(name)} {two}", hint=hint) for name in twice)
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
        ends = set(graph.confounders.get(nodes[-1], ()))
        if len(nodes) > 1 and ends == {nodes[-2], dag.names[after]}:
            nodes.pop()
            arrows[-1] = "<->"
        else:
            arrows.append(arrow)
        nodes.append(dag.names[after])
    return Path(tuple(nodes), tuple(arrows))


@dataclass(frozen=True)
class Tie:
    """An open path between what is unmeasured about the target and one feature, given all other features."""

    graph: CausalGraph
    walk: tuple[int, ...]  # positions, from the noise or an unmeasured parent of the target to the feature
    measured: frozenset[int]  # the other features

    @classmethod
    def shortest(cls, graph: CausalGraph, sources: Iterable[int], node: int, others: frozenset[int]) -> Tie:
        """Along a shortest open walk from the sources to a feature that a sweep has found tied to them."""
        walk = shortest_walk(graph.dag, sources, [node], others)
        if walk is None:
            raise AssertionError("the sweep and the single query disagree")
        return cls(graph, walk, others)

    @property
    def feature(self) -> str:
        """The feature at the end of the walk."""
        return self.graph.dag.names[self.walk[-1]]

    @property
    def from_noise(self) -> bool:
        """Whether the walk starts at the noise and not at an unmeasured parent of the target."""
        return self.graph.dag.names[self.walk[0]] == self.graph.noise

    @property
    def is_effect(self) -> bool:
        """Whether the walk runs from the noise over the target straight down to the feature."""
        return self.from_noise and not self.colliders and self.top() == self.walk[0]

    @cached_property
    def path(self) -> Path:
        """The walk as it is read; one from an unmeasured parent starts with the target that it drives."""
        start = () if self.from_noise else (self.graph.dag.index[self.graph.target],)
        return path_along(self.graph, (*start, *self.walk))

    @cached_property
    def colliders(self) -> list[int]:
        """The nodes on the walk at which two arrows meet."""
        children = self.graph.dag.children
        triples = zip(self.walk, self.walk[1:], self.walk[2:], strict=False)
        return [node for before, node, after in triples if node in children[before] and node in children[after]]

    def openers(self) -> list[int]:
        """For each collider what opens it: a node below it that rows were chosen by, or the nearest feature."""
        return list(dict.fromkeys(self._opener(node) for node in self.colliders))

    def blockers(self) -> list[int]:
        """The unmeasured nodes, in order, that would each close this walk if held fixed, as no model can the target."""
        never = {self.graph.dag.index[self.graph.target], self.graph.dag.index[self.graph.noise], *self.colliders}
        return [node for node in self.walk[:-1] if node not in never]

    def _opener(self, collider: int) -> int:
        below = self.graph.dag.descendants([collider])
        for node in self.graph.dag.selected:
            if below[node]:
                return node
        queue = [collider]
        for node in queue:
            if node in self.measured:
                return node
            queue += [child for child in self.graph.dag.children[node] if child not in queue]
        raise AssertionError("a collider on an open path is held fixed or has a descendant that is")

    def top(self) -> int:
        """On a walk without colliders: the one node that causes all the others."""
        children = self.graph.dag.children
        return next((node for node, after in pairwise(self.walk) if after in children[node]), self.walk[-1])


def unmeasured(graph: CausalGraph, name: str) -> Unmeasured:
    """What is known of a node that is no feature."""
    if name in graph.confounders:
        return Unmeasured(name=name, kind="hidden_cause", drives=graph.confounders[name])
    return Unmeasured(name=name, kind="latent" if name in graph.latents else "column")


def shortest_walk(
    dag: CanonicalDag, sources: Iterable[int], targets: Iterable[int], given: Iterable[int]
) -> tuple[int, ...] | None:
    """`open_path` on positions, without the checks: the positions along a shortest open path, or None."""
    came_from, _, end = _explore(dag, sources, frozenset(targets), given)
    return None if end is None else _back(came_from, end)


def shortest_walks(dag: CanonicalDag, sources: Iterable[int], given: Collection[int]) -> dict[int, tuple[int, ...]]:
    """For given nodes x that an open walk reaches: the walk of `shortest_walk` from the sources to x, given the others.

    One sweep finds the walks of all. It differs from a search of its own for x only where a collider is open by x
    alone; the x for which there might be such a node are left out.
    """
    came_from, states, _ = _explore(dag, sources, frozenset(), given)
    only = sole_descendants(dag, given)
    apart = {x for node, x in enumerate(only) if x >= 0 and dag.parents[node] and node != x}
    wanted = set(given) - apart
    first: dict[int, int] = {}
    for state in states:
        if came_from[state] != state and state >> 1 in wanted:
            first.setdefault(state >> 1, state)
    return {node: _back(came_from, state) for node, state in first.items()}


def reached(dag: CanonicalDag, sources: Iterable[int], given: Iterable[int]) -> set[int]:
    """All nodes at which an open walk from a source *arrives*; it gets through a given one only as a collider."""
    came_from, states, _ = _explore(dag, sources, frozenset(), given)
    return {state >> 1 for state in states if came_from[state] != state}


def sole_descendants(dag: CanonicalDag, marked: Iterable[int]) -> list[int]:
    """For each node the one marked node among itself and its descendants; -1 when there is none, -2 when several."""
    own = [-1] * len(dag.names)
    for node in marked:
        own[node] = node
    for node in causes_first(dag.children, dag.parents):  # turned round: effects before causes
        for parent in dag.parents[node]:
            if own[node] != -1 and own[parent] != own[node]:
                own[parent] = own[node] if own[parent] == -1 else -2
    return own


def _explore(
    dag: CanonicalDag, sources: Iterable[int], targets: frozenset[int], given: Iterable[int]
) -> tuple[list[int], list[int], int | None]:
    """Breadth-first search over states 2 * node + (1 if the last edge points into the node), until a target is met.

    Returns the state before each (itself for a start, -1 if never met), the states met, and that at the target, if any.
    """
    observed = list(given)
    blocked = bytearray(len(dag.names))
    for node in observed:
        blocked[node] = 1
    opened = dag.ancestors([*observed, *dag.selected])  # a collider lets a walk through if it is one of these
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
                queue.append(step)
                if step >> 1 in targets:
                    return came_from, queue, step
    return came_from, queue, None


def _back(came_from: Sequence[int], end: int) -> tuple[int, ...]:
    walk = [end]
    while came_from[walk[-1]] != walk[-1]:
        walk.append(came_from[walk[-1]])
    return tuple(state >> 1 for state in reversed(walk))
