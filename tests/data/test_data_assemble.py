"""Names, missing cells, copies, groups and samples: from a raw table to a `Table`."""

import numpy as np
import pandas as pd
import pytest
from data_parts import dataset_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crda_spec.data.assemble import assemble, copy_codes, find_copies
from crda_spec.data.contract import ColumnContract
from crda_spec.data.raw import RawTable
from crda_spec.errors import DataError


def raw_of(first_line: int | None = None, **columns) -> RawTable:
    frame = pd.DataFrame({name: pd.Series(cells) for name, cells in columns.items()})
    return RawTable(frame=frame, sha256="0" * 64, description="t", first_line=first_line)


def message(raw: RawTable, like=None, **settings) -> str:
    with pytest.raises(DataError) as caught:
        assemble(raw, dataset_of(**settings), seed=0, like=like)
    return str(caught.value)


def houses(**changes) -> RawTable:
    columns = {"area": [1.0, 2.0, 3.0, 4.0], "rooms": [1, 2, 3, 4], "price": [1.5, 2.5, 3.5, 4.5]}
    return raw_of(**{**columns, **changes})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            {"target": "prise"}, "t: dataset.target: there is no column 'prise'; did you mean 'price'?", id="target"
        ),
        pytest.param(
            {"target": "price", "features": ("area", "romos")},
            "t: dataset.features.1: there is no column 'romos'; did you mean 'rooms'?",
            id="feature",
        ),
        pytest.param(
            {"target": "price", "groups": "clinic"},
            "t: dataset.groups: there is no column 'clinic'; columns: area, rooms, price",
            id="groups",
        ),
        pytest.param(
            {"target": "price", "split_column": "fold"},
            "t: dataset.split.column: there is no column 'fold'; columns: area, rooms, price",
            id="split",
        ),
        pytest.param(
            {"target": "price", "columns": {"ara": ColumnContract()}},
            "t: dataset.columns.ara: there is no column 'ara'; did you mean 'area'?",
            id="contract",
        ),
        pytest.param(
            {"target": "price", "features": ("area", "price")},
            "t: dataset.features.1: the target 'price' is among the features; remove it from the list",
            id="target-among-features",
        ),
        pytest.param(
            {"target": "price", "features": ("area", "rooms"), "split_column": "rooms"},
            "t: dataset.split.column: 'rooms' is among the features; remove it from dataset.features",
            id="split-among-features",
        ),
        pytest.param(
            {"target": "price", "features": ("area", "area")},
            "t: dataset.features: 'area' is listed 2 times; list it once",
            id="repeated",
        ),
        pytest.param(
            {"target": "price", "groups": "price"},
            "t: dataset.groups: 'price' is the target; name another column",
            id="target-is-groups",
        ),
        pytest.param(
            {"target": "price", "groups": "rooms", "split_column": "area"},
            "t: dataset.features: no feature is left: the table has only 'area', 'rooms', 'price'; "
            "it needs at least one more",
            id="no-feature",
        ),
        pytest.param(
            {"target": "prise", "features": ("romos",)},
            "t: dataset.target: there is no column 'prise'; did you mean 'price'?\n"
            "t: dataset.features.0: there is no column 'romos'; did you mean 'rooms'?\n"
            "2 problems",
            id="all-at-once",
        ),
    ],
)
def test_names_that_cannot_stand(settings, expected):
    assert message(houses(), **settings) == expected


def test_features_are_all_other_columns_in_the_order_of_the_data():
    raw = houses(clinic=["u", "u", "v", "v"], part=["train", "train", "train", "test"])
    done = assemble(raw, dataset_of(target="area", groups="clinic", split_column="part"), seed=0)
    assert done.table.names == ("rooms", "price")
    assert done.table.groups.tolist() == [0, 0, 1, 1]
    assert done.group_names == ("u", "v")
    assert done.marks.tolist() == ["train", "train", "train", "test"]


def test_declared_features_keep_their_order():
    assert assemble(houses(), dataset_of(target="area", features=("price", "rooms")), seed=0).table.names == (
        "price",
        "rooms",
    )


def test_marks_written_as_text_are_numbers():
    done = assemble(houses(part=["0", "1", "1", "0"]), dataset_of(target="price", split_column="part"), seed=0)
    assert done.marks.tolist() == [0.0, 1.0, 1.0, 0.0]


def test_the_report_counts():
    raw = houses(area=[1.0, None, 3.0, 3.0], rooms=[1, 2, 3, 3], price=[1.5, 2.5, 3.5, 3.5])
    done = assemble(raw, dataset_of(target="price", missing="drop", duplicates="drop"), seed=0)
    report = done.report
    assert (report.source, report.sha256) == ("t", "0" * 64)
    assert (report.rows_read, report.rows_used) == (4, 2)
    assert (report.dropped_missing, report.dropped_duplicates, report.missing_cells) == (1, 1, 1)
    assert done.table.row_ids.tolist() == [0, 2]
    assert report.notes == ()


def test_constant_features_are_noted():
    done = assemble(houses(rooms=[2, 2, 2, 2]), dataset_of(target="price"), seed=0)
    assert done.report.notes == ("feature 'rooms' is constant in the rows used",)


MISSING = {"area": [1.0, None, None, 4.0], "price": [1.5, 2.5, 3.5, None]}


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        pytest.param(
            "error",
            "t: dataset.missing: 2 values of 'area' are missing: row 2 (line 3), row 3; "
            "repair the cells, or set dataset.missing to kind: drop or kind: impute\n"
            "t: dataset.missing: 1 value of target 'price' is missing: row 4 (line 5); "
            "a target is never imputed: drop such rows with dataset.missing.target: drop\n"
            "2 problems",
            id="error",
        ),
        pytest.param(
            "impute",
            "t: dataset.missing: 1 value of target 'price' is missing: row 4 (line 5); "
            "a target is never imputed: drop such rows with dataset.missing.target: drop",
            id="a-target-is-never-imputed",
        ),
    ],
)
def test_missing_values(missing, expected):
    assert message(raw_of(first_line=2, **MISSING), target="price", missing=missing) == expected


def test_missing_groups_and_marks_are_errors_unless_dropped():
    raw = houses(clinic=["u", None, "v", "v"], part=[None, "a", "a", "b"])
    settings = {"target": "price", "groups": "clinic", "split_column": "part"}
    assert message(raw, missing="impute", **settings) == (
        "t: dataset.missing: 1 value of 'part' is missing: row 1; "
        "repair the cells, or set dataset.missing to kind: drop\n"
        "t: dataset.missing: 1 value of 'clinic' is missing: row 2; "
        "repair the cells, or set dataset.missing to kind: drop\n"
        "2 problems"
    )
    done = assemble(raw, dataset_of(missing="drop", **settings), seed=0)
    assert done.table.row_ids.tolist() == [2, 3]
    assert (done.report.dropped_missing, done.marks.tolist()) == (2, ["a", "b"])


def test_imputed_cells_stay_missing_in_the_table():
    done = assemble(houses(area=[1.0, None, 3.0, 4.0]), dataset_of(target="price", missing="impute"), seed=0)
    np.testing.assert_array_equal(done.table.x[:, 0], [1.0, np.nan, 3.0, 4.0])
    assert (done.report.missing_cells, done.report.rows_used) == (1, 4)
    assert done.report.missing == {"area": 1}


def test_dropping_every_row_is_an_error():
    raw = raw_of(a=[1.0, None], b=[None, 2.0], y=[1.0, 2.0])
    assert message(raw, target="y", missing="drop") == (
        "t: dataset.missing: no row is left: each of the 2 rows has a missing value; "
        "leave sparse columns out of dataset.features"
    )


def test_a_table_of_one_row_is_too_small():
    assert message(raw_of(a=[1.0], y=[2.0]), target="y") == (
        "t: dataset.source: 1 row of 1 can be used, but at least 2 are needed; a regression needs rows to learn from"
    )


def test_a_constant_target_is_an_error():
    assert message(houses(price=[2.0] * 4), target="price") == (
        "t: dataset.target: the target 'price' is constant: it is 2 in each of the 4 rows used; "
        "choose a column that varies"
    )


@pytest.mark.parametrize(
    ("cells", "kind"),
    [pytest.param(["a", "b", "b", "c"], "category", id="text"), pytest.param([True, False] * 2, "boolean", id="bool")],
)
def test_only_numbers_can_be_predicted(cells, kind):
    assert message(houses(price=cells), target="price") == (
        f"t: dataset.target: the target 'price' is a {kind}, but only numbers can be predicted; choose a numeric column"
    )


COPIES = {"a": [1.0, 1.0, 2.0, 1.0, 2.0], "b": ["u", "u", None, "u", None], "y": [5.0, 5.0, 6.0, 5.0, 6.0]}


def test_copies_are_errors_by_default():
    assert message(raw_of(first_line=2, **COPIES), target="y", missing="impute") == (
        "t: dataset.duplicates: 3 rows copy an earlier row in every feature and the target (the first on line 3): "
        "row 2 copies row 1, row 4 copies row 1, row 5 copies row 3; "
        "set dataset.duplicates to kind: keep or kind: drop"
    )


def test_kept_copies_form_a_group():
    done = assemble(raw_of(**COPIES), dataset_of(target="y", missing="impute", duplicates="keep"), seed=0)
    assert done.table.groups.tolist() == [0, 0, 1, 0, 1]
    assert done.group_names == ("copies of row 1", "copies of row 3")
    assert done.report.notes == (
        "3 rows copy an earlier row; copies stay in one group",
        "feature 'b' is constant in the rows used",
    )


def test_without_copies_there_are_no_groups():
    assert assemble(houses(), dataset_of(target="price", duplicates="keep"), seed=0).table.groups is None


def test_dropped_copies_leave_the_first():
    done = assemble(raw_of(**COPIES), dataset_of(target="y", missing="impute", duplicates="drop"), seed=0)
    assert done.table.row_ids.tolist() == [0, 2]
    assert done.report.dropped_duplicates == 3


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.sampled_from([0, 1, np.nan]))
)
def test_copies_are_found_as_by_comparing_every_pair(cells):
    def same(one, two):
        return all(a == b or (np.isnan(a) and np.isnan(b)) for a, b in zip(one, two, strict=True))

    expected = [next(j for j in range(len(cells)) if same(cells[i], cells[j])) for i in range(len(cells))]
    first = find_copies(cells[:0], cells)
    assert first.tolist() == expected
    codes = copy_codes(first)
    assert [codes.tolist().index(code) for code in codes.tolist()] == expected
    assert find_copies(cells, cells).tolist() == [-2] * len(cells)


def test_a_sample_is_seeded_and_keeps_the_order_of_the_source():
    raw = raw_of(a=np.arange(100.0), y=np.arange(100.0))
    one, same, other = (assemble(raw, dataset_of(target="y", sample=10), seed=seed).table for seed in (1, 1, 2))
    assert len(one) == 10
    assert one.row_ids.tolist() == sorted(one.row_ids.tolist()) == same.row_ids.tolist()
    assert one.row_ids.tolist() != other.row_ids.tolist()
    assert one.y.tolist() == one.row_ids.tolist()


def test_a_sample_counts_usable_rows_and_may_be_larger_than_the_table():
    raw = houses(area=[1.0, None, 3.0, 4.0])
    assert len(assemble(raw, dataset_of(target="price", missing="drop", sample=3), seed=0).table) == 3
    done = assemble(raw, dataset_of(target="price", missing="drop", sample=9), seed=0)
    assert done.report.notes == ("sample: 9 rows were asked for, all 3 usable ones are used",)


def test_arrays_are_read_only():
    table = assemble(houses(), dataset_of(target="price"), seed=0).table
    with pytest.raises(ValueError, match="read-only"):
        table.x[0, 0] = 1.0


def training(**settings):
    raw = raw_of(a=[1.0, 2.0, 3.0], c=["u", "v", "w"], g=["p", "q", "p"], y=[1.0, 2.0, 3.0])
    settings = dataset_of(**{"target": "y", "groups": "g", **settings})
    return settings, assemble(raw, settings, seed=0)


def test_a_test_table_is_coded_like_the_training_table():
    dataset, first = training()
    raw = raw_of(y=[4.0], g=["r"], c=["w"], a=[4])
    second = assemble(raw, dataset, seed=0, like=first)
    assert second.table.names == ("a", "c")
    assert second.table.x.tolist() == [[4.0, 2.0]]
    assert second.table.groups.tolist() == [2]
    assert second.group_names == ("p", "q", "r")
    assert [column.type for column in second.table.features] == ["continuous", "category"]


def test_a_test_table_is_not_sampled():
    dataset, first = training(sample=2)
    raw = raw_of(a=[4.0, 5.0, 6.0], c=["u", "u", "u"], g=["r", "s", "t"], y=[4.0, 5.0, 6.0])
    assert (len(first.table), len(assemble(raw, dataset, seed=0, like=first).table)) == (2, 3)


def test_a_label_that_training_has_not_seen_is_named():
    dataset, first = training()
    raw = raw_of(a=[4.0, 5.0], c=["x", "u"], g=["r", "r"], y=[4.0, 5.0])
    assert message(raw, first, target="y", groups="g") == (
        "t: dataset.columns.c: 1 value of 'c' is not among the labels of the training table: row 1: 'x'; known: u, v, w"
    )
    assert dataset.target == "y"


def test_a_column_that_the_test_table_lacks_is_named():
    _, first = training()
    raw = raw_of(a=[4.0], g=["r"], y=[4.0])
    assert message(raw, first, target="y", groups="g") == (
        "t: dataset.split.source: there is no column 'c'; columns: a, g, y"
    )


@pytest.mark.parametrize("duplicates", ["error", "keep"])
def test_a_test_row_may_not_copy_a_training_row(duplicates):
    raw = raw_of(a=[2.0, 9.0], c=["v", "v"], g=["q", "z"], y=[2.0, 9.0])
    _, first = training(duplicates=duplicates)
    assert message(raw, first, target="y", groups="g", duplicates=duplicates) == (
        "t: dataset.duplicates: 1 test row copies a training row: row 1; "
        "a copy may not straddle the split: set dataset.duplicates to kind: drop"
    )


def test_a_test_row_that_copies_a_training_row_can_be_dropped():
    dataset, first = training(duplicates="drop")
    raw = raw_of(a=[2.0, 9.0], c=["v", "v"], g=["q", "z"], y=[2.0, 9.0])
    second = assemble(raw, dataset, seed=0, like=first)
    assert (second.table.row_ids.tolist(), second.report.dropped_duplicates) == ([1], 1)
    assert message(raw_of(a=[2.0], c=["v"], g=["q"], y=[2.0]), first, target="y", groups="g", duplicates="drop") == (
        "t: dataset.duplicates: no row is left: each of the 1 rows copies a row of the training table"
    )
