"""Files read block by block: exact blocks, the contract of a known table, and messages that name the row."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crda_spec.data.blocks import missing_columns, open_rows
from crda_spec.data.cells import BlockPlace, block_numbers
from crda_spec.data.sources import Csv
from crda_spec.errors import DataError
from crda_spec.records import Column

COLUMNS = (
    Column(name="area", type="continuous", minimum=0.0, maximum=200.0),
    Column(name="rooms", type="integer"),
    Column(name="size", type="integer", allowed=(1.0, 2.0)),
    Column(name="ward", type="category", labels=("north", "south", "3")),
    Column(name="garage", type="boolean"),
)
PLACE = BlockPlace(file="rows", first=100)


def frame(n=10):
    return pd.DataFrame(
        {
            "area": np.linspace(1.5, 90, n),
            "rooms": np.arange(n) % 5,
            "size": np.arange(n) % 2 + 1,
            "ward": np.resize(["north", "south", "3"], n),
            "garage": np.arange(n) % 2 == 0,
            "note": "x",
        }
    )


def expected(rows):
    codes = rows["ward"].map({"north": 0, "south": 1, "3": 2})
    return np.column_stack([rows["area"], rows["rooms"], rows["size"], codes, rows["garage"]]).astype(float)


@pytest.fixture(params=["rows.parquet", "rows.csv", "rows.tsv"])
def file(request, tmp_path):
    """The same rows, in every kind of file, in row groups that fit no block."""
    path = tmp_path / request.param
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pandas(frame(100)), path, row_group_size=7)
    else:
        frame(100).to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("size", [1, 8, 33, 100, 1000])
def test_blocks_have_the_size_asked_for_and_hold_every_row_once(file, size):
    rows = open_rows(file, like=Csv(path="other.csv", delimiter="\t" if file.suffix == ".tsv" else ","))
    assert (rows.rows, rows.names) == (100, ("area", "rooms", "size", "ward", "garage", "note"))
    blocks = list(rows.blocks(size, [column.name for column in COLUMNS]))
    assert [block.num_rows for block in blocks] == [min(size, 100 - at) for at in range(0, 100, size)]
    read = np.concatenate([block_numbers(block, COLUMNS, PLACE) for block in blocks])
    np.testing.assert_array_equal(read, expected(frame(100)))


def numbers_of(column, values, kind=None, **place):
    table = pa.table({column.name: pa.array(values, kind)})
    return block_numbers(table, [column], BlockPlace(file="rows", first=100, **place))[:, 0]


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        ([" 1.5", "2", None], pa.string(), [1.5, 2.0, np.nan]),
        ([1, None, 3], pa.int32(), [1.0, np.nan, 3.0]),
        ([1.5, np.nan], pa.float32(), [1.5, np.nan]),
        (pa.array(["1", "2", "1"]).dictionary_encode(), None, [1.0, 2.0, 1.0]),
    ],
)
def test_a_number_is_read_from_whatever_holds_it(values, kind, read):
    np.testing.assert_array_equal(numbers_of(COLUMNS[0], values, kind), read)


def test_labels_and_truths_are_read_from_whatever_spells_them():
    assert numbers_of(COLUMNS[3], [3, 3]).tolist() == [2.0, 2.0]
    np.testing.assert_array_equal(numbers_of(COLUMNS[3], ["south", None]), [1.0, np.nan])
    np.testing.assert_array_equal(numbers_of(COLUMNS[4], ["Yes", "no ", None, "TRUE"]), [1.0, 0.0, np.nan, 1.0])
    assert numbers_of(COLUMNS[4], [0, 1]).tolist() == [0.0, 1.0]
    said = Column(name="said", type="category", labels=("false", "true"))
    assert numbers_of(said, ["True", "false"]).tolist() == [1.0, 0.0]
    assert numbers_of(COLUMNS[0], ["1,5"], decimal=",").tolist() == [1.5]


@pytest.mark.parametrize(
    ("column", "values", "what"),
    [
        (0, [1.0, -1.0, -2.0], "2 values of 'area' are below the minimum 0: row 102: -1.0 and 1 more"),
        (0, [201.0], "1 value of 'area' is above the maximum 200: row 101: 201.0"),
        (0, [float("inf")], "1 value of 'area' is infinite: row 101: inf"),
        (0, ["1.5", "much"], "1 value of 'area' is not a number: row 102: 'much'"),
        (0, ["1_5"], "1 value of 'area' is not a number: row 101: '1_5'"),
        (0, [True], "1 value of 'area' is not a number: row 101: True"),
        (1, [1.0, 1.5], "1 value of 'rooms' is not whole: row 102: 1.5"),
        (1, [2**60], "1 value of 'rooms' is beyond 2**53, where integers lose digits: row 101: 1152921504606846976"),
        (1, [1e200], "1 value of 'rooms' is beyond 1e+100, too large to square: row 101: 1e+200"),
        (2, [1, 3], "1 value of 'size' is not among the allowed values: row 102: 3"),
        (3, ["west"], "1 value of 'ward' is not a label that the run has seen: row 101: 'west'"),
        (4, ["maybe"], "1 value of 'garage' is neither true/yes/1 nor false/no/0: row 101: 'maybe'"),
    ],
)
def test_a_cell_that_breaks_the_contract_is_named_with_its_row(column, values, what):
    with pytest.raises(DataError) as caught:
        numbers_of(COLUMNS[column], values)
    hint = "repair the cells: the run's contract holds for the new rows too"
    more = " among the rows read with it" if "more" in what else ""
    assert str(caught.value) == f"rows: {what}{more}; {hint}"


def test_all_broken_columns_are_named_at_once():
    table = pa.table({"area": [-1.0], "rooms": [0.5]})
    with pytest.raises(DataError) as caught:
        block_numbers(table, COLUMNS[:2], PLACE)
    assert str(caught.value).endswith("2 problems")


def every_block(path):
    rows = open_rows(path)
    return list(rows.blocks(10, rows.names))


def test_files_that_cannot_be_rows(tmp_path):
    def message(name, data=None):
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(DataError) as caught:
            every_block(path)
        return str(caught.value).replace(str(tmp_path), "HERE")

    assert message("rows.json", b"") == (
        "'rows.json' ends in neither .parquet, .csv nor .xlsx; write the rows as Parquet, CSV or Excel"
    )
    assert message("rows.xlsx", b"") == (
        "rows.xlsx: this is no Excel workbook (.xlsx) that can be read; save it again as .xlsx"
    )
    assert message("none.csv").startswith("there is no file 'HERE/none.csv'; ")
    assert message("empty.csv", b"a,b\n") == "empty.csv: the file has columns but no row"
    assert message("ragged.csv", b"a,b\n1,2\n3\n").startswith("ragged.csv: the rows cannot be read: ")
    assert message("bad.parquet", b"not parquet").startswith("bad.parquet: this is no Parquet file")


def test_a_column_that_the_file_lacks_is_named_with_its_neighbour(tmp_path):
    frame().to_csv(tmp_path / "rows.csv", index=False)
    rows = open_rows(tmp_path / "rows.csv")
    (found,) = missing_columns(rows, ["area", "wards"])
    assert found.headline() == "rows.csv: there is no column 'wards'; did you mean 'ward'?"
    (found,) = missing_columns(rows, ["ward", "wards"])  # ward is asked for itself, so it was not meant
    assert found.headline().startswith("rows.csv: there is no column 'wards'; its columns are: ")
