"""`CausalGraph`: what an expert says about causes, typed and checked, and its canonical DAG."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from crda_spec.errors import Complaint, GraphError, Place, did_you_mean, show

__all__ = [
    "MAX_EDGES",
    "MAX_NODES",
    "CanonicalDag",
    "CausalGraph",
    "Edge",
    "GraphPieces",
    "complaints_about",
    "free_name",
]


Mark = Literal["->", "<->"]


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """One edge and where it was written: `tail -> head`, or `tail <-> head` for a hidden common cause.

    `path` is the place inside the spec (`causal.graph.edges.3`); `at` holds the characters, counted from 1, at which
    the names of tail and head start in that text, 0 where there is no text. An edge of a graph file has a `place`
    instead: where the first of its two names stands. None of these takes part in comparisons.
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

    @property
    def where(self) -> str:
        """The place in the graph file, or the path inside the spec."""
        return self.path if self.place is None else str(self.place)


MAX_CYCLES = 10  # enough to repair a graph; a tangle of thousands helps nobody

Pair = tuple[str, str]


def find_cycles(edges: Sequence[Pair]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """For each cycle the position of the edge that closes it and its nodes, first and last the same.

    Reading the edges in order, the first one that makes a cycle is blamed and left out of the further reading, so
    every cycle reported has its own culprit. Each takes a logarithmic number of linear passes; at most MAX_CYCLES.
    """
    kept = list(range(len(edges)))
    for _ in range(MAX_CYCLES):
        if _is_acyclic([edges[i] for i in kept]):
            return
        low, high = 1, len(kept)  # the shortest cyclic prefix has more than `low - 1` and at most `high` edges
        while low < high:
            middle = (low + high) // 2
            if _is_acyclic([edges[i] for i in kept[:middle]]):
                low = middle + 1
            else:
                high = middle
        closing = kept.pop(low - 1)
        tail, head = edges[closing]
        yield closing, (*_shortest_route([edges[i] for i in kept[: low - 1]], head, tail), head)


def _is_acyclic(edges: Sequence[Pair]) -> bool:
    """Kahn's algorithm: remove nodes without a parent until none is left, or none can be removed."""
    waiting: dict[str, int] = {}
    children: defaultdict[str, list[str]] = defaultdict(list)
    for tail, head in edges:
        waiting.setdefault(tail, 0)
        waiting[head] = waiting.get(head, 0) + 1
        children[tail].append(head)
    ready = [node for node, parents in waiting.items() if not parents]
    removed = 0
    while ready:
        removed += 1
        for child in children[ready.pop()]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return removed == len(waiting)


def _shortest_route(edges: Sequence[Pair], start: str, end: str) -> tuple[str, ...]:
    """The nodes of a shortest directed route, which the caller knows to exist; `(start,)` when that is the end."""
    children: defaultdict[str, list[str]] = defaultdict(list)
    for tail, head in edges:
        children[tail].append(head)
    came_from = {start: start}
    queue = deque([start])
    while end not in came_from:
        node = queue.popleft()
        for child in children[node]:
            if child not in came_from:
                came_from[child] = node
                queue.append(child)
    route = [end]
    while route[-1] != start:
        route.append(came_from[route[-1]])
    return tuple(reversed(route))


MAX_NODES = 10_000  # nodes that edges may name; columns without an edge do not count
MAX_EDGES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPieces:
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
    path: str = "causal.graph"
    place: Place | None = field(default=None, compare=False)
    declared: Mapping[str, Place | None] = field(default_factory=dict, compare=False)
    say_latent: str = "list it under latent"

    @classmethod
    def of(
        cls,
        edges: Iterable[Edge],
        *,
        columns: Sequence[str],
        target: str,
        features: Sequence[str] | None = None,
        latents: Sequence[str] = (),
        noise_parents: Sequence[str] = (),
        path: str = "causal.graph",
    ) -> GraphPieces:
        """The pieces from any sequences; the features are all columns but the target when left out."""
        return cls(
            columns=tuple(columns),
            target=target,
            features=tuple(name for name in columns if name != target) if features is None else tuple(features),
            edges=tuple(edges),
            latents=tuple(latents),
            noise_parents=tuple(noise_parents),
            path=path,
        )

    def noise_edges(self, noise: str) -> tuple[Edge, ...]:
        """The declared edges into the noise node, and the one from there to the target."""
        into = (
            Edge(name, noise, path=f"{self.path}.noise.{i}", place=self.declared.get(name))
            for i, name in enumerate(self.noise_parents)
        )
        return (*into, Edge(noise, self.target, path=f"{self.path}.noise"))

    def noise_name(self) -> str:
        """What the noise node is called: Z, or Z(target) where a node already has that name."""
        taken = {*self.columns, *self.latents}
        return free_name("Z" if "Z" not in taken else f"Z({self.target})", taken)


def free_name(wish: str, taken: set[str]) -> str:
    """The name wished for, with as many primes as it takes to tell it from every other."""
    while wish in taken:
        wish += "'"
    return wish


def complaints_about(pieces: GraphPieces, *, complete: bool = True) -> tuple[Complaint, ...]:
    """Everything that is wrong with the pieces, in the order in which a reader meets it.

    complete: False when some edges could not be read, so that what is absent may be among those.
    """
    found = list(_size(pieces)) or _all(pieces, complete=complete)
    # What stands in a graph file stands nowhere in the spec.
    return tuple(replace(one, path="") if one.place is not None else one for one in found)


def _all(pieces: GraphPieces, *, complete: bool) -> list[Complaint]:
    found = [*_roles(pieces), *_latents(pieces), *_unknown_nodes(pieces)]
    clean, wrong = _clean_edges(pieces)
    found += [*wrong, *_noise(pieces), *_cycles(pieces, clean)]
    if complete:
        found += _absent(pieces)
    return found


def _size(pieces: GraphPieces) -> Iterator[Complaint]:
    nodes = {name for edge in pieces.edges for name in (edge.tail, edge.head)} | set(pieces.latents)
    for count, limit, what in ((len(nodes), MAX_NODES, "nodes"), (len(pieces.edges), MAX_EDGES, "edges")):
        if count > limit:
            yield Complaint(
                code="graph-too-large",
                what=f"the graph has {count} {what}, and at most {limit} are allowed",
                hint="leave out what is not tied to the target",
                path=pieces.path,
                place=pieces.place,
            )


def _roles(pieces: GraphPieces) -> Iterator[Complaint]:
    columns = set(pieces.columns)
    if pieces.target not in columns:
        yield Complaint(
            code="unknown-column",
            what=f"the target {show(pieces.target)} is not a column of the data",
            hint=did_you_mean(pieces.target, pieces.columns, otherwise="the columns are"),
            path="dataset.target",
        )
    for position, name in enumerate(pieces.features):
        path = f"dataset.features.{position}"
        if name == pieces.target:
            yield Complaint(
                code="target-is-feature",
                what=f"the target {show(name)} is also a feature",
                hint="remove it from the features",
                path=path,
            )
        elif name not in columns:
            yield Complaint(
                code="unknown-column",
                what=f"the feature {show(name)} is not a column of the data",
                hint=did_you_mean(name, pieces.columns, otherwise="the columns are"),
                path=path,
            )


def _latents(pieces: GraphPieces) -> Iterator[Complaint]:
    columns, seen = set(pieces.columns), set[str]()
    for position, name in enumerate(pieces.latents):
        path, place = f"{pieces.path}.latent.{position}", pieces.declared.get(name)
        if name in columns:
            yield Complaint(
                code="latent-is-column",
                what=f"{show(name)} is declared latent, but it is a column of the data",
                hint="remove it from the latent nodes; a column that is no feature counts as unmeasured anyway",
                path=path,
                place=place,
            )
        if name in seen:
            yield Complaint(
                code="duplicate-latent", what=f"{show(name)} is declared latent twice", hint="remove one", path=path
            )
        seen.add(name)


def _unknown_nodes(pieces: GraphPieces) -> Iterator[Complaint]:
    """One complaint per unknown name, at its first mention."""
    nodes = (*pieces.columns, *(name for name in pieces.latents if name not in pieces.columns))
    known = set(nodes)
    uses = Counter(name for edge in pieces.edges for name in {edge.tail, edge.head} if name not in known)
    for edge in pieces.edges:
        for name, at in sorted(((edge.tail, edge.at[0]), (edge.head, edge.at[1])), key=lambda end: end[1]):
            count = uses.pop(name, 0)
            if count:
                where = f"character {at}: " if at else ""
                more = "" if count == 1 else f" ({count} edges name it)"
                yield _unknown(pieces, nodes, name, where=where, more=more, path=edge.path)
                known.add(name)
    for name in pieces.declared:
        if name not in known:
            yield _unknown(pieces, nodes, name, more=" (no edge names it)", path=pieces.path)


def _unknown(
    pieces: GraphPieces, nodes: Sequence[str], name: str, *, path: str, where: str = "", more: str = ""
) -> Complaint:
    hint = did_you_mean(name, nodes, otherwise="the nodes are")
    hint = f"{hint}{'' if hint.endswith('?') else ';'} if nobody measured it, {pieces.say_latent}"
    if name == "Z":
        hint = f"Z, the noise of {pieces.target}, is added for you: remove it; what it depends on goes under noise"
    return Complaint(
        code="unknown-node",
        what=f"{where}{show(name)} is neither a column of the data nor a latent node{more}",
        hint=hint,
        path=path,
        place=pieces.declared.get(name),
    )


def _clean_edges(pieces: GraphPieces) -> tuple[list[Edge], list[Complaint]]:
    """The directed edges without self-loops, repetitions and contradictions, and a complaint for each of the rest."""
    first: dict[tuple[str, str, str], Edge] = {}
    clean, wrong = [], []
    for edge in pieces.edges:
        key = (*edge.ends, edge.mark)
        opposite = first.get((edge.head, edge.tail, edge.mark)) if edge.mark == "->" else None
        if edge.tail == edge.head:
            wrong.append(_self_edge(edge))
        elif key in first:
            wrong.append(_again(edge, first[key]))
        elif opposite is not None:
            wrong.append(_contradiction(edge, opposite))
        elif edge.mark == "->":
            clean.append(edge)
        first.setdefault(key, edge)
    return clean, wrong


def _self_edge(edge: Edge) -> Complaint:
    if edge.mark == "<->":
        return Complaint(
            code="bidirected-self",
            what=f"{edge} gives {show(edge.tail)} a hidden cause in common with itself",
            hint="a <-> ties two different nodes",
            path=edge.path,
            place=edge.place,
        )
    return Complaint(
        code="self-loop",
        what=f"{edge} makes {show(edge.tail)} its own cause",
        hint="remove the edge; an earlier value of the same quantity is another node",
        path=edge.path,
        place=edge.place,
    )


def _again(edge: Edge, first: Edge) -> Complaint:
    where = f", first at {first.where}" if first.where and first.where != edge.where else ""
    what = f"{edge} is written twice{where}"
    return Complaint(code="duplicate-edge", what=what, hint="remove one", path=edge.path, place=edge.place)


def _contradiction(edge: Edge, opposite: Edge) -> Complaint:
    where = f" at {opposite.where}" if opposite.where and opposite.where != edge.where else ""
    return Complaint(
        code="contradictory-edges",
        what=f"{edge} contradicts {opposite}{where}: together they are the cycle {opposite} -> {edge.head}",
        hint=f"keep one; for a hidden common cause write {edge.tail} <-> {edge.head}",
        path=edge.path,
        place=edge.place,
    )


def _noise(pieces: GraphPieces) -> Iterator[Complaint]:
    features, seen = set(pieces.features), set[str]()
    for position, name in enumerate(pieces.noise_parents):
        path, place = f"{pieces.path}.noise.{position}", pieces.declared.get(name)
        if name not in features:
            yield Complaint(
                code="noise-parent-not-feature",
                what=f"the noise of {pieces.target} is said to depend on {show(name)}, which is not a feature",
                hint=did_you_mean(name, pieces.features, otherwise="the features are"),
                path=path,
                place=place,
            )
        if name in seen:
            yield Complaint(
                code="duplicate-noise-parent", what=f"{show(name)} is listed twice", hint="remove one", path=path
            )
        seen.add(name)


def _cycles(pieces: GraphPieces, clean: list[Edge]) -> Iterator[Complaint]:
    """The noise node belongs to the search: a feature that the target causes cannot drive the target's noise."""
    noise = pieces.noise_name()
    # The edge from the noise to the target comes first, so that the edge blamed is one that somebody wrote.
    *into, out = pieces.noise_edges(noise)
    edges = [out, *clean, *(edge for edge in into if edge.tail in pieces.features)]
    for closing, nodes in find_cycles([(edge.tail, edge.head) for edge in edges]):
        through = f" ({noise} is the noise of {pieces.target})" if noise in nodes else ""
        yield Complaint(
            code="cycle",
            what=f"the edges form a cycle: {' -> '.join(nodes)}{through}",
            hint=f"remove or turn one of them; {edges[closing]} closes it",
            path=edges[closing].path,
            place=edges[closing].place,
        )


def _absent(pieces: GraphPieces) -> Iterator[Complaint]:
    named = {name for edge in pieces.edges for name in (edge.tail, edge.head)}
    if pieces.target not in named and pieces.target in pieces.columns:
        yield Complaint(
            code="target-missing",
            what=f"no edge names the target {show(pieces.target)}",
            hint=f"write what causes it, such as {next(iter(pieces.features), 'x')} -> {pieces.target}",
            path=f"{pieces.path}.edges",
            place=pieces.place,
        )
    for position, name in enumerate(pieces.latents):
        if name not in named:
            yield Complaint(
                code="latent-without-edges",
                what=f"no edge names the latent {show(name)}",
                hint=did_you_mean(name, sorted(named), otherwise="the edges name") or "write what it causes",
                path=f"{pieces.path}.latent.{position}",
                place=pieces.declared.get(name),
            )


@dataclass(frozen=True, slots=True)
class CanonicalDag:
    """A DAG on the integers 0 .. n-1, in the order of the nodes' names; neighbours are listed in ascending order."""

    names: tuple[str, ...]
    index: Mapping[str, int]
    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, names: Iterable[str], edges: Iterable[tuple[str, str]]) -> CanonicalDag:
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
        )

    def ancestors(self, nodes: Iterable[int]) -> bytearray:
        """A mask of the nodes and all their ancestors."""
        return _closure(self.parents, nodes)

    def descendants(self, nodes: Iterable[int]) -> bytearray:
        """A mask of the nodes and all their descendants."""
        return _closure(self.children, nodes)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalGraph:
    """A checked causal graph. Make one with `CausalGraph.build`; equal when nodes, roles and edges are."""

    observed: tuple[str, ...]
    latents: tuple[str, ...]
    target: str
    edges: tuple[Edge, ...]  # directed and bidirected, sorted; each remembers where it was written
    noise_parents: tuple[str, ...]
    noise: str  # the name of the noise node
    confounders: Mapping[str, tuple[str, str]] = field(compare=False, repr=False)  # `(a <-> b)` -> (a, b)
    dag: CanonicalDag = field(compare=False, repr=False)

    @classmethod
    def build(
        cls,
        edges: Iterable[Edge],
        *,
        columns: Sequence[str],
        target: str,
        features: Sequence[str] | None = None,
        latents: Sequence[str] = (),
        noise_parents: Sequence[str] = (),
        path: str = "causal.graph",
    ) -> CausalGraph:
        """The graph of these edges, or a GraphError with everything that is wrong with them.

        columns: all columns of the data. features: those the model sees; all but the target when left out.
        path: the graph's place inside the spec, for complaints that no single edge causes.
        """
        return cls.from_pieces(
            GraphPieces.of(
                edges,
                columns=columns,
                target=target,
                features=features,
                latents=latents,
                noise_parents=noise_parents,
                path=path,
            )
        )

    @classmethod
    def from_pieces(cls, pieces: GraphPieces) -> CausalGraph:
        """The graph of these pieces, or a GraphError with everything that is wrong with them."""
        complaints = complaints_about(pieces)
        if complaints:
            raise GraphError(complaints)
        noise = pieces.noise_name()
        edges = tuple(sorted(_upright(edge) for edge in pieces.edges))
        taken = {*pieces.columns, *pieces.latents, noise}
        confounders: dict[str, tuple[str, str]] = {}
        for edge in edges:
            if edge.mark == "<->":
                name = free_name(f"({edge})", taken)
                taken.add(name)
                confounders[name] = (edge.tail, edge.head)
        arrows = [(edge.tail, edge.head) for edge in (*edges, *pieces.noise_edges(noise)) if edge.mark == "->"]
        arrows += [(name, end) for name, ends in confounders.items() for end in ends]
        return cls(
            observed=tuple(sorted(pieces.columns)),
            latents=tuple(sorted(pieces.latents)),
            target=pieces.target,
            edges=edges,
            noise_parents=tuple(sorted(pieces.noise_parents)),
            noise=noise,
            confounders=MappingProxyType(confounders),
            dag=CanonicalDag.of(taken, arrows),
        )

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
        wanted = list(names)
        index = self.dag.index
        unknown = [name for name in wanted if name not in index]
        if unknown:
            raise GraphError(
                Complaint(
                    code="unknown-node",
                    what=f"{show(name)} is not a node of the graph",
                    hint=did_you_mean(name, self.dag.names, otherwise="the nodes are"),
                )
                for name in unknown
            )
        return [index[name] for name in wanted]

    def measured(self, features: Collection[str]) -> list[int]:
        """The positions of the features, checked: each a column, none the target, none twice."""
        complaints = list(_feature_complaints(self, features))
        if complaints:
            raise GraphError(complaints)
        return [self.dag.index[name] for name in features]


def _upright(edge: Edge) -> Edge:
    """A bidirected edge with its ends in the order of their names; a directed one as it is."""
    if edge.ends == (edge.tail, edge.head):
        return edge
    return Edge(edge.head, edge.tail, edge.mark, edge.path, edge.at[::-1], edge.place)


def _feature_complaints(graph: CausalGraph, features: Collection[str]) -> Iterable[Complaint]:
    columns, seen = set(graph.observed), set[str]()
    for name in features:
        if name == graph.target:
            yield Complaint(
                code="target-is-feature",
                what=f"the target {show(name)} is also a feature",
                hint="remove it from the features",
            )
        elif name not in columns:
            yield Complaint(
                code="unknown-column",
                what=f"the feature {show(name)} is not a column of the data",
                hint=did_you_mean(name, graph.observed, otherwise="the columns are"),
            )
        elif name in seen:
            yield Complaint(
                code="duplicate-feature", what=f"the feature {show(name)} is listed twice", hint="remove one"
            )
        seen.add(name)
