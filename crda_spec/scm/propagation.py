"""What follows when features are moved, and whether it can be computed: the graph's side of propagation.

Let M be the moved features and C(M) everything that M changes: M and its descendants in the canonical DAG, measured or
not. The *followers* F(M) are the features in C(M) that are not themselves moved; a moved feature obeys its own policy,
even where another moved feature causes it (two actions at once). A follower f gets the value

    f' = m_f(A', S) + e,   e = f - m_f(A, S)   (abduction first, then action, then prediction)

where A are its parents in C(M), S features that stay, and m_f is fitted. Four things must hold for every follower.

1. f is in X_P*, so that the *target's* noise may be carried to a row in which f has moved too. (All of M and F(M) in
   X_P* is the same as one valid partition: exactly the subsets of X_P* are valid.)
2. The user does not hold f fixed (nor any of M).
3. Every parent of f in C(M) is a feature. One that nobody measured, or that the model does not see, changes by an
   unknown amount. (An effect through the target is refused too: already by 1, since it carries the target's noise.)
4. f's own noise may be carried: with L the unmeasured parents of f (which do not change, by 3), there is a set S of
   unchanged features, f's unchanged parents among them, with L _||_ A | S. It is the certificate with f as its target.
   Only unmeasured *parents* matter: what else moves f is its own, independent of all that is not caused by f; unless
   rows were chosen by f or by something that f causes, which ties f's own noise to all its causes.

If any S will do, then the unchanged features among f's ancestors will, so one query decides; and whether f is fit to
follow can be asked of one moved feature at a time (docs/design/propagation.md proves both). So M may move if and only
if it lies in X_P*, without what the user keeps, and each x in M has all followers that fail for {x} in M as well. Such
sets are closed under union: there is a largest one among the features that are wanted, and striking out what fails,
until nothing fails, finds it. A part of it need not be such a set: ask again after choosing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Literal

from crda_spec.errors import Complaint, GraphError
from crda_spec.records import Obstacle
from crda_spec.scm.certificate import noise_side, open_path_of, perturbable
from crda_spec.scm.graph import CausalGraph, causes_first, shortest_route
from crda_spec.scm.separation import Tie, path_along, shortest_walk, unmeasured

ObstacleKind = Literal["not_certified", "held_fixed", "not_computable", "rows_chosen", "noise_tied"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Propagable:
    """The largest set of wanted features that may move with all their effects, and why each other may not."""

    moved: tuple[str, ...]  # in the order in which they were wanted
    obstacles: Mapping[str, Obstacle]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerInputs:
    """What the equation of one follower reads."""

    name: str
    parents: tuple[str, ...]  # its direct causes among the features, by name
    adjusted: tuple[str, ...] = ()  # unchanged features that free its noise from the changing parents

    @property
    def inputs(self) -> tuple[str, ...]:
        """All that the equation reads, the parents first."""
        return (*self.parents, *self.adjusted)


def followers(graph: CausalGraph, features: Sequence[str], moved: Collection[str]) -> tuple[str, ...]:
    """The features that the moved ones cause, causes before effects; ways over unmeasured nodes count."""
    return _Effects(graph, tuple(features)).followers(moved)


def propagable(
    graph: CausalGraph, features: Sequence[str], wanted: Sequence[str], *, keep: Collection[str] = ()
) -> Propagable:
    """Which of the wanted features may move together with all that they cause. keep: features that must not move."""
    effects = _Effects(graph, tuple(features), frozenset(keep))
    graph.measured(wanted)
    obstacles = {name: effects.refused(name) for name in wanted if name in keep or name not in effects.certified}
    moved = [name for name in wanted if name not in obstacles]
    failing = {name: effects.failing(name) for name in moved}
    while True:
        left = frozenset(moved)
        staying = {name: next((one for one in failing[name] if one not in left), None) for name in moved}
        struck = {name: effects.obstacle(name, one) for name, one in staying.items() if one is not None}
        if not struck:
            return Propagable(moved=tuple(moved), obstacles=obstacles)
        obstacles |= struck
        moved = [name for name in moved if name not in struck]


def follower_inputs(
    graph: CausalGraph, features: Sequence[str], moved: Sequence[str], *, keep: Collection[str] = ()
) -> tuple[FollowerInputs, ...]:
    """What each follower's equation reads, causes before effects; a GraphError when the moved ones may not move."""
    allowed = propagable(graph, features, moved, keep=keep)
    complaints = []
    for name, obstacle in allowed.obstacles.items():
        why = " ".join((obstacle.kind.replace("_", " "), *obstacle.witness))
        what = f"{name} cannot move with all that it causes: {obstacle.follower} cannot follow ({why})"
        hint = f"leave {name} out of partition.perturb, or set perturbation.propagate to false"
        complaints.append(Complaint(code="cannot-propagate", what=what, hint=hint, path="perturbation.propagate"))
    if complaints:
        raise GraphError(complaints)
    effects = _Effects(graph, tuple(features))
    changed = graph.dag.descendants(graph.positions(moved))
    return tuple(effects.inputs(name, changed) for name in effects.followers(moved))


@dataclass(frozen=True)  # without slots, which cached_property cannot have
class _Effects:
    """One graph, one set of features: who follows whom, and what stands in the way."""

    graph: CausalGraph
    features: tuple[str, ...]
    keep: frozenset[str] = frozenset()

    @cached_property
    def measured(self) -> frozenset[int]:
        """The features' positions, checked."""
        return frozenset(self.graph.measured(self.features))

    @cached_property
    def certified(self) -> frozenset[str]:
        """X_P*."""
        return perturbable(self.graph, self.features)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The features' positions, causes before effects; among equals, in the order of their names."""
        order = causes_first(self.graph.dag.parents, self.graph.dag.children)
        return tuple(node for node in order if node in self.measured)

    def followers(self, moved: Collection[str]) -> tuple[str, ...]:
        """F(M)."""
        dag, start = self.graph.dag, frozenset(self.graph.positions(moved))
        if not start <= self.measured:
            self.graph.measured([dag.names[node] for node in start])  # the target or a latent: complains
        changed = dag.descendants(start)
        return tuple(dag.names[node] for node in self.order if changed[node] and node not in start)

    @cached_property
    def doubtful(self) -> tuple[int, ...]:
        """The features that might not follow, causes before effects; the others follow whatever moves them."""
        dag, sure = self.graph.dag, self.certified - self.keep
        return tuple(
            node
            for node in self.order
            if dag.names[node] not in sure or not self.measured.issuperset(dag.parents[node]) or dag.selected
        )

    def failing(self, name: str) -> tuple[str, ...]:
        """The followers of this feature, moved alone, that cannot follow it, causes before effects."""
        dag = self.graph.dag
        changed = dag.descendants([dag.index[name]])
        others = (dag.names[node] for node in self.doubtful if changed[node] and dag.names[node] != name)
        return tuple(follower for follower in others if self._trouble(follower, changed))

    def refused(self, name: str) -> Obstacle:
        """The feature itself must not move: it is tied to the target's noise, or held fixed."""
        if name in self.certified:
            return Obstacle(kind="held_fixed", feature=name, follower=name)
        tie = self._tie(name)
        path = open_path_of(tie)
        return Obstacle(kind="not_certified", feature=name, follower=name, path=path, witness=tie.path.tokens)

    def inputs(self, name: str, changed: bytearray) -> FollowerInputs:
        """The parents, and of the other unchanged ancestors what its noise cannot do without."""
        node, names = self.graph.dag.index[name], self.graph.dag.names
        kept = self._kept_ancestors(node, changed)
        parents = kept.intersection(self.graph.dag.parents[node])
        adjusted = [] if self._tied(node, changed, parents) is None else sorted(kept - parents)
        for one in tuple(adjusted):
            rest = [other for other in adjusted if other != one]
            if self._tied(node, changed, parents.union(rest)) is None:
                adjusted = rest
        causes = tuple(names[parent] for parent in self.graph.dag.parents[node] if parent in self.measured)
        return FollowerInputs(name=name, parents=causes, adjusted=tuple(names[one] for one in adjusted))

    def obstacle(self, name: str, follower: str) -> Obstacle:
        """Why this follower cannot follow this feature, moved alone."""
        dag = self.graph.dag
        changed = dag.descendants([dag.index[name]])
        node, kind = dag.index[follower], self._trouble(follower, changed)
        if kind is None:
            raise AssertionError("asked only of a follower that fails")
        fails = partial(Obstacle, kind=kind, feature=name, follower=follower)
        unknown = self._unknown_parents(node, changed)[:1] if kind == "not_computable" else []
        stations = [dag.index[name], *unknown, node]
        legs = (shortest_route(dag.children.__getitem__, *ends)[1:] for ends in pairwise(stations))
        way = path_along(self.graph, [stations[0], *chain.from_iterable(legs)]).tokens
        match kind:
            case "not_certified":
                tie = self._tie(follower)
                return fails(way=way, path=open_path_of(tie), witness=tie.path.tokens)
            case "not_computable":
                return fails(way=way, node=unmeasured(self.graph, dag.names[unknown[0]]), witness=way)
            case "noise_tied":
                walk = self._tied(node, changed, self._kept_ancestors(node, changed)) or ()
                witness = path_along(self.graph, (node, *walk))
                return fails(way=way, loop=witness.turned().tokens, witness=witness.tokens)
        return fails(way=way, witness=way)

    def _trouble(self, follower: str, changed: bytearray) -> ObstacleKind | None:
        """The first of the four conditions of the module's docstring that fails for M = {the mover}, or None."""
        node = self.graph.dag.index[follower]
        if follower not in self.certified:
            return "not_certified"
        if follower in self.keep:
            return "held_fixed"
        if self._unknown_parents(node, changed):
            return "not_computable"
        if self.graph.dag.ancestors(self.graph.dag.selected)[node]:
            return "rows_chosen"
        return "noise_tied" if self._tied(node, changed, self._kept_ancestors(node, changed)) else None

    def _unknown_parents(self, node: int, changed: bytearray) -> list[int]:
        """The parents that change and are no features."""
        return [one for one in self.graph.dag.parents[node] if changed[one] and one not in self.measured]

    def _kept_ancestors(self, node: int, changed: bytearray) -> frozenset[int]:
        above = self.graph.dag.ancestors([node])
        return frozenset(one for one in self.measured if above[one] and not changed[one])

    def _tied(self, node: int, changed: bytearray, given: frozenset[int]) -> tuple[int, ...] | None:
        """A shortest open path from an unmeasured parent to a changing one, or None when the noise may be carried."""
        parents = self.graph.dag.parents[node]
        unmeasured = [parent for parent in parents if parent not in self.measured]
        changing = [parent for parent in parents if changed[parent]]
        return shortest_walk(self.graph.dag, unmeasured, changing, given) if unmeasured else None

    def _tie(self, name: str) -> Tie:
        """Why a feature outside X_P* is outside: an open path from the noise side."""
        others = frozenset(self.graph.positions(other for other in self.features if other != name))
        sources = self.graph.positions(noise_side(self.graph, self.features))
        return Tie.shortest(self.graph, sources, self.graph.dag.index[name], others)
