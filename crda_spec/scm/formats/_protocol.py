"""What every format of a causal graph shares: what it reads, what it writes, and how it says what it lost.

A format reads text into a `ReadGraph`: names, edges and roles, each with its place in the text, and every complaint
about the text. It knows nothing of the data. Only `ReadGraph.graph`, given the columns, makes a `CausalGraph` of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, get_args

from crda_spec.errors import Complaint, GraphError, Place, show
from crda_spec.scm.edge import Edge
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.pieces import GraphPieces, complaints_about

Role = Literal["latent", "outcome", "exposure", "adjusted", "selected", "noise"]
ROLES: tuple[Role, ...] = get_args(Role)  # `noise`: the size of the target's noise depends on this feature


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGraph:
    """What a text, or another library's graph, says about causes before it meets the data."""

    kind: str
    file: str
    nodes: Mapping[str, Place | None]  # every name, in the order of its first mention, and where that stands
    edges: tuple[Edge, ...]
    roles: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    positions: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # where a drawing puts a node
    lost: tuple[str, ...] = ()  # what the text says and nothing here keeps
    complaints: tuple[Complaint, ...] = ()
    say_latent: str = "list it under latent"  # how the format says that nobody measured a node

    def having(self, role: Role) -> tuple[str, ...]:
        """The nodes of one role."""
        return self.roles.get(role, ())

    def roles_by_node(self) -> dict[str, list[Role]]:
        """The roles of each node, in their usual order."""
        found: dict[str, list[Role]] = {name: [] for name in self.nodes}
        for role in ROLES:
            for name in self.having(role):
                found[name].append(role)
        return found

    @property
    def latents(self) -> tuple[str, ...]:
        """The nodes that nobody measured."""
        return self.having("latent")

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The nodes that the text calls the outcome; usually one."""
        return self.having("outcome")

    @property
    def exposures(self) -> tuple[str, ...]:
        """The nodes whose effect the text asks about. The certificate does not need them."""
        return self.having("exposure")

    @property
    def noise_parents(self) -> tuple[str, ...]:
        """The features that the size of the target's noise depends on."""
        return self.having("noise")

    def pieces(
        self,
        *,
        columns: Sequence[str],
        target: str,
        features: Sequence[str] | None = None,
        latents: Sequence[str] = (),
        noise_parents: Sequence[str] = (),
        path: str = "causal.graph",
    ) -> GraphPieces:
        """The pieces of the graph on these columns; latent nodes and noise parents add to those of the text."""
        found = GraphPieces.of(
            self.edges,
            columns=columns,
            target=target,
            features=features,
            latents=tuple(dict.fromkeys((*latents, *self.latents))),
            noise_parents=tuple(dict.fromkeys((*noise_parents, *self.noise_parents))),
            path=path,
        )
        place = Place(self.file) if self.file else None
        return replace(found, place=place, declared=self.nodes, say_latent=self.say_latent)

    def graph(
        self,
        *,
        columns: Sequence[str] | None = None,
        target: str | None = None,
        features: Sequence[str] | None = None,
        latents: Sequence[str] = (),
        noise_parents: Sequence[str] = (),
        path: str = "causal.graph",
    ) -> CausalGraph:
        """The checked graph, or one GraphError with every complaint about the text and about the graph.

        columns: all columns of the data; when left out, every node that is not latent is taken for one.
        target: the column to predict; when left out, the one outcome that the text names.
        """
        hidden = {*latents, *self.latents}
        measured = [name for name in self.nodes if name not in hidden] if columns is None else columns
        found = [*self.complaints, *self._about_roles(target)]
        if target is None and len(self.outcomes) != 1:
            raise GraphError(found)
        pieces = self.pieces(
            columns=measured,
            target=self.outcomes[0] if target is None else target,
            features=features,
            latents=latents,
            noise_parents=noise_parents,
            path=path,
        )
        found += complaints_about(pieces, complete=not self.complaints)
        if found:
            raise GraphError(found)
        return CausalGraph.from_pieces(pieces)

    def _about_roles(self, target: str | None) -> Iterator[Complaint]:
        """Roles that contradict the run, or that a certificate would have to ignore."""
        if target is None and len(self.outcomes) != 1:
            named = ", ".join(show(name) for name in self.outcomes) or "none"
            yield Complaint(
                code="outcome-unclear",
                what=f"the target was left to the graph, which has to name one outcome; it names {named}",
                hint="mark one node as the outcome, or say which column is the target",
                place=Place(self.file) if self.file else None,
            )
        for name in self.outcomes if target is not None and target not in self.outcomes else ():
            yield Complaint(
                code="outcome-is-not-target",
                what=f"the graph calls {show(name)} the outcome, but the target is {show(target)}",
                hint="move the role in the graph, or change the target",
                place=self.nodes.get(name),
            )
        for name in self.having("selected"):
            yield Complaint(
                code="selection",
                what=f"the graph says that rows were selected by {show(name)}, and a certificate knows no selection",
                hint="remove the role if the rows were not chosen by it; if they were, no certificate can be given",
                place=self.nodes.get(name),
            )


@dataclass(frozen=True, slots=True)
class Written:
    """A graph as text, and in words whatever the format could not hold."""

    text: str
    lost: tuple[str, ...] = ()


class Format(Protocol):
    """A way to write a graph down as text. Stateless; reading never raises, writing raises GraphError for bad names."""

    @property
    def name(self) -> str:
        """What a spec calls it."""
        ...

    @property
    def loses(self) -> frozenset[Role]:
        """The roles that it has no word for."""
        ...

    def read(self, text: str, *, file: str) -> ReadGraph:
        """Everything that the text says, and every complaint about it. `file` is its name, for the places."""
        ...

    def write(self, graph: ReadGraph) -> str:
        """The graph as text, without what the format loses; GraphError for names that it cannot hold."""
        ...


def described(graph: CausalGraph) -> ReadGraph:
    """A checked graph in the words of the formats."""
    roles: dict[Role, tuple[str, ...]] = {
        "latent": graph.latents,
        "outcome": (graph.target,),
        "noise": graph.noise_parents,
    }
    nodes = dict.fromkeys(sorted((*graph.observed, *graph.latents)))
    return ReadGraph(kind="graph", file="", nodes=nodes, edges=graph.edges, roles=roles)


def unwritable(names: Sequence[tuple[str, str]], *, kind: str) -> None:
    """Raises a GraphError for names that a format cannot hold, each with the reason."""
    if names:
        raise GraphError(
            Complaint(
                code="unwritable-name",
                what=f"the name {show(name)} cannot be written as {kind}: {reason}",
                hint="rename the node, or choose another format",
            )
            for name, reason in names
        )


def surrogates(name: str) -> str:
    """Why no text file can hold the name, or nothing."""
    return "half of a surrogate pair is no character" if any("\ud800" <= sign <= "\udfff" for sign in name) else ""
