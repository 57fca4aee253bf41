from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from crda_spec.report.layout import _spaced, arrange


@st.composite
def graphs(draw):
    size = draw(st.integers(min_value=1, max_value=12))
    names = [f"n{index}" for index in range(size)]
    pair = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda ends: ends[0] != ends[1])
    edges = draw(st.lists(pair, max_size=24, unique=True)) if size > 1 else []
    ties = draw(st.lists(pair, max_size=4, unique=True)) if size > 1 else []
    acyclic = draw(st.booleans())
    ends = [(min(edge), max(edge)) if acyclic else edge for edge in edges]
    return names, [(names[a], names[b]) for a, b in ends], [(names[a], names[b]) for a, b in ties], acyclic


@given(graphs())
def test_layers_follow_the_arrows_and_nodes_keep_their_distance(drawn):
    names, edges, ties, acyclic = drawn
    layout = arrange(names, edges, last=names[-1], ties=ties, rank=dict.fromkeys(names, 3), gap=40.0)
    if acyclic:
        assert all(layout.layer[start] < layout.layer[end] for start, end in edges)
        assert max(layout.layer.values()) == layout.layer[names[-1]]
    points = [(layout.layer[name], layout.height[name]) for name in names]
    points += [point for path in layout.bends.values() for point in path]
    for level in range(layout.layers):
        heights = sorted(height for layer, height in points if layer == level)
        assert all(lower - upper >= 40.0 - 1e-6 for upper, lower in pairwise(heights))
    assert min(height for _, height in points) == 0.0
    assert max(height for _, height in points) == layout.bottom
    assert layout == arrange(names, edges, last=names[-1], ties=ties, rank=dict.fromkeys(names, 3), gap=40.0)


def test_the_target_stands_right_of_all_but_its_effects():
    edges = [("a", "b"), ("b", "c"), ("a", "y"), ("y", "after")]
    layout = arrange(
        ["a", "b", "c", "y", "after"], edges, last="y", ties=[], rank=dict.fromkeys("abcy", 3) | {"after": 3}, gap=40.0
    )
    assert layout.layer == {"a": 0, "b": 1, "c": 2, "y": 3, "after": 4}
    assert [layer for layer, _ in layout.bends["a", "y", False]] == [1, 2]


def test_a_smaller_rank_stands_higher():
    names = ["a", "b", "z", "y"]
    rank = {"a": 3, "b": 3, "z": 0, "y": 3}
    layout = arrange(names, [(name, "y") for name in "abz"], last="y", ties=[], rank=rank, gap=40.0)
    assert layout.height["z"] < min(layout.height["a"], layout.height["b"])


def test_barycentres_undo_a_crossing():
    names = ["a", "b", "d", "c"]
    layout = arrange(names, [("a", "c"), ("b", "d")], last=None, ties=[], rank=dict.fromkeys(names, 3), gap=40.0)
    assert (layout.height["a"] < layout.height["b"]) == (layout.height["c"] < layout.height["d"])


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8))
def test_spacing_is_the_least_squares_answer(wishes):
    """The projection on the convex set of spaced heights: no small allowed step towards another point comes nearer."""
    found = _spaced(wishes, 10.0)
    assert all(later - earlier >= 10.0 - 1e-6 for earlier, later in pairwise(found))
    middle = sum(wishes) / len(wishes)
    stacked = [middle + 10.0 * index for index in range(len(wishes))]
    cost = sum((a - b) ** 2 for a, b in zip(found, wishes, strict=True))
    for other in (stacked, [10.0 * index + wishes[0] for index in range(len(wishes))]):
        assert cost <= sum((a - b) ** 2 for a, b in zip(other, wishes, strict=True)) + 1e-3
        # Optimality of a projection: <wish - found, other - found> <= 0 for every allowed other.
        slope = sum((w - f) * (o - f) for w, f, o in zip(wishes, found, other, strict=True))
        assert slope <= 1e-2


def test_an_empty_graph_is_an_empty_layout():
    layout = arrange([], [], last=None, ties=[], rank={}, gap=40.0)
    assert (layout.layers, layout.bottom, dict(layout.height)) == (0, 0.0, {})
