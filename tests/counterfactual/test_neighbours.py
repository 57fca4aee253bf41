"""Distances between rows, and the rows that are near each other."""

import numpy as np
import pytest
from counterfactual_parts import mixed, numbers, table
from hypothesis import given
from hypothesis import strategies as st

from crda_spec.counterfactual import neighbours as module
from crda_spec.counterfactual.neighbours import Nearness, Space, nearest, reference_rows
from crda_spec.records import Column
from crda_spec.seeds import stream


def test_numbers_count_in_deviations_labels_as_alike_or_different_and_gaps_as_the_mean():
    columns = [
        Column(name="a", type="continuous"),
        Column(name="w", type="category", labels=("n", "s", "w")),
        Column(name="f", type="boolean"),
        Column(name="k", type="continuous"),
    ]
    x = np.array([[1.0, 0, 0, 7], [3.0, 1, 0, 7], [np.nan, 2, 1, 7], [5.0, np.nan, 1, 7]])
    space = Space.learn(table(x, np.zeros(4), columns))
    assert space.numbers == (0, 3)
    points = space.encode(x)
    assert points.shape == (4, 1 + 3 + 2 + 1)
    deviation = np.std([1.0, 3.0, 5.0])
    np.testing.assert_allclose(points[:, 0], [-2 / deviation, 0.0, 0.0, 2 / deviation])
    np.testing.assert_allclose(points[:, -1], 0.0)  # a constant tells nothing
    labels = space.encode(x, (1, 2))
    assert np.linalg.norm(labels[0] - labels[1]) == pytest.approx(1.0)  # one label differs
    assert np.linalg.norm(labels[0] - labels[2]) == pytest.approx(np.sqrt(2.0))  # both differ
    assert np.linalg.norm(labels[2] - labels[3]) == pytest.approx(np.sqrt(0.5))  # one is not known


@pytest.mark.parametrize("dimensions", [2, 12])
@given(seed=st.integers(0, 1000))
def test_the_search_agrees_with_all_distances(dimensions, seed):
    rng = np.random.default_rng(seed)
    reference, queries = rng.normal(size=(40, dimensions)), rng.normal(size=(15, dimensions))
    distance, found = nearest(reference, queries, 3)
    every = np.linalg.norm(queries[:, None] - reference[None], axis=2)
    np.testing.assert_array_equal(found, np.argsort(every, axis=1)[:, :3])
    np.testing.assert_allclose(distance, np.sort(every, axis=1)[:, :3], rtol=1e-12)


def test_the_search_in_blocks_is_the_search_in_one(monkeypatch):
    rng = np.random.default_rng(0)
    reference, queries = rng.normal(size=(50, 12)), rng.normal(size=(33, 12))
    whole = nearest(reference, queries, 2)
    monkeypatch.setattr(module, "_BLOCK", 50 * 7)
    parts = nearest(reference, queries, 2)
    np.testing.assert_array_equal(whole[1], parts[1])
    np.testing.assert_array_equal(whole[0], parts[0])
    assert nearest(reference, queries[:0], 2)[0].shape == (0, 2)


@pytest.mark.parametrize("positions", [(0, 1, 6), tuple(range(7))])
def test_a_row_is_never_its_own_neighbour(positions):
    train = mixed(80)
    near = Nearness(train, seed=0, index=()).neighbours(positions, 6)
    assert near.shape == (80, 6)
    assert (near != np.arange(80)[:, None]).all()
    points = Space.learn(train).encode(train.x, positions)
    every = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(every, np.inf)
    expected = np.sort(every, axis=1)[:, :6]
    np.testing.assert_allclose(np.take_along_axis(every, near, axis=1), expected, atol=1e-4)  # ties at random


def test_fewer_rows_than_neighbours_give_all_other_rows():
    train = numbers(np.arange(4.0)[:, None], np.zeros(4))
    near = Nearness(train, seed=0, index=()).neighbours((0,), 10)
    assert [sorted(row) for row in near.tolist()] == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]


@pytest.mark.parametrize("count", [None, 3])
def test_a_partner_is_another_row_and_each_as_likely(count):
    train = numbers(np.arange(5.0)[:, None], np.zeros(5))
    source = np.repeat(np.arange(5), 4000)
    uniform = stream(0, "u").random(len(source))
    partner = Nearness(train, seed=0, index=()).partner(source, uniform, positions=(0,), count=count)
    assert (partner != source).all()
    shares = np.bincount(partner[source == 2], minlength=5) / 4000
    expected = [0.25, 0.25, 0, 0.25, 0.25] if count is None else [1 / 3, 1 / 3, 0, 1 / 3, 0]
    if count is None:
        np.testing.assert_allclose(shares, expected, atol=0.03)
    else:  # of the two rows at distance two, one is taken
        assert shares[1] == pytest.approx(1 / 3, abs=0.03)
        assert shares[3] == pytest.approx(1 / 3, abs=0.03)
        assert sorted(shares[[0, 4]].round(1)) == [0.0, 0.3]


def test_a_lone_row_is_its_own_partner():
    train = numbers([[1.0]], [0.0])
    near = Nearness(train, seed=0, index=())
    assert near.partner(np.array([0, 0]), np.array([0.1, 0.9]), positions=(0,), count=None).tolist() == [0, 0]


def test_a_large_table_is_searched_among_a_sample_of_its_rows():
    rng = stream(0, "rows")
    assert reference_rows(22_000, 22_000, rng=rng).tolist() == list(range(22_000))
    sample = reference_rows(100_000, 100_000, rng=rng)
    assert len(sample) == 5_000
    assert (np.diff(sample) > 0).all()
    assert sample[-1] > 90_000
    assert len(reference_rows(2_000_000, 2_000_000, rng=rng)) == 1_000


def test_neighbours_among_a_sample_are_never_the_row_itself(monkeypatch):
    monkeypatch.setattr(module, "_DISTANCES", 0)
    monkeypatch.setattr(module, "_LEAST_REFERENCE", 30)
    x = np.arange(200.0)[:, None]
    near = Nearness(numbers(x, x[:, 0]), seed=0, index=()).neighbours((0,), 5)
    assert near.shape == (200, 5)
    assert (near != np.arange(200)[:, None]).all()
    assert len(np.unique(near)) <= 30
    assert np.median(np.abs(near - np.arange(200)[:, None])) < 30
