"""`CausalGraph`: what an expert says about causes, typed and checked, and its canonical DAG."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Literal, Required, TypedDict, TypeVar, Unpack

from crda_spec.errors import Complaint, GraphError, Place, did_you_mean, show

Mark = Literal["->", "<->"]


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """One edge and where it was written: `tail -> head`, or `tail <-> head` for a hidden common cause.

    An edge of a spec has a `path` (`causal.graph.edges.3`) and the characters `at` which tail and head start in that
    text, counted from 1; an edge of a graph file the `place` of the first of its two names.
    """

    tail: str
    head: str
    mark: Mark = "->"
    path: str = field(default="", compare=False)
    at: tuple[int, int] = field(default=(0, 0), compare=False)
    place: Place | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.tail} {self.mark} {self.head}"

    @property
    def ends(self) -> tuple[str, str]:
        """Tail and head; of a bidirected edge, which has neither, the ends in the order of their names."""
        swap = self.mark == "<->" and self.head < self.tail
        return (self.head, self.tail) if swap else (self.tail, self.head)

    def upright(self) -> Edge:
        """A bidirected edge with its ends in the order of their names; a directed one as it is."""
        at = self.at if self.ends == (self.tail, self.head) else self.at[::-1]
        return Edge(*self.ends, self.mark, self.path, at, self.place)

    @property
    def where(self) -> str:
        """The place in the graph file, or the path inside the spec."""
        return self.path if self.place is None else str(self.place)


MAX_CYCLES = 10  # enough to repair a graph; a tangle of thousands helps nobody
Pair = tuple[str, str]
Node = TypeVar("Node", bound=Hashable)


def find_cycles(edges: Sequence[Pair]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """For each cycle, of at most MAX_CYCLES, the position of the edge that closes it and its nodes, ends the same.

    Reading the edges in order, the first one that makes a cycle is blamed and left out of the further reading, so
    every cycle reported has its own culprit.
    """
    kept = list(range(len(edges)))
    for _ in range(MAX_CYCLES):
        if _is_acyclic([edges[i] for i in kept]):
            return
        shortest = bisect_left(  # the number of edges in the shortest cyclic prefix
            range(len(kept)), x=True, lo=1, key=lambda count: not _is_acyclic([edges[i] for i in kept[:count]])
        )
        closing = kept.pop(shortest - 1)
        tail, head = edges[closing]
        children: defaultdict[str, list[str]] = defaultdict(list)
        for i in kept[: shortest - 1]:
            children[edges[i][0]].append(edges[i][1])
        yield closing, (*shortest_route(children.__getitem__, head, tail), head)


def _is_acyclic(edges: Sequence[Pair]) -> bool:
    causes: defaultdict[str, list[str]] = defaultdict(list)
    for tail, head in edges:
        causes[head].append(tail)
    try:
        TopologicalSorter(causes).prepare()
    except CycleError:
        return False
    return True


def shortest_route(children: Callable[[Node], Iterable[Node]], start: Node, end: Node) -> tuple[Node, ...]:
    """The nodes of a shortest directed route, both ends included; empty when there is none."""
    came_from, queue = {start: start}, [start]
    for node in queue:  # grows while it is read
        if node == end:
            break
        for child in children(node):
            if child not in came_from:
                came_from[child] = node
                queue.append(child)
    else:
        return ()
    route = [end]
    while route[-1] != start:
        route.append(came_from[route[-1]])
    return tuple(reversed(route))


MAX_NODES = 10_000  # nodes that edges may name; columns without an edge do not count
MAX_EDGES = 100_000


class Declared(TypedDict, total=False):
    """What is said beside the edges."""

    columns: Required[Sequence[str]]  # all columns of the data
    target: Required[str]
    features: Sequence[str] | None  # those the model sees; all but the target when left out
    latents: Sequence[str]
    noise_parents: Sequence[str]
    selected: Sequence[str]  # nodes by which rows were chosen; one that is no column is latent
    unrelated: Sequence[str]  # features that no edge names, on purpose
    additive: Sequence[str]  # latent nodes that pass on what they get and add noise of their own
    path: str  # the graph's place inside the spec, for complaints that no single edge causes


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDeclaration:
    """What a graph is made from. `features` are the columns that the model sees; `path` is the graph's place.

    A graph that was read from a file brings along the file's `place`, every node that it names (`declared`, with the
    place of its first mention) and how that format says that nobody measured a node (`say_latent`).
    """

    columns: tuple[str, ...]
    target: str
    features: tuple[str, ...]
    edges: tuple[Edge, ...]
    latents: tuple[str, ...] = ()
    noise_parents: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    additive: tuple[str, ...] = ()
    unrelated: tuple[str, ...] = ()
    path: str = "causal.graph"
    place: Place | None = field(default=None, compare=False)
    declared: Mapping[str, Place | None] = field(default_factory=dict, compare=False)
    say_latent: str = "list it under latent"

    @classmethod
    def of(cls, edges: Iterable[Edge], **declared: Unpack[Declared]) -> GraphDeclaration:
        """The pieces from any sequences; the features are all columns but the target when left out."""
        columns, target, features = declared["columns"], declared["target"], declared.get("features")
        latents, selected = tuple(declared.get("latents", ())), tuple(declared.get("selected", ()))
        unsaid = dict.fromkeys(name for name in selected if name not in {*columns, *latents})
        return cls(
            columns=tuple(columns),
            target=target,
            features=tuple(name for name in columns if name != target) if features is None else tuple(features),
            edges=tuple(edges),
            latents=(*latents, *unsaid),
            noise_parents=tuple(declared.get("noise_parents", ())),
            selected=selected,
            additive=tuple(declared.get("additive", ())),
            unrelated=tuple(declared.get("unrelated", ())),
            path=declared.get("path", "causal.graph"),
        )

    def noise_edges(self, noise: str) -> tuple[Edge, ...]:
        """The declared edges into the noise node, and the one from there to the target."""
        into = (
            Edge(name, noise, path=f"{self.path}.noise.{i}", place=self.declared.get(name))
            for i, name in enumerate(self.noise_parents)
        )
        return (*into, Edge(noise, self.target, path=f"{self.path}.noise"))

    def listed(self, key: str, names: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
        """Each name that stands under a key of the graph, its path, and whether it stood there before."""
        first = {name: position for position, name in reversed([*enumerate(names)])}
        return ((name, f"{self.path}.{key}.{at}", first[name] < at) for at, name in enumerate(names))

    def noise_name(self) -> str:
        """What the noise node is called: Z, or Z(target) where a node already has that name."""
        taken = {*self.columns, *self.latents}
        return free_name("Z" if "Z" not in taken else f"Z({self.target})", taken)


def free_name(wish: str, taken: set[str]) -> str:
    """The name wished for, with as many primes as it takes to tell it from every other."""
    while wish in taken:
        wish += "'"
    return wish


def complaints_about(pieces: GraphDeclaration, *, complete: bool = True) -> tuple[Complaint, ...]:
    """What is wrong with the pieces, as a reader meets it. complete: no edge was unreadable, so what is absent is."""
    problems = list(_size(pieces))
    if not problems:
        clean, wrong = _clean_edges(pieces)
        problems = [*_columns(pieces), *_latents(pieces), *_unknown_nodes(pieces), *wrong]
        problems += [*_noise(pieces), *_unrelated(pieces), *_cycles(pieces, clean), *_selected(pieces, complete)]
        problems += _absent(pieces) if complete else ()
    # What stands in a graph file stands nowhere in the spec.
    return tuple(replace(one, path="") if one.place is not None else one for one in problems)


def _complaint(code: str, what: str, hint: str, path: str = "", place: Place | None = None) -> Complaint:
    return Complaint(code=code, what=what, hint=hint, path=path, place=place)


def unknown_node(name: str, nodes: Sequence[str]) -> Complaint:
    """Somebody asks about a node that the graph does not have."""
    hint = did_you_mean(name, nodes, otherwise="the nodes are")
    return _complaint("unknown-node", f"{show(name)} is not a node of the graph", hint)


def _size(pieces: GraphDeclaration) -> Iterator[Complaint]:
    for count, limit, items in (
        (len(edge_names(pieces.edges).union(pieces.latents)), MAX_NODES, "nodes"),
        (len(pieces.edges), MAX_EDGES, "edges"),
    ):
        if count > limit:
            what = f"the graph has {count} {items}, and at most {limit} are allowed"
            hint = "leave out what is not tied to the target"
            yield _complaint("graph-too-large", what, hint, pieces.path, pieces.place)


def edge_names(edges: Iterable[Edge]) -> set[str]:
    """Every name that an edge names."""
    return {name for edge in edges for name in (edge.tail, edge.head)}


def _columns(pieces: GraphDeclaration) -> Iterator[Complaint]:
    if pieces.target not in pieces.columns:
        what = f"the target {show(pieces.target)} is not a column of the data"
        hint = did_you_mean(pieces.target, pieces.columns, otherwise="the columns are")
        yield _complaint("unknown-column", what, hint, "dataset.target")
    yield from _features(pieces.features, pieces.columns, pieces.target, "dataset.features")


def _features(features: Iterable[str], columns: Sequence[str], target: str, path: str = "") -> Iterator[Complaint]:
    """path: where a spec lists them, if it does; what is listed twice there is found when it is read."""
    known, seen = set(columns), set[str]()
    for position, name in enumerate(features):
        at = f"{path}.{position}" if path else ""
        if name == target:
            what = f"the target {show(name)} is also a feature"
            yield _complaint("target-is-feature", what, "remove it from the features", at)
        elif name not in known:
            hint = did_you_mean(name, columns, otherwise="the columns are")
            yield _complaint("unknown-column", f"the feature {show(name)} is not a column of the data", hint, at)
        elif name in seen and not path:
            yield _complaint("duplicate-feature", f"the feature {show(name)} is listed twice", "remove one")
        seen.add(name)


def _latents(pieces: GraphDeclaration) -> Iterator[Complaint]:
    columns = set(pieces.columns)
    for name, path, again in pieces.listed("latent", pieces.latents):
        if name in columns:
            what = f"{show(name)} is declared latent, but it is a column of the data"
            hint = "remove it from the latent nodes; a column that is no feature counts as unmeasured anyway"
            yield _complaint("latent-is-column", what, hint, path, pieces.declared.get(name))
        if again:
            yield _complaint("duplicate-latent", f"{show(name)} is declared latent twice", "remove one", path)


def _unknown_nodes(pieces: GraphDeclaration) -> Iterator[Complaint]:
    """One complaint per unknown name, at its first mention."""
    nodes = (*pieces.columns, *(name for name in pieces.latents if name not in pieces.columns))
    known = set(nodes)
    uses = Counter(name for edge in pieces.edges for name in {edge.tail, edge.head} if name not in known)

    def unknown(name: str, path: str, where: str, more: str) -> Complaint:
        hint = did_you_mean(name, nodes, otherwise="the nodes are")
        hint = f"{hint}{'' if hint.endswith('?') else ';'} if nobody measured it, {pieces.say_latent}"
        if name == "Z":
            hint = f"Z, the noise of {pieces.target}, is added for you: remove it; what it depends on goes under noise"
        what = f"{where}{show(name)} is neither a column of the data nor a latent node{more}"
        return _complaint("unknown-node", what, hint, path, pieces.declared.get(name))

    for edge in pieces.edges:
        for name, at in sorted(((edge.tail, edge.at[0]), (edge.head, edge.at[1])), key=lambda end: end[1]):
            if count := uses.pop(name, 0):
                more = "" if count == 1 else f" ({count} edges name it)"
                yield unknown(name, edge.path, f"character {at}: " if at else "", more)
                known.add(name)
    for name in pieces.declared:
        if name not in known:
            yield unknown(name, pieces.path, "", " (no edge names it)")


def _clean_edges(pieces: GraphDeclaration) -> tuple[list[Edge], list[Complaint]]:
    """The directed edges without self-loops, repetitions and contradictions, and a complaint for each of the rest."""
    first: dict[tuple[str, str, str], Edge] = {}
    clean, wrong = [], []
    for edge in pieces.edges:
        problem = _problem(edge, first)
        if problem is not None:
            wrong.append(_complaint(*problem, edge.path, edge.place))
        elif edge.mark == "->":
            clean.append(edge)
        first.setdefault((*edge.ends, edge.mark), edge)
    return clean, wrong


def _problem(edge: Edge, first: Mapping[tuple[str, str, str], Edge]) -> tuple[str, str, str] | None:
    """What is wrong with an edge, given those before it: code, what and hint."""
    if edge.tail == edge.head:
        if edge.mark == "<->":
            what = f"{edge} gives {show(edge.tail)} a hidden cause in common with itself"
            return "bidirected-self", what, "a <-> ties two different nodes"
        hint = "remove the edge; an earlier value of the same quantity is another node"
        return "self-loop", f"{edge} makes {show(edge.tail)} its own cause", hint
    same = first.get((*edge.ends, edge.mark))
    if same is not None:
        where = f", first at {same.where}" if same.where not in ("", edge.where) else ""
        return "duplicate-edge", f"{edge} is written twice{where}", "remove one"
    opposite = first.get((edge.head, edge.tail, "->")) if edge.mark == "->" else None
    if opposite is not None:
        where = f" at {opposite.where}" if opposite.where not in ("", edge.where) else ""
        what = f"{edge} contradicts {opposite}{where}: together they are the cycle {opposite} -> {edge.head}"
        return "contradictory-edges", what, f"keep one; for a hidden common cause write {edge.tail} <-> {edge.head}"
    return None


def _noise(pieces: GraphDeclaration) -> Iterator[Complaint]:
    features = set(pieces.features)
    for name, path, again in pieces.listed("noise", pieces.noise_parents):
        if name not in features:
            what = f"the noise of {pieces.target} is said to depend on {show(name)}, which is not a feature"
            hint = did_you_mean(name, pieces.features, otherwise="the features are")
            yield _complaint("noise-parent-not-feature", what, hint, path, pieces.declared.get(name))
        if again:
            yield _complaint("duplicate-noise-parent", f"{show(name)} is listed twice", "remove one", path)


def _unrelated(pieces: GraphDeclaration) -> Iterator[Complaint]:
    """Features that the expert knows to be chance: drawn, and tied to nothing."""
    named = edge_names(pieces.edges).union(pieces.noise_parents)
    for name, path, again in pieces.listed("unrelated", pieces.unrelated):
        if name not in pieces.features:
            hint = did_you_mean(name, pieces.features, otherwise="the features are")
            yield _complaint("unrelated-not-feature", f"{show(name)} is not a feature", hint, path)
        elif name in named:
            what = f"{show(name)} is said to be unrelated, but the graph ties it to another node"
            yield _complaint("unrelated-with-edges", what, "remove it from this list, or remove its arrows", path)
        if again:
            yield _complaint("duplicate-unrelated", f"{show(name)} is listed twice", "remove one", path)


def _selected(pieces: GraphDeclaration, complete: bool) -> Iterator[Complaint]:  # noqa: FBT001
    """A node that chose rows says nothing as long as nobody draws what decides it."""
    names = edge_names(pieces.edges)
    for name, path, again in pieces.listed("selected", pieces.selected):
        if again:
            yield _complaint("duplicate-selected", f"{show(name)} is listed twice", "remove one", path)
        elif complete and name not in names:
            what = f"rows were selected by {show(name)}, but no edge names it"
            hint = f"draw what decides it, such as {next(iter(pieces.features), 'x')} -> {name}"
            yield _complaint("selected-without-edges", what, hint, path, pieces.declared.get(name))


def _cycles(pieces: GraphDeclaration, clean: list[Edge]) -> Iterator[Complaint]:
    """The noise node belongs to the search: a feature that the target causes cannot drive the target's noise."""
    noise = pieces.noise_name()
    # The edge from the noise to the target comes first, so that the edge blamed is one that somebody wrote.
    *into, out = pieces.noise_edges(noise)
    edges = [out, *clean, *(edge for edge in into if edge.tail in pieces.features)]
    for closing, nodes in find_cycles([(edge.tail, edge.head) for edge in edges]):
        through = f" ({noise} is the noise of {pieces.target})" if noise in nodes else ""
        what = f"the edges form a cycle: {' -> '.join(nodes)}{through}"
        hint = f"remove or turn one of them; {edges[closing]} closes it"
        yield _complaint("cycle", what, hint, edges[closing].path, edges[closing].place)


def _absent(pieces: GraphDeclaration) -> Iterator[Complaint]:
    names = edge_names(pieces.edges)
    if pieces.target not in names and pieces.target in pieces.columns:
        hint = f"write what causes it, such as {next(iter(pieces.features), 'x')} -> {pieces.target}"
        what = f"no edge names the target {show(pieces.target)}"
        yield _complaint("target-missing", what, hint, f"{pieces.path}.edges", pieces.place)
    for name, path, _ in pieces.listed("latent", pieces.latents):
        if name not in names and name not in pieces.selected:
            hint = did_you_mean(name, sorted(names), otherwise="the edges name") or "write what it causes"
            what = f"no edge names the latent {show(name)}"
            yield _complaint("latent-without-edges", what, hint, path, pieces.declared.get(name))


@dataclass(frozen=True, slots=True)
class CanonicalDag:
    """A DAG on the integers 0 .. n-1, in the order of the nodes' names; neighbours are listed in ascending order."""

    names: tuple[str, ...]
    index: Mapping[str, int]
    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    selected: tuple[int, ...] = ()  # rows were chosen by these: a collider above one is open in every row that is left

    @classmethod
    def of(cls, names: Iterable[str], edges: Iterable[tuple[str, str]], selected: Iterable[str] = ()) -> CanonicalDag:
        """The DAG with these nodes and edges; the caller vouches that there is no cycle."""
        ordered = tuple(sorted(names))
        index = {name: position for position, name in enumerate(ordered)}
        parents: list[list[int]] = [[] for _ in ordered]
        children: list[list[int]] = [[] for _ in ordered]
        for tail, head in edges:
            parents[index[head]].append(index[tail])
            children[index[tail]].append(index[head])
        return cls(
            names=ordered,
            index=MappingProxyType(index),
            parents=tuple(tuple(sorted(found)) for found in parents),
            children=tuple(tuple(sorted(found)) for found in children),
            selected=tuple(sorted(index[name] for name in selected)),
        )

    def ancestors(self, nodes: Iterable[int]) -> bytearray:
        """A mask of the nodes and all their ancestors."""
        return _closure(self.parents, nodes)

    def descendants(self, nodes: Iterable[int]) -> bytearray:
        """A mask of the nodes and all their descendants."""
        return _closure(self.children, nodes)


def causes_first(parents: Sequence[Sequence[int]], children: Sequence[Sequence[int]]) -> list[int]:
    """All nodes of a DAG, each after its parents."""
    waiting = [len(found) for found in parents]
    ready = [node for node, count in enumerate(waiting) if not count]
    for node in ready:  # grows while it is read
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return ready


def _closure(neighbours: Sequence[Sequence[int]], nodes: Iterable[int]) -> bytearray:
    mask = bytearray(len(neighbours))
    stack = list(nodes)
    for node in stack:
        mask[node] = 1
    while stack:
        for neighbour in neighbours[stack.pop()]:
            if not mask[neighbour]:
                mask[neighbour] = 1
                stack.append(neighbour)
    return mask


def _passed_on(arrows: list[Pair], name: str) -> list[Pair]:
    """The arrows after the causes of a node became causes of its effects; what is left of the node is its own noise.

    The measured nodes keep every independence that they had (Evans 2016, "Graphs for margins of Bayesian networks").
    """
    into, out = ([pair for pair in arrows if pair[end] == name] for end in (1, 0))
    passed = [(cause, effect) for cause, _ in into for _, effect in out]
    return list(dict.fromkeys([*(pair for pair in arrows if pair[1] != name), *passed]))


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalGraph:
    """A checked causal graph. Make one with `CausalGraph.build`; equal when nodes, roles and edges are."""

    observed: tuple[str, ...]
    latents: tuple[str, ...]
    target: str
    edges: tuple[Edge, ...]  # directed and bidirected, sorted; each remembers where it was written
    noise_parents: tuple[str, ...]
    noise: str  # the name of the noise node
    selected: tuple[str, ...] = ()
    additive: tuple[str, ...] = ()
    unrelated: tuple[str, ...] = ()  # features that no edge names, on purpose
    confounders: Mapping[str, tuple[str, str]] = field(compare=False, repr=False)  # `(a <-> b)` -> (a, b)
    dag: CanonicalDag = field(compare=False, repr=False)

    @classmethod
    def build(cls, edges: Iterable[Edge], **declared: Unpack[Declared]) -> CausalGraph:
        """The graph of these edges, or a GraphError with everything that is wrong with them."""
        return cls.from_declaration(GraphDeclaration.of(edges, **declared))

    @classmethod
    def from_declaration(cls, pieces: GraphDeclaration) -> CausalGraph:
        """The graph of these pieces, or a GraphError with everything that is wrong with them."""
        complaints = complaints_about(pieces)
        if complaints:
            raise GraphError(complaints)
        noise = pieces.noise_name()
        edges = tuple(sorted(edge.upright() for edge in pieces.edges))
        taken = {*pieces.columns, *pieces.latents, noise}
        confounders: dict[str, tuple[str, str]] = {}
        for edge in edges:
            if edge.mark == "<->":
                name = free_name(f"({edge})", taken)
                taken.add(name)
                confounders[name] = (edge.tail, edge.head)
        arrows = [(edge.tail, edge.head) for edge in (*edges, *pieces.noise_edges(noise)) if edge.mark == "->"]
        arrows += [(name, end) for name, ends in confounders.items() for end in ends]
        for name in pieces.additive:
            arrows = _passed_on(arrows, name)
        return cls(
            observed=tuple(sorted(pieces.columns)),
            latents=tuple(sorted(pieces.latents)),
            target=pieces.target,
            edges=edges,
            noise_parents=tuple(sorted(pieces.noise_parents)),
            noise=noise,
            selected=tuple(sorted(pieces.selected)),
            additive=tuple(sorted(pieces.additive)),
            unrelated=tuple(sorted(pieces.unrelated)),
            confounders=MappingProxyType(confounders),
            dag=CanonicalDag.of(taken, arrows, pieces.selected),
        )

    @property
    def named(self) -> frozenset[str]:
        """The nodes that somebody drew: at an edge, as a cause of the noise, or on purpose without an edge."""
        return frozenset({*edge_names(self.edges), *self.noise_parents, *self.unrelated})

    @property
    def directed(self) -> tuple[tuple[str, str], ...]:
        """The edges `a -> b`, the noise's not among them."""
        return tuple((edge.tail, edge.head) for edge in self.edges if edge.mark == "->")

    @property
    def bidirected(self) -> tuple[tuple[str, str], ...]:
        """The edges `a <-> b`, each once, its ends in the order of their names."""
        return tuple((edge.tail, edge.head) for edge in self.edges if edge.mark == "<->")

    def positions(self, names: Iterable[str]) -> list[int]:
        """Where these nodes stand in the canonical DAG; a GraphError names all that are not in it."""
        wanted, index = list(names), self.dag.index
        unknown = [unknown_node(name, self.dag.names) for name in wanted if name not in index]
        if unknown:
            raise GraphError(unknown)
        return [index[name] for name in wanted]

    def measured(self, features: Collection[str]) -> list[int]:
        """The positions of the features, checked: each a column, none the target, none twice."""
        complaints = list(_features(features, self.observed, self.target))
        if complaints:
            raise GraphError(complaints)
        return [self.dag.index[name] for name in features]
