from __future__ import annotations

from itertools import pairwise
from time import process_time

import networkx as nx
import numpy as np
import pytest
from scm_worlds import arrows_hold, expanded, is_open, open_paths, random_worlds

from crda_spec.errors import GraphError
from crda_spec.scm.formats import from_edges
from crda_spec.scm.separation import Path, open_path, separated, shortest_walk, shortest_walks, sole_descendants

COLUMNS = ("dose", "age", "recovery", "relapse")


def query(rng: np.random.Generator, nodes: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Three disjoint sets of nodes, the first two not empty."""
    shuffled = [str(name) for name in rng.permutation(nodes)]
    a = int(rng.integers(1, 3))
    b = a + int(rng.integers(1, 3))
    c = b + int(rng.integers(0, max(1, len(nodes) - b)))
    return shuffled[:a], shuffled[a:b], shuffled[b:c]


@pytest.mark.parametrize("seed", range(6))
def test_separation_agrees_with_networkx_on_random_graphs(seed):
    rng = np.random.default_rng(seed)
    answers = []
    for world in random_worlds(100 + seed, 200):
        graph, oracle = world.graph(), world.oracle()
        nodes = sorted(oracle.nodes)
        assert list(graph.dag.names) == nodes
        for _ in range(3):
            sources, targets, given = query(rng, nodes)
            if targets:
                expected = nx.is_d_separator(oracle, set(sources), set(targets), set(given))
                assert separated(graph, sources, targets, given) == expected
                answers.append(expected)
    assert 0.2 < np.mean(answers) < 0.8


@pytest.mark.parametrize("seed", range(3))
def test_the_witness_is_a_shortest_open_path(seed):
    rng = np.random.default_rng(seed)
    lengths = []
    for world in random_worlds(200 + seed, 100, most_features=3):
        graph, oracle = world.graph(), world.oracle()
        sources, targets, given = query(rng, sorted(oracle.nodes))
        if not targets:
            continue
        path = open_path(graph, sources, targets, given)
        every = [found for a in sources for b in targets for found in open_paths(oracle, a, b, given)]
        if path is None:
            assert every == []
            continue
        nodes = expanded(path.tokens)
        assert nodes[0] in sources
        assert nodes[-1] in targets
        assert len(set(nodes)) == len(nodes)
        assert arrows_hold(oracle, path.tokens)
        assert is_open(oracle, nodes, given)
        assert len(nodes) == min(len(found) for found in every)
        lengths.append(len(nodes))
    assert max(lengths) >= 4


@pytest.mark.parametrize(
    ("edges", "given", "expected"),
    [
        pytest.param(["u -> {dose recovery}"], [], "dose <- u -> recovery", id="fork"),
        pytest.param(["dose -> u -> recovery"], [], "dose -> u -> recovery", id="chain"),
        pytest.param(["dose -> u -> recovery"], ["u"], None, id="chain-held"),
        pytest.param(["{dose recovery} -> u"], [], None, id="collider"),
        pytest.param(["{dose recovery} -> u"], ["u"], "dose -> u <- recovery", id="collider-held"),
        pytest.param(["{dose recovery} -> u -> age"], ["age"], "dose -> u <- recovery", id="descendant-held"),
        pytest.param(["dose <-> recovery", "u -> age"], [], "dose <-> recovery", id="hidden-cause"),
        pytest.param(["dose <-> u <-> recovery"], [], None, id="hidden-causes-collide"),
        pytest.param(["dose <-> u <-> recovery"], ["u"], "dose <-> u <-> recovery", id="hidden-causes-held"),
    ],
)
def test_open_paths_read_as_an_expert_would_draw_them(edges, given, expected):
    graph = from_edges(edges, columns=COLUMNS, target="recovery", latents=["u"])
    path = open_path(graph, ["dose"], ["recovery"], given)
    assert (None if path is None else str(path)) == expected


def test_one_sweep_finds_the_walks_that_single_searches_find():
    found = left_out = 0
    for world in random_worlds(300, 400):
        dag = world.graph().dag
        sources = [dag.index[name] for name in sorted(world.noise_side())]
        measured = [dag.index[name] for name in world.features]
        walks = shortest_walks(dag, sources, measured)
        single = {x: shortest_walk(dag, sources, [x], set(measured) - {x}) for x in measured}
        assert all(single[x] == walk for x, walk in walks.items())
        found += len(walks)
        left_out += sum(walk is not None for x, walk in single.items() if x not in walks)
    assert found > left_out > 0


def test_the_only_feature_below_a_node():
    for world in random_worlds(301, 200):
        dag, oracle = world.graph().dag, world.oracle()
        found = sole_descendants(dag, [dag.index[name] for name in world.features])
        for node, x in zip(dag.names, found, strict=True):
            below = {*nx.descendants(oracle, node), node} & set(world.features)
            assert x == (dag.index[next(iter(below))] if len(below) == 1 else -2 if below else -1)


def test_a_path_can_be_read_from_either_end():
    path = Path(("a", "b", "c"), ("<-", "<->"))
    assert path.tokens == ("a", "<-", "b", "<->", "c")
    assert str(path.turned()) == "c <-> b -> a"


def test_the_first_source_wins_among_shortest_paths_and_then_the_names():
    graph = from_edges(["{dose age} -> recovery"], columns=COLUMNS, target="recovery")
    assert str(open_path(graph, ["dose", "age"], ["recovery"], [])) == "dose -> recovery"
    assert str(open_path(graph, ["age", "dose"], ["recovery"], [])) == "age -> recovery"
    fork = from_edges(["{dose age} -> recovery", "relapse -> {dose age}"], columns=COLUMNS, target="recovery")
    assert str(open_path(fork, ["relapse"], ["recovery"], [])) == "relapse -> age -> recovery"


def test_hidden_causes_and_the_noise_may_be_named():
    graph = from_edges(["dose <-> recovery"], columns=COLUMNS, target="recovery")
    assert str(open_path(graph, ["(dose <-> recovery)"], ["dose"], [])) == "(dose <-> recovery) -> dose"
    assert separated(graph, ["Z"], ["dose"], [])
    assert not separated(graph, ["Z"], ["dose"], ["recovery"])


def test_nothing_is_separated_from_nothing():
    graph = from_edges(["dose -> recovery"], columns=COLUMNS, target="recovery")
    assert separated(graph, [], ["dose"], [])
    assert separated(graph, ["dose"], [], [])


def test_a_misspelt_node_is_an_error_and_not_separated():
    graph = from_edges(["dose -> recovery"], columns=COLUMNS, target="recovery")
    with pytest.raises(GraphError) as caught:
        separated(graph, ["doze"], ["recovery"], [])
    assert str(caught.value) == "'doze' is not a node of the graph; did you mean 'dose'?"


def test_a_node_in_two_sets_is_an_error():
    graph = from_edges(["dose -> recovery"], columns=COLUMNS, target="recovery")
    with pytest.raises(GraphError) as caught:
        separated(graph, ["dose"], ["dose", "age"], ["age"])
    assert str(caught.value) == (
        "'age' stands in two of the sets sources, targets and given; name each node once\n"
        "'dose' stands in two of the sets sources, targets and given; name each node once\n"
        "2 problems"
    )


def test_five_thousand_nodes_answer_in_milliseconds():
    """A chain with hidden common causes across it: the longest way there is, and every node is met."""
    names = [f"n{number}" for number in range(5000)]
    edges = [f"{a} -> {b}" for a, b in pairwise(names)] + [
        f"{names[at]} <-> {names[at + 50]}" for at in range(97, 4900, 97)
    ]
    graph = from_edges(edges, columns=names, target=names[-1])
    started = process_time()
    for _ in range(5):
        assert open_path(graph, [names[0]], [names[-1]], []) is not None
        assert separated(graph, [names[0]], [names[90]], [names[5]])
    assert (process_time() - started) / 10 < 0.1  # about 10 ms; a margin for a busy machine
