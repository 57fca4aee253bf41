"""Copies: rows that agree in features and target, whatever their group, and never on two sides of a split or fold."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from data_parts import dataset_of
from hypothesis import assume, given
from hypothesis import strategies as st

from crda_spec.data.assemble import assemble, copy_codes, find_copies, merge_groups
from crda_spec.data.folds import folds
from crda_spec.data.raw import RawTable
from crda_spec.data.split import split_by_tables, split_by_values, split_fraction
from crda_spec.errors import DataError


def raw_of(**columns) -> RawTable:
    frame = pd.DataFrame({name: pd.Series(cells) for name, cells in columns.items()})
    return RawTable(frame=frame, sha256="0" * 64, description="t", first_line=2)


# Rows 1 and 3 are copies of two patients, and so are rows 2 and 5; row 4 is nobody's copy.
PATIENTS = {"a": [1.0, 2.0, 1.0, 3.0, 2.0], "y": [5.0, 6.0, 5.0, 7.0, 6.0], "g": ["u", "u", "v", "w", "x"]}


def patients(duplicates):
    return assemble(raw_of(**PATIENTS), dataset_of(target="y", groups="g", duplicates=duplicates), seed=0)


def test_copies_of_different_groups_are_errors_by_default():
    with pytest.raises(DataError) as caught:
        patients("error")
    assert str(caught.value) == (
        "t: dataset.duplicates: 2 rows copy an earlier row in every feature and the target (the first on line 4): "
        "row 3 copies row 1, row 5 copies row 2; set dataset.duplicates to kind: keep or kind: drop"
    )


def test_kept_copies_bind_their_groups_together():
    done = patients("keep")
    assert done.table.groups.tolist() == [0, 0, 0, 2, 0]
    assert done.group_names == ("u", "v", "w", "x")
    assert done.report.notes == ("copies bind groups together: 2 groups joined another",)
    assert done.table.row_ids.tolist() == [0, 1, 2, 3, 4]


def test_copies_inside_one_group_bind_nothing():
    raw = raw_of(a=[1.0, 1.0, 2.0], y=[2.0, 2.0, 3.0], g=[7, 7, 8])
    done = assemble(raw, dataset_of(target="y", groups="g", duplicates="keep"), seed=0)
    assert done.table.groups.tolist() == [0, 0, 1]
    assert done.report.notes == ()


def test_dropped_copies_leave_the_first_in_its_own_group():
    done = patients("drop")
    assert done.table.row_ids.tolist() == [0, 1, 3]
    assert done.table.groups.tolist() == [0, 0, 2]
    assert done.report.dropped_duplicates == 2


def test_a_mark_may_not_tear_copies_of_two_groups_apart():
    done = patients("keep")
    with pytest.raises(DataError) as caught:
        split_by_values(done.table, np.array([0, 0, 1, 0, 0], dtype=object), [1], group_names=done.group_names)
    assert str(caught.value) == (
        "dataset.split: 1 group has both training and test rows: 'u'; "
        "rows of one group must stay on one side: mark them alike, or use other groups"
    )


def test_a_test_table_knows_which_training_groups_were_bound_together():
    """Patient v's rows were counted to u's; more rows of v in the test table are still rows of a training patient."""
    first = patients("keep")
    raw = raw_of(a=[8.0, 9.0], y=[8.0, 9.0], g=["v", "new"])
    second = assemble(raw, dataset_of(target="y", groups="g", duplicates="keep"), seed=0, like=first)
    assert second.table.groups.tolist() == [0, 4]
    with pytest.raises(DataError) as caught:
        split_by_tables(first.table, second.table, group_names=second.group_names)
    assert str(caught.value) == (
        "dataset.split: 1 group has both training and test rows: 'u'; "
        "rows of one group must stay on one side: mark them alike, or use other groups"
    )


@st.composite
def grouped_rows(draw, *, cells=5):
    """Cells that repeat often, in a few groups."""
    n = draw(st.integers(2, 24))
    value = draw(st.lists(st.integers(0, cells), min_size=n, max_size=n))
    group = draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    return np.array(value, dtype=float)[:, None], np.unique(group, return_inverse=True)[1].astype(np.int64)


@given(grouped_rows())
def test_merged_groups_are_the_components_of_who_shares_a_group_or_a_copy(rows):
    cells, groups = rows
    merged = merge_groups(groups, find_copies(cells[:0], cells))
    pairs = [(i, j) for i in range(len(groups)) for j in range(i)]
    ties = nx.Graph((i, j) for i, j in pairs if groups[i] == groups[j] or cells[i, 0] == cells[j, 0])
    ties.add_nodes_from(range(len(groups)))
    for component in nx.connected_components(ties):
        inside = np.array(sorted(component))
        assert set(merged[inside].tolist()) == {int(groups[inside].min())}
    assert len(np.unique(merged)) == nx.number_connected_components(ties)


@given(rows=grouped_rows(cells=12), seed=st.integers(0, 99), grouped=st.booleans())
def test_copies_never_straddle_a_split_or_a_fold(rows, seed, grouped):
    cells, groups = rows
    columns = {"a": cells[:, 0], "y": np.sqrt(cells[:, 0]), **({"g": groups} if grouped else {})}
    dataset = dataset_of(target="y", groups="g" if grouped else None, duplicates="keep")
    assume(len(np.unique(cells)) > 1)  # a target that varies
    table = assemble(raw_of(**columns), dataset, seed=0).table
    assume(len(table) > 2 and (table.groups is None or len(np.unique(table.groups)) > 1))
    sizes = np.bincount(table.groups) if table.groups is not None else np.ones(len(table))
    assume(sizes[sizes > 0].min() > 1 or sizes.max() < len(table) - 1)  # whatever is held out, two rows stay
    split = split_fraction(table, 0.4, seed=seed)
    train = split.train
    assert not set(cells[train.row_ids, 0]) & set(cells[split.test.row_ids, 0])
    if train.groups is None or len(np.unique(train.groups)) < 2:
        return
    for held in folds(len(train), 2, rng=np.random.default_rng(seed), groups=train.groups):
        rest = np.setdiff1d(np.arange(len(train)), held)
        assert not set(train.x[held, 0]) & set(train.x[rest, 0])
        assert not grouped or not set(groups[train.row_ids[held]]) & set(groups[train.row_ids[rest]])


def test_codes_of_copies_count_from_zero():
    assert copy_codes(np.array([0, 1, 0, 3, 1])).tolist() == [0, 1, 0, 2, 1]
