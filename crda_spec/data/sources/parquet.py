"""A Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from crda_spec.data.raw import MAX_CELLS, FileSource, RawTable, check_names, reason_of, require_file, sha256_of
from crda_spec.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Parquet(FileSource):
    """A Parquet file."""

    kind: Literal["parquet"] = Field("parquet", description="A Parquet file.")

    def header(self, base: Path) -> tuple[str, ...]:
        """The column names, from the file's footer alone."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        require_file(base / self.path, self.path)
        try:
            with pq.ParquetFile(base / self.path) as file:
                names = tuple(str(name) for name in file.schema_arrow.names)
        except (pa.ArrowException, OSError) as error:
            raise self._corrupt(error) from error
        check_names(names, self.describe())
        return names

    def read(self, base: Path) -> RawTable:
        """The columns with the types of the file; an integer column with gaps stays one of integers."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        data = self._bytes(base)
        try:
            # From the bytes, not from the path: pyarrow would add columns out of folder names such as `year=2020`.
            file = pq.ParquetFile(pa.BufferReader(data))
            rows, columns = file.metadata.num_rows, file.metadata.num_columns
            if rows * columns > MAX_CELLS:
                hint = "write the rows and columns that the run needs to a file of their own"
                raise self._too_large(rows, columns, MAX_CELLS, hint)
            table = file.read()
        except (pa.ArrowException, OSError) as error:
            raise self._corrupt(error) from error
        check_names(tuple(str(name) for name in table.schema.names), self.describe())
        if table.num_rows == 0:
            raise self._error("no-rows", "the file has columns but no row")
        return RawTable(frame=typed_frame(table), sha256=sha256_of(data), description=self.describe())

    def _corrupt(self, error: Exception) -> DataError:
        what = f"this is no Parquet file that can be read: {reason_of(error)}"
        return self._error("corrupt-file", what, "write it again, or choose the source kind that fits the file")


def typed_frame(table: pa.Table) -> pd.DataFrame:
    """The cells with Arrow's types; metadata of pandas is ignored, so that a stored index stays a column."""
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, types_mapper=_nullable)
    return frame


def _nullable(kind: pa.DataType) -> object:
    """The pandas type that keeps whole numbers and booleans what they are when cells are missing."""
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return pd.BooleanDtype()
    if pa.types.is_uint64(kind):
        return pd.UInt64Dtype()
    return pd.Int64Dtype() if pa.types.is_integer(kind) else None
