"""Graphs of networkx and pgmpy, and causal graphs, both ways."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import networkx as nx

from crda_spec.errors import Complaint, GraphError, did_you_mean, show
from crda_spec.scm.formats._protocol import ROLES, Draft, ReadGraph, Role, Source
from crda_spec.scm.graph import CausalGraph, Mark

if TYPE_CHECKING:
    from pgmpy.base import ADMG, DAG


NODE_WORDS = (*ROLES, "bidirected", "pos")


def to_networkx(graph: CausalGraph) -> nx.DiGraph[str]:
    """The graph as a DiGraph: roles as true node attributes, hidden common causes as latent nodes."""
    found: nx.DiGraph[str] = nx.DiGraph()
    found.add_nodes_from(graph.observed)
    found.add_nodes_from(graph.latents, latent=True)
    found.add_nodes_from(graph.confounders, latent=True, bidirected=True)
    found.add_node(graph.target, outcome=True)
    for name in graph.noise_parents:
        found.add_node(name, noise=True)
    found.add_edges_from(graph.directed)
    found.add_edges_from((hidden, end) for hidden, ends in graph.confounders.items() for end in ends)
    return found


def read_networkx(graph: nx.DiGraph[Any]) -> ReadGraph:
    """What a DiGraph or MultiDiGraph says. Node attributes: the roles, `bidirected`, and `pos` for a pair of numbers.

    Attributes of other names belong to the caller and are left alone, unless they look like a role misspelt.
    """
    draft = Draft(Source("", ""))
    complaints = check_names(graph)
    if complaints:
        raise GraphError(complaints)
    stand_ins = {name for name, said in graph.nodes(data=True) if said.get("bidirected")}
    for name, said in graph.nodes(data=True):
        if name not in stand_ins:
            draft.node(name, None)
            _attributes(draft, name, said)
    pairs: set[tuple[str, str]] = set()
    for tail, head, said in graph.edges(data=True):
        if tail in stand_ins or head in stand_ins:
            continue
        mark = _mark(draft, tail, head, said)
        if mark == "<->":
            if (head, tail) in pairs:
                continue  # drawn as an arrow each way, which is one edge
            pairs.add((tail, head))
        draft.edge(tail, head, mark, None)
    for name in sorted(stand_ins):
        _stand_in(draft, graph, name)
    return draft.read("networkx", say_latent="give it the node attribute latent=True")


def from_networkx(graph: nx.DiGraph[Any], *, target: str | None = None) -> CausalGraph:
    """The checked graph; all nodes that are not latent are columns. See `read_networkx`."""
    return read_networkx(graph).graph(target=target)


def check_names(graph: nx.Graph[Any]) -> list[Complaint]:
    """Everything that keeps the graph from being read: no direction, nodes that are not texts."""
    if not graph.is_directed():
        return [
            Complaint(
                code="graph-not-causal",
                what="the graph is not directed, and edges without a direction are not a causal claim",
                hint="make a networkx.DiGraph with the cause first",
            )
        ]
    wrong: list[Hashable] = [name for name in graph.nodes if not isinstance(name, str) or not name]
    return [
        Complaint(
            code="node-name",
            what=f"the node {show(name)} is not named by a text",
            hint="name the nodes by the columns of the data",
        )
        for name in wrong
    ]


def _attributes(draft: Draft, name: str, said: Mapping[str, Any]) -> None:
    for word, value in said.items():
        role = next((role for role in ROLES if role == word), None)
        if role is not None:
            if not isinstance(value, bool | int):
                what = f"{word} of {show(name)} is {show(value)}, which is neither true nor false"
                draft.source.complain("graph-attribute", None, what, f"write {word}=True")
            elif value:
                draft.role(role, name, None)
        elif word == "pos":
            draft.position(name, ",".join(str(part) for part in value), None)
        else:
            hint = did_you_mean(str(word), NODE_WORDS)
            if hint.endswith("?"):
                what = f"{show(word)} is no attribute of the node {show(name)}"
                draft.source.complain("graph-attribute", None, what, hint)
            else:
                draft.dropped[f"the {word} of a node"] += 1


def _mark(draft: Draft, tail: str, head: str, said: Mapping[str, Any]) -> Mark:
    mark = said.get("mark", "->")
    if mark not in ("->", "<->"):
        what = f"the mark of {tail} -> {head} is {show(mark)}"
        draft.source.complain("graph-attribute", None, what, "write '->' or '<->'")
    return "<->" if mark == "<->" or said.get("bidirected") else "->"


def _stand_in(draft: Draft, graph: nx.DiGraph[Any], name: str) -> None:
    """A node that stands for a hidden common cause has two children and no parent."""
    children, parents = list(graph.successors(name)), list(graph.predecessors(name))
    if len(children) == 2 and not parents:
        draft.edge(children[0], children[1], "<->", None)
    else:
        what = f"{show(name)} is bidirected, but has {len(children)} children and {len(parents)} parents"
        draft.source.complain("graph-attribute", None, what, "it stands for a <-> b: two children, no parent")


# pgmpy's names of the roles; `noise` and `bidirected` are ours, which its role system keeps like any other.
ROLE_NAMES: dict[str, Role] = {
    "latents": "latent",
    "outcomes": "outcome",
    "exposures": "exposure",
    "adjustment": "adjusted",
    "noise": "noise",
}


def to_pgmpy_dag(graph: CausalGraph) -> DAG:
    """The graph as a pgmpy DAG, each `a <-> b` as a latent parent of both with the role `bidirected`."""
    from pgmpy.base import DAG

    found = DAG()
    found.add_nodes_from([*graph.observed, *graph.latents, *graph.confounders])
    found.add_edges_from(graph.directed)
    found.add_edges_from([(hidden, end) for hidden, ends in graph.confounders.items() for end in ends])
    _give_roles(found, graph)
    found.with_role("latents", set(graph.confounders), inplace=True)
    found.with_role("bidirected", set(graph.confounders), inplace=True)
    return found


def to_pgmpy_admg(graph: CausalGraph) -> ADMG:
    """The graph as a pgmpy ADMG."""
    from pgmpy.base import ADMG

    found = ADMG()
    found.add_nodes_from([*graph.observed, *graph.latents])
    edges = [(a, b, {"type": "directed"}) for a, b in graph.directed]
    edges += [(a, b, {"type": "bidirected"}) for ends in graph.bidirected for a, b in (ends, ends[::-1])]
    for tail, head, said in edges:  # the graph is known to have no cycle
        nx.MultiDiGraph.add_edge(found, tail, head, **said)
    _give_roles(found, graph)
    return found


def read_pgmpy(graph: DAG | ADMG) -> ReadGraph:
    """What a pgmpy DAG (a Bayesian network is one) or ADMG says; GraphError for any other of its graphs."""
    from pgmpy.base import ADMG, DAG

    if not isinstance(graph, DAG | ADMG):
        raise GraphError(
            Complaint(
                code="graph-not-causal",
                what=f"a {type(graph).__name__} is not read: it can have edges without a direction",
                hint="make a pgmpy DAG or ADMG",
            )
        )
    complaints = check_names(graph)
    if complaints:
        raise GraphError(complaints)
    draft = Draft(Source("", ""))
    stand_ins = set(graph.get_role("bidirected"))
    for name in graph.nodes:
        if name not in stand_ins:
            draft.node(name, None)
    for word, role in ROLE_NAMES.items():
        for name in graph.get_role(word):
            if name not in stand_ins:
                draft.role(role, name, None)
    _edges(draft, graph, stand_ins)
    return draft.read("pgmpy", say_latent="give it the role latents")


def from_pgmpy(graph: DAG | ADMG, *, target: str | None = None) -> CausalGraph:
    """The checked graph; all nodes that are not latent are columns, the target is the outcome unless said."""
    return read_pgmpy(graph).graph(target=target)


def _edges(draft: Draft, graph: Any, stand_ins: set[str]) -> None:  # noqa: ANN401 - pgmpy has no types
    seen: set[tuple[str, str]] = set()
    for tail, head, said in graph.edges(data=True):
        if tail in stand_ins:
            continue
        if said.get("type") != "bidirected":
            draft.edge(tail, head, "->", None)
        elif (head, tail) not in seen:
            seen.add((tail, head))
            draft.edge(tail, head, "<->", None)
    for name in sorted(stand_ins):
        children = list(graph.successors(name))
        if len(children) == 2 and not list(graph.predecessors(name)):
            draft.edge(children[0], children[1], "<->", None)
        else:
            what = f"{show(name)} has the role bidirected, but not two children and no parent"
            draft.source.complain("graph-attribute", None, what, "it stands for a <-> b; remove the role")


def _give_roles(found: Any, graph: CausalGraph) -> None:  # noqa: ANN401 - pgmpy has no types
    found.with_role("latents", set(graph.latents), inplace=True)
    found.with_role("outcomes", {graph.target}, inplace=True)
    found.with_role("noise", set(graph.noise_parents), inplace=True)
