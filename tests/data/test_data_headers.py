"""The light path: names only, and without the heavy libraries."""

import sqlite3
import subprocess
import sys

import openpyxl
import pandas as pd
import pytest
from sklearn import datasets

from crda_spec.data import headers
from crda_spec.data.catalogue import BENCHMARKS, SKLEARN_COLUMNS
from crda_spec.data.sources import Sklearn
from crda_spec.errors import DataError


@pytest.fixture
def files(tmp_path):
    frame = pd.DataFrame({"area": [1.5], "Größe": [2]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    book = openpyxl.Workbook()
    book.active.append(["area", "Größe", None])
    book.active.append([1.5, 2])
    book.save(tmp_path / "a.xlsx")
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute('CREATE TABLE t (area REAL, "Größe" INTEGER)')
    connection.close()
    return tmp_path


def test_every_kind_has_a_header(files):
    expected = ("area", "Größe")
    assert headers.csv_header(files / "a.csv") == expected
    assert headers.parquet_header(files / "a.parquet") == expected
    assert headers.excel_header(files / "a.xlsx") == expected
    assert headers.sql_header("sqlite:///a.db", "SELECT * FROM t", folder=files) == expected


PROGRAM = """
import sys
from pathlib import Path
from crda_spec.data.headers import *
from crda_spec.data import headers
folder = Path(sys.argv[1])
headers.csv_header(folder / "a.csv")
headers.sklearn_header("iris"), headers.benchmark_header("wind_power")
first = {"numpy", "pandas", "sklearn", "pyarrow", "openpyxl", "sqlalchemy"} & set(sys.modules)
headers.parquet_header(folder / "a.parquet")
headers.excel_header(folder / "a.xlsx")
headers.sql_header("sqlite:///a.db", "SELECT * FROM t", folder=folder)
print(sorted(first), sorted({"pandas", "sklearn"} & set(sys.modules)))
"""


def test_headers_load_no_heavy_library(files):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(files)], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"


@pytest.mark.parametrize(
    ("content", "settings", "expected"),
    [
        pytest.param(b"\xef\xbb\xbfa,b\n", {}, ("a", "b"), id="byte-order-mark"),
        pytest.param(b"a;b\n", {"delimiter": ";"}, ("a", "b"), id="delimiter"),
        pytest.param("ä,b\n".encode("latin-1"), {"encoding": "latin-1"}, ("ä", "b"), id="encoding"),
        pytest.param("a,b\n1,2\n".encode("utf-16"), {"encoding": "utf-16"}, ("a", "b"), id="utf-16"),
        pytest.param(b'"a\nb",c\n', {}, ("a\nb", "c"), id="line-break-in-a-name"),
    ],
)
def test_csv_headers(content, settings, expected, tmp_path):
    (tmp_path / "a.csv").write_bytes(content)
    assert headers.csv_header(tmp_path / "a.csv", **settings) == expected


def test_only_the_beginning_of_a_csv_is_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,2\n" * 10_000 + b"\xff\n")
    assert headers.csv_header(tmp_path / "a.csv") == ("a", "b")


def test_a_bad_byte_near_the_header_is_named_by_its_offset(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,\xff\n")
    with pytest.raises(DataError) as caught:
        headers.csv_header(tmp_path / "a.csv")
    assert str(caught.value) == (
        "a.csv:2:1: byte 6 (0xff) is not valid utf-8; "
        "save the file as UTF-8, or set the source's encoding, e.g. 'latin-1' or 'cp1252'"
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "excel"])
def test_a_missing_file_is_suggested(kind, files):
    read = {"csv": headers.csv_header, "parquet": headers.parquet_header, "excel": headers.excel_header}[kind]
    with pytest.raises(DataError) as caught:
        read(files / "aa.csv", written="data/aa.csv")
    expected = "dataset.source.path: there is no file 'data/aa.csv'; did you mean 'a.csv'?"
    assert str(caught.value) == expected


@pytest.mark.parametrize("name", sorted(SKLEARN_COLUMNS))
def test_the_catalogue_agrees_with_the_loaders(name):
    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    features = tuple(bunch.data.columns)
    assert headers.sklearn_header(name)[: len(features)] == features
    assert headers.sklearn_header(name) == tuple(Sklearn(name=name).read().frame.columns)
    assert len(headers.sklearn_header(name)) == len(bunch.frame.columns)


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_the_catalogue_agrees_with_the_files(name, benchmark_data):
    table = BENCHMARKS[name]
    assert headers.benchmark_header(name) == headers.csv_header(benchmark_data / table.file)
    assert headers.benchmark_header(name)[-1] == table.target
