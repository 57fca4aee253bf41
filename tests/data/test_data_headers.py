"""The light path: names only, and without the heavy libraries."""

import sqlite3
import subprocess
import sys

import openpyxl
import pandas as pd
import pytest
from sklearn import datasets

from crda_spec.data.sources import Benchmark, Csv, Excel, Parquet, Sklearn, Sql
from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.data.sources.sklearn import COLUMNS
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
    assert Csv(path="a.csv").header(files) == expected
    assert Parquet(path="a.parquet").header(files) == expected
    assert Excel(path="a.xlsx").header(files) == expected
    assert Sql(url="sqlite:///a.db", query="SELECT * FROM t").header(files) == expected


PROGRAM = """
import sys
from pathlib import Path
from crda_spec.data.sources import *
folder = Path(sys.argv[1])
Csv(path="a.csv").header(folder)
Sklearn(name="iris").header(folder), Benchmark(name="wind_power").header(folder)
first = {"pandas", "scipy", "sklearn", "pyarrow", "openpyxl", "sqlalchemy"} & set(sys.modules)
Parquet(path="a.parquet").header(folder)
Excel(path="a.xlsx").header(folder)
Sql(url="sqlite:///a.db", query="SELECT * FROM t").header(folder)
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
    assert Csv(path="a.csv", **settings).header(tmp_path) == expected


def test_only_the_beginning_of_a_csv_is_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,2\n" * 10_000 + b"\xff\n")
    assert Csv(path="a.csv").header(tmp_path) == ("a", "b")


def test_a_bad_byte_near_the_header_is_named_by_its_offset(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,\xff\n")
    with pytest.raises(DataError) as caught:
        Csv(path="a.csv").header(tmp_path)
    assert str(caught.value) == (
        "a.csv:2:1: byte 6 (0xff) is not valid utf-8; "
        "save the file as UTF-8, or set the source's encoding, e.g. 'latin-1' or 'cp1252'"
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "excel"])
def test_a_missing_file_is_suggested(kind, files):
    source = {"csv": Csv, "parquet": Parquet, "excel": Excel}[kind](path=f"{files.name}/aa.csv")
    with pytest.raises(DataError) as caught:
        source.header(files.parent)
    expected = f"dataset.source.path: there is no file '{files.name}/aa.csv'; did you mean 'a.csv'?"
    assert str(caught.value) == expected


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_the_catalogue_agrees_with_the_loaders(name):
    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    features = tuple(bunch.data.columns)
    assert Sklearn(name=name).header()[: len(features)] == features
    assert Sklearn(name=name).header() == tuple(Sklearn(name=name).read().frame.columns)
    assert len(Sklearn(name=name).header()) == len(bunch.frame.columns)


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_the_catalogue_agrees_with_the_files(name, benchmark_data):
    table = BENCHMARKS[name]
    assert Benchmark(name=name).header() == Csv(path=table.file).header(benchmark_data)
    assert Benchmark(name=name).header()[-1] == table.target
