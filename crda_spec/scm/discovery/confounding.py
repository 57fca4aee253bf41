"""Which columns may share a hidden cause with another: read off a PAG."""

from __future__ import annotations

from crda_spec.errors import Complaint, GraphError, did_you_mean, show
from crda_spec.scm.discovery.found import DiscoveredGraph


def possibly_confounded_with(graph: DiscoveredGraph, target: str) -> tuple[str, ...]:
    """The columns that, for all the PAG says, a hidden common cause may tie to the target, in their order.

    These are the columns with a link to it, except where the link is a *visible* edge (Zhang 2008): x -> y, and some
    other column, not linked to y, has an arrow into x, directly or over a path of colliders that all cause y. Were x
    and y confounded, that column would have a link to y. A column without a link to the target shares no hidden cause
    with it directly.
    """
    if graph.kind != "pag":
        raise GraphError(
            Complaint(
                code="not-a-pag",
                what=f"a graph found by {graph.method} assumes that there are no hidden causes",
                hint="search with fci",
            )
        )
    if target not in graph.names:
        raise GraphError(
            Complaint(
                code="unknown-node",
                what=f"{show(target)} is not a node of the graph",
                hint=did_you_mean(target, graph.names, otherwise="the nodes are"),
            )
        )
    ends = _ends(graph)
    return tuple(
        name
        for name in graph.neighbours(target)
        if not _visible(graph, ends, name, target) and not _visible(graph, ends, target, name)
    )


def _ends(graph: DiscoveredGraph) -> dict[tuple[str, str], str]:
    """(a, b) -> the mark at b of their link: `>`, `-` or `o`."""
    left = {"->": "-", "--": "-", "<->": ">", "o->": "o", "o-o": "o", "o--": "o"}
    right = {"->": ">", "--": "-", "<->": ">", "o->": ">", "o-o": "o", "o--": "-"}
    ends = {(edge.first, edge.second): right[edge.mark] for edge in graph.edges}
    return ends | {(edge.second, edge.first): left[edge.mark] for edge in graph.edges}


def _visible(graph: DiscoveredGraph, ends: dict[tuple[str, str], str], x: str, y: str) -> bool:
    """Whether x -> y cannot be confounded."""
    if ends[x, y] != ">" or ends[y, x] != "-":
        return False
    near = {name: graph.neighbours(name) for name in graph.names}
    reached, seen = [x], {x, y}
    for at in reached:  # grows while it is read
        for before in near[at]:
            if before in seen or ends[before, at] != ">":
                continue
            if (before, y) not in ends:
                return True
            # To go on, the path must collide here, and the collider must cause y.
            if ends[at, before] == ">" and ends[before, y] == ">" and ends[y, before] == "-":
                seen.add(before)
                reached.append(before)
    return False
