"""Numbers that no square survives, and columns that only count the rows."""

import numpy as np
import pandas as pd
import pytest
from data_parts import dataset_of

from crda_spec.data.assemble import assemble
from crda_spec.data.contract import ColumnContract
from crda_spec.data.raw import RawTable
from crda_spec.errors import DataError


def table_of(cells, **settings):
    frame = pd.DataFrame({name: pd.Series(values) for name, values in cells.items()})
    raw = RawTable(frame=frame, sha256="0" * 64, description="t", first_line=None)
    return assemble(raw, dataset_of(target="y", **settings), seed=0).table


def message(cells, **settings):
    with pytest.raises(DataError) as caught:
        table_of(cells, **settings)
    return str(caught.value)


def test_numbers_too_large_to_square_are_refused_in_features_and_target():
    assert message({"a": [1.0, 1.1e100, -1e300, 4.0], "y": [1.0, 2.0, 3.0, 2e200]}) == (
        "t: dataset.columns.a: 2 values of 'a' are beyond 1e+100, too large to square: "
        "row 2: 1.1e+100, row 3: -1e+300; write the column in a larger unit\n"
        "t: dataset.columns.y: 1 value of 'y' is beyond 1e+100, too large to square: "
        "row 4: 2e+200; write the column in a larger unit\n"
        "2 problems"
    )
    assert table_of({"a": [1.0, 1e100, -1e100], "y": [1.0, 2.0, 3.0]}).x[1, 0] == 1e100


def test_a_target_whose_spread_is_lost_to_rounding_is_refused():
    expected = (
        "t: dataset.target: the target 'y' varies by less than 1e-100: its squares are lost to rounding; "
        "write it in a smaller unit"
    )
    for size in (1e-101, 1e-160, 1e-300):
        assert message({"a": [1.0, 2.0, 3.0], "y": [size, -size, 0.5 * size]}) == expected
    assert table_of({"a": [1.0, 2.0, 3.0], "y": [3e-100, -3e-100, 0.0]}).y[0] == 3e-100


@pytest.mark.parametrize(("value", "shown"), [(0.0, "0"), (1e-160, "1e-160"), (0.1, "0.1")])
def test_a_target_of_one_value_is_constant_however_small(value, shown):
    assert message({"a": [1.0, 2.0, 3.0], "y": [value] * 3}) == (
        f"t: dataset.target: the target 'y' is constant: it is {shown} in each of the 3 rows used; "
        "choose a column that varies"
    )


def numbered(rows, *, first=1):
    """A column that counts the rows, shuffled, beside one that does not."""
    rng = np.random.default_rng(0)
    return {
        "id": rng.permutation(np.arange(first, first + rows)),
        "a": rng.normal(size=rows),
        "y": np.sqrt(range(rows)),
    }


@pytest.mark.parametrize(("rows", "first", "span"), [(20, 1, "1 to 20"), (30, 0, "0 to 29"), (25, -3, "-3 to 21")])
def test_a_column_that_counts_the_rows_is_refused_in_any_order(rows, first, span):
    assert message(numbered(rows, first=first)) == (
        f"t: dataset.columns.id: column 'id' looks like a row number: {span}, each once; "
        "name it as dataset.id, not as a feature, or declare its type: integer"
    )


def test_a_column_that_counts_nineteen_rows_may_be_chance():
    assert table_of(numbered(19)).names == ("id", "a")


def test_who_declares_the_type_or_leaves_the_column_out_is_believed():
    assert table_of(numbered(20), columns={"id": ColumnContract(type="integer")}).names == ("id", "a")
    assert table_of(numbered(20), features=("a",)).names == ("a",)
    assert table_of(numbered(20) | {"y": np.arange(20)}, features=("a",)).y.tolist() == list(range(20))


def test_a_gap_or_a_repetition_is_no_row_number():
    columns = numbered(20)
    jumps, repeats = columns["id"].copy(), columns["id"].copy()
    jumps[jumps == 20] = 21
    repeats[repeats == 20] = 1
    assert table_of(columns | {"id": jumps}).names == ("id", "a")
    assert table_of(columns | {"id": repeats}).names == ("id", "a")
    assert table_of(columns | {"id": columns["id"].astype(float) / 2}).names == ("id", "a")
