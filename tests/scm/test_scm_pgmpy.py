"""pgmpy as a second oracle. Its pitfalls: names are checked by us, and latent ends count only when asked for."""

from __future__ import annotations

import networkx as nx
from pgmpy.base import DAG
from scm_worlds import random_worlds

from crda_spec.scm.certificate import perturbable
from crda_spec.scm.separation import separated


def test_separation_and_certificate_agree_with_pgmpy():
    answers = set()
    for world in random_worlds(900, 2000):
        oracle, graph = world.oracle(), world.graph()
        hidden = {name for name in oracle.nodes if name not in world.columns}
        theirs = DAG(oracle.edges, latents=hidden & set(nx.utils.flatten(oracle.edges)))
        theirs.add_nodes_from([name for name in oracle.nodes if name not in theirs])
        free = set()
        for x in world.features:
            others = [name for name in world.features if name != x]
            trails = theirs.active_trail_nodes(sorted(world.noise_side()), observed=others, include_latents=True)
            for name, trail in trails.items():
                assert separated(graph, [name], [x], others) == (x not in trail)
                answers.add(x in trail)
            if not any(x in trail for trail in trails.values()):
                free.add(x)
        assert perturbable(graph, world.features) == free
    assert answers == {True, False}
