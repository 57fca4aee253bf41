"""Random graphs for the tests of the causal layer, and oracles that share no code with it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from crda_spec.scm.graph import CausalGraph, Edge


@dataclass(frozen=True, slots=True)
class World:
    """The pieces of a random graph, from which both our graph and the oracle's are made."""

    columns: tuple[str, ...]
    features: tuple[str, ...]
    latents: tuple[str, ...]
    noise_parents: tuple[str, ...]
    directed: tuple[tuple[str, str], ...]
    bidirected: tuple[tuple[str, str], ...]

    def graph(self) -> CausalGraph:
        edges = [Edge(a, b) for a, b in self.directed] + [Edge(a, b, "<->") for a, b in self.bidirected]
        return CausalGraph.build(
            edges,
            columns=self.columns,
            features=self.features,
            target="y",
            latents=self.latents,
            noise_parents=self.noise_parents,
        )

    def oracle(self) -> nx.DiGraph:
        """The canonical DAG, built from the definition."""
        dag = nx.DiGraph()
        dag.add_nodes_from([*self.columns, *self.latents, "Z"])
        dag.add_edges_from(self.directed)
        for a, b in self.bidirected:
            dag.add_edges_from([(f"({min(a, b)} <-> {max(a, b)})", end) for end in (a, b)])
        dag.add_edges_from([(name, "Z") for name in self.noise_parents])
        dag.add_edge("Z", "y")
        return dag

    def noise_side(self) -> set[str]:
        return set(self.oracle().predecessors("y")) - set(self.features)


def random_world(rng: np.random.Generator, most_features: int = 6) -> World:
    """Features, unused columns, latents, bidirected edges, edges into the noise, descendants of y: all may occur."""
    features = [f"x{i}" for i in range(rng.integers(1, most_features + 1))]
    unused = [f"w{i}" for i in range(rng.integers(0, 2))]
    latents = [f"u{i}" for i in range(rng.integers(0, 3))]
    order = [str(name) for name in rng.permutation([*features, *unused, *latents, "y"])]
    density, hidden = rng.uniform(0.1, 0.6), rng.uniform(0.0, 0.25)
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    directed = [pair for pair in pairs if rng.random() < density]
    bidirected = [pair for pair in pairs if rng.random() < hidden]
    named = {name for pair in (*directed, *bidirected) for name in pair}
    if "y" not in named:
        directed.append(next(pair for pair in pairs if "y" in pair and features[0] in pair))
    before = [name for name in order[: order.index("y")] if name in features]
    return World(
        columns=(*features, "y", *unused),
        features=tuple(features),
        latents=tuple(name for name in latents if name in named),
        noise_parents=tuple(name for name in before if rng.random() < 0.15),
        directed=tuple(directed),
        bidirected=tuple(bidirected),
    )


def random_worlds(seed: int, count: int, most_features: int = 6) -> Iterator[World]:
    rng = np.random.default_rng(seed)
    return (random_world(rng, most_features) for _ in range(count))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Random worlds for hypothesis: every seed is an independent graph, so shrinking is over seeds."""
    return random_world(np.random.default_rng(draw(st.integers(0, 2**32 - 1))))


def is_open(dag: nx.DiGraph, nodes: Sequence[str], given: Collection[str]) -> bool:
    """The definition of an open path, node by node."""
    for before, node, after in zip(nodes, nodes[1:], nodes[2:], strict=False):
        if dag.has_edge(before, node) and dag.has_edge(after, node):
            if not ({node} | nx.descendants(dag, node)) & set(given):
                return False
        elif node in given:
            return False
    return all(dag.has_edge(a, b) or dag.has_edge(b, a) for a, b in itertools.pairwise(nodes))


def open_paths(dag: nx.DiGraph, source: str, target: str, given: Collection[str]) -> list[list[str]]:
    """All open simple paths, by enumeration."""
    return [path for path in nx.all_simple_paths(dag.to_undirected(), source, target) if is_open(dag, path, given)]


def expanded(tokens: Sequence[str]) -> list[str]:
    """The canonical nodes of a path as it is shown: `a <-> b` runs over the hidden cause."""
    nodes = [tokens[0]]
    for arrow, name in zip(tokens[1::2], tokens[2::2], strict=True):
        if arrow == "<->":
            nodes.append(f"({min(nodes[-1], name)} <-> {max(nodes[-1], name)})")
        nodes.append(name)
    return nodes


def arrows_hold(dag: nx.DiGraph, tokens: Sequence[str]) -> bool:
    """Whether each arrow that is shown is an edge of the DAG in that direction."""
    for a, arrow, b in zip(tokens[0::2], tokens[1::2], tokens[2::2], strict=False):
        hidden = f"({min(a, b)} <-> {max(a, b)})"
        if arrow == "<->":
            holds = dag.has_edge(hidden, a) and dag.has_edge(hidden, b)
        else:
            holds = dag.has_edge(a, b) if arrow == "->" else dag.has_edge(b, a)
        if not holds:
            return False
    return True
