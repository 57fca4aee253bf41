"""One suite for the family: the same rows through every source give the same table."""

import math
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import openpyxl
import pandas as pd
import pytest
from data_parts import dataset_of
from pydantic import ValidationError

from crda_spec.data import sources
from crda_spec.data.assemble import assemble
from crda_spec.data.contract import ColumnContract
from crda_spec.data.sources import Benchmark, Csv, Excel, Parquet, RawTable, Sklearn, Source, Sql, Synthetic, header_of
from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.data.sources.synthetic import draw_table

AREA = [50.5, 75.25, None, 120.0, 64.125, 1e-3]
ROOMS = [2, None, 3, 5, 2, 1]
CITY = ["Bern", "Zug", "Bern", None, "Ürdorf", "a,b"]
SOLD = ["yes", "no", "no", "yes", "yes", "no"]
PRICE = [100.5, 200.25, 150.0, 400.0, 175.75, 90.1]
COLUMNS = {"area": AREA, "rooms": ROOMS, "city": CITY, "sold": SOLD, "price": PRICE}
ROWS = list(zip(*COLUMNS.values(), strict=True))


@dataclass(frozen=True)
class FixedWorld:
    """Draws the rows above, whatever the seed."""

    name: str = "fixed"

    def draw_columns(self, rows: int, *, seed: int) -> dict[str, np.ndarray]:
        return {
            "area": np.array([np.nan if v is None else v for v in AREA][:rows]),
            "rooms": np.array(ROOMS[:rows], dtype=object),
            "city": np.array(CITY[:rows], dtype=object),
            "sold": np.array(SOLD[:rows]),
            "price": np.array(PRICE[:rows]),
        }


def write_csv(folder: Path) -> Source:
    quoted = [['"a,b"' if v == "a,b" else "" if v is None else str(v) for v in row] for row in ROWS]
    lines = [",".join(COLUMNS), *(",".join(row) for row in quoted)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Csv(path="t.csv")


def write_semicolon_csv(folder: Path) -> Source:
    rows = [
        ["" if v is None else str(v).replace(".", ",") if isinstance(v, float) else str(v) for v in row] for row in ROWS
    ]
    text = "\r\n".join([";".join(COLUMNS), *(";".join(row) for row in rows)])
    (folder / "s.csv").write_bytes(text.encode("latin-1"))
    return Csv(path="s.csv", delimiter=";", decimal=",", encoding="latin-1")


def write_parquet(folder: Path) -> Source:
    frame = pd.DataFrame({**COLUMNS, "rooms": pd.array(ROOMS, dtype="Int64"), "city": pd.Categorical(CITY)})
    frame.to_parquet(folder / "t.parquet")
    return Parquet(path="t.parquet")


def write_excel(folder: Path) -> Source:
    book = openpyxl.Workbook()
    book.active.title = "notes"
    page = book.create_sheet("houses")
    page.append(list(COLUMNS))
    for row in ROWS:
        page.append(row)
    book.save(folder / "t.xlsx")
    return Excel(path="t.xlsx", sheet="houses")


def write_sqlite(folder: Path) -> Source:
    connection = sqlite3.connect(folder / "t.db")
    connection.execute("CREATE TABLE houses (area REAL, rooms INTEGER, city TEXT, sold TEXT, price REAL)")
    connection.executemany("INSERT INTO houses VALUES (?, ?, ?, ?, ?)", ROWS)
    connection.commit()
    connection.close()
    return Sql(url="sqlite:///t.db", query="SELECT * FROM houses ORDER BY rowid")


class FixedRows:
    """A world that is in no spec, drawn as the worlds of specs are."""

    def read(self, base: Path) -> RawTable:
        return draw_table(FixedWorld(), 6, seed=0)


def make_fixed(folder: Path) -> FixedRows:
    return FixedRows()


def make_synthetic(folder: Path) -> Source:
    return Synthetic(world="crop_yield", rows=6)


def make_iris(folder: Path) -> Source:
    return Sklearn(name="iris")


WRITERS = [
    pytest.param(write_csv, "t.csv", id="csv"),
    pytest.param(write_semicolon_csv, "s.csv", id="csv-semicolon"),
    pytest.param(write_parquet, "t.parquet", id="parquet"),
    pytest.param(write_excel, "t.xlsx", id="excel"),
    pytest.param(write_sqlite, "sqlite:///t.db", id="sql"),
]


@pytest.mark.parametrize(
    ("write", "description"), [*WRITERS, pytest.param(make_fixed, "synthetic fixed", id="synthetic")]
)
def test_the_same_rows_give_the_same_table(write, description, tmp_path):
    raw = write(tmp_path).read(tmp_path)
    table = assemble(raw, dataset_of(target="price", missing="impute"), seed=0).table

    assert raw.description == description
    assert [(column.name, column.type, column.labels) for column in table.features] == [
        ("area", "continuous", None),
        ("rooms", "integer", None),
        ("city", "category", ("Bern", "Zug", "a,b", "Ürdorf")),
        ("sold", "boolean", None),
    ]
    nan = math.nan
    expected = [
        [50.5, 2, 0, 1],
        [75.25, nan, 1, 0],
        [nan, 3, 0, 0],
        [120.0, 5, nan, 1],
        [64.125, 2, 3, 1],
        [1e-3, 1, 2, 0],
    ]
    np.testing.assert_array_equal(table.x, np.array(expected))
    np.testing.assert_array_equal(table.y, np.array(PRICE))
    assert table.row_ids.tolist() == [0, 1, 2, 3, 4, 5]


SMALL = [
    *WRITERS,
    pytest.param(make_synthetic, "synthetic crop_yield", id="synthetic"),
    pytest.param(make_iris, "sklearn iris", id="sklearn"),
]


@pytest.mark.parametrize(("write", "description"), SMALL)
def test_a_source_keeps_the_promises_of_the_family(write, description, tmp_path):
    source = write(tmp_path)
    first, second = source.read(tmp_path), source.read(tmp_path)

    assert source.describe() == description
    assert isinstance(first, RawTable)
    assert first.sha256 == second.sha256
    assert len(first.sha256) == 64
    assert first.frame.equals(second.frame)
    assert first.frame.index.equals(pd.RangeIndex(len(first.frame)))
    assert header_of(source, tmp_path, target="") == tuple(first.frame.columns)
    with pytest.raises(ValidationError, match="Instance is frozen"):
        source.kind = "another"


def test_the_family_is_what_a_spec_may_name():
    kinds = {member.model_fields["kind"].default for member in get_args(get_args(sources.Source)[0])}
    assert kinds == {"benchmark", "csv", "excel", "frame", "parquet", "sklearn", "sql", "synthetic"}


def test_the_hash_is_of_the_bytes_of_the_file(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x,y\n1,2\n")
    raw = Csv(path="a.csv").read(tmp_path)
    assert raw.sha256 == "81bf9fa83c6f7f151bd491a98cd7d933de3965289e3ebd77c6c425f7eaa16392"


def test_the_hash_of_a_query_changes_with_a_value(tmp_path):
    source = write_sqlite(tmp_path)
    before = source.read(tmp_path).sha256
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("UPDATE houses SET rooms = 4 WHERE rowid = 1")
    connection.commit()
    connection.close()
    assert source.read(tmp_path).sha256 != before


def test_lines_are_known_where_blank_lines_and_line_breaks_shift_them(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbf\nx,y\n1,2\n\n"3\n3",4\n5,6\n')
    raw = Csv(path="a.csv").read(tmp_path)
    assert raw.frame["x"].tolist() == ["1", "3\n3", "5"]
    assert [raw.line_of(position) for position in range(3)] == [3, 5, 7]


def test_lines_follow_from_the_first_in_a_plain_file(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x,y\n1,2\n3,4\n")
    raw = Csv(path="a.csv").read(tmp_path)
    assert (raw.first_line, raw.lines) == (2, None)
    assert [raw.line_of(position) for position in range(2)] == [2, 3]


def test_empty_cells_and_their_names_are_missing_and_inf_is_kept(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n,1\nNA,2\nNaN,3\n null ,4\ninf,5\nNone,6\n", encoding="utf-8")
    raw = Csv(path="a.csv").read(tmp_path)
    assert raw.frame["x"].tolist() == [None, None, None, None, "inf", "None"]


@pytest.mark.parametrize(
    ("name", "target", "shape", "first"),
    [
        pytest.param("breast_cancer", "diagnosis", (569, 31), "malignant", id="breast_cancer"),
        pytest.param("diabetes", "progression", (442, 11), 151.0, id="diabetes"),
        pytest.param("iris", "species", (150, 5), "setosa", id="iris"),
        pytest.param("linnerud", "Pulse", (20, 6), 50.0, id="linnerud"),
        pytest.param("wine", "cultivar", (178, 14), "class_0", id="wine"),
    ],
)
def test_bundled_tables(name, target, shape, first):
    frame = Sklearn(name=name).read().frame
    assert frame.shape == shape
    assert frame.columns[-1] == target
    assert frame[target][0] == first


def test_diabetes_is_in_its_own_units():
    assert Sklearn(name="diabetes").read().frame["age"].tolist()[:2] == [59.0, 48.0]


def test_a_password_is_never_described():
    source = Sql(url="postgresql://ann:secret@db.example/houses?sslpassword=hidden", query="SELECT 1")
    assert source.describe() == "postgresql://***:***@db.example/houses"


def test_a_broken_url_is_not_described():
    assert Sql(url="ann:secret@db", query="SELECT 1").describe() == "sql"


def test_parquet_keeps_a_stored_index_as_a_column(tmp_path):
    frame = pd.DataFrame({"x": [5, 2, 9], "y": [0.5, 1.5, 2.5]}).set_index("x")
    frame.to_parquet(tmp_path / "a.parquet")
    assert sorted(Parquet(path="a.parquet").read(tmp_path).frame.columns) == ["x", "y"]


def test_parquet_takes_no_column_from_a_folder_name(tmp_path):
    (tmp_path / "year=2020").mkdir()
    pd.DataFrame({"x": [1, 2]}).to_parquet(tmp_path / "year=2020" / "a.parquet")
    assert list(Parquet(path="year=2020/a.parquet").read(tmp_path).frame.columns) == ["x"]


def test_a_query_may_hold_a_colon_and_a_percent_sign(tmp_path):
    write_sqlite(tmp_path)
    query = "SELECT price, ':x %s' AS note FROM houses WHERE city LIKE 'B%'"
    raw = Sql(url="sqlite:///t.db", query=query).read(tmp_path)
    assert raw.frame["note"].tolist() == [":x %s", ":x %s"]


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_benchmarks_are_read_as_pinned(name, benchmark_data):
    table = BENCHMARKS[name]
    raw = Benchmark(name=name).read()
    assert raw.sha256 == table.sha256
    assert raw.frame.shape == (table.rows, len(table.columns))
    assert tuple(raw.frame.columns) == table.columns


def test_declared_boolean_numbers_are_booleans(tmp_path):
    (tmp_path / "a.csv").write_text("f,y\n1,1.5\n0,2.5\n", encoding="utf-8")
    raw = Csv(path="a.csv").read(tmp_path)
    table = assemble(raw, dataset_of(target="y", columns={"f": ColumnContract(type="boolean")}), seed=0).table
    assert (table.features[0].type, table.features[0].inferred) == ("boolean", False)
    assert table.x[:, 0].tolist() == [1.0, 0.0]
