"""The family of sources: each turns one kind of place into a `RawTable`."""

from crda_spec.data.raw import RawTable
from crda_spec.data.sources._protocol import Source
from crda_spec.data.sources.benchmark import Benchmark
from crda_spec.data.sources.csv import Csv
from crda_spec.data.sources.excel import Excel
from crda_spec.data.sources.parquet import Parquet
from crda_spec.data.sources.sklearn import Sklearn
from crda_spec.data.sources.sql import Sql
from crda_spec.data.sources.synthetic import Drawable, Synthetic

__all__ = [
    "Benchmark",
    "Csv",
    "Drawable",
    "Excel",
    "Parquet",
    "RawTable",
    "Sklearn",
    "Source",
    "Sql",
    "Synthetic",
]
