"""pgmpy's DAG and ADMG, and causal graphs, both ways.

pgmpy takes seconds to import, so it is imported inside the functions: whoever calls them has it, or wants it. Names
are checked before pgmpy sees them. Its ADMG (version 1.1) tests for a cycle after every edge, and calls a bidirected
edge one; so edges are added to it through networkx. It forgets isolated nodes unless they are added by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx

from crda_spec.errors import Complaint, GraphError, show
from crda_spec.scm.formats._draft import Draft
from crda_spec.scm.formats._protocol import ReadGraph, Role
from crda_spec.scm.formats._source import Source
from crda_spec.scm.formats.networkx_graph import check_names
from crda_spec.scm.graph import CausalGraph

if TYPE_CHECKING:
    from pgmpy.base import ADMG, DAG

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
    from pgmpy.base import DAG  # noqa: PLC0415 - seconds

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
    from pgmpy.base import ADMG  # noqa: PLC0415 - seconds

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
    from pgmpy.base import ADMG, DAG  # noqa: PLC0415 - seconds

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
