"""`CausalGraph`: what an expert says about causes, typed and checked, and its canonical DAG.

Roles. *Observed* nodes are the columns of the data; a column that no edge names is an isolated node. *Latent* nodes
are declared as unmeasured. The *target* is the column to predict. Its *noise* is one more node, a parent of the target;
`noise_parents` are the features that the noise depends on (heteroscedastic noise).

The canonical DAG replaces each `a <-> b` by an unmeasured parent of both, called `(a <-> b)`, and adds the noise node.
Both are added here and nowhere else. Everything is kept sorted by name, so that graphs written in another order are
equal and every later answer, ties included, is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from crda_spec.errors import Complaint, GraphError, did_you_mean, show
from crda_spec.scm.pieces import Edge, GraphPieces, complaints_about, free_name

__all__ = ["CanonicalDag", "CausalGraph", "Edge", "GraphPieces"]


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
