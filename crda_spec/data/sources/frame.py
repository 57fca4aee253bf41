"""Rows that stand in memory already: a data frame that Python hands over in place of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from crda_spec.data.raw import (
    MAX_CELLS,
    BaseSource,
    RawTable,
    canonical_bytes,
    check_names,
    listed,
    reason_of,
    sha256_of,
)
from crda_spec.errors import Complaint, DataError, show

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

DESCRIPTION = "data frame"


class Frame(BaseSource):
    """A data frame."""

    kind: Literal["frame"] = Field(
        "frame", description="The rows are a data frame in Python: crda_spec.run(spec, data=frame)."
    )

    def describe(self) -> str:
        """What it is."""
        return DESCRIPTION

    def header(self, base: Path) -> tuple[str, ...]:
        """Nobody handed a frame over, or this would not be asked."""
        raise self._absent()

    def read(self, base: Path) -> RawTable:
        """Likewise."""
        raise self._absent()

    def _absent(self) -> DataError:
        what = "the rows are a data frame, and none was handed over"
        hint = "call crda_spec.run(spec, data=frame), or name a file: source: {kind: csv, path: ...}"
        return DataError(Complaint(code="no-frame", path="dataset.source", what=what, hint=hint))


def frame_table(data: Any) -> RawTable:  # noqa: ANN401 - any kind of frame
    """The cells of a pandas or polars frame or an Arrow table, as a Parquet file of them would deliver them."""
    from crda_spec.data.sources.parquet import typed_frame

    table = arrow_table(data)
    names = tuple(table.schema.names)
    check_names(names, DESCRIPTION)
    if not table.num_rows:
        raise _wrong("no-rows", "the frame has columns but no row")
    if table.num_rows * table.num_columns > MAX_CELLS:
        what = f"the frame has {table.num_rows:,} rows and {table.num_columns:,} columns, more than {MAX_CELLS:,} cells"
        raise _wrong("too-large", what, "keep the rows and columns that the run needs")
    frame = typed_frame(table)
    return RawTable(frame=frame, sha256=sha256_of(canonical_bytes(frame)), description=DESCRIPTION)


def arrow_table(data: Any) -> pa.Table:  # noqa: ANN401
    """The frame as Arrow has it. An index is no column: rows are counted from 1, as everywhere."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pd.DataFrame):
        _check_text_names(data)
        columns = {str(name): _array(data.iloc[:, at], str(name)) for at, name in enumerate(data.columns)}
        if len(columns) < data.shape[1]:
            check_names(tuple(map(str, data.columns)), DESCRIPTION)
        return pa.table(columns)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_arrow"):
        return pa.table(data) if hasattr(data, "__arrow_c_stream__") else data.to_arrow()
    what = f"data is of type {type(data).__name__}, not a table with named columns"
    raise _wrong("no-frame", what, "give a pandas or polars DataFrame or an Arrow table; of an array, make one")


def _array(column: pd.Series, name: str) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        kinds = [type(value) for value in column]
        usual = max(set(kinds), key=kinds.count)
        odd = np.array([at for at, kind in enumerate(kinds) if kind is not usual], dtype=np.int64)
        what = f"column {show(name)} cannot be read: {reason_of(error)}"
        if len(odd):
            values = [show(column.iloc[at]) for at in odd[:5].tolist()]
            raw = RawTable(frame=column.to_frame(), sha256="", description=DESCRIPTION)
            what = f"column {show(name)} mixes {usual.__name__} with other kinds of cells ({listed(raw, odd, values)})"
        raise _wrong("mixed-cells", what, "give every cell of a column the same type") from error


def _check_text_names(frame: pd.DataFrame) -> None:
    wrong = [name for name in frame.columns if not isinstance(name, str)]
    if wrong:
        what = f"the frame's column names must be text, but got {', '.join(map(show, wrong[:5]))}"
        raise _wrong("column-names", what, "name them: frame.columns = ['area', 'age', ...]")


def _wrong(code: str, what: str, hint: str = "") -> DataError:
    return DataError(Complaint(code=code, path="data", what=what, hint=hint))
