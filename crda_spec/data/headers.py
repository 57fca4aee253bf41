"""The light path: column names of a source, without pandas and without scikit-learn.

`crda-spec validate` checks the names in a spec against the data's header and must answer at once. That is why the
imports are inside the functions here, and nowhere else in this package: a spec about a CSV file loads neither pyarrow
nor openpyxl nor SQLAlchemy.
"""

from __future__ import annotations

from pathlib import Path

from crda_spec.data.catalogue import BENCHMARKS, SKLEARN_COLUMNS
from crda_spec.data.textfile import Dialect, read_header


def csv_header(path: Path, *, delimiter: str = ",", encoding: str = "utf-8", written: str = "") -> tuple[str, ...]:
    """The column names of a delimited text file. `written` is the path as the spec writes it, for messages."""
    return read_header(path, Dialect(description=path.name, delimiter=delimiter, encoding=encoding), written)


def parquet_header(path: Path, *, written: str = "") -> tuple[str, ...]:
    """The column names of a Parquet file, from its footer."""
    from crda_spec.data import parquetfile

    return parquetfile.read_header(path, written)


def excel_header(path: Path, *, sheet: str | int = 0, written: str = "") -> tuple[str, ...]:
    """The column names of one sheet of a workbook."""
    from crda_spec.data import workbook

    return workbook.read_header(path, sheet, written)


def sql_header(url: str, query: str, *, folder: Path) -> tuple[str, ...]:
    """The column names of a query's result; no row is fetched. A relative SQLite file is looked for in `folder`."""
    from crda_spec.data import database

    return database.read_header(url, query, folder)


def sklearn_header(name: str) -> tuple[str, ...]:
    """The column names of a table bundled with scikit-learn."""
    return SKLEARN_COLUMNS[name]


def benchmark_header(name: str) -> tuple[str, ...]:
    """The column names of one of the paper's tables; the target is the last."""
    return BENCHMARKS[name].columns
