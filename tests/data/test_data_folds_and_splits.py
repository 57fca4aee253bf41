"""Folds and splits: every row on exactly one side, groups whole, the same seed the same rows."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crda_spec.data.folds import folds
from crda_spec.data.split import NoSplit, set_aside, split_by_tables, split_by_values, split_fraction, split_rows
from crda_spec.errors import DataError
from crda_spec.records import Column, Table
from crda_spec.seeds import stream


def table_of(n: int, groups=None, *, labels=None) -> Table:
    kind = "continuous" if labels is None else "category"
    return Table(
        features=(Column(name="a", type=kind, labels=labels),),
        target=Column(name="y", type="continuous"),
        row_ids=np.arange(n),
        x=np.zeros((n, 1)),
        y=np.arange(n, dtype=float),
        groups=None if groups is None else np.array(groups, dtype=np.int64),
    )


def message(call, *arguments, **settings) -> str:
    with pytest.raises(DataError) as caught:
        call(*arguments, **settings)
    return str(caught.value)


group_lists = st.lists(st.integers(0, 6), min_size=2, max_size=40)
seeds = st.integers(0, 2**32)


@given(n=st.integers(2, 60), k=st.integers(2, 60), seed=seeds)
def test_folds_partition_the_rows_evenly(n, k, seed):
    assume(k <= n)
    parts = folds(n, k, rng=stream(seed, "folds"))
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert all(np.all(np.diff(part) > 0) for part in parts)


@given(groups=group_lists, k=st.integers(2, 7), seed=seeds)
def test_folds_keep_groups_whole(groups, k, seed):
    groups = np.array(groups)
    assume(k <= len(np.unique(groups)))
    parts = folds(len(groups), k, rng=stream(seed, "folds"), groups=groups)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(groups)))
    assert len(parts) == k
    assert all(len(part) for part in parts)
    homes = [set(groups[part].tolist()) for part in parts]
    assert sum(map(len, homes)) == len(set(groups.tolist()))
    # Greedy filling: no fold is ahead of another by more than the largest group.
    assert max(map(len, parts)) - min(map(len, parts)) <= np.bincount(groups).max()


@given(groups=group_lists, seed=seeds)
def test_folds_depend_on_nothing_but_the_generator(groups, seed):
    assume(len(set(groups)) >= 2)
    one, two = (folds(len(groups), 2, rng=stream(seed, "folds"), groups=np.array(groups)) for _ in range(2))
    assert [part.tolist() for part in one] == [part.tolist() for part in two]


@given(n=st.integers(2, 30), k=st.integers(2, 5), seed=seeds)
def test_groups_of_one_row_change_nothing(n, k, seed):
    assume(k <= n)
    plain = folds(n, k, rng=stream(seed, "folds"))
    single = folds(n, k, rng=stream(seed, "folds"), groups=np.arange(n))
    assert [part.tolist() for part in plain] == [part.tolist() for part in single]


@pytest.mark.parametrize("seed", range(10))
def test_large_groups_are_placed_first(seed):
    parts = folds(8, 2, rng=stream(seed, "folds"), groups=np.array([0, 1, 1, 1, 1, 2, 3, 4]))
    assert sorted(part.tolist() for part in parts) == [[0, 5, 6, 7], [1, 2, 3, 4]]


def test_another_seed_gives_other_folds():
    one, two = (folds(50, 5, rng=stream(seed, "folds")) for seed in (0, 1))
    assert [part.tolist() for part in one] != [part.tolist() for part in two]


@pytest.mark.parametrize(
    ("n", "k", "groups", "expected"),
    [
        pytest.param(
            4,
            5,
            None,
            "gate.folds: 5 folds need at least 5 rows, but there are 4 to train on; use at most 4 folds",
            id="rows",
        ),
        pytest.param(
            6,
            4,
            [0, 0, 1, 1, 2, 2],
            "gate.folds: 4 folds need at least 4 groups, but the 6 training rows form 3; use at most 3 folds",
            id="groups",
        ),
        pytest.param(
            3,
            2,
            [0, 0, 0],
            "gate.folds: 2 folds need at least 2 groups, but the 3 training rows form 1; use more data",
            id="one-group",
        ),
        pytest.param(
            9,
            1,
            None,
            "gate.folds: 1 fold cannot be made: what is trained and what is held out need one each; "
            "use at least 2 folds",
            id="one-fold",
        ),
    ],
)
def test_impossible_folds(n, k, groups, expected):
    given_groups = None if groups is None else np.array(groups)
    assert message(folds, n, k, rng=stream(0, "folds"), groups=given_groups) == expected


@given(n=st.integers(3, 80), test=st.floats(0.05, 0.95), seed=seeds)
def test_a_fraction_splits_as_many_rows_as_it_says(n, test, seed):
    wanted = int(np.floor(test * n + 0.5))
    assume(1 <= wanted <= n - 2)
    one, two = split_fraction(table_of(n), test, seed=seed), split_fraction(table_of(n), test, seed=seed)
    assert len(one.test) == wanted
    assert sorted([*one.train.row_ids.tolist(), *one.test.row_ids.tolist()]) == list(range(n))
    assert np.all(np.diff(one.train.row_ids) > 0)
    assert one.test.row_ids.tolist() == two.test.row_ids.tolist()


@given(groups=group_lists, test=st.floats(0.1, 0.9), seed=seeds)
def test_a_fraction_keeps_groups_whole(groups, test, seed):
    groups = groups * 2  # no group of a single row, so that any group is enough to train on
    assume(len(set(groups)) >= 2)
    wanted = int(np.floor(test * len(groups) + 0.5))
    assume(1 <= wanted <= len(groups) - 2)
    split = split_fraction(table_of(len(groups), groups), test, seed=seed)
    assert sorted([*split.train.row_ids.tolist(), *split.test.row_ids.tolist()]) == list(range(len(groups)))
    assert not set(split.train.groups.tolist()) & set(split.test.groups.tolist())
    assert len(split.train) >= 2
    assert len(split.test) >= 1
    assert abs(len(split.test) - wanted) < np.bincount(groups).max()


@pytest.mark.parametrize("seed", range(4))
def test_one_group_always_stays_to_train_on(seed):
    # 12 of 14 rows are asked for: all 14 would be nearer than 4 or 10.
    split = split_fraction(table_of(14, [0] * 4 + [1] * 10), 0.85, seed=seed)
    assert sorted([len(split.train), len(split.test)]) == [4, 10]


def test_another_seed_sets_other_rows_aside():
    one, two = (split_fraction(table_of(50), 0.2, seed=seed) for seed in (0, 1))
    assert one.test.row_ids.tolist() != two.test.row_ids.tolist()


@pytest.mark.parametrize(
    ("n", "test", "groups", "expected"),
    [
        pytest.param(
            4,
            0.1,
            None,
            "dataset.split.test: 0.1 of 4 rows is 0.4, so 0 would be test and 4 training rows; "
            "at least 1 test row and 2 training rows are needed: "
            "use a fraction of at least 0.125 and less than 0.625",
            id="no-test-row",
        ),
        pytest.param(
            4,
            0.8,
            None,
            "dataset.split.test: 0.8 of 4 rows is 3.2, so 3 would be test and 1 training rows; "
            "at least 1 test row and 2 training rows are needed: "
            "use a fraction of at least 0.125 and less than 0.625",
            id="one-training-row",
        ),
        pytest.param(
            2,
            0.5,
            None,
            "dataset.split.test: 0.5 of 2 rows is 1, so 1 would be test and 1 training rows; "
            "at least 1 test row and 2 training rows are needed",
            id="two-rows",
        ),
        pytest.param(
            4,
            0.5,
            [3, 3, 3, 3],
            "dataset.split: the 4 rows form 1 group, which cannot be both trained on and tested on; use finer groups",
            id="one-group",
        ),
    ],
)
def test_impossible_fractions(n, test, groups, expected):
    assert message(split_fraction, table_of(n, groups), test, seed=0) == expected


def test_groups_that_leave_too_few_training_rows():
    table = table_of(6, [0, 0, 0, 0, 0, 1])
    # A seed that shuffles the large group to the front.
    seed = next(seed for seed in range(20) if stream(seed, "split").permutation(2)[0] == 0)
    assert message(split_fraction, table, 0.5, seed=seed) == (
        "dataset.split: the groups are too large: 5 of 6 rows went to the test set, "
        "which leaves 1 training row and 5 test rows; at least 2 training rows and 1 test row are needed"
    )


@pytest.mark.parametrize(
    ("marks", "values", "held_out"),
    [
        pytest.param(["train", "test", "train", "test"], ("test",), [1, 3], id="text"),
        pytest.param([2019.0, 2020.0, 2021.0, 2019.0], (2020, 2021), [1, 2], id="whole-numbers"),
        pytest.param([False, True, False, False], (True,), [1], id="booleans"),
        pytest.param(["True", "False", "False", "False"], (True,), [0], id="booleans-as-text"),
        pytest.param([0.5, 1.5, 0.5, 1.5], (0.5,), [0, 2], id="numbers"),
    ],
)
def test_a_column_marks_the_test_rows(marks, values, held_out):
    split = split_by_values(table_of(4), np.array(marks, dtype=object), values)
    assert split.test.row_ids.tolist() == held_out
    assert split.train.row_ids.tolist() == [row for row in range(4) if row not in held_out]


@pytest.mark.parametrize(
    ("marks", "values", "groups", "expected"),
    [
        pytest.param(
            ["train", "train", "test"],
            ("tset", 1),
            None,
            "dataset.split.test: no row is marked 'tset'; did you mean 'test'?\n"
            "dataset.split.test: no row is marked 1; the column's values are: train, test\n"
            "2 problems",
            id="unknown",
        ),
        pytest.param(
            ["test", "train", "test"],
            ("test",),
            None,
            "dataset.split: 2 of 3 rows are marked as test rows, which leaves 1 training row and 2 test rows; "
            "at least 2 training rows and 1 test row are needed",
            id="one-training-row",
        ),
        pytest.param(
            ["test", "train", "train", "test", "test"],
            ("test",),
            [0, 0, 1, 2, 1],
            "dataset.split: 2 groups have both training and test rows: 'Bern', 'Zug'; "
            "rows of one group must stay on one side: mark them alike, or use other groups",
            id="torn",
        ),
    ],
)
def test_impossible_marks(marks, values, groups, expected):
    table = table_of(len(marks), groups)
    names = ("Bern", "Zug", "Uri")
    assert message(split_by_values, table, np.array(marks, dtype=object), values, group_names=names) == expected


def test_a_torn_group_without_a_name_is_shown_by_its_number():
    marks = np.array(["a", "a", "b"], dtype=object)
    assert message(split_by_values, table_of(3, [4, 5, 5]), marks, ("b",)) == (
        "dataset.split: 1 group has both training and test rows: 5; "
        "rows of one group must stay on one side: mark them alike, or use other groups"
    )


def test_without_a_split_every_row_is_trained_on():
    split = split_rows(NoSplit(), table_of(5, [0, 0, 0, 0, 0]), None, group_names=("Bern",), seed=3)
    assert (split.train.row_ids.tolist(), split.test, split.tuning) == ([0, 1, 2, 3, 4], None, None)


def test_rows_for_tuning_leave_no_test_rows_behind():
    split = set_aside(split_rows(NoSplit(), table_of(10), None, group_names=(), seed=3), 0.3, seed=3)
    assert (len(split.train), len(split.tuning), split.test) == (7, 3, None)


def test_one_row_cannot_be_trained_on():
    said = "dataset.split: 1 row cannot be trained on; at least 2 training rows are needed"
    assert message(split_rows, NoSplit(), table_of(1), None, group_names=(), seed=3) == said


def test_two_tables_are_a_split():
    split = split_by_tables(table_of(3, [0, 0, 1]), table_of(1, [2]))
    assert (len(split.train), len(split.test)) == (3, 1)


@pytest.mark.parametrize(
    ("train", "test", "expected"),
    [
        pytest.param(
            table_of(2, labels=("u", "v")),
            table_of(1),
            "dataset.split.source: column 'a' (category) of the training table meets 'a' (continuous); "
            "assemble the test table like the training table",
            id="types",
        ),
        pytest.param(
            table_of(2, [0, 1]),
            table_of(2, [1, 2]),
            "dataset.split: 1 group has both training and test rows: 'Zug'; "
            "rows of one group must stay on one side: mark them alike, or use other groups",
            id="torn",
        ),
        pytest.param(
            table_of(1),
            table_of(2),
            "dataset.split: the training table and the test table are given, "
            "which leaves 1 training row and 2 test rows; at least 2 training rows and 1 test row are needed",
            id="one-training-row",
        ),
    ],
)
def test_tables_that_do_not_fit(train, test, expected):
    assert message(split_by_tables, train, test, group_names=("Bern", "Zug")) == expected
