from __future__ import annotations

import warnings
from itertools import chain, combinations, product

import networkx as nx
import numpy as np
import pytest
from discovery_worlds import Oracle, ancestors, linear_world, random_dag
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.discovery.fci import Fci
from crda_spec.independence import correlation_matrix
from crda_spec.independence.conditional import PartialCorrelation


def letters(d: int) -> list[str]:
    return [f"x{i:02d}" for i in range(d)]


def hidden_world(seed: int, most: int = 9) -> tuple[nx.DiGraph, tuple[int, ...]]:
    """A DAG and the columns that are measured; the others are hidden."""
    rng = np.random.default_rng(seed)
    total = int(rng.integers(3, most + 1))
    dag = random_dag(rng, total, rng.uniform(0.2, 0.5))
    return dag, tuple(sorted(rng.choice(total, max(2, total - int(rng.integers(0, 4))), replace=False).tolist()))


def separable(dag: nx.DiGraph, columns: tuple[int, ...], i: int, j: int) -> bool:
    """Whether some set of columns separates two: by definition, over all sets."""
    others = [k for k in columns if k not in (i, j)]
    sets = chain.from_iterable(combinations(others, size) for size in range(len(others) + 1))
    return any(nx.is_d_separator(dag, {i}, {j}, set(held)) for held in sets)


def links_of(seed: int, most: int) -> int:
    dag, columns = hidden_world(seed, most)
    return sum(not separable(dag, columns, i, j) for i, j in combinations(columns, 2))


def marks(found) -> dict[tuple[str, str], tuple[str, str]]:
    """(a, b) -> the mark at a and the mark at b, in both orders."""
    read = {"o-o": "oo", "o->": "o>", "->": "->", "<->": ">>", "--": "--", "o--": "o-"}
    ends = {(e.first, e.second): tuple(read[e.mark]) for e in found.edges}
    return ends | {(b, a): (right, left) for (a, b), (left, right) in ends.items()}


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), depth=st.sampled_from([1, 2, 9]))
def test_every_link_and_mark_is_true_of_the_graph_with_hidden_causes(seed, depth):
    dag, columns = hidden_world(seed, most=8)
    found = Fci.model_construct(max_depth=depth).search(Oracle(dag, columns), letters(len(columns)))
    ends = marks(found)
    for a, b in combinations(range(len(columns)), 2):
        i, j = columns[a], columns[b]
        link = ends.get((f"x{a:02d}", f"x{b:02d}"))
        if depth == 9:
            assert (link is None) == separable(dag, columns, i, j)
        elif link is None:
            assert separable(dag, columns, i, j)
        for node, other, mark in ((i, j, link and link[0]), (j, i, link and link[1])):
            if mark == ">":
                assert node not in ancestors(dag, [other])
            elif mark == "-":
                assert node in ancestors(dag, [other])


@pytest.mark.parametrize("seed", [seed for seed in range(3000, 3040) if links_of(seed, most=6) <= 7])
def test_the_pag_shows_exactly_what_all_graphs_that_fit_have_in_common(seed):
    """By definition: every ancestral graph with the same links and the same independencies, one by one."""
    dag, columns = hidden_world(seed, most=6)
    d = len(columns)
    found = Fci.model_construct(max_depth=9).search(Oracle(dag, columns), letters(d))
    truth = independencies(dag, columns)
    links = [(int(e.first[1:]), int(e.second[1:])) for e in found.edges]
    fitting = [
        kinds
        for kinds in product(("->", "<-", "<->"), repeat=len(links))
        if (graph := canonical(d, links, kinds)) is not None and independencies(graph, range(d), truth)
    ]
    expected = {}
    for place, (a, b) in enumerate(links):
        seen = {kinds[place] for kinds in fitting}
        left = {"-" if kind == "->" else ">" for kind in seen}
        right = {"-" if kind == "<-" else ">" for kind in seen}
        expected[f"x{a:02d}", f"x{b:02d}"] = tuple(side.pop() if len(side) == 1 else "o" for side in (left, right))
    ends = marks(found)
    assert {pair: ends[pair] for pair in expected} == expected


def canonical(d: int, links, kinds) -> nx.DiGraph | None:
    """The DAG with a hidden cause for each `<->`; None for a circle, or a cause tied to its effect by `<->`."""
    dag = nx.DiGraph()
    dag.add_nodes_from(range(d))
    dag.add_edges_from(
        (a, b) if kind == "->" else (b, a) for (a, b), kind in zip(links, kinds, strict=True) if kind != "<->"
    )
    tied = [link for link, kind in zip(links, kinds, strict=True) if kind == "<->"]
    if not nx.is_directed_acyclic_graph(dag):
        return None
    if any(a in nx.ancestors(dag, b) or b in nx.ancestors(dag, a) for a, b in tied):
        return None
    dag.add_edges_from((d + place, end) for place, link in enumerate(tied) for end in link)
    return dag


def independencies(dag: nx.DiGraph, columns, expected: list[bool] | None = None) -> list[bool] | bool:
    """Whether each pair is separated by each set; with a list to match, whether all do, stopping at the first miss."""
    places = range(len(columns))
    queries = (
        (i, j, held)
        for i, j in combinations(places, 2)
        for size in range(len(columns) - 1)
        for held in combinations([k for k in places if k not in (i, j)], size)
    )
    answers = (nx.is_d_separator(dag, {columns[i]}, {columns[j]}, {columns[k] for k in s}) for i, j, s in queries)
    return list(answers) if expected is None else all(a == b for a, b in zip(answers, expected, strict=True))


@pytest.mark.parametrize("seed", range(25))
def test_with_an_oracle_the_pag_says_all_that_causal_learn_says(seed):
    """It leaves some tails open: in the world of seed 18, x04 -> x03, although all 295 graphs that fit have it."""
    dag, columns = hidden_world(1000 + seed)
    found = Fci.model_construct(max_depth=9).search(Oracle(dag, columns), letters(len(columns)))
    ours, theirs = marks(found), causal_learns(np.zeros((10, len(columns))), Oracle(dag, columns), depth=-1)
    assert set(ours) == set(theirs)
    differ = [(ours[pair], theirs[pair]) for pair in ours if ours[pair] != theirs[pair]]
    assert all(their in ("o", our) for mine, other in differ for our, their in zip(mine, other, strict=True))
    assert len(differ) <= 4


@pytest.mark.parametrize("seed", range(6))
def test_links_from_data_equal_those_of_causal_learn(seed):
    rng = np.random.default_rng(2000 + seed)
    x = linear_world(rng, d=9, n=400, density=0.25)[:, :7]
    test = PartialCorrelation.of(*correlation_matrix(x))
    found = Fci(max_depth=5).search(test, letters(7), separator="union")
    theirs = causal_learns(x, test, depth=5)
    assert set(marks(found)) == set(theirs)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_columns_changes_nothing(seed):
    rng = np.random.default_rng(4000 + seed)
    x = linear_world(rng, d=11, n=80, density=0.3)
    order = rng.permutation(11)
    names = letters(11)
    one = Fci().search(PartialCorrelation.of(*correlation_matrix(x)), names)
    shuffled = PartialCorrelation.of(*correlation_matrix(x[:, order]))
    other = Fci().search(shuffled, [names[k] for k in order])
    assert marks(one) == marks(other)


def causal_learns(x: np.ndarray, test, depth: int) -> dict[tuple[str, str], tuple[str, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from causallearn.search.ConstraintBased import FCI
        from causallearn.utils.cit import CIT_Base

        class Asked(CIT_Base):
            """Our test, in the shape that causal-learn asks for."""

            def __init__(self, data, **_):
                super().__init__(data)
                self.method = "asked"

            def __call__(self, a, b, held=None):
                i, j = sorted((int(a), int(b)))
                return test.p_value(i, j, tuple(sorted(int(k) for k in held or ())))[1]

        FCI.CIT, kept = lambda data, **_: Asked(data), FCI.CIT
        try:
            _, edges = FCI.fci(x, "asked", 0.05, depth=depth, show_progress=False, node_names=letters(x.shape[1]))
        finally:
            FCI.CIT = kept
    shown = {"CIRCLE": "o", "ARROW": ">", "TAIL": "-"}
    ends = {
        (e.get_node1().get_name(), e.get_node2().get_name()): (
            shown[e.get_endpoint1().name],
            shown[e.get_endpoint2().name],
        )
        for e in edges
    }
    return ends | {(b, a): (right, left) for (a, b), (left, right) in ends.items()}
