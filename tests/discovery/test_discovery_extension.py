"""The draft of a declared graph says what the search found and no more: the same separations, and every guess named."""

from __future__ import annotations

from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from discovery_worlds import Oracle, colliders, random_dag
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from crda_spec.discovery import DiscoveredGraph, FoundEdge
from crda_spec.discovery.fci import Fci
from crda_spec.discovery.findings import declarable
from crda_spec.discovery.pc import Pc
from crda_spec.errors import GraphError
from crda_spec.report.words.discovery import BY_ORDER, guess_notes

DEEP = {"max_depth": 9}  # deeper than a spec may ask for


def letters(d):
    return [f"x{i:02d}" for i in range(d)]


def found(*edges, names="abcy", kind="cpdag"):
    read = [edge.split() for edge in edges]
    return DiscoveredGraph(
        method="pc" if kind == "cpdag" else "fci",
        kind=kind,
        names=tuple(names),
        edges=tuple(FoundEdge(first=a, mark=mark, second=b) for a, mark, b in read),
    )


def arrows(draft):
    return {str(edge) for edge in draft.graph.edges}


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_draft_of_a_cpdag_is_a_member_of_its_class(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(2, 8)), rng.uniform(0.2, 0.8))
    columns = tuple(sorted(dag.nodes))
    names = letters(len(columns))
    search = Pc.model_construct(**DEEP).search(Oracle(dag, columns), names)
    linked = [name for name in names if search.neighbours(name)]
    assume(linked)
    draft = declarable(search, target=linked[int(rng.integers(len(linked)))])
    made = nx.DiGraph([(names.index(a), names.index(b)) for a, b in draft.graph.directed])
    assert not draft.by_order
    assert draft.graph.bidirected == ()
    assert nx.is_directed_acyclic_graph(made)
    assert {frozenset(edge) for edge in made.edges} == {frozenset(edge) for edge in dag.edges}
    assert colliders(made) == colliders(dag)
    assert {frozenset(pair) for pair in draft.guesses} == {frozenset(pair) for pair in search.undirected}


def separations(dag, names):
    """Every (i, j, set) that a graph separates, over the columns by their position."""
    places = range(len(names))
    for i, j in combinations(places, 2):
        others = [k for k in places if k not in (i, j)]
        for held in chain.from_iterable(combinations(others, size) for size in range(len(others) + 1)):
            if nx.is_d_separator(dag, {names[i]}, {names[j]}, {names[k] for k in held}):
                yield i, j, held


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_draft_of_a_pag_separates_what_the_truth_separates(seed):
    """Zhang (2008): `o->` read as `->`, and circles as a DAG without new common effects, is a member of the class."""
    rng = np.random.default_rng(seed)
    total = int(rng.integers(3, 9))
    dag = random_dag(rng, total, rng.uniform(0.2, 0.5))
    measured = rng.choice(total, min(total, int(rng.integers(2, 6))), replace=False)
    columns = tuple(sorted(measured.tolist()))
    names = letters(len(columns))
    search = Fci.model_construct(**DEEP).search(Oracle(dag, columns), names)
    linked = [name for name in names if search.neighbours(name)]
    assume(linked)
    draft = declarable(search, target=linked[-1])
    graph = draft.graph.dag
    canonical = nx.DiGraph()
    canonical.add_nodes_from(graph.names)
    canonical.add_edges_from((graph.names[i], name) for at, name in enumerate(graph.names) for i in graph.parents[at])
    assert not draft.by_order
    assert set(separations(canonical, names)) == set(separations(dag, columns))


def test_the_target_is_made_an_effect_and_earlier_columns_causes_where_the_data_do_not_mind():
    assert arrows(declarable(found("a -- b", "b -- y"), target="y")) == {"a -> b", "b -> y"}
    assert arrows(declarable(found("a -- b", "b -- y"), target="a")) == {"b -> y", "b -> a"}
    assert arrows(declarable(found("b -- y", "a -- b", "a -- y"), target="y")) == {"a -> b", "a -> y", "b -> y"}


def test_every_guess_is_named():
    draft = declarable(found("a -- b", "b -> y", "c <-> y", "a -> y"), target="y")
    assert guess_notes(draft) == (
        "a -> b is a guess: the data leave its direction open",
        "c -> y is a guess: the data argue for both directions",
    )
    assert [draft.guess(edge) for edge in draft.graph.edges] == ["open", None, None, "conflict"]


@pytest.mark.parametrize(
    ("edge", "written", "why"),
    [
        ("a o-> y", "a -> y", "a hidden common cause may tie the two instead, or as well"),
        ("a -> y", "a -> y", "a hidden common cause may tie the two as well"),
        (
            "a o-o y",
            "a -> y",
            "the data leave its direction open, and a hidden common cause may tie the two instead",
        ),
        ("a <-> y", "a <-> y", ""),
        ("a -- y", "a -> y", "its marks make sense only if rows were selected by an effect; the direction is a guess"),
    ],
)
def test_the_marks_of_a_pag_are_read_by_the_stated_rule(edge, written, why):
    draft = declarable(found(edge, kind="pag"), target="y")
    assert arrows(draft) == {written}
    assert guess_notes(draft) == ((f"{written} is a guess: {why}",) if why else ())


def test_a_visible_arrow_of_a_pag_is_no_guess():
    """b has an arrow into a and no link to y: were a and y confounded, it would have one."""
    assert guess_notes(declarable(found("b o-> a", "a -> y", kind="pag"), target="y")) == (
        "b -> a is a guess: a hidden common cause may tie the two instead, or as well",
    )


def test_without_a_consistent_extension_the_order_of_the_columns_decides():
    # A square of open links: whatever the directions, one corner is a new common effect.
    draft = declarable(found("a -- b", "b -- c", "c -- y", "a -- y"), target="y")
    assert draft.by_order
    assert arrows(draft) == {"a -> b", "b -> c", "c -> y", "a -> y"}
    assert guess_notes(draft)[0] == BY_ORDER


def test_a_conflict_follows_the_order_of_the_other_links():
    # The conflict closes the square; without it the others have an extension.
    draft = declarable(found("a -- b", "b -- c", "c -- y", "a <-> y"), target="y")
    assert not draft.by_order
    assert arrows(draft) == {"a -> b", "b -> c", "c -> y", "a -> y"}


def test_arrows_of_a_noisy_pag_that_run_in_a_circle_are_opened():
    draft = declarable(found("a o-> b", "b o-> c", "c o-> a", "c o-> y", kind="pag"), target="y")
    assert arrows(draft) == {"a -> b", "b -> c", "a -> c", "c -> y"}
    circle = "is a guess: the arrows that were found run in a circle, and this one is part of it"
    assert [note for note in guess_notes(draft) if "circle" in note] == [
        f"{edge} {circle}" for edge in ("a -> b", "a -> c", "b -> c")
    ]


marks = st.sampled_from(["->", "--", "<->", "o->", "o-o", "o--"])


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_was_found_the_draft_is_a_graph(data):
    """Any marks, with circles or not: a graph is built, with the same links, or the target has none."""
    names = letters(data.draw(st.integers(2, 7)))
    pairs = [pair for pair in combinations(names, 2) if data.draw(st.booleans())]
    turned = [pair[::-1] if data.draw(st.booleans()) else pair for pair in pairs]
    kind = data.draw(st.sampled_from(["cpdag", "pag"]))
    edges = tuple(FoundEdge(first=a, second=b, mark=data.draw(marks)) for a, b in turned)
    search = DiscoveredGraph(method="pc", kind=kind, names=tuple(names), edges=edges)
    linked = [name for name in names if search.neighbours(name)]
    assume(linked)
    draft = declarable(search, target=linked[0])
    assert sorted(tuple(sorted((edge.tail, edge.head))) for edge in draft.graph.edges) == sorted(pairs)
    ties = {(a, b) for a, b in draft.graph.bidirected}
    assert ties == {tuple(sorted(pair)) for pair in search.confounded}


def test_a_target_without_links_cannot_be_declared():
    with pytest.raises(GraphError) as caught:
        declarable(found("a -- b"), target="y")
    assert str(caught.value) == (
        "the search links nothing to the target 'y', so its graph cannot be declared; raise alpha, tell the search "
        "what you know, or write down the arrows that you know yourself"
    )
