"""The pieces somebody wrote down as a causal graph, and everything that can be wrong with them.

`scm.graph` builds a `CausalGraph` only from pieces without a complaint. Formats hand over pieces, never graphs, so
that every format is held to the same rules and says the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from crda_spec.errors import Complaint, Place, did_you_mean, show
from crda_spec.scm.cycles import find_cycles
from crda_spec.scm.edge import Edge

__all__ = ["MAX_EDGES", "MAX_NODES", "Edge", "GraphPieces", "complaints_about", "free_name"]

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
