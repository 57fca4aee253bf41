"""Hostile sources: tables that are larger than they look, databases that a spec would write to or give away."""

import json
import re
import resource
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crda_spec.cli.app import main
from crda_spec.data.assemble import load
from crda_spec.data.dataset import Dataset, Missing
from crda_spec.data.sources import Csv, Excel, Parquet, Sql
from crda_spec.data.split import SourceSplit
from crda_spec.errors import Complaint, DataError, redact_url
from crda_spec.spec.load import apply_override, read_draft
from crda_spec.spec.render import render, resolved
from crda_spec.spec.yaml_tree import read_tree


def message(source, base):
    with pytest.raises(DataError) as caught:
        source.read(base)
    return str(caught.value)


def validated(monkeypatch, capsys, folder, spec):
    """The exit code and the messages of `crda-spec validate`."""
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["crda-spec", "validate", str(folder / "spec.yaml")])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code, capsys.readouterr().err


# Tables that are larger than they look


def test_a_workbook_with_one_cell_in_the_last_corner_is_refused_in_little_memory(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["x", "y"])
    book.active["XFD1048576"] = 1
    book.save(tmp_path / "a.xlsx")
    assert (tmp_path / "a.xlsx").stat().st_size < 10_000
    code = (
        "import resource, sys; from pathlib import Path; from crda_spec.data.sources import Excel\n"
        "from crda_spec.errors import DataError\n"
        "try: Excel(path='a.xlsx').read(Path(sys.argv[1]))\n"
        "except DataError as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    limit = 3_000_000_000
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    said, kilobytes = done.stdout.splitlines()
    assert said == (
        "a.xlsx: the table has 1,048,576 rows and 16,384 columns, more than 20,000,000 cells; "
        "clear stray cells beside and below the table, or write it to a CSV or Parquet file"
    )
    assert int(kilobytes) < 1_000_000


def test_a_stray_empty_row_far_below_and_a_blank_beside_the_table_still_read(tmp_path):
    book = openpyxl.Workbook()
    for row in (["x", "y"], [1, 2], [3, 4]):
        book.active.append(row)
    book.active.cell(row=5000, column=900).number_format = "0.00"  # a cell with a format and no value
    book.save(tmp_path / "a.xlsx")
    assert Excel(path="a.xlsx").read(tmp_path).frame.shape == (2, 2)


def test_a_workbook_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["x"])
    book.save(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/filler.xml", bytes(1000))
        archive.infolist()[-1].file_size = 2_100_000_000  # what the archive's directory claims
    assert message(Excel(path="a.xlsx"), tmp_path).startswith("a.xlsx: the workbook has 2,100,")


def test_a_small_parquet_file_of_very_many_equal_cells_is_refused_from_its_footer(tmp_path):
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(6_000_000, dtype=np.int8)), pa.array(["a"]))
    with pq.ParquetWriter(tmp_path / "a.parquet", pa.schema([("x", column.type), ("y", column.type)])) as writer:
        for _ in range(10):
            writer.write_table(pa.table({"x": column, "y": column}))
    assert (tmp_path / "a.parquet").stat().st_size < 400_000
    assert message(Parquet(path="a.parquet"), tmp_path) == (
        "a.parquet: the table has 60,000,000 rows and 2 columns, more than 100,000,000 cells; "
        "write the rows and columns that the run needs to a file of their own"
    )


def test_a_text_file_that_is_one_endless_line_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x,y\n1,2\n" + b"," * 10_000_001)
    expected = "the row has more than 10,000,000 characters; is this a text table of rows?"
    assert message(Csv(path="a.csv"), tmp_path) == f"a.csv:3:1: {expected}"
    (tmp_path / "b.csv").write_bytes(b'x,y\n"' + b'\n","' * 2_600_000)  # quoted line breaks make it one row, too
    assert message(Csv(path="b.csv"), tmp_path) == f"b.csv:2:1: {expected}"


def test_a_header_of_more_columns_than_a_table_has_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text(",".join(f"c{number}" for number in range(20_001)) + "\n", encoding="utf-8")
    assert message(Csv(path="a.csv"), tmp_path) == (
        "a.csv:1:1: there are 20,001 columns, and a table may have 20,000; keep the columns that the run needs"
    )


def test_a_sparse_file_of_terabytes_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "a.csv").open("wb") as file:
        file.truncate(10**13)
    assert message(Csv(path="a.csv"), tmp_path) == (
        "dataset.source.path: 'a.csv' has 10,000,000,000,000 bytes, and a table that is read whole may have "
        "4,000,000,000; leave out rows or columns that the run does not need"
    )


def test_a_query_without_end_is_stopped(tmp_path):
    endless = "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT x"
    wide = ", ".join(f"x AS c{number}" for number in range(1000))
    query = f"{endless}, {wide} FROM n"
    assert message(Sql(url="sqlite://", query=query), tmp_path) == (
        "sqlite:///: dataset.source.query: the query returns more than 20,000,000 cells; "
        "select fewer columns, or limit the rows in the query"
    )


# Passwords and users

HOSTILE_URLS = [
    "postgresql://ada:hunter2@db/houses",
    "postgresql://ada:hun@ter2@db/houses",
    "postgresql://ada:hun:ter2@db/houses",
    "postgresql://ada:hun/ter2@db/houses",
    "postgresql://ada:hun?ter2@db/houses",
    "postgresql://ada:hun#ter2@db/houses",
    "postgresql://ada:@hunter2@db/houses",
    "postgresql://ada@corp:hunter2@db/houses",
    "postgresql://ada:hunter2@db:port/houses",
    "postgresql://ada:hunter2@[::1]:5432/houses",
    "postgresql://ada:hunter2",
    "postgresql:///ada:hunter2@db/houses",
    "postgresql://ada:x?password=hunter2@db/houses",
    "postgresql://db/houses?user=ada&password=hun@ter2",
    "postgresql://db:5432/houses?user=ada&password=hun@ter2",
    "mysql+pymysql://ada:hun%40ter2@db/houses",
    "ada:hun@ter2@db",
]


@pytest.mark.parametrize("url", HOSTILE_URLS)
def test_no_part_of_a_password_or_user_is_in_a_record_a_description_or_a_message(url, tmp_path):
    file = tmp_path / "spec.yaml"
    file.write_text(
        "version: 1\nrecipe: paper\nname: houses\ndataset:\n  source:\n    kind: sql\n"
        f"    url: {json.dumps(url)}\n    query: SELECT * FROM houses\n  target: price\n",
        encoding="utf-8",
    )
    draft = read_draft(file, environ={})
    source = draft.spec.dataset.source
    texts = [
        redact_url(url, users=True),
        source.describe(),
        json.dumps(resolved(draft.spec, draft, shared=True)),
        render(draft.spec, draft, shared=True),
        message(source, tmp_path),
        draft.placed(
            Complaint(code="x", path="dataset.source.url", what=f"got {url!r}" if "://" in url else "no URL")
        ).render(),
        apply_override(read_tree("a: 1", "spec.yaml", {}), f"a.b.url={url}")[0].render(),
    ]
    for text in texts:
        for part in ("ada", "hun", "ter2"):
            assert part not in text, text


def test_a_user_beside_a_variable_is_masked_in_the_record_too(tmp_path):
    file = tmp_path / "spec.yaml"
    file.write_text(
        "version: 1\nrecipe: paper\nname: houses\ndataset:\n  target: price\n"
        "  source: {kind: sql, url: 'postgresql://ada:${PW}@db/h', query: SELECT 1}\n",
        encoding="utf-8",
    )
    draft = read_draft(file, environ={"PW": "hunter2"})
    assert resolved(draft.spec, draft, shared=True)["dataset"]["source"]["url"] == "postgresql://***:${PW}@db/h"
    assert resolved(draft.spec, draft)["dataset"]["source"]["url"] == "postgresql://ada:${PW}@db/h"


def test_a_port_that_is_no_number_is_a_message_at_the_line_of_the_spec(tmp_path, monkeypatch, capsys):
    spec = (
        "version: 1\nname: houses\ndataset:\n  source:\n    kind: sql\n"
        "    url: postgresql://ada:hunter2@db:5432x/houses\n    query: SELECT 1\n  target: price\n"
    )
    code, said = validated(monkeypatch, capsys, tmp_path, spec)
    assert code == 2
    assert said == (
        "spec.yaml:6:10: dataset.source.url: sql: this is no database URL that SQLAlchemy understands; "
        "write dialect://user:password@host/database, or sqlite:///file.db; "
        "in a user or password write @ as %40, : as %3A, / as %2F, ? as %3F\n"
        "    6 |     url: postgresql://***:***@db:5432x/houses\n"
        "      |          ^\n"
    )


def test_a_query_that_fails_is_shown_at_its_line_of_the_spec(tmp_path, monkeypatch, capsys):
    sqlite3.connect(tmp_path / "a.db").close()
    spec = (
        "version: 1\nname: houses\ndataset:\n  source:\n    kind: sql\n"
        "    url: sqlite:///a.db\n    query: SELECT * FROM house\n  target: price\n"
    )
    code, said = validated(monkeypatch, capsys, tmp_path, spec)
    assert code == 2
    assert said == (
        "spec.yaml:7:12: dataset.source.query: sqlite:///a.db: the query failed: no such table: house; "
        "try it in the database's own shell\n"
        "    7 |     query: SELECT * FROM house\n"
        "      |            ^\n"
    )


# Writing through a source


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///file:new.db?uri=true&mode=rwc",
        "sqlite:///file:{base}/new.db?uri=true&mode=rwc",
        "sqlite:///new.db?mode=rwc",
        "sqlite:///new.db?uri=true&mode=rwc",
        "sqlite+pysqlite:///file:new.db?uri=true",
    ],
)
def test_no_spelling_of_a_sqlite_url_creates_a_file(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = Sql(url=url.format(base=tmp_path), query="SELECT 1 AS x")
    for ask in (source.header, source.read):
        with pytest.raises(DataError, match=r"dataset\.source\.url"):
            ask(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_reading_a_database_leaves_no_file_beside_it(tmp_path):
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (x REAL)")
    connection.execute("INSERT INTO t VALUES (1.5)")
    connection.commit()
    open_elsewhere = Sql(url="sqlite:///a.db", query="SELECT x FROM t").read(tmp_path).frame
    assert open_elsewhere["x"].tolist() == [1.5]
    connection.close()
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
    assert Sql(url="sqlite:///a.db", query="SELECT x FROM t").read(tmp_path).frame["x"].tolist() == [1.5]
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("SELECT 1 /*! INTO OUTFILE '/tmp/x' */", id="a comment that MySQL runs"),
        pytest.param("SELECT 1 /*M!100100 INTO OUTFILE '/tmp/x' */", id="a comment that MariaDB runs"),
        pytest.param(r"SELECT '\'' INTO OUTFILE '/tmp/x' -- '", id="an escaped quote"),
        pytest.param("SELECT 1--1 INTO OUTFILE '/tmp/x'", id="a comment that is a sum"),
        pytest.param("SELECT 1 # ' \n INTO OUTFILE '/tmp/x' -- '", id="a comment with a quote"),
        pytest.param("SELECT $$'$$; COMMIT; DROP TABLE t; --'", id="a text in dollars"),
        pytest.param("SELECT $a$'$a$; COMMIT; DROP TABLE t; --'", id="a text in named dollars"),
        pytest.param("SELECT 1 /* /* */ ' */; COMMIT; DROP TABLE t; --'", id="a comment in a comment"),
        pytest.param("SELECT q'[']' FROM t; DROP TABLE t; --'", id="Oracle's quotes"),
    ],
)
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "mysql", "mariadb", "oracle"])
def test_a_write_behind_quotes_that_databases_read_differently_is_refused(query, dialect):
    with pytest.raises(DataError, match="the query is not a single SELECT: it says"):
        Sql(url="sqlite://", query=query)._require_reading(dialect)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x FROM t WHERE y LIKE '10\\%' ESCAPE '\\'",
        "SELECT x, '#1' AS n FROM t -- all of them",
        "SELECT \"update\", 'insert; drop' AS note FROM t /* no update */",
    ],
)
def test_a_query_that_only_looks_like_writing_is_run(query):
    for dialect in ("sqlite", "postgresql", "mysql"):
        Sql(url="sqlite://", query=query)._require_reading(dialect)


def test_a_database_that_cannot_be_opened_read_only_is_refused():
    assert message(Sql(url="mssql+pyodbc://db/houses", query="SELECT 1"), Path()) == (
        "mssql+pyodbc://db/houses: dataset.source.url: a connection to mssql cannot be made read-only, and a source "
        "only reads; write the query's result to a Parquet or CSV file, and name that; "
        "databases that can be read: sqlite, postgresql, mysql, mariadb, oracle"
    )


# What a test row can change


def houses(tmp_path, *, rows=40, cell=None, row=-1, column="rooms", split="column"):
    """A table whose last ten rows are test rows, with `cell` in one of them; `rooms` holds whole numbers."""
    rng = np.random.default_rng(5)
    columns = {
        "area": [f"{value:.3f}" for value in rng.uniform(40, 99, rows)],
        "rooms": [str(value) for value in rng.integers(1, 9, rows)],
        "garden": [("yes", "no")[value] for value in rng.integers(0, 2, rows)],
    }
    columns["price"] = [f"{3 * float(area) + rng.normal():.3f}" for area in columns["area"]]
    columns["part"] = ["train"] * (rows - 10) + ["test"] * 10
    if cell is not None:
        columns[column][row] = cell
    lines = [",".join(columns), *(",".join(cells) for cells in zip(*columns.values(), strict=True))]
    (tmp_path / "houses.csv").write_text("\n".join(lines), encoding="utf-8")
    rule = {"kind": "column", "column": "part", "test": ["test"]}
    dataset = {"source": {"kind": "csv", "path": "houses.csv"}, "target": "price"}
    if split == "column":
        return Dataset.model_validate_json(json.dumps({**dataset, "split": rule}))
    return Dataset.model_validate_json(json.dumps({**dataset, "features": ["area", "rooms", "garden"]}))


class Eye:
    """A model that remembers what it is asked."""

    def predict(self, x):
        self.x = x
        return np.zeros(len(x))


def scored(split):
    """The test rows as a model meets them."""
    split.test.errors(eye := Eye())
    return eye.x


@pytest.mark.parametrize("split", ["column", "fraction"])
def test_a_fraction_in_a_test_row_does_not_make_the_training_rows_whole_numbers_continuous(tmp_path, split):
    plain, _ = load(houses(tmp_path, split=split), tmp_path, seed=1)
    row = int(plain.test.row_ids[-1])
    changed, _ = load(houses(tmp_path, split=split, cell="3.5", row=row), tmp_path, seed=1)
    assert changed.train.features == plain.train.features
    assert [column.type for column in changed.train.features] == ["continuous", "integer", "boolean"]
    np.testing.assert_array_equal(changed.train.x, plain.train.x)
    assert scored(changed)[-1, 1] == 3.5


def test_a_run_learns_and_writes_the_same_whatever_a_test_cell_holds_and_verifies(tmp_path, monkeypatch, capsys):
    spec = (
        "version: 1\nrecipe: paper\nname: houses\ndataset:\n  source: {kind: csv, path: houses.csv}\n  target: price\n"
        "  split: {kind: column, column: part, test: [test]}\n"
        "causal:\n  graph: {kind: edges, edges: ['{area rooms garden} -> price']}\n"
        "regressor: {kind: ridge}\ngate: {kind: wilcoxon, folds: 5}\n"
    )
    (tmp_path / "spec.yaml").write_text(spec, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, cell in (("plain", None), ("changed", "3.5")):
        houses(tmp_path, cell=cell)
        for line in (["run", "spec.yaml", "-q", "--jobs", "1", "--out", name], ["verify", name]):
            monkeypatch.setattr(sys, "argv", ["crda-spec", *line])
            with pytest.raises(SystemExit) as stopped:
                main()
            assert stopped.value.code == 0, capsys.readouterr().err
    for file in ("augmented.parquet", "ledger.parquet", "folds.csv", "certificate.json"):
        assert (tmp_path / "changed" / file).read_bytes() == (tmp_path / "plain" / file).read_bytes()


def test_a_code_with_a_leading_zero_in_a_test_row_is_read_as_the_training_rows_number(tmp_path):
    split, _ = load(houses(tmp_path, cell="007"), tmp_path, seed=1)
    assert split.train.features[1].type == "integer"
    assert scored(split)[-1, 1] == 7.0


def test_a_third_word_in_a_test_row_is_named_and_does_not_turn_truths_into_labels(tmp_path):
    with pytest.raises(DataError) as caught:
        load(houses(tmp_path, cell="maybe", column="garden"), tmp_path, seed=1)
    assert str(caught.value) == (
        "houses.csv: dataset.columns.garden: 1 value of 'garden' is neither true/yes/1 nor false/no/0: "
        "row 40 (line 41): 'maybe'; the training rows hold truths: repair the cells, or declare the column's type"
    )


def test_a_fraction_in_a_second_table_of_test_rows_is_kept_as_it_is(tmp_path):
    dataset = houses(tmp_path)
    (tmp_path / "test.csv").write_text("area,rooms,garden,price\n50.5,3.5,no,151\n", encoding="utf-8")
    rule = SourceSplit(source=Csv(path="test.csv"))
    apart = dataset.model_copy(update={"split": rule, "features": ("area", "rooms", "garden")})
    split, _ = load(apart, tmp_path, seed=1)
    assert split.train.features[1].type == "integer"
    assert scored(split).tolist() == [[50.5, 3.5, 0.0]]


def test_a_column_that_only_test_rows_fill_is_refused(tmp_path):
    dataset = houses(tmp_path)
    lines = (tmp_path / "houses.csv").read_text(encoding="utf-8").splitlines()
    empty = [line.replace(",yes,", ",,").replace(",no,", ",,") if "train" in line else line for line in lines]
    (tmp_path / "houses.csv").write_text("\n".join(empty), encoding="utf-8")
    with pytest.raises(DataError, match="column 'garden' has no value in the 30 training rows"):
        load(dataset.model_copy(update={"missing": Missing(kind="impute")}), tmp_path, seed=1)


def test_a_feature_whose_spread_is_lost_to_rounding_is_refused_as_a_target_is(tmp_path):
    dataset = houses(tmp_path)
    lines = (tmp_path / "houses.csv").read_text(encoding="utf-8").splitlines()
    tiny = [lines[0], *(re.sub(r"^[\d.]+", f"{row}e-310", line) for row, line in enumerate(lines[1:], start=1))]
    (tmp_path / "houses.csv").write_text("\n".join(tiny), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load(dataset, tmp_path, seed=1)
    assert str(caught.value) == (
        "houses.csv: dataset.features: feature 'area' varies by less than 1e-100 in the training rows: "
        "its squares are lost to rounding; write it in a smaller unit"
    )


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        pytest.param(["1,000", "12,500", "999,999"], "written with commas that may separate thousands", id="thousands"),
        pytest.param(["1,234,567", "950", "1,000"], "written with thousands separators", id="millions"),
        pytest.param(["1,000.5", "2,000.25", "3,000"], "written with thousands separators", id="and-a-point"),
        pytest.param(["1,5", "2,25", "3,000"], "written with a decimal comma", id="decimal"),
        pytest.param(["0,125", "0,250", "1,000"], "written with a decimal comma", id="decimal-of-three-places"),
    ],
)
def test_thousands_separators_are_never_called_decimal_commas(tmp_path, cells, said):
    rows = [f'"{cell}",{number}.5' for number, cell in enumerate(cells)]
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *rows]), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load(Dataset(source=Csv(path="a.csv"), target="y"), tmp_path, seed=1)
    assert f" {said}: row 1 (line 2)" in str(caught.value)
    assert ("set the source's decimal: ','" in str(caught.value)) is (said == "written with a decimal comma")
