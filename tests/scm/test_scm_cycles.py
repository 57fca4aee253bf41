from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.scm.graph import MAX_CYCLES, find_cycles


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg")), max_size=20, unique=True))
def test_each_cycle_has_its_own_closing_edge_and_without_those_there_is_none(edges):
    found = list(find_cycles(edges))
    for closing, nodes in found:
        assert nodes[0] == nodes[-1] == edges[closing][1]
        steps = list(itertools.pairwise(nodes))
        assert set(steps) <= set(edges[: closing + 1])
        assert steps[-1] == edges[closing]
        assert len(set(steps)) == len(steps)
    if len(found) < MAX_CYCLES:
        culprits = {closing for closing, _ in found}
        assert not list(find_cycles([edge for i, edge in enumerate(edges) if i not in culprits]))


def test_the_search_for_cycles_agrees_with_networkx():
    rng = np.random.default_rng(3)
    outcomes = set()
    for _ in range(500):
        edges = [(str(a), str(b)) for a, b in rng.integers(0, 6, size=(rng.integers(1, 8), 2))]
        acyclic = nx.is_directed_acyclic_graph(nx.DiGraph(edges))
        assert (not list(find_cycles(list(dict.fromkeys(edges))))) == acyclic
        outcomes.add(acyclic)
    assert outcomes == {True, False}
