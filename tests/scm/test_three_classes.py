"""Boundary, causes, irrelevant features: the closed form against networkx and brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from scm_worlds import random_worlds

from crda_spec.scm.certificate import class_changes, graph_certificate
from crda_spec.scm.formats import from_edges
from crda_spec.scm.graph import CausalGraph, Edge
from crda_spec.scm.implied import implications, repairing_edges, with_edges


def with_selection(seed, count):
    """Random graphs with latents, hidden causes, effects of y, edges into the noise; in every other one rows are chosen
    by a node that some of the others cause.
    """
    rng = np.random.default_rng(seed)
    for number, drawn in enumerate(random_worlds(seed, count)):
        world, chosen = drawn, ()
        if number % 2:
            causes = [name for name in (*drawn.features, *drawn.latents, "y") if rng.random() < 0.3] or ["y"]
            world, chosen = replace(drawn, directed=(*drawn.directed, *((one, "s") for one in causes))), ("s",)
        edges = [Edge(a, b) for a, b in world.directed] + [Edge(a, b, "<->") for a, b in world.bidirected]
        graph = CausalGraph.build(
            edges,
            columns=world.columns,
            features=world.features,
            target="y",
            latents=world.latents,
            noise_parents=world.noise_parents,
            selected=chosen,
        )
        yield world, graph, set(chosen)


def named(world):
    return {name for edge in (*world.directed, *world.bidirected) for name in edge} | set(world.noise_parents)


@pytest.mark.parametrize("seed", range(4))
def test_the_irrelevant_features_are_the_complement_of_the_targets_markov_boundary(seed):
    sizes, effects = set(), 0
    for world, graph, chosen in with_selection(700 + seed, 250):
        oracle, features = world.oracle(), set(world.features)
        boundary = {x for x in features if not nx.is_d_separator(oracle, {"y"}, {x}, features - {x} | chosen)}
        found = graph_certificate(graph, world.features)
        undrawn = features - named(world)
        assert set(found.irrelevant) == features - boundary - undrawn
        # Y tells nothing of them, together, once the boundary is known; and each of them may move with its noise.
        rest = features - boundary
        assert not rest or nx.is_d_separator(oracle, {"y"}, rest, boundary | chosen)
        assert set(found.irrelevant) <= set(found.largest)
        assert set(found.largest) - set(found.irrelevant) <= set(oracle.predecessors("y"))
        sizes.add(len(found.irrelevant))
        effects += "y" in {tail for tail, head in world.directed if head in features}
    assert {0, 1, 2, 3} <= sizes
    assert effects > 50


def test_no_smaller_set_separates_the_target_from_the_rest():
    for world, graph, chosen in with_selection(800, 150):
        oracle, features = world.oracle(), set(world.features)
        found = graph_certificate(graph, world.features)
        boundary = features - set(found.irrelevant) - (features - named(world))
        smaller = chain.from_iterable(combinations(sorted(boundary), size) for size in range(len(boundary)))
        for kept in map(set, smaller):
            assert not nx.is_d_separator(oracle, {"y"}, features - kept, kept | chosen)


def test_a_column_that_the_graph_does_not_draw_is_not_irrelevant():
    columns = ["cause", "effect_of_cause", "forgotten", "y"]
    graph = from_edges(["cause -> {y effect_of_cause}"], columns=columns, target="y")
    found = graph_certificate(graph, columns[:-1])
    assert found.irrelevant == ("effect_of_cause",)
    assert found.largest == ("cause", "effect_of_cause")


@pytest.mark.parametrize("seed", range(3))
def test_suggested_edges_never_free_a_feature(seed):
    """Whatever of a graph's statements the rows contradict: with the edges no class is freer, and changes are told."""
    rng = np.random.default_rng(seed)
    freedom = {"irrelevant": 2, "cause": 1, "blocked": 0}
    changed = 0
    for world, graph, _ in with_selection(900 + seed, 400):
        statements = implications(graph, world.features).statements()
        violated = [one for one in statements if rng.random() < 0.4]
        edges = repairing_edges(graph, violated)
        before, after = (graph_certificate(one, world.features) for one in (graph, with_edges(graph, edges)))
        assert set(after.largest) <= set(before.largest)
        assert set(after.irrelevant) <= set(before.irrelevant)
        told = {one.name: (one.before, one.after) for one in class_changes(graph, world.features, edges)}
        pairs = {one.name: (one.status, now.status) for one, now in zip(before.features, after.features, strict=True)}
        assert told == {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        assert all(freedom[one] > freedom[now] for one, now in told.values())
        changed += len(told)
    assert changed > 50
