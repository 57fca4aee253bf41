"""A discovered graph beside a declared one: which links both have, and which only one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from crda_spec.scm.discovery.found import DiscoveredGraph, FoundEdge
from crda_spec.scm.graph import CausalGraph

Pair = tuple[str, str]
Agreement = Literal[
    "same", "other direction", "direction open", "as a hidden cause", "as an arrow", "not there"
]  # what the declared graph has where the search found a link


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the two graphs say of each pair of searched columns."""

    found: Mapping[Pair, Agreement]  # (first, second) of each link that was found
    unseen: tuple[str, ...]  # `a -> b`, `a <-> b`: declared, and the data show no link

    def of(self, edge: FoundEdge) -> Agreement:
        """What the declared graph has in place of a link that was found."""
        return self.found[edge.first, edge.second]


def compare(found: DiscoveredGraph, declared: CausalGraph) -> Comparison:
    """Compares link by link, over the columns that were searched.

    What was not searched (a latent node, a column that is no feature) is projected out of the declared graph: a chain
    through it counts as an arrow, and a common cause among it as a hidden cause.
    """
    arrows, ties = _projected(declared, found.names)
    linked = {frozenset((edge.first, edge.second)) for edge in found.edges}
    unseen = [f"{a} -> {b}" for a, b in arrows if frozenset((a, b)) not in linked]
    unseen += [f"{a} <-> {b}" for a, b in ties if frozenset((a, b)) not in linked]
    known = frozenset(arrows), frozenset(frozenset(pair) for pair in ties)
    return Comparison(
        found={(edge.first, edge.second): _agreement(found, edge, *known) for edge in found.edges},
        unseen=tuple(unseen),
    )


def _agreement(
    found: DiscoveredGraph, edge: FoundEdge, arrows: frozenset[Pair], ties: frozenset[frozenset[str]]
) -> Agreement:
    forward, back = (edge.first, edge.second) in arrows, (edge.second, edge.first) in arrows
    hidden = frozenset((edge.first, edge.second)) in ties
    if not (forward or back or hidden):
        return "not there"
    if edge.mark in ("->", "o->"):
        if forward or (hidden and edge.mark == "o->"):
            return "same"
        return "other direction" if back else "as a hidden cause"
    if edge.mark == "<->" and found.kind == "pag":
        return "same" if hidden else "as an arrow"
    return "direction open" if forward or back else "as a hidden cause"


def _projected(graph: CausalGraph, names: Sequence[str]) -> tuple[list[Pair], list[Pair]]:
    """The arrows and the hidden common causes among some columns, in the order of the columns."""
    dag, place = graph.dag, {name: position for position, name in enumerate(names)}
    arrows = [(name, end) for name in names for end in _reached(graph, name, place) if name in dag.index]
    ties: set[Pair] = set()
    for name in dag.names:
        if name not in place and name != graph.noise:
            ends = sorted(_reached(graph, name, place), key=place.__getitem__)
            ties.update(combinations(ends, 2))
    arrows.sort(key=lambda pair: (place[pair[0]], place[pair[1]]))
    return arrows, sorted(ties, key=lambda pair: (place[pair[0]], place[pair[1]]))


def _reached(graph: CausalGraph, start: str, searched: Mapping[str, int]) -> set[str]:
    """The searched columns that a node causes directly or through nodes that were not searched."""
    dag = graph.dag
    found, seen, todo = set[str](), {start}, [start]
    while todo:
        for child in dag.children[dag.index[todo.pop()]]:
            name = dag.names[child]
            if name in searched:
                found.add(name)
            elif name not in seen:
                seen.add(name)
                todo.append(name)
    return found - {start}
