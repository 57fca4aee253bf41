"""Rows in the order of time: cuts between moments, no group torn, every fold scored on what is later than it knows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crda_spec.data.folds import count_pieces, forward_folds, latest, left_out_folds, pieces, scoring_folds, time_blocks
from crda_spec.data.split import set_aside, split_fraction
from crda_spec.errors import DataError
from crda_spec.records import Column, Table
from crda_spec.regressors import EarlyStopping
from crda_spec.regressors.fit import watched_rows
from crda_spec.seeds import stream

time_lists = st.lists(st.integers(0, 12), min_size=2, max_size=60)


@st.composite
def ordered_rows(draw):
    """Times and, in half of the cases, groups; a group may reach over any stretch of time."""
    times = draw(time_lists)
    groups = draw(st.none() | st.lists(st.integers(0, 30), min_size=len(times), max_size=len(times)))
    return np.array(times), None if groups is None else np.array(groups)


def table_of(times, groups=None):
    n = len(times)
    return Table(
        features=(Column(name="a", type="continuous"),),
        target=Column(name="y", type="continuous"),
        row_ids=np.arange(n),
        x=np.zeros((n, 1)),
        y=np.arange(n, dtype=float),
        groups=None if groups is None else np.array(groups, dtype=np.int64),
        times=np.array(times, dtype=np.int64),
    )


def torn(values, *parts):
    """Values that two of the parts share."""
    return [value for value in set(values.tolist()) if sum(np.isin(value, values[part]) for part in parts) > 1]


@given(rows=ordered_rows(), k=st.integers(1, 8))
def test_no_fold_trains_on_a_row_as_late_as_any_it_is_scored_on(rows, k):
    times, groups = rows
    assume(count_pieces(times, groups) > k)
    folds = forward_folds(times, k, groups)
    assert len(folds) == k
    for seen, held in folds:
        assert len(seen)
        assert len(held)
        assert times[seen].max() < times[held].min()
        assert not torn(times, seen, held)
        assert groups is None or not torn(groups, seen, held)


@given(rows=ordered_rows(), k=st.integers(1, 8))
def test_every_row_outside_the_first_block_is_held_out_exactly_once_and_trained_on_in_every_later_fold(rows, k):
    times, groups = rows
    assume(count_pieces(times, groups) > k)
    folds = forward_folds(times, k, groups)
    first = folds[0][0]
    held = np.concatenate([held for _, held in folds])
    assert sorted([*first.tolist(), *held.tolist()]) == list(range(len(times)))
    for (seen, held), (later, _) in pairwise(folds):
        assert later.tolist() == sorted([*seen.tolist(), *held.tolist()])


@given(rows=ordered_rows(), k=st.integers(1, 8))
def test_blocks_part_the_rows_in_the_order_of_time_and_tear_nothing(rows, k):
    times, groups = rows
    assume(count_pieces(times, groups) >= k)
    blocks = time_blocks(times, k, groups)
    assert len(blocks) == k
    assert sorted(np.concatenate(blocks).tolist()) == list(range(len(times)))
    assert all(len(block) and np.all(np.diff(block) > 0) for block in blocks)
    assert all(times[one].max() < times[other].min() for one, other in pairwise(blocks))
    assert groups is None or not torn(groups, *blocks)


@given(rows=ordered_rows())
def test_pieces_are_cut_wherever_nothing_reaches_across(rows):
    """By hand: a cut after moment t is possible when no group has rows up to t and after t."""
    times, groups = rows
    moments = sorted(set(times.tolist()))
    ends = moments[:-1]
    if groups is not None:
        spans = [(times[groups == group].min(), times[groups == group].max()) for group in set(groups.tolist())]
        ends = [end for end in ends if not any(low <= end < high for low, high in spans)]
    expected = [sum(end < time for end in ends) for time in times.tolist()]
    assert pieces(times, groups).tolist() == expected
    assert count_pieces(times, groups) == len(ends) + 1


@given(n=st.integers(2, 80), k=st.integers(2, 10))
def test_rows_of_different_times_are_cut_evenly(n, k):
    assume(n >= k)
    sizes = [len(block) for block in time_blocks(np.arange(n)[::-1], k)]
    assert max(sizes) - min(sizes) <= 1


@given(rows=ordered_rows(), wanted=st.floats(0, 60))
def test_the_latest_rows_are_those_after_the_nearest_cut(rows, wanted):
    times, groups = rows
    assume(count_pieces(times, groups) >= 2)
    held = latest(times, wanted, groups)
    piece = pieces(times, groups)
    possible = [int((piece >= cut).sum()) for cut in range(1, piece.max() + 1)]
    assert abs(len(held) - wanted) == min(abs(rows - wanted) for rows in possible)
    rest = np.setdiff1d(np.arange(len(times)), held)
    assert times[rest].max() < times[held].min()


@given(rows=ordered_rows(), test=st.floats(0.1, 0.9), seed=st.integers(0, 99))
def test_a_fraction_of_rows_with_an_order_is_their_end_whatever_the_seed(rows, test, seed):
    times, groups = rows
    assume(count_pieces(times, groups) >= 2)
    try:
        split = split_fraction(table_of(times, groups), test, seed=seed)
    except DataError as error:
        assert "empty-split" in {one.code for one in error.complaints}  # noqa: PT017 - two rows have to be left
        return
    assert split.train.times.max() < split.test.times.min()
    again = split_fraction(table_of(times, groups), test, seed=seed + 1)
    assert split.test.row_ids.tolist() == again.test.row_ids.tolist()


def test_rows_set_aside_for_tuning_are_the_earliest():
    rng = np.random.default_rng(0)
    split = split_fraction(table_of(rng.permutation(50)), 0.2, seed=0)
    parts = set_aside(split, 0.25, seed=0)
    assert (len(parts.tuning), len(parts.train), len(parts.test)) == (10, 30, 10)
    assert parts.tuning.times.max() < parts.train.times.min()
    assert parts.train.times.max() < parts.test.times.min()


@pytest.mark.parametrize(
    ("times", "groups", "expected"),
    [
        pytest.param(
            [3, 3, 3],
            None,
            "dataset.split: the 3 rows have 1 different time, so none of them is earlier than another; "
            "use finer times or groups, or leave out dataset.time",
            id="one-moment",
        ),
        pytest.param(
            [1, 2, 3, 4],
            [0, 1, 1, 0],
            "dataset.split: the 4 rows cannot be cut in time: at every moment some group has rows before and after it; "
            "use finer times or groups, or leave out dataset.time",
            id="a-group-over-all-of-it",
        ),
    ],
)
def test_rows_that_cannot_be_cut_are_refused(times, groups, expected):
    with pytest.raises(DataError) as caught:
        split_fraction(table_of(times, groups), 0.3, seed=0)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(
            lambda rows: scoring_folds(rows, 4, rng=stream(0, "folds")),
            "dataset.time: 4 folds that run forward need at least 5 different times, but the 6 rows at hand have 3; "
            "use fewer folds, or more data",
            id="forward",
        ),
        pytest.param(
            lambda rows: left_out_folds(rows, 4, rng=stream(0, "folds")),
            "dataset.time: 4 blocks of time need at least 4 different times, but the 6 rows at hand have 3; "
            "use fewer folds, or more data",
            id="blocks",
        ),
    ],
)
def test_too_few_times_deep_inside_a_search_are_named(call, expected):
    with pytest.raises(DataError) as caught:
        call(table_of([0, 0, 1, 1, 2, 2]))
    assert str(caught.value) == expected


def test_a_block_too_many_is_a_mistake_of_ours():
    with pytest.raises(ValueError, match="4 blocks cannot be made of 3 pieces"):
        time_blocks(np.array([0, 1, 2]), 4)


@given(rows=ordered_rows(), share=st.floats(0.05, 0.5), seed=st.integers(0, 99))
def test_early_stopping_watches_the_latest_rows(rows, share, seed):
    times, groups = rows
    table = table_of(times, groups)
    watched = watched_rows(table, EarlyStopping(validation=share), seed=seed)
    if count_pieces(times, groups) < 4:
        assert len(watched) == 0
        return
    rest = np.setdiff1d(np.arange(len(times)), watched)
    assert times[rest].max() < times[watched].min()
    assert watched_rows(table, None, seed=seed).tolist() == []
