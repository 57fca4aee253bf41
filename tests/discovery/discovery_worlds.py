"""Worlds for the tests of discovery: linear data, random DAGs, and a test that knows the true graph."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import networkx as nx
import numpy as np

from crda_spec.discovery.skeleton import Skeleton, skeleton_of
from crda_spec.independence.conditional import PartialCorrelation


def pc_skeleton(correlation: np.ndarray, n: int, **settings) -> Skeleton:
    """The skeleton of all columns, from the correlations of n rows."""
    return skeleton_of(PartialCorrelation.of(correlation, n), len(correlation), **settings)


def linear_world(rng: np.random.Generator, d: int, n: int, density: float, *, shuffled: bool = True) -> np.ndarray:
    """Each column is a weighted sum of some earlier ones plus noise; then the columns are shuffled."""
    weights = np.triu((rng.random((d, d)) < density) * rng.uniform(0.2, 1.0, (d, d)), 1)
    x = rng.normal(size=(n, d))
    for j in range(d):
        x[:, j] += x @ weights[:, j]
    return x[:, rng.permutation(d)] if shuffled else x


def random_dag(rng: np.random.Generator, d: int, density: float) -> nx.DiGraph:
    """A DAG on the numbers below d, in no particular order."""
    order = rng.permutation(d).tolist()
    dag = nx.DiGraph()
    dag.add_nodes_from(range(d))
    dag.add_edges_from((a, b) for i, a in enumerate(order) for b in order[i + 1 :] if rng.random() < density)
    return dag


@dataclass(frozen=True, slots=True)
class Oracle:
    """Says whether columns are d-separated in the true graph, which may have more nodes than there are columns."""

    dag: nx.DiGraph
    columns: tuple[int, ...]

    def p_value(self, i: int, j: int, given: tuple[int, ...]) -> tuple[float, float]:
        held = {self.columns[k] for k in given}
        separated = nx.is_d_separator(self.dag, {self.columns[i]}, {self.columns[j]}, held)
        return (0.0, 1.0) if separated else (1.0, 0.0)


def ancestors(dag: nx.DiGraph, nodes: Collection[int]) -> set[int]:
    """The nodes and everything that causes them."""
    return set(nodes).union(*(nx.ancestors(dag, node) for node in nodes))


def cpdag(dag: nx.DiGraph) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Directed and undirected edges of a DAG's class, by definition: all DAGs with its skeleton and colliders."""
    links = [tuple(sorted(edge)) for edge in dag.edges]
    same = []
    for number in range(2 ** len(links)):
        turned = [(b, a) if number >> place & 1 else (a, b) for place, (a, b) in enumerate(links)]
        other = nx.DiGraph(turned)
        other.add_nodes_from(dag.nodes)
        if nx.is_directed_acyclic_graph(other) and colliders(other) == colliders(dag):
            same.append(set(turned))
    always = set.intersection(*same) if same else set()
    return always, {link for link in links if link not in always and link[::-1] not in always}


def colliders(dag: nx.DiGraph) -> set[tuple[int, int, int]]:
    """i -> k <- j with i < j not linked."""
    return {
        (i, k, j)
        for k in dag.nodes
        for i in dag.predecessors(k)
        for j in dag.predecessors(k)
        if i < j and not dag.has_edge(i, j) and not dag.has_edge(j, i)
    }
