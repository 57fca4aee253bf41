"""Why a feature is blocked, or may move: what is known of the path, and of the paper's lemma.

Separate from the certificate so that the mathematics stays short: nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from crda_spec.records import Lemma, OpenPath, SourceLine, Unmeasured
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.separation import Path, path_along, reached


@dataclass(frozen=True)
class Tie:
    """An open path between what is unmeasured about the target and one feature, given all other features."""

    graph: CausalGraph
    walk: tuple[int, ...]  # positions, from the noise or an unmeasured parent of the target to the feature
    measured: frozenset[int]  # the other features

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
        if self.from_noise:
            return path_along(self.graph, self.walk)
        return path_along(self.graph, (self.graph.dag.index[self.graph.target], *self.walk))

    @cached_property
    def colliders(self) -> list[int]:
        """The nodes on the walk at which two arrows meet."""
        children = self.graph.dag.children
        triples = zip(self.walk, self.walk[1:], self.walk[2:], strict=False)
        return [node for before, node, after in triples if node in children[before] and node in children[after]]

    def openers(self) -> list[int]:
        """For each collider the nearest feature that, held fixed, opens it: itself or a descendant."""
        return list(dict.fromkeys(self._opener(node) for node in self.colliders))

    def blockers(self) -> list[int]:
        """The unmeasured nodes that, each by itself, would close this walk if they were held fixed, in its order.

        Those are all nodes before the feature that are no colliders; at an unmeasured cause of the target the walk then
        no longer starts. The target and its noise are left out: no model can hold them fixed.
        """
        never = {self.graph.dag.index[self.graph.target], self.graph.dag.index[self.graph.noise], *self.colliders}
        return [node for node in self.walk[:-1] if node not in never]

    def _opener(self, collider: int) -> int:
        queue = [collider]
        for node in queue:
            if node in self.measured:
                return node
            queue += [child for child in self.graph.dag.children[node] if child not in queue]
        raise AssertionError("a collider on an open path is held fixed or has a descendant that is")

    def top(self) -> int:
        """On a walk without colliders: the one node that causes all the others."""
        children = self.graph.dag.children
        for node, after in zip(self.walk, self.walk[1:], strict=False):
            if after in children[node]:
                return node
        return self.walk[-1]


def unmeasured(graph: CausalGraph, name: str) -> Unmeasured:
    """What is known of a node that is no feature."""
    if name in graph.confounders:
        return Unmeasured(name=name, kind="hidden_cause", drives=graph.confounders[name])
    return Unmeasured(name=name, kind="latent" if name in graph.latents else "column")


def open_path_of(tie: Tie) -> OpenPath:
    """The facts of a tie: which kind of path it is, and the nodes that make it one."""
    graph, names = tie.graph, tie.graph.dag.names
    told = partial(OpenPath, feature=tie.feature, target=graph.target, from_noise=tie.from_noise)
    if tie.colliders:
        openers = tuple(names[node] for node in tie.openers())
        below = graph.dag.descendants([graph.dag.index[graph.target]])
        return told(
            kind="held_fixed",
            tokens=(tie.path if tie.from_noise else tie.path.turned()).tokens,
            node=None if tie.from_noise else unmeasured(graph, names[tie.walk[0]]),
            openers=openers,
            effects=tuple(name for name in openers if below[graph.dag.index[name]]),
        )
    if tie.is_effect:
        return told(kind="effect", tokens=tie.path.tokens)
    top, tokens = tie.top(), tie.path.turned().tokens
    if tie.from_noise and len(tie.walk) == 2:
        return told(kind="noise_parent", tokens=tokens)
    if top == tie.walk[-1]:
        return told(kind="acts_through", tokens=tokens, node=unmeasured(graph, names[tie.walk[-2]]))
    if set(graph.confounders.get(names[top], ())) == {tie.feature, graph.target}:
        return told(kind="shared_cause", tokens=tokens)
    return told(kind="common_cause", tokens=tokens, node=unmeasured(graph, names[top]))


def lemma_reasons(graph: CausalGraph, features: Collection[str], moved: Collection[str]) -> dict[str, Lemma]:
    """For each moved feature why the lemma of the paper's appendix holds for it; one for which it fails is left out.

    The lemma: with X_P = `moved` valid and X_R the other features, each x in X_P is a parent of the target Y, or
    d-separated from Y given (PA(Y) & X_P) | X_R. One sweep from Y decides the second case for all of them. It never
    looks at the noise side, so that it checks the certificate by another way than the one that made it.
    """
    dag, target = graph.dag, graph.dag.index[graph.target]
    parents = {name for name in moved if target in dag.children[dag.index[name]]}
    given = sorted(parents.union(features).difference(set(moved) - parents))
    tied = reached(dag, [target], graph.positions(given))
    reasons = {name: Lemma(feature=name, target=graph.target, parent=True) for name in parents}
    for name in set(moved) - parents:
        if dag.index[name] not in tied:
            reasons[name] = Lemma(feature=name, target=graph.target, parent=False, given=tuple(given))
    return reasons


def edge_places(graph: CausalGraph) -> dict[str, str]:
    """Where each edge was written, by the edge as it is read; edges that nobody wrote down are not in it.

    Those are the edge from the noise to the target, which is understood, and edges handed over as objects.
    """
    places = {str(edge): edge.where for edge in graph.edges}
    places |= {f"{name} -> {graph.noise}": _noise_section(graph) for name in graph.noise_parents}
    return {edge: where for edge, where in places.items() if where}


def lines_of(witness: Sequence[str], places: Mapping[str, str]) -> tuple[SourceLine, ...]:
    """The edges along a path as it is read, each with where somebody wrote it."""
    found = []
    for before, arrow, after in zip(witness[:-2:2], witness[1::2], witness[2::2], strict=True):
        turned = arrow == "<-" or (arrow == "<->" and after < before)
        tail, head = (after, before) if turned else (before, after)
        edge = f"{tail} {'<->' if arrow == '<->' else '->'} {head}"
        if edge in places:
            found.append(SourceLine(edge=edge, where=places[edge]))
    return tuple(found)


def _noise_section(graph: CausalGraph) -> str:
    """Where the noise's parents are declared, as far as a graph remembers it: not at which position of their list.

    Those of a graph in another tool's language may stand in its text or in the spec.
    """
    if any(edge.place is not None for edge in graph.edges):
        return "causal.graph"
    return "causal.graph.noise" if any(edge.path for edge in graph.edges) else ""
