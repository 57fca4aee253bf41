"""What an expert can do about blocked features: leave features out, add unused columns, measure what is hidden.

A remedy changes the measured set X by names of *one* kind and is minimal: it frees some feature x that no proper
subset of its names frees. An exact search finds them. Let W be a walk that is still open after the changes S so far.

- leave_out. Leaving out more never closes W at a node that is no collider, so every larger set that frees x closes a
  collider c of W, and for that it contains *all* features among c and its descendants (never x itself: if c leads to
  x, closing c opens the way down). The next sets are S plus these features, one for each collider of W. A declared
  parent of the noise has to stay a feature, so no set contains one; a collider that chosen rows keep open is no choice.
- add, measure. Measuring more never closes a collider, so every larger set that frees x contains a node of W that is
  no collider, or the unmeasured cause at which W starts. The next sets are S plus one such node.

Every minimal set is met in this way. Sets are tried in the order of their size, hence a set that contains none of
those found before is minimal. A minimal remedy costs nothing but the features that are left out: the others that could
move still can. (The nodes that it adds or leaves out lie on open walks from the noise side, so whatever they would tie
to it is tied already. Property-tested; no exception among 14 000 remedies of random graphs.)

Bounds: each kind may ask the graph `_WORK` / (nodes + edges) times, within `_QUESTIONS`. A search that ends there has
found the smallest remedies but maybe not all; it has looked first at the sets that single open walks *force* (all
effects of the target, say), which need no search to be minimal. Remedies that mix kinds are not looked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from crda_spec.records import FeatureVerdict, Remedy, RemedyKind
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.separation import Tie, reached, unmeasured

KINDS: tuple[RemedyKind, ...] = ("leave_out", "add", "measure")
MOST = 10  # remedies shown
_ALWAYS = 2  # of each kind that has any, beside the one that frees most
_WORK = 400_000
_QUESTIONS = (40, 1500)
_FORCED = 8  # forced sets followed, and how far each is followed

Names = frozenset[int]  # positions in the canonical DAG


def noise_positions(graph: CausalGraph, measured: Collection[int]) -> list[int]:
    """L, as positions: the noise, then every unmeasured parent of the target in the order of their names."""
    dag = graph.dag
    noise, known = dag.index[graph.noise], set(measured)
    parents = dag.parents[dag.index[graph.target]]
    return [noise, *(node for node in parents if node not in known and node != noise)]


def remedies(graph: CausalGraph, verdicts: Sequence[FeatureVerdict], *, most: int = MOST) -> tuple[Remedy, ...]:
    """What would free blocked features: the smallest sets first, then those that free most; at most `most`.

    verdicts: what `certify` says of all features, witnesses included. Of each kind that has any, the first two and
    the one that frees most are shown whatever the others are. A feature that no edge names needs an edge, no remedy.
    """
    hidden = {ends: graph.dag.index[name] for name, ends in graph.confounders.items()}
    measured = frozenset(graph.measured([one.name for one in verdicts]))
    walks = (_walk(graph, one.witness, hidden) for one in verdicts if one.witness)
    ties = {walk[-1]: Tie(graph, walk, measured) for walk in walks}  # only their colliders and blockers are asked for
    by_kind = {kind: sorted(_Search(graph, measured, kind, ties).run(most), key=_order) for kind in KINDS}
    sure = [remedy for some in by_kind.values() for remedy in some[:_ALWAYS]]
    sure += [max(some, key=lambda one: len(one.frees)) for some in by_kind.values() if some]
    rest = sorted((one for some in by_kind.values() for one in some if one not in sure), key=_order)
    shown = [*dict.fromkeys(sure), *rest][: max(most, 1)]
    return tuple(sorted(shown, key=_order))


def _order(remedy: Remedy) -> tuple[int, int, int, tuple[str, ...]]:
    return len(remedy.names), -len(remedy.frees), KINDS.index(remedy.kind), remedy.names


def _walk(graph: CausalGraph, witness: Sequence[str], hidden: Mapping[tuple[str, str], int]) -> tuple[int, ...]:
    """The positions along a witness; one that starts at the target runs over an unmeasured parent of the target.

    hidden: where the hidden common cause of two nodes stands.
    """
    index = graph.dag.index
    nodes = [index[witness[0]]]
    for before, arrow, after in zip(witness[:-2:2], witness[1::2], witness[2::2], strict=True):
        if arrow == "<->":
            nodes.append(hidden[(min(before, after), max(before, after))])
        nodes.append(index[after])
    return tuple(nodes[1:] if witness[0] == graph.target else nodes)


@dataclass(slots=True)
class _Minimal:
    """The minimal sets that free one feature. Single names are kept apart: there may be hundreds of them."""

    all: list[Names] = field(default_factory=list)
    _single: set[int] = field(default_factory=set)
    _larger: list[Names] = field(default_factory=list)

    def add(self, chosen: Names) -> None:
        """One more."""
        self.all.append(chosen)
        if len(chosen) == 1:
            self._single |= chosen
        else:
            self._larger.append(chosen)

    def within(self, chosen: Names) -> bool:
        """Whether one of them is a part of this set."""
        return not self._single.isdisjoint(chosen) or any(known <= chosen for known in self._larger)


@dataclass(slots=True)
class _Search:
    """The minimal sets of one kind; see the module's docstring for why they are all of them."""

    graph: CausalGraph
    features: Names
    kind: RemedyKind
    ties: dict[int, Tie]  # a shortest open walk to each blocked feature, before anything is changed
    left: int = 0
    _options: int = 0  # of one walk that are looked at: not many more than there may be questions
    _first: dict[int, list[Names]] = field(default_factory=dict)
    _columns: Names = frozenset()
    _open: bytearray = field(default_factory=bytearray)  # colliders that nothing closes, since rows were chosen
    _free: dict[Names, Names] = field(default_factory=dict)
    _below: dict[int, Names] = field(default_factory=dict)

    def run(self, most: int) -> Iterator[Remedy]:
        """Remedies, in no order; stops after the size at which `most` of them are known."""
        size = len(self.graph.dag.names) + sum(map(len, self.graph.dag.parents))
        self.left = min(max(_WORK // size, _QUESTIONS[0]), _QUESTIONS[1])
        self._columns = frozenset(self.graph.dag.index[name] for name in self.graph.observed)
        self._open = self.graph.dag.ancestors(self.graph.dag.selected)
        self._options = self.left + _FORCED**2
        self._first = {x: self._next(frozenset(), x, tie) for x, tie in self.ties.items()}
        minimal = {x: _Minimal() for x in self.ties}
        for x, chosen in self._forced():
            minimal[x].add(chosen)
        self._by_size(minimal, most)
        for chosen in dict.fromkeys(chosen for sets in minimal.values() for chosen in sets.all):
            yield self._remedy(chosen)

    def _by_size(self, minimal: dict[int, _Minimal], most: int) -> None:
        """Tries sets in the order of their size and adds to each feature's minimal sets."""
        waiting: dict[int, dict[Names, set[int]]] = {}

        def queue(x: int, options: Iterable[Names]) -> None:
            for chosen in options:
                waiting.setdefault(len(chosen), {}).setdefault(chosen, set()).add(x)

        for x, options in self._first.items():
            queue(x, options)
        while waiting and self.left > 0:
            size = min(waiting)
            if len({one for sets in minimal.values() for one in sets.all if len(one) < size}) >= most:
                return
            level = waiting.pop(size)
            for chosen in sorted(level, key=lambda one: (-len(level[one]), sorted(one))):
                for x in sorted(level[chosen]):
                    if minimal[x].within(chosen):
                        continue
                    if x in self.free(chosen):
                        minimal[x].add(chosen)
                    elif self.left > 0:
                        queue(x, self._next(chosen, x, self.tie(chosen, x)))
                if self.left <= 0:
                    return

    def _forced(self) -> Iterator[tuple[int, Names]]:
        """Features and the sets that free them where each walk on the way leaves one choice, the most shared first."""
        groups = Counter(options[0] for options in self._first.values() if len(options) == 1)
        ranked = sorted(groups, key=lambda one: (-groups[one], sorted(one)))
        for start in islice(ranked, _FORCED):
            members = sorted(x for x, options in self._first.items() if options == [start])
            chosen = start
            for _ in range(_FORCED):
                freed = [x for x in members if x in self.free(chosen)]
                yield from ((x, chosen) for x in freed)
                options = [] if freed else self._next(chosen, members[0], self.tie(chosen, members[0]))
                if len(options) != 1:
                    break
                chosen, members = options[0], members[:1]

    def _next(self, chosen: Names, x: int, tie: Tie) -> list[Names]:
        """The sets of which each larger set that frees x contains one; empty when nothing of this kind can."""
        if self.kind == "leave_out":
            blocks = (self._features_below(node) for node in tie.colliders if not self._open[node])
            stay = {x, *self.graph.positions(self.graph.noise_parents)}
            larger = (chosen | block if chosen else block for block in blocks if stay.isdisjoint(block))  # no vain copy
        else:
            # An unused column may be added, anything else measured.
            offered = (node for node in tie.blockers() if (node in self._columns) == (self.kind == "add"))
            larger = (chosen | {node} for node in offered)
        options: dict[Names, None] = {}
        for one in larger:
            if len(options) == self._options:
                break
            options[one] = None
        return list(options)

    def _features_below(self, node: int) -> Names:
        if node not in self._below:
            mask = self.graph.dag.descendants([node])
            self._below[node] = frozenset(feature for feature in self.features if mask[feature])
        return self._below[node]

    def _measured(self, chosen: Names) -> Names:
        return self.features - chosen if self.kind == "leave_out" else self.features | chosen

    def free(self, chosen: Names) -> Names:
        """The original features that may move after the change."""
        if chosen not in self._free:
            self.left -= 1
            measured = self._measured(chosen)
            tied = reached(self.graph.dag, noise_positions(self.graph, measured), measured)
            self._free[chosen] = (measured & self.features) - tied
        return self._free[chosen]

    def tie(self, chosen: Names, x: int) -> Tie:
        """A shortest open walk to a feature that is still blocked after the change."""
        self.left -= 1
        measured = self._measured(chosen)
        return Tie.shortest(self.graph, noise_positions(self.graph, measured), x, measured - {x})

    def _remedy(self, chosen: Names) -> Remedy:
        freed = self.free(chosen) - self.free(frozenset())
        names, frees = (tuple(sorted(self.graph.dag.names[node] for node in nodes)) for nodes in (chosen, freed))
        nodes = tuple(unmeasured(self.graph, name) for name in names) if self.kind == "measure" else ()
        return Remedy(kind=self.kind, names=names, frees=frees, nodes=nodes)
