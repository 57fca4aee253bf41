"""The family of sources: each names one kind of place, and turns it into a `RawTable`.

Every source has `describe()`, a short name for messages and records without folders and passwords; `header(base)`, its
column names without reading its rows; and `read(base)`, the rows, or a DataError with all that is wrong with them.
Relative paths start at `base`, the spec's folder. Reading twice gives the same table, unless the outside world changed.
Libraries heavier than numpy are imported when a source is opened, so that a spec can be validated at once.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from crda_spec.data.raw import RawTable
from crda_spec.data.sources.benchmark import Benchmark
from crda_spec.data.sources.csv import Csv
from crda_spec.data.sources.excel import Excel
from crda_spec.data.sources.frame import Frame
from crda_spec.data.sources.parquet import Parquet
from crda_spec.data.sources.sklearn import Sklearn
from crda_spec.data.sources.sql import Sql
from crda_spec.data.sources.synthetic import Synthetic

Source = Annotated[Csv | Parquet | Excel | Sql | Sklearn | Benchmark | Synthetic | Frame, Field(discriminator="kind")]


def header_of(source: Source, base: Path, *, target: str, frame: RawTable | None = None) -> tuple[str, ...]:
    """The columns of a source, without reading its rows. target: which equations may not hide.

    frame: the data frame that was handed over; None: none was.
    """
    if isinstance(source, Frame) and frame is not None:
        return tuple(frame.frame.columns)
    return source.header(base, target=target) if isinstance(source, Synthetic) else source.header(base)


def read_source(source: Source, base: Path, *, target: str, seed: int, frame: RawTable | None = None) -> RawTable:
    """The rows of a source. target, seed: of one that draws them. frame: as for `header_of`."""
    if isinstance(source, Frame) and frame is not None:
        return frame
    return source.read(base, target=target, seed=seed) if isinstance(source, Synthetic) else source.read(base)
