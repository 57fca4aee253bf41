from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crda_spec.independence.second_opinion import Matching, matching


def matched(numbers, labels=None, seed=0) -> Matching:
    numbers = np.asarray(numbers, dtype=np.float64)
    codes = np.empty((len(numbers), 0)) if labels is None else np.asarray(labels, dtype=np.float64)[:, None]
    return matching(numbers, codes, rng=np.random.default_rng(seed))


def keys(pairs):
    return [tuple(sorted(pair)) for pair in pairs.tolist()]


def greedy(numbers, labels):
    """The definition: again and again the two nearest rows of equal labels among those that are left."""
    free, found = set(range(len(numbers))), []
    while True:
        options = [
            (float(np.linalg.norm(numbers[i] - numbers[j])), i, j)
            for i in free
            for j in free
            if i < j and labels[i] == labels[j]
        ]
        if not options:
            return found
        _, i, j = min(options)
        found.append((i, j))
        free -= {i, j}


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(2, 40), columns=st.integers(1, 3))
def test_the_closest_pairs_are_those_of_the_definition(seed, rows, columns):
    rng = np.random.default_rng(seed)
    numbers, labels = rng.normal(size=(rows, columns)), rng.integers(0, 2, rows)
    assert keys(matched(numbers, labels).closest)[: rows // 4] == greedy(numbers, labels)[: rows // 4]


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 80), repeated=st.booleans())
def test_pairs_are_disjoint_of_equal_labels_and_new_the_second_time(seed, rows, repeated):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 3, size=(rows, 2)) if repeated else rng.normal(size=(rows, 2))
    labels = rng.integers(0, 3, rows)
    found = matched(numbers, labels)
    again = found.near[len(found.closest) :]
    for pairs in (found.closest, again):
        assert len(set(pairs.ravel().tolist())) == pairs.size
    assert len(set(keys(found.near))) == len(found.near)
    assert all(labels[a] == labels[b] and a != b for a, b in [*found.near.tolist(), *found.far.tolist()])


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(np.zeros((400, 1)), id="all-alike"),
        pytest.param(np.cumsum(np.arange(400.0))[:, None], id="each-gap-wider-than-the-last"),
        pytest.param(np.random.default_rng(0).normal(size=(400, 6)), id="many-columns"),
    ],
)
def test_hardly_a_row_stays_alone(numbers):
    found = matched(numbers)
    assert 2 * len(found.closest) >= 390
    assert len(found.near) >= 385


def test_far_pairs_are_farther():
    numbers = np.sort(np.random.default_rng(0).normal(size=(200, 1)), axis=0)
    found = matched(numbers)
    near, far = (np.median(np.abs(numbers[pairs[:, 0]] - numbers[pairs[:, 1]])) for pairs in (found.closest, found.far))
    assert len(found.far) == 200
    assert far > 4 * near


def test_without_numbers_rows_of_a_label_are_paired_at_random():
    one, other = (matched(np.empty((30, 0)), np.repeat([0, 1], 15), seed) for seed in (0, 1))
    assert len(one.closest) == 14
    assert keys(one.closest) != keys(other.closest)
