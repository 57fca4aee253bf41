"""The pieces somebody wrote down as a causal graph, and everything that can be wrong with them.

`scm.graph` builds a `CausalGraph` only from pieces without a complaint. Formats hand over pieces, never graphs, so
that every format is held to the same rules and says the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from crda_spec.errors import Complaint, did_you_mean, show
from crda_spec.scm.cycles import find_cycles

MAX_NODES = 10_000  # nodes that edges may name; columns without an edge do not count
MAX_EDGES = 100_000

Mark = Literal["->", "<->"]


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """One edge and where it was written: `tail -> head`, or `tail <-> head` for a hidden common cause.

    `path` is the place inside the spec (`causal.graph.edges.3`); `at` holds the characters, counted from 1, at which
    the names of tail and head start in that text, 0 where there is no text. Neither takes part in comparisons.
    """

    tail: str
    head: str
    mark: Mark = "->"
    path: str = field(default="", compare=False)
    at: tuple[int, int] = field(default=(0, 0), compare=False)

    def __str__(self) -> str:
        return f"{self.tail} {self.mark} {self.head}"

    @property
    def ends(self) -> tuple[str, str]:
        """Tail and head; of a bidirected edge, which has neither, the ends in the order of their names."""
        swap = self.mark == "<->" and self.head < self.tail
        return (self.head, self.tail) if swap else (self.tail, self.head)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPieces:
    """What a graph is made from. `features` are the columns that the model sees; `path` is the graph's place."""

    columns: tuple[str, ...]
    target: str
    features: tuple[str, ...]
    edges: tuple[Edge, ...]
    latents: tuple[str, ...] = ()
    noise_parents: tuple[str, ...] = ()
    path: str = "causal.graph"

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
        into = (Edge(name, noise, path=f"{self.path}.noise.{i}") for i, name in enumerate(self.noise_parents))
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
    too_large = tuple(_size(pieces))
    if too_large:
        return too_large
    found = [*_roles(pieces), *_latents(pieces), *_unknown_nodes(pieces)]
    clean, wrong = _clean_edges(pieces)
    found += [*wrong, *_noise(pieces), *_cycles(pieces, clean)]
    if complete:
        found += _absent(pieces)
    return tuple(found)


def _size(pieces: GraphPieces) -> Iterator[Complaint]:
    nodes = {name for edge in pieces.edges for name in (edge.tail, edge.head)} | set(pieces.latents)
    for count, limit, what in ((len(nodes), MAX_NODES, "nodes"), (len(pieces.edges), MAX_EDGES, "edges")):
        if count > limit:
            yield Complaint(
                code="graph-too-large",
                what=f"the graph has {count} {what}, and at most {limit} are allowed",
                hint="leave out what is not tied to the target",
                path=pieces.path,
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
        path = f"{pieces.path}.latent.{position}"
        if name in columns:
            yield Complaint(
                code="latent-is-column",
                what=f"{show(name)} is declared latent, but it is a column of the data",
                hint="remove it from the latent nodes; a column that is no feature counts as unmeasured anyway",
                path=path,
            )
        if name in seen:
            yield Complaint(
                code="duplicate-latent", what=f"{show(name)} is declared latent twice", hint="remove one", path=path
            )
        seen.add(name)


def _unknown_nodes(pieces: GraphPieces) -> Iterator[Complaint]:
    """One complaint per unknown name, at the first edge that uses it."""
    nodes = (*pieces.columns, *(name for name in pieces.latents if name not in pieces.columns))
    known = set(nodes)
    uses = Counter(name for edge in pieces.edges for name in {edge.tail, edge.head} if name not in known)
    for edge in pieces.edges:
        for name, at in sorted(((edge.tail, edge.at[0]), (edge.head, edge.at[1])), key=lambda end: end[1]):
            count = uses.pop(name, 0)
            if count:
                where = f"character {at}: " if at else ""
                more = "" if count == 1 else f" ({count} edges name it)"
                hint = did_you_mean(name, nodes, otherwise="the nodes are")
                yield Complaint(
                    code="unknown-node",
                    what=f"{where}{show(name)} is neither a column of the data nor a latent node{more}",
                    hint=f"{hint}{'' if hint.endswith('?') else ';'} if nobody measured it, list it under latent",
                    path=edge.path,
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
        )
    return Complaint(
        code="self-loop",
        what=f"{edge} makes {show(edge.tail)} its own cause",
        hint="remove the edge; an earlier value of the same quantity is another node",
        path=edge.path,
    )


def _again(edge: Edge, first: Edge) -> Complaint:
    where = f", first at {first.path}" if first.path and first.path != edge.path else ""
    return Complaint(code="duplicate-edge", what=f"{edge} is written twice{where}", hint="remove one", path=edge.path)


def _contradiction(edge: Edge, opposite: Edge) -> Complaint:
    where = f" at {opposite.path}" if opposite.path and opposite.path != edge.path else ""
    return Complaint(
        code="contradictory-edges",
        what=f"{edge} contradicts {opposite}{where}: together they are the cycle {opposite} -> {edge.head}",
        hint=f"keep one; for a hidden common cause write {edge.tail} <-> {edge.head}",
        path=edge.path,
    )


def _noise(pieces: GraphPieces) -> Iterator[Complaint]:
    features, seen = set(pieces.features), set[str]()
    for position, name in enumerate(pieces.noise_parents):
        path = f"{pieces.path}.noise.{position}"
        if name not in features:
            yield Complaint(
                code="noise-parent-not-feature",
                what=f"the noise of {pieces.target} is said to depend on {show(name)}, which is not a feature",
                hint=did_you_mean(name, pieces.features, otherwise="the features are"),
                path=path,
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
        )


def _absent(pieces: GraphPieces) -> Iterator[Complaint]:
    named = {name for edge in pieces.edges for name in (edge.tail, edge.head)}
    if pieces.target not in named and pieces.target in pieces.columns:
        yield Complaint(
            code="target-missing",
            what=f"no edge names the target {show(pieces.target)}",
            hint=f"write what causes it, such as {next(iter(pieces.features), 'x')} -> {pieces.target}",
            path=f"{pieces.path}.edges",
        )
    for position, name in enumerate(pieces.latents):
        if name not in named:
            yield Complaint(
                code="latent-without-edges",
                what=f"no edge names the latent {show(name)}",
                hint=did_you_mean(name, sorted(named), otherwise="the edges name") or "write what it causes",
                path=f"{pieces.path}.latent.{position}",
            )
