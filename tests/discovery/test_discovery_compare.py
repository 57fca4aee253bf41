"""A discovered graph beside a declared one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.discovery import DiscoveredGraph, FoundEdge
from crda_spec.discovery.findings import compare
from crda_spec.scm.formats import from_edges


def found(*edges, kind="cpdag", names="abcy"):
    read = [edge.split() for edge in edges]
    return DiscoveredGraph(
        method="pc",
        kind=kind,
        names=tuple(names),
        edges=tuple(FoundEdge(first=a, mark=mark, second=b) for a, mark, b in read),
    )


def declared(*edges, latents=(), columns="abcy"):
    return from_edges(edges, columns=list(columns), target="y", latents=latents)


@pytest.mark.parametrize(
    ("kind", "edge", "graph", "latents", "said"),
    [
        ("cpdag", "a -> y", "a -> y", (), "same"),
        ("cpdag", "y -> a", "a -> y", (), "other direction"),
        ("cpdag", "a -- y", "a -> y", (), "direction open"),
        ("cpdag", "a <-> y", "a -> y", (), "direction open"),
        ("cpdag", "a -> y", "a <-> y", (), "as a hidden cause"),
        ("cpdag", "a -- y", "u -> {a y}", ("u",), "as a hidden cause"),
        ("cpdag", "a -> y", "a -> u -> y", ("u",), "same"),
        ("cpdag", "a -> b", "b -> y", (), "not there"),
        ("pag", "a <-> y", "a <-> y", (), "same"),
        ("pag", "a <-> y", "a -> y", (), "as an arrow"),
        ("pag", "a o-> y", "a <-> y", (), "same"),
        ("pag", "a o-> y", "y -> a", (), "other direction"),
        ("pag", "a o-o y", "y -> a", (), "direction open"),
    ],
)
def test_what_the_declared_graph_has_in_place_of_a_link(kind, edge, graph, latents, said):
    compared = compare(found(edge, kind=kind), declared(graph, latents=latents))
    assert list(compared.found.values()) == [said]


def test_what_only_the_declared_graph_has_is_listed_in_the_order_of_the_columns():
    graph = declared("c -> y", "a -> b -> y", "a <-> c")
    compared = compare(found("b -> y"), graph)
    assert compared.unseen == ("a -> b", "c -> y", "a <-> c")


def test_a_column_that_was_not_searched_is_projected_out():
    """clinic is a column and no feature: what it causes looks like a hidden cause to the search."""
    graph = from_edges(["m -> {a y}", "b -> y"], columns=["a", "b", "m", "y"], target="y", features=["a", "b"])
    compared = compare(found("a -- y", names="aby"), graph)
    assert compared.found == {("a", "y"): "as a hidden cause"}
    assert compared.unseen == ("b -> y",)


@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] < pair[1]), min_size=1))
def test_a_graph_agrees_with_itself(pairs):
    names = "abcdy"
    pairs |= {(0, 4)}
    edges = [f"{names[i]} -> {names[j]}" for i, j in sorted(pairs)]
    compared = compare(found(*edges, names=names), declared(*edges, columns=names))
    assert set(compared.found.values()) == {"same"}
    assert compared.unseen == ()
