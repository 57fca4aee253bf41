"""Graphs of networkx and pgmpy, both ways. GML and GraphML, which networkx reads, are given their meaning here too."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crda_spec.errors import Complaint, GraphError, did_you_mean, show
from crda_spec.scm.formats._protocol import ROLES, Draft, ReadGraph, Role, Source, as_flag
from crda_spec.scm.graph import CausalGraph, Mark

if TYPE_CHECKING:
    import networkx as nx
    from pgmpy.base import ADMG, DAG

Attributes = Mapping[str, Any]
NodeItem = tuple[str, Attributes, int | None]  # the name, what is said about it, its offset in the text
EdgeItem = tuple[str, str, Attributes, int | None]
EDGE_WORDS = ("bidirected", "mark")


@dataclass(frozen=True, slots=True)
class AttributeReader:
    """Fills a draft from nodes and edges with attributes.

    In a file all attributes but the known ones and `looks`, which are read over, are refused. A graph in memory has no
    `looks`: it carries whatever its owner likes, so that only misspelt words are refused.
    """

    draft: Draft
    node_words: tuple[str, ...]
    flag_hint: str = "write {word}=True"
    looks: frozenset[str] | None = None

    def read_file(
        self,
        nodes: Iterable[tuple[Hashable, NodeItem]],
        edges: Iterable[tuple[Hashable, Hashable, Attributes, int | None]],
        *,
        called: str,
    ) -> None:
        """Nodes by the keys that the file's edges name them by.  called: what the file calls a node's name."""
        items: dict[Hashable, NodeItem] = {}
        names: set[str] = set()
        for key, item in nodes:
            if item[0] in names:
                what = f"a second node has the {called} {show(item[0])}"
                self._complain(item[2], what, f"give each node its own {called}")
            names.add(item[0])
            items[key] = item
        ends = [
            (items[a][0], items[b][0], attributes, at) for a, b, attributes, at in edges if a in items and b in items
        ]
        self.read(items.values(), sorted(ends, key=lambda edge: edge[3] or 0))

    def read(self, nodes: Iterable[NodeItem], edges: Iterable[EdgeItem]) -> None:
        """All nodes, then all edges; a node with the attribute `bidirected` stands for an edge `a <-> b`."""
        stand_ins: dict[str, int | None] = {}
        for name, attributes, at in nodes:
            if "bidirected" in attributes and self._flag(attributes, "bidirected", show(name), at):
                stand_ins[name] = at
            elif self.draft.node(name, at):
                for word, value in attributes.items():
                    self._node_word(name, word, value, at)
        arrows = list(edges)
        pairs: set[tuple[str, str]] = set()
        for tail, head, attributes, at in arrows:
            if tail not in stand_ins and head not in stand_ins:
                mark = self._mark(f"{tail} -> {head}", attributes, at)
                # In memory `a <-> b` is drawn as an arrow each way, which is one edge.
                if mark == "->" or self.looks is not None or (head, tail) not in pairs:
                    self.draft.edge(tail, head, mark, at)
                    pairs.update([(tail, head)] if mark == "<->" else [])
        for name, at in sorted(stand_ins.items()):
            children = list(dict.fromkeys(head for tail, head, *_ in arrows if tail == name))
            parents = {tail for tail, head, *_ in arrows if head == name}
            if len(children) == 2 and not parents:
                self.draft.edge(children[0], children[1], "<->", at)
            else:
                what = f"{show(name)} is bidirected, but has {len(children)} children and {len(parents)} parents"
                self._complain(at, what, "it stands for a <-> b: two children, no parent")

    def _node_word(self, name: str, word: str, value: object, at: int | None) -> None:
        role = next((role for role in ROLES if role == word), None)
        if role is not None:
            if self._flag({word: value}, word, show(name), at):
                self.draft.role(role, name, at)
        elif word == "pos":
            numbers = value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
            self.draft.position(name, ",".join(str(number) for number in numbers), at)
        elif word != "bidirected":
            hint = did_you_mean(str(word), self.node_words, otherwise="known are")
            misspelt = self.looks is None and hint.endswith("?")
            self._other(word, "node", show(name), hint, refused=misspelt, at=at)

    def _mark(self, edge: str, attributes: Attributes, at: int | None) -> Mark:
        mark = attributes.get("mark", "->")
        if mark not in ("->", "<->"):
            self._complain(at, f"the mark of {edge} is {show(mark)}", "write '->' or '<->'")
        for word in attributes:
            if word not in EDGE_WORDS:
                hint = did_you_mean(str(word), EDGE_WORDS, otherwise="known are")
                self._other(word, "edge", edge, hint, refused=False, at=at)
        both = "bidirected" in attributes and self._flag(attributes, "bidirected", edge, at)
        return "<->" if both or mark == "<->" else "->"

    def _flag(self, attributes: Attributes, word: str, owner: str, at: int | None) -> bool | None:
        value = attributes[word]
        in_memory = self.looks is None
        flag = None if in_memory and isinstance(value, str) else as_flag(str(value))
        if flag is None:
            what = f"{word} of {owner} is {show(value)}, which is neither true nor false"
            self._complain(at, what, self.flag_hint.format(word=word))
        return flag

    def _other(self, word: str, kind: str, owner: str, hint: str, *, refused: bool, at: int | None) -> None:
        if refused or (self.looks is not None and word not in self.looks):
            self._complain(at, f"{show(word)} is no attribute of the {kind} {owner}", hint)
        else:
            self.draft.dropped[f"the {word} of {'an' if kind == 'edge' else 'a'} {kind}"] += 1

    def _complain(self, at: int | None, what: str, hint: str) -> None:
        self.draft.source.complain("graph-attribute", at, what, hint)


def to_networkx(graph: CausalGraph) -> nx.DiGraph[str]:
    """The graph as a DiGraph: roles as true node attributes, hidden common causes as latent nodes."""
    import networkx as nx

    digraph: nx.DiGraph[str] = nx.DiGraph()
    digraph.add_nodes_from(graph.observed)
    digraph.add_nodes_from(graph.latents, latent=True)
    digraph.add_nodes_from(graph.confounders, latent=True, bidirected=True)
    digraph.add_node(graph.target, outcome=True)
    digraph.add_nodes_from(graph.noise_parents, noise=True)
    digraph.add_nodes_from(graph.selected, selected=True)
    digraph.add_nodes_from(graph.additive, additive=True)
    digraph.add_nodes_from(graph.unrelated, unrelated=True)
    digraph.add_edges_from(graph.directed)
    digraph.add_edges_from((hidden, end) for hidden, ends in graph.confounders.items() for end in ends)
    return digraph


def read_networkx(graph: nx.DiGraph[Any]) -> ReadGraph:
    """What a DiGraph or MultiDiGraph says. Node attributes: the roles, `bidirected`, and `pos` for a pair of numbers.

    Attributes of other names belong to the caller and are left alone, unless they look like a role misspelt.
    """
    _check_names(graph)
    return _in_memory(graph.nodes(data=True), graph.edges(data=True), "give it the node attribute latent=True")


def _in_memory(
    nodes: Iterable[tuple[str, Attributes]], edges: Iterable[tuple[str, str, Attributes]], say_latent: str
) -> ReadGraph:
    draft = Draft(Source("", ""))
    reader = AttributeReader(draft, (*ROLES, "bidirected", "pos"))
    reader.read(((*node, None) for node in nodes), ((*edge, None) for edge in edges))
    return draft.read(say_latent=say_latent)


def from_networkx(graph: nx.DiGraph[Any], *, target: str | None = None) -> CausalGraph:
    """The checked graph; all nodes that are not latent are columns. See `read_networkx`."""
    return read_networkx(graph).graph(target=target)


def _check_names(graph: nx.Graph[Any]) -> None:
    """GraphError for whatever keeps the graph from being read: no direction, nodes that are not texts."""
    if not graph.is_directed():
        what = "the graph is not directed, and edges without a direction are not a causal claim"
        hint = "make a networkx.DiGraph with the cause first"
        raise GraphError(Complaint(code="graph-not-causal", what=what, hint=hint))
    wrong = [show(name) for name in graph.nodes if not isinstance(name, str) or not name]
    if wrong:
        hint = "name the nodes by the columns of the data"
        raise GraphError(
            Complaint(code="node-name", what=f"the node {name} is not named by a text", hint=hint) for name in wrong
        )


# pgmpy's names of the roles; the last four and `bidirected` are ours, which its role system keeps like any other.
ROLE_NAMES: dict[str, Role] = {
    "latents": "latent",
    "outcomes": "outcome",
    "exposures": "exposure",
    "adjustment": "adjusted",
    "noise": "noise",
    "selected": "selected",
    "additive": "additive",
    "unrelated": "unrelated",
}


def to_pgmpy_dag(graph: CausalGraph) -> DAG:
    """The graph as a pgmpy DAG, each `a <-> b` as a latent parent of both with the role `bidirected`."""
    from pgmpy.base import DAG

    dag = DAG()
    dag.add_nodes_from([*graph.observed, *graph.latents, *graph.confounders])
    dag.add_edges_from(graph.directed)
    dag.add_edges_from([(hidden, end) for hidden, ends in graph.confounders.items() for end in ends])
    _give_roles(dag, graph)
    dag.with_role("latents", set(graph.confounders), inplace=True)
    dag.with_role("bidirected", set(graph.confounders), inplace=True)
    return dag


def to_pgmpy_admg(graph: CausalGraph) -> ADMG:
    """The graph as a pgmpy ADMG."""
    import networkx as nx
    from pgmpy.base import ADMG

    admg = ADMG()
    admg.add_nodes_from([*graph.observed, *graph.latents])
    edges = [(a, b, {"type": "directed"}) for a, b in graph.directed]
    edges += [(a, b, {"type": "bidirected"}) for ends in graph.bidirected for a, b in (ends, ends[::-1])]
    for tail, head, attributes in edges:  # the graph is known to have no cycle
        nx.MultiDiGraph.add_edge(admg, tail, head, **attributes)
    _give_roles(admg, graph)
    return admg


def read_pgmpy(graph: DAG | ADMG) -> ReadGraph:
    """What a pgmpy DAG (a Bayesian network is one) or ADMG says; GraphError for any other of its graphs."""
    from pgmpy.base import ADMG, DAG

    if not isinstance(graph, DAG | ADMG):
        what = f"a {type(graph).__name__} is not read: it can have edges without a direction"
        raise GraphError(Complaint(code="graph-not-causal", what=what, hint="make a pgmpy DAG or ADMG"))
    _check_names(graph)
    roles: dict[str, dict[str, bool]] = {name: {} for name in graph.nodes}
    for word, role in {**ROLE_NAMES, "bidirected": "bidirected"}.items():
        for name in graph.get_role(word):
            roles[name][role] = True
    edges = (
        (a, b, {"bidirected": attributes.get("type") == "bidirected"}) for a, b, attributes in graph.edges(data=True)
    )
    return _in_memory(roles.items(), edges, "give it the role latents")


def from_pgmpy(graph: DAG | ADMG, *, target: str | None = None) -> CausalGraph:
    """The checked graph; all nodes that are not latent are columns, the target is the outcome unless said."""
    return read_pgmpy(graph).graph(target=target)


def _give_roles(model: Any, graph: CausalGraph) -> None:  # noqa: ANN401 - pgmpy has no types
    model.with_role("latents", set(graph.latents), inplace=True)
    model.with_role("outcomes", {graph.target}, inplace=True)
    for role in ("selected", "additive", "unrelated"):
        model.with_role(role, set(getattr(graph, role)), inplace=True)
    model.with_role("noise", set(graph.noise_parents), inplace=True)
