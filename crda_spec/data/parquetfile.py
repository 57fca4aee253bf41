"""Opening a Parquet file, with errors that say what to try. Imports pyarrow, not pandas."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.data.files import check_names, read_bytes, require_file
from crda_spec.errors import Complaint, DataError, Place


def _corrupt(description: str, error: Exception) -> DataError:
    reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
    complaint = Complaint(
        code="corrupt-file",
        place=Place(file=description),
        what=f"this is no Parquet file that can be read: {reason}",
        hint="write it again, or choose the source kind that fits the file",
    )
    return DataError(complaint)


def read_header(path: Path, written: str = "") -> tuple[str, ...]:
    """The column names, from the file's footer alone."""
    require_file(path, written)
    try:
        with pq.ParquetFile(path) as file:
            names = tuple(str(name) for name in file.schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        raise _corrupt(path.name, error) from error
    check_names(names, path.name)
    return names


def read_table(path: Path, written: str = "") -> tuple[bytes, pa.Table]:
    """The file's bytes and the table in them.

    The table is read from the bytes, not from the path: pyarrow would add columns that it reads out of folder
    names such as `year=2020`.
    """
    data = read_bytes(path, written)
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read()
    except (pa.ArrowException, OSError) as error:
        raise _corrupt(path.name, error) from error
    check_names(tuple(str(name) for name in table.schema.names), path.name)
    return data, table
