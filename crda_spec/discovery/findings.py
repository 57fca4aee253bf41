"""What a search found: which links it shares with a declared graph, the graph as one that an expert can declare, and
both with the rows they come from.

A declared graph has `->` and `<->` only. docs/design/discovery.md tells how each link that a search leaves open is
decided: by one graph of the same class (Dor and Tarsi 1992), of a PAG too, since such a graph is a member of its class
(Zhang 2008, on tail augmentation). A conflict has no say in what the other links mean: its tests contradict each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from crda_spec.discovery._protocol import DiscoveredGraph, FoundEdge, Stability
from crda_spec.discovery.fci import possibly_confounded_with
from crda_spec.discovery.pc import in_circles
from crda_spec.errors import Complaint, GraphError, show
from crda_spec.records import DrawnGraph, EdgeMark
from crda_spec.scm.graph import CanonicalDag, CausalGraph, Edge

Pair = tuple[str, str]
# What the declared graph has where the search found a link.
Agreement = Literal["same", "other direction", "direction open", "as a hidden cause", "as an arrow", "not there"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the two graphs say of each pair of searched columns."""

    found: Mapping[Pair, Agreement]  # (first, second) of each link that was found
    unseen: tuple[str, ...]  # `a -> b`, `a <-> b`: declared, and the data show no link

    def of(self, edge: FoundEdge) -> Agreement:
        """What the declared graph has in place of a link that was found."""
        return self.found[edge.first, edge.second]


def compare(search: DiscoveredGraph, declared: CausalGraph) -> Comparison:
    """Compares link by link, over the columns that were searched.

    What was not searched (a latent node, a column that is no feature) is projected out of the declared graph.
    """
    dag, place = declared.dag, {name: position for position, name in enumerate(search.names)}
    ends = {name: sorted(_reached(dag, name, place), key=place.__getitem__) for name in dag.names}
    arrows = [(name, end) for name in search.names for end in ends.get(name, ())]
    unsearched = (ends[name] for name in dag.names if name not in place and name != declared.noise)
    pairs = {pair for caused in unsearched for pair in combinations(caused, 2)}
    ties = sorted(pairs, key=lambda pair: (place[pair[0]], place[pair[1]]))
    linked = {frozenset((edge.first, edge.second)) for edge in search.edges}
    unseen = [f"{a} -> {b}" for a, b in arrows if frozenset((a, b)) not in linked]
    unseen += [f"{a} <-> {b}" for a, b in ties if frozenset((a, b)) not in linked]
    known = frozenset(arrows), frozenset(frozenset(pair) for pair in ties)
    return Comparison(
        found={(edge.first, edge.second): _agreement(search, edge, *known) for edge in search.edges},
        unseen=tuple(unseen),
    )


def _agreement(
    search: DiscoveredGraph, edge: FoundEdge, arrows: frozenset[Pair], ties: frozenset[frozenset[str]]
) -> Agreement:
    forward, back = (edge.first, edge.second) in arrows, (edge.second, edge.first) in arrows
    hidden = frozenset((edge.first, edge.second)) in ties
    if not (forward or back or hidden):
        return "not there"
    if edge.mark in ("->", "o->"):
        if forward or (hidden and edge.mark == "o->"):
            return "same"
        return "other direction" if back else "as a hidden cause"
    if edge.mark == "<->" and search.kind == "pag":
        return "same" if hidden else "as an arrow"
    return "direction open" if forward or back else "as a hidden cause"


def _reached(dag: CanonicalDag, start: str, searched: Collection[str]) -> set[str]:
    """The searched columns that a node causes directly or through nodes that were not searched."""
    caused, queue = set[str](), [start]
    for node in queue:  # grows while it is read
        new = {dag.names[child] for child in dag.children[dag.index[node]]} - caused
        caused |= new
        queue += [name for name in new if name not in searched]
    return {name for name in caused if name in searched}


# Why the direction of an edge is a guess.
Guess = Literal[
    "open", "conflict", "circle", "hidden_too", "hidden_instead", "open_or_hidden", "selected", "against_knowledge"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDraft:
    """A graph that can be declared, and every edge of it that is somebody's guess."""

    graph: CausalGraph
    guesses: Mapping[Pair, Guess]  # (tail, head) of an edge -> why it needs an expert's eye
    by_order: bool  # no consistent extension exists: open links follow the order of the columns

    def guess(self, edge: Edge) -> Guess | None:
        """Why an edge is a guess; None when the data decide it."""
        return self.guesses.get((edge.tail, edge.head)) or self.guesses.get((edge.head, edge.tail))


def declarable(found: DiscoveredGraph, *, target: str, barred: Collection[Pair] = ()) -> GraphDraft:
    """The graph to declare. A GraphError when no link touches the target, of which a declared graph has to speak.

    barred: arrows that the expert's knowledge rules out; one that is drawn all the same is called a guess.
    """
    if not found.neighbours(target):
        what = f"the search links nothing to the target {show(target)}, so its graph cannot be declared"
        hint = "raise alpha, tell the search what you know, or write down the arrows that you know yourself"
        raise GraphError(Complaint(code="target-missing", what=what, hint=hint))
    arrows: dict[Pair, Guess | None] = {}  # with why one that is directed needs an expert's eye all the same
    undecided: dict[Pair, Guess] = {}
    for edge in found.edges:
        pair = (edge.first, edge.second)
        if edge.mark == "o->":
            arrows[pair] = "hidden_instead"
        elif edge.mark == "->":
            doubtful = found.kind == "pag" and edge.first in possibly_confounded_with(found, edge.second)
            arrows[pair] = "hidden_too" if doubtful else None
        elif edge.mark != "<->":
            in_pag: Guess = "open_or_hidden" if edge.mark == "o-o" else "selected"
            undecided[pair] = "open" if found.kind == "cpdag" else in_pag
    # `o->` of a noisy search can bring about arrows in a directed circle. Conflicts follow the order of the others.
    place = {name: position for position, name in enumerate(found.names)}
    circular = in_circles([(place[a], place[b]) for a, b in arrows], len(place))
    conflicts: dict[Pair, Guess] = dict.fromkeys(found.conflicted, "conflict")
    conflicts |= {(a, b): "circle" for a, b in arrows if (place[a], place[b]) in circular}
    arrows = {pair: why for pair, why in arrows.items() if pair not in conflicts}
    wish = [target, *(name for name in reversed(found.names) if name != target)]  # effects first
    consistent = _effects_first(wish, tuple(arrows), tuple(undecided), found.confounded)
    order = consistent or _effects_first(wish, tuple(arrows), (), ())
    if order is None:  # pragma: no cover - arrows in a circle were taken out
        raise AssertionError("the arrows run in a circle")
    guesses: dict[Pair, Guess] = {pair: why for pair, why in arrows.items() if why}
    edges = [Edge(tail, head) for tail, head in arrows]
    edges += [Edge(a, b, "<->") for a, b in found.confounded]
    for pair, why in (undecided | conflicts).items():
        head, tail = sorted(pair, key=order.index)
        edges.append(Edge(tail, head))
        guesses[tail, head] = why
    for drawn in edges:
        if drawn.mark == "->" and (drawn.tail, drawn.head) in barred:
            guesses[drawn.tail, drawn.head] = "against_knowledge"
    graph = CausalGraph.build(edges, columns=found.names, target=target)
    return GraphDraft(graph=graph, guesses=guesses, by_order=consistent is None)


def _effects_first(
    wish: Sequence[str], arrows: Sequence[Pair], undecided: Sequence[Pair], hidden: Sequence[Pair]
) -> list[str] | None:
    """Dor and Tarsi: takes away, one by one, a column that can be an effect of all its open links; None when stuck.

    Such a column has no arrow out of it, and whoever is tied to it by an open link is tied to all its other neighbours
    too, so that pointing the link at it makes no new common effect. wish: the order in which columns are tried.
    """

    def ends(pairs: Iterable[Pair]) -> dict[str, set[str]]:
        reached: dict[str, set[str]] = {name: set() for name in wish}
        for tail, head in pairs:
            reached[tail].add(head)
        return reached

    links = (*arrows, *undecided, *hidden)
    effects = ends(arrows)
    loose, near = (ends((*pairs, *((b, a) for a, b in pairs))) for pairs in (undecided, links))
    order: list[str] = []
    left = dict.fromkeys(wish)
    while left:
        last = next((x for x in left if not effects[x] and all(near[x] - {a} <= near[a] for a in loose[x])), None)
        if last is None:
            return None
        order.append(last)
        del left[last]
        for parts in (effects, loose, near):
            for others in parts.values():
                others.discard(last)
    return order


OFTEN = 0.5  # a link in this share of the resamples is told even when all rows together do not show it


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a search found, on which rows, how stable it is, and how it compares with a declared graph."""

    graph: DiscoveredGraph
    target: str
    source: str  # which rows: `training rows of patients.csv`
    rows: int
    complete: int  # rows without a missing cell: those that were searched
    stability: Stability | None  # None: the search was not repeated
    often: tuple[tuple[str, str, float], ...]  # pairs that resamples link often and all rows together do not, and how
    comparison: Comparison | None  # None without a declared graph
    barred: frozenset[Pair] = frozenset()  # arrows, (tail, head), that the expert's knowledge rules out

    @property
    def drawn(self) -> DrawnGraph:
        """The picture: a conflict is drawn as a link whose direction nobody knows."""
        names = [name for name in self.graph.names if name != self.target]
        shown: dict[EdgeMark, EdgeMark] = {"<->": "--"} if self.graph.kind == "cpdag" else {}
        return DrawnGraph(
            nodes=(*((name, "feature") for name in names), (self.target, "target")),
            edges=tuple((edge.first, edge.second, shown.get(edge.mark, edge.mark)) for edge in self.graph.edges),
        )

    def draft(self) -> GraphDraft:
        """The graph with every link directed, to be checked by an expert and declared."""
        return declarable(self.graph, target=self.target, barred=self.barred)
