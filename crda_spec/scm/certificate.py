"""The certificate: which features may be perturbed while a row keeps its noise, proved from the graph.

Let L be the noise of the target and every unmeasured parent of the target in the canonical DAG (latent nodes, hidden
common causes, columns that are no features), and X the features. A partition X = X_P + X_R is valid when
L _||_ X_P | X_R; where rows were chosen by nodes S, given X_R and S. The largest valid X_P is unique:

    X_P* = { x in X : L _||_ x | X - x (and S) },

the complement of L's Markov boundary among the features; exactly its subsets are valid. One sweep finds it: walks that
are open given *all* of X arrive at x if and only if some walk is open given X - x. (If x alone opens a collider on the
way, the directed way from that collider down to x is itself open.)

The Markov boundary of the target itself, B = { x in X : Y not _||_ x | X - x (and S) }, leaves the irrelevant features
I = X - B, which tell nothing of y once the others are known. I is what of X_P* is no parent of Y: a parent is always in
B, and an open walk from x to L goes on to Y, so that I lies in X_P*; by the lemma of the paper's appendix every other
feature of X_P* is separated from Y. A row whose irrelevant features change therefore keeps its outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from crda_spec import records
from crda_spec.records import (
    Assumption,
    Certificate,
    ClassChange,
    DrawnGraph,
    FeatureClass,
    FeatureVerdict,
    Lemma,
    OpenPath,
    Relief,
    Stated,
)
from crda_spec.scm.graph import CausalGraph, Edge, edge_names
from crda_spec.scm.implied import as_written, with_edges
from crda_spec.scm.remedies import noise_positions, remedies
from crda_spec.scm.separation import Tie, reached, shortest_walks, sole_descendants, unmeasured

Role = Literal["feature", "target", "latent", "noise", "unused"]
_UNDRAWN = Stated(code="undrawn")


def noise_side(graph: CausalGraph, features: Collection[str]) -> tuple[str, ...]:
    """L: the noise, then every unmeasured parent of the target in the order of their names."""
    return tuple(graph.dag.names[node] for node in noise_positions(graph, graph.measured(features)))


def perturbable(graph: CausalGraph, features: Collection[str]) -> frozenset[str]:
    """X_P*: the largest set of features that may be perturbed together, the rest held fixed."""
    return _untied(graph, graph.measured(features))


def _untied(graph: CausalGraph, measured: Collection[int]) -> frozenset[str]:
    tied = reached(graph.dag, noise_positions(graph, measured), measured)
    return frozenset(graph.dag.names[node] for node in measured if node not in tied)


def certify(graph: CausalGraph, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
    """A verdict for each feature, in their order: its class and the reason.

    A blocked feature's witness is a shortest path, open given all other features, from the noise side to the feature.
    It starts at the noise (`Z -> recovery -> relapse`), or at the target when it runs over an unmeasured parent of the
    target (`recovery <- severity -> dose`). Equal graphs get equal verdicts, so where the edges were written is not in
    them: see `certify_named`. An unknown feature is a GraphError.
    """
    inquiry = _Inquiry.of(graph, features)
    free = inquiry.free()
    lemma = lemma_reasons(graph, features, free)
    return tuple(
        replace(inquiry.allowed(name), lemma=lemma.get(name)) if name in free else inquiry.blocked(name)
        for name in features
    )


def certify_named(graph: CausalGraph, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
    """The same verdicts on a graph that somebody wrote: with the lines of each witness, and one more rule.

    A feature that nobody drew stays fixed. A node without edges is, read literally, independent of everything. In an
    expert's graph it is far more often a column that was forgotten, and a forgotten column must not be the one that
    moves.
    """
    named = graph.named
    places = edge_places(graph)
    return tuple(
        replace(verdict, lines=lines_of(verdict.witness, places))
        if verdict.name in named or not verdict.perturbable
        else FeatureVerdict(name=verdict.name, status="blocked", reason=_UNDRAWN)
        for verdict in certify(graph, features)
    )


def graph_certificate(graph: CausalGraph, features: Sequence[str]) -> Certificate:
    """All that a declared graph proves by itself, before any row is seen: verdicts, lemma, remedies, assumptions."""
    verdicts = certify_named(graph, features)
    free = tuple(verdict.name for verdict in verdicts if verdict.perturbable)
    return Certificate(
        basis="declared",
        graph=drawn(graph, features),
        features=verdicts,
        assumes=(*assumptions(graph), *undrawn_assumption(verdicts, graph.target)),
        noise_side=noise_side(graph, features),
        largest=free,
        irrelevant=tuple(verdict.name for verdict in verdicts if verdict.status == "irrelevant"),
        lemma_holds=lemma_holds(graph, features, free),
        remedies=remedies(graph, verdicts),
    )


def class_changes(graph: CausalGraph, features: Sequence[str], edges: Sequence[Edge]) -> tuple[ClassChange, ...]:
    """The features that these edges, added to the graph, put into another class.

    An edge more opens paths and closes none. So no feature becomes freer: what is separated from the noise, or from the
    target, with the edges is so without them.
    """

    def classes(*added: Edge) -> dict[str, FeatureClass]:
        return {one.name: one.status for one in certify_named(with_edges(graph, added), features)}

    before, after = classes(), classes(*edges)
    alone = {as_written(edge): classes(edge) if len(edges) > 1 else after for edge in edges}
    return tuple(
        ClassChange(
            name=name,
            before=before[name],
            after=after[name],
            by=tuple(edge for edge, found in alone.items() if found[name] != before[name]) or tuple(alone),
        )
        for name in features
        if after[name] != before[name]
    )


def lemma_holds(graph: CausalGraph, features: Sequence[str], moved: Sequence[str]) -> bool:
    """Whether the lemma of the paper's appendix holds for every feature that moves, the others held fixed."""
    return lemma_reasons(graph, features, moved).keys() == set(moved)


def assumptions(graph: CausalGraph) -> tuple[Assumption, ...]:
    """What has to hold, beside the mathematics, for a declared graph's certificate to mean anything."""
    chosen, passing = graph.selected, graph.additive
    return (
        Assumption(code="graph_is_right"),
        Assumption(code="common_causes_drawn"),
        Assumption(code="noise_adds", target=graph.target),
        Assumption(code="same_effect"),
        *((Assumption(code="latents_additive", target=graph.target, names=passing),) if passing else ()),
        Assumption(code="selection_drawn", names=chosen) if chosen else Assumption(code="rows_not_selected"),
        Assumption(code="regressor_accurate"),
    )


def undrawn_assumption(verdicts: Sequence[FeatureVerdict], target: str) -> tuple[Assumption, ...]:
    """What is assumed of features that the graph does not draw, although they are held fixed beside the others.

    A forgotten column may be an effect of the target; holding such a one fixed would tie every cause of the target to
    its noise. It cannot be proved harmless, so it is said.
    """
    names = tuple(verdict.name for verdict in verdicts if verdict.reason == _UNDRAWN)
    if not names or not any(verdict.perturbable for verdict in verdicts):
        return ()
    return (Assumption(code="undrawn_harmless", target=target, names=names),)


def drawn(graph: CausalGraph, features: Sequence[str]) -> DrawnGraph:
    """The graph as it is shown: all features, the target, its noise, and whatever else an edge names."""
    graph.measured(features)
    unused = sorted(edge_names(graph.edges).intersection(graph.observed).difference(features, [graph.target]))
    roles: tuple[tuple[Sequence[str], Role], ...] = (
        (features, "feature"),
        ([graph.target], "target"),
        ([graph.noise], "noise"),
        (unused, "unused"),
        (graph.latents, "latent"),
    )
    noise: list[tuple[str, str, Literal["->", "<->", "--"]]] = [
        *((name, graph.noise, "->") for name in graph.noise_parents),
        (graph.noise, graph.target, "->"),
    ]
    return DrawnGraph(
        nodes=tuple((name, role) for names, role in roles for name in names),
        edges=(*((edge.tail, edge.head, edge.mark) for edge in graph.edges), *noise),
    )


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """One graph, one set of features; remembers what leaving features out, or adding one, would free."""

    graph: CausalGraph
    measured: frozenset[int]
    sources: tuple[int, ...]  # the noise side
    effects: tuple[str, ...]  # the features that the target causes
    unused: frozenset[int]  # columns that are neither features nor the target
    walks: Mapping[int, tuple[int, ...]]  # to blocked features, as far as one sweep finds them
    openers: frozenset[int]  # features that may, each alone, keep a collider open
    _free: dict[tuple[frozenset[str], frozenset[str]], frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: CausalGraph, features: Sequence[str]) -> _Inquiry:
        """What every verdict needs, found once; the features are checked."""
        measured = graph.measured(features)
        dag, sources = graph.dag, tuple(noise_positions(graph, measured))
        below = dag.descendants([dag.index[graph.target]])
        effects = tuple(name for name, node in zip(features, measured, strict=True) if below[node])
        only = sole_descendants(dag, measured)
        openers = frozenset(x for node, x in enumerate(only) if x >= 0 and len(dag.parents[node]) > 1)
        walks = shortest_walks(dag, sources, measured)
        unused = frozenset(graph.positions(graph.observed)).difference(measured, [dag.index[graph.target]])
        return cls(graph, frozenset(measured), sources, effects, unused, walks, openers)

    def free(self, *, without: Collection[str] = (), adding: Collection[str] = ()) -> frozenset[str]:
        """X_P* for the features, some of them left out or some columns added."""
        key = frozenset(without), frozenset(adding)
        if key not in self._free:
            index = self.graph.dag.index
            given = self.measured.difference(index[name] for name in without).union(index[name] for name in adding)
            self._free[key] = _untied(self.graph, given)
        return self._free[key]

    def allowed(self, name: str) -> FeatureVerdict:
        """By the lemma of the paper's appendix a perturbable feature is a direct cause, or tells nothing about y."""
        dag, names = self.graph.dag, (name, self.graph.target)
        node = dag.index[name]
        if dag.index[self.graph.target] in dag.children[node]:
            return FeatureVerdict(name=name, status="cause", reason=Stated(code="direct_cause", names=names))
        named = dag.parents[node] or dag.children[node]
        reason = Stated(code="separated" if named else "isolated", names=names)
        return FeatureVerdict(name=name, status="irrelevant", reason=reason)

    def blocked(self, name: str) -> FeatureVerdict:
        """The witness, what it means, and what would help."""
        dag = self.graph.dag
        node = dag.index[name]
        others = self.measured - {node}
        walk = self.walks.get(node)
        tie = Tie(self.graph, walk, others) if walk else Tie.shortest(self.graph, self.sources, node, others)
        effect_too = name in self.effects and not tie.is_effect
        reason = records.Tied(path=open_path_of(tie), effect_too=effect_too, relief=self._relief(name, tie))
        blockers = tuple(dag.names[node] for node in tie.blockers())
        return FeatureVerdict(name=name, status="blocked", reason=reason, witness=tie.path.tokens, blockers=blockers)

    def _relief(self, name: str, tie: Tie) -> Relief | None:
        """Only what was computed to help is offered."""
        dag = self.graph.dag
        if name in self.effects:  # it opens the collider at the target: whom would leaving it out free?
            # To leave out one feature alone closes something only where it alone keeps a collider open.
            alone = dag.index[name] in self.openers
            freed = sorted(self.free(without=[name]) - self.free()) if alone else []
            if freed:
                return Relief(kind="leave_it_out", names=(name,), frees=tuple(freed))
            freed = sorted(self.free(without=self.effects) - self.free())
            return Relief(kind="leave_out_effects", names=self.effects, frees=tuple(freed)) if freed else None
        openers = [dag.names[node] for node in tie.openers() if dag.names[node] in self.effects]
        for out in (openers, self.effects):
            if out and name in self.free(without=out):
                return Relief(kind="leave_out", names=tuple(out), frees=(name,))
        for column in (dag.names[node] for node in tie.walk[:-1] if node in self.unused):
            if name in self.free(adding=[column]):
                return Relief(kind="add", names=(column,), frees=(name,))
        return None


def open_path_of(tie: Tie) -> OpenPath:
    """The facts of a tie: which kind of path it is, and the nodes that make it one."""
    graph, names = tie.graph, tie.graph.dag.names
    fact = partial(OpenPath, feature=tie.feature, target=graph.target, from_noise=tie.from_noise)
    if tie.colliders:
        openers = tuple(names[node] for node in tie.openers())
        below = graph.dag.descendants([graph.dag.index[graph.target]])
        return fact(
            kind="held_fixed",
            tokens=(tie.path if tie.from_noise else tie.path.turned()).tokens,
            node=None if tie.from_noise else unmeasured(graph, names[tie.walk[0]]),
            openers=openers,
            effects=tuple(name for name in openers if below[graph.dag.index[name]] and name != graph.target),
            chosen_by=tuple(name for name in openers if name in graph.selected),
        )
    if tie.is_effect:
        return fact(kind="effect", tokens=tie.path.tokens)
    top, tokens = tie.top(), tie.path.turned().tokens
    if tie.from_noise and len(tie.walk) == 2:
        return fact(kind="noise_parent", tokens=tokens)
    if top == tie.walk[-1]:
        return fact(kind="acts_through", tokens=tokens, node=unmeasured(graph, names[tie.walk[-2]]))
    if set(graph.confounders.get(names[top], ())) == {tie.feature, graph.target}:
        return fact(kind="shared_cause", tokens=tokens)
    return fact(kind="common_cause", tokens=tokens, node=unmeasured(graph, names[top]))


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
    return reasons | {
        name: Lemma(feature=name, target=graph.target, parent=False, given=tuple(given))
        for name in set(moved) - parents
        if dag.index[name] not in tied
    }


def edge_places(graph: CausalGraph) -> dict[str, str]:
    """Where each edge was written, by the edge as it is read; edges that nobody wrote down are not in it.

    Those are the edge from the noise to the target, which is understood, and edges handed over as objects. Of the
    noise's parents a graph does not remember the position; in another tool's language they may stand in its text or in
    the spec.
    """
    places = {str(edge): edge.where for edge in graph.edges}
    section = "causal.graph.noise" if any(edge.path for edge in graph.edges) else ""
    if any(edge.place is not None for edge in graph.edges):
        section = "causal.graph"
    places |= {f"{name} -> {graph.noise}": section for name in graph.noise_parents}
    return {edge: where for edge, where in places.items() if where}


def lines_of(witness: Sequence[str], places: Mapping[str, str]) -> tuple[records.SourceLine, ...]:
    """The edges along a path as it is read, each with where somebody wrote it."""
    edges = []
    for before, arrow, after in zip(witness[:-2:2], witness[1::2], witness[2::2], strict=True):
        turned = arrow == "<-" or (arrow == "<->" and after < before)
        tail, head = (after, before) if turned else (before, after)
        edges.append(f"{tail} {'<->' if arrow == '<->' else '->'} {head}")
    return tuple(records.SourceLine(edge=edge, where=places[edge]) for edge in edges if edge in places)
