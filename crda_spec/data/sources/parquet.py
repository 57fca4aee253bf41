"""A Parquet file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from crda_spec.data import parquetfile
from crda_spec.data.raw import RawTable, sha256_of
from crda_spec.errors import Complaint, DataError, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Parquet:
    """A Parquet file. `written` is the path as the spec writes it, for messages."""

    path: Path
    written: str = ""

    def describe(self) -> str:
        """The file's name."""
        return self.path.name

    def read(self) -> RawTable:
        """The columns with the types of the file; an integer column with gaps stays one of integers."""
        data, table = parquetfile.read_table(self.path, self.written)
        if table.num_rows == 0:
            complaint = Complaint(
                code="no-rows", place=Place(file=self.describe()), what="the file has columns but no row"
            )
            raise DataError(complaint)
        # The pandas metadata is ignored, so that a stored index stays a column, as the file's schema says.
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, types_mapper=_nullable)
        return RawTable(frame=frame, sha256=sha256_of(data), description=self.describe())


def _nullable(kind: pa.DataType) -> object:
    """The pandas type that keeps whole numbers and booleans what they are when cells are missing."""
    if pa.types.is_boolean(kind):
        return pd.BooleanDtype()
    if pa.types.is_uint64(kind):
        return pd.UInt64Dtype()
    return pd.Int64Dtype() if pa.types.is_integer(kind) else None
