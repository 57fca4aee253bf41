"""Every way in which a source can be wrong, and the whole message."""

import contextlib
import sqlite3
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy.exc import OperationalError

from crda_spec.data.raw import require_file
from crda_spec.data.sources import Benchmark, Csv, Excel, Parquet, Sql
from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.errors import DataError


def message(source, base: Path = Path()) -> str:
    with pytest.raises(DataError) as caught:
        source.read(base)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"", "a.csv: the file is empty; it needs a header line and rows below it", id="empty"),
        pytest.param(b"\n\n", "a.csv: the file is empty; it needs a header line and rows below it", id="blank"),
        pytest.param(
            b"x,y\n", "a.csv:1:1: the file has a header but no row; add rows below the header", id="header-only"
        ),
        pytest.param(
            b"x,y,x,x\n1,2,3,4\n",
            "a.csv:1:1: the name 'x' heads 3 columns (1, 3 and 4); give each column its own name",
            id="duplicate-names",
        ),
        pytest.param(
            b"x,,y, \n1,2,3,4\n",
            "a.csv:1:1: columns 2 and 4 have no name; name every column in the header; "
            "if the first row is a title or has merged cells, remove it",
            id="blank-names",
        ),
        pytest.param(
            b"x,y\n1,2\n3\n4,5\n6,7,8\n",
            "a.csv:3:1: the header has 2 cells, but line 3 has 1, line 5 has 3; "
            "put a cell that contains ',' in double quotes\n"
            "    3 | 3\n"
            "      | ^",
            id="ragged",
        ),
        pytest.param(
            b"x,y\n" + b"1\n" * 8,
            "a.csv:2:1: the header has 2 cells, but line 2 has 1, line 3 has 1, line 4 has 1, line 5 has 1, "
            "line 6 has 1 and 3 more lines; put a cell that contains ',' in double quotes\n"
            "    2 | 1\n"
            "      | ^",
            id="ragged-many",
        ),
        pytest.param(
            b"x,city\n1,Z\xfcrich\n",
            "a.csv:2:1: byte 10 (0xfc) is not valid utf-8; "
            "save the file as UTF-8, or set the source's encoding, e.g. 'latin-1' or 'cp1252'",
            id="not-utf8",
        ),
        pytest.param(
            b"x;y;z\n1;2;3\n",
            "a.csv:1:1: the header is one column, 'x;y;z'; if ';' separates the cells, set the source's delimiter: ';'",
            id="semicolons",
        ),
        pytest.param(
            b"x\ty\n1\t2\n",
            "a.csv:1:1: the header is one column, 'x\\ty'; "
            "if '\\t' separates the cells, set the source's delimiter: '\\t'",
            id="tabs",
        ),
        pytest.param(
            "x,y\n1,2\n".encode("utf-16-le"),
            (
                "a.csv:1:1: the header contains NUL characters; save it as UTF-8; if it is text, set the "
                "source's encoding, e.g. 'utf-16-le'"
            ),
            id="nul",
        ),
        pytest.param(
            b'x,y\n1,"2\n3,4\n',
            "a.csv:2:1: the row cannot be read: unexpected end of data; "
            "check the quotes on this line; a quote inside a quoted cell is written twice",
            id="open-quote",
        ),
    ],
)
def test_broken_csv(content, expected, tmp_path):
    (tmp_path / "a.csv").write_bytes(content)
    assert message(Csv(path="a.csv"), tmp_path) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            {"encoding": "utf-9"}, "a.csv: 'utf-9' is not a text encoding; did you mean 'utf-8'?", id="encoding"
        ),
        pytest.param(
            {"encoding": "hex"},
            "a.csv: 'hex' is not a text encoding; for example: utf-8, utf-16, latin-1, cp1252, cp1250, "
            "iso-8859-15, shift_jis, gb18030, ascii",
            id="binary-codec",
        ),
        pytest.param(
            {"delimiter": '"'}, "a.csv: '\"' cannot separate cells; use ',', ';', '|' or a tab", id="delimiter"
        ),
        pytest.param(
            {"delimiter": ";"},
            "a.csv:1:1: the header is one column, 'x,y'; if ',' separates the cells, set the source's delimiter: ','",
            id="commas",
        ),
        pytest.param(
            {"decimal": ","},
            "a.csv:3:1: column 'y' has '1.234', but the decimal mark is ','; "
            "write numbers without thousands separators, or set the source's decimal: '.'",
            id="decimal",
        ),
    ],
)
def test_wrong_csv_settings(settings, expected, tmp_path):
    (tmp_path / "a.csv").write_bytes(b'x,y\n1,"2,5"\n2,1.234\n')
    assert message(Csv(path="a.csv", **settings), tmp_path) == expected


def test_a_misspelt_file_is_suggested(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "houses.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (tmp_path / "data" / ".hidden").write_text("", encoding="utf-8")
    expected = "dataset.source.path: there is no file 'data/house.csv'; did you mean 'houses.csv'?"
    assert message(Csv(path="data/house.csv"), tmp_path) == expected
    expected = "dataset.source.path: there is no file 'data/zzz'; its folder holds: houses.csv"
    assert message(Parquet(path="data/zzz"), tmp_path) == expected


def test_a_missing_folder_is_named(tmp_path):
    expected = (
        "dataset.source.path: there is no file 'data/a.xlsx'; its folder 'data' does not exist; "
        "a relative path starts at the spec's folder"
    )
    assert message(Excel(path="data/a.xlsx"), tmp_path) == expected


def test_a_missing_folder_is_named_where_the_spec_is_not_known(tmp_path):
    with pytest.raises(DataError) as caught:
        require_file(tmp_path / "data" / "a.csv")
    assert str(caught.value) == (
        f"dataset.source.path: there is no file 'a.csv'; its folder '{tmp_path}/data' does not exist; "
        "a relative path starts at the spec's folder"
    )


def test_an_empty_folder_is_named(tmp_path):
    expected = "dataset.source.path: there is no file 'a.csv'; its folder holds no file"
    assert message(Csv(path="a.csv"), tmp_path) == expected


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "data").mkdir()
    expected = "dataset.source.path: 'data' is a folder, not a file; name a file in it"
    assert message(Csv(path="data"), tmp_path) == expected


def test_a_complaint_about_a_path_leaves_the_place_to_the_spec(tmp_path):
    with pytest.raises(DataError) as caught:
        Csv(path="a.csv").read(tmp_path)
    (complaint,) = caught.value.complaints
    assert (complaint.code, complaint.place) == ("file-not-found", None)


@pytest.mark.parametrize("content", [pytest.param(b"x,y\n1,2\n", id="text"), pytest.param(b"", id="empty")])
def test_corrupt_parquet(content, tmp_path):
    (tmp_path / "a.parquet").write_bytes(content)
    text = message(Parquet(path="a.parquet"), tmp_path)
    # The reason in the middle is pyarrow's own and changes with its version.
    assert text.startswith("a.parquet: this is no Parquet file that can be read: Parquet ")
    assert text.endswith("; write it again, or choose the source kind that fits the file")
    assert "\n" not in text


def test_parquet_without_rows(tmp_path):
    pd.DataFrame({"x": [1.0]}).iloc[:0].to_parquet(tmp_path / "a.parquet")
    assert message(Parquet(path="a.parquet"), tmp_path) == "a.parquet: the file has columns but no row"


def test_parquet_with_repeated_names(tmp_path):
    pq.write_table(pa.table([[1], [2]], names=["x", "x"]), tmp_path / "a.parquet")
    expected = "a.parquet: the name 'x' heads 2 columns (1 and 2); give each column its own name"
    assert message(Parquet(path="a.parquet"), tmp_path) == expected


def test_corrupt_excel(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK not really")
    expected = "a.xlsx: this is no Excel workbook (.xlsx) that can be read; save it again as .xlsx"
    assert message(Excel(path="a.xlsx"), tmp_path) == expected


@pytest.mark.parametrize(
    ("sheet", "expected"),
    [
        pytest.param(
            "house", "a.xlsx: dataset.source.sheet: there is no sheet 'house'; did you mean 'houses'?", id="name"
        ),
        pytest.param(
            "zzz", "a.xlsx: dataset.source.sheet: there is no sheet 'zzz'; sheets: houses, empty, header", id="far"
        ),
        pytest.param(
            3,
            "a.xlsx: dataset.source.sheet: there is no sheet 3: the workbook has 3 sheets, counted from 0; "
            "sheets: houses, empty, header",
            id="number",
        ),
        pytest.param("empty", "a.xlsx: the sheet is empty; it needs a header row and rows below it", id="empty"),
        pytest.param(
            "header", "a.xlsx: the sheet has a header but no row; add rows below the header", id="header-only"
        ),
        pytest.param(
            "houses",
            "a.xlsx:1:1: column 2 has no name; name every column in the header; if the first row is a title or has "
            "merged cells, remove it\n"
            "a.xlsx:1:1: the name 'x' heads 2 columns (1 and 3); give each column its own name\n"
            "2 problems",
            id="names",
        ),
    ],
)
def test_broken_sheets(sheet, expected, tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "houses"
    book.active.append(["x", None, "x"])
    book.active.append([1, 2, 3])
    book.create_sheet("empty")
    book.create_sheet("header").append(["x", "y"])
    book.save(tmp_path / "a.xlsx")
    assert message(Excel(path="a.xlsx", sheet=sheet), tmp_path) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(
            "SELECT * FROM house",
            "sqlite:///a.db: dataset.source.query: the query failed: no such table: house; "
            "try it in the database's own shell",
            id="table",
        ),
        pytest.param(
            "SELECT * FROM houses WHERE x > 5",
            "sqlite:///a.db: dataset.source.query: the query returned no row; check its WHERE clause",
            id="no-rows",
        ),
        pytest.param(
            "DELETE FROM houses",
            "sqlite:///a.db: dataset.source.query: the query is not a single SELECT: it says DELETE; "
            "a source only reads; put a column of such a name in double quotes",
            id="not-a-select",
        ),
        pytest.param(
            "SELECT x, x FROM houses",
            "sqlite:///a.db: the name 'x' heads 2 columns (1 and 2); give each column its own name",
            id="repeated",
        ),
    ],
)
def test_broken_queries(query, expected, tmp_path):
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE houses (x REAL)")
    connection.execute("INSERT INTO houses VALUES (1.5)")
    connection.commit()
    assert message(Sql(url="sqlite:///a.db", query=query), tmp_path) == expected
    assert connection.execute("SELECT count(*) FROM houses").fetchone() == (1,)
    connection.close()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param(
            "sqlite:///b.db", "dataset.source.url: there is no file 'b.db'; did you mean 'a.db'?", id="no-file"
        ),
        pytest.param(
            "ann:secret@db",
            "sql: dataset.source.url: this is no database URL that SQLAlchemy understands; "
            "write dialect://user:password@host/database, or sqlite:///file.db",
            id="no-url",
        ),
        pytest.param(
            "nosuch://ann:secret@db/x",
            "nosuch://***:***@db/x: dataset.source.url: this is no database URL that SQLAlchemy understands; "
            "write dialect://user:password@host/database, or sqlite:///file.db",
            id="no-dialect",
        ),
        pytest.param(
            "oracle+cx_oracle://ann:secret@db/x",
            "oracle+cx_oracle://***:***@db/x: dataset.source.url: the driver 'cx_Oracle' is not installed; "
            "pip install cx_Oracle",
            id="no-driver",
        ),
    ],
)
def test_broken_urls(url, expected, tmp_path):
    sqlite3.connect(tmp_path / "a.db").close()
    assert message(Sql(url=url, query="SELECT 1"), tmp_path) == expected
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_an_absent_benchmark_names_its_home_and_both_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("CRDA_DATA_DIR", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert message(Benchmark(name="concrete_strength")) == (
        "dataset.source.name: the table Concrete Strength (ConcreteCompressiveStrength.csv) is not in "
        f"'{tmp_path}/mine' or '{tmp_path}/cache/crda-spec'; its public home is UCI 165 (duplicates dropped); "
        f"put it into '{tmp_path}/cache/crda-spec', or into a folder of your own and name that in CRDA_DATA_DIR"
    )


def test_without_an_environment_the_cache_is_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("CRDA_DATA_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert message(Benchmark(name="wind_power")) == (
        f"dataset.source.name: the table Wind Power (503_wind.csv) is not in '{tmp_path}/.cache/crda-spec'; "
        f"its public home is PMLB 503_wind; put it into '{tmp_path}/.cache/crda-spec', "
        "or into a folder of your own and name that in CRDA_DATA_DIR"
    )


def test_a_changed_benchmark_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CRDA_DATA_DIR", str(tmp_path))
    file = tmp_path / BENCHMARKS["wine_quality"].file
    file.write_bytes(b"alcohol,quality\n9.5,5\n")
    assert message(Benchmark(name="wine_quality")) == (
        f"benchmark wine_quality: dataset.source.name: '{file}' is not the table of the paper: "
        "its sha256 is 7df91a716d95…, not 606ed9b37451…; replace it by the original "
        "(UCI 186 (red and white, duplicates dropped)), or read your own version as kind: csv"
    )


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("drop table houses", "DROP"),
        ("with x as (select 1) delete from houses", "DELETE"),
        ("insert into houses select * from houses returning *", "INSERT"),
        ("select * from houses; drop table houses", "DROP"),
        ("select * into copies from houses", "INTO"),
        ("/* select */ update houses set price = 0", "UPDATE"),
        ("pragma user_version = 7", ""),
        ("select 1; select 2", ""),
        (" ", ""),
    ],
)
def test_a_query_that_could_write_is_refused_and_writes_nothing(tmp_path, query, word):
    database = tmp_path / "houses.db"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("create table houses (area real, price real)")
        connection.execute("insert into houses values (1, 2)")
        connection.commit()
    before = database.read_bytes()
    source = Sql(url="sqlite:///houses.db", query=query)
    for look in (source.header, source.read):
        with pytest.raises(DataError) as caught:
            look(tmp_path)
        assert str(caught.value) == (
            "sqlite:///houses.db: dataset.source.query: the query is not a single SELECT"
            + (f": it says {word}" if word else "")
            + "; a source only reads; put a column of such a name in double quotes"
        )
    assert database.read_bytes() == before


def test_words_in_quotes_and_comments_are_not_taken_for_commands(tmp_path):
    database = tmp_path / "houses.db"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute('create table houses ("update" real, price real)')
        connection.execute("insert into houses values (1, 2)")
        connection.commit()
    query = "select \"update\", price, 'drop; it' as note -- delete nothing\nfrom houses;"
    assert Sql(url="sqlite:///houses.db", query=query).header(tmp_path) == ("update", "price", "note")


def test_sqlite_itself_refuses_what_we_might_miss(tmp_path):
    """The file is opened read-only, whatever the query."""
    database = tmp_path / "houses.db"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("create table houses (price real)")
    engine = Sql(url="sqlite:///houses.db", query="select 1")._engine(tmp_path)
    with engine.connect() as connection, pytest.raises(OperationalError, match="readonly database"):
        connection.exec_driver_sql("drop table houses")
    engine.dispose()
