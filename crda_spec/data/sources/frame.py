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

    from crda_spec.records import Array, IntArray

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
        return _without_views(data)
    if isinstance(data, pd.DataFrame):
        _check_text_names(data)
        columns = {str(name): _array(data.iloc[:, at], str(name)) for at, name in enumerate(data.columns)}
        if len(columns) < data.shape[1]:
            check_names(tuple(map(str, data.columns)), DESCRIPTION)
        return pa.table(columns)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_arrow"):
        return _without_views(pa.table(data) if hasattr(data, "__arrow_c_stream__") else data.to_arrow())
    what = f"data is of type {type(data).__name__}, not a table with named columns"
    raise _wrong("no-frame", what, "give a pandas or polars DataFrame or an Arrow table; of an array, make one")


def _without_views(table: pa.Table) -> pa.Table:
    """Texts of polars as most functions of Arrow take them."""
    import pyarrow as pa

    kinds = [pa.large_string() if kind == pa.string_view() else kind for kind in table.schema.types]
    return table.cast(pa.schema(dict(zip(table.column_names, kinds, strict=True))))


def frame_like(table: pa.Table, like: Any, at: IntArray) -> Any:  # noqa: ANN401 - any kind of frame
    """The table as a frame of the same kind and types; of pandas, row i has the index of row at[i]."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(like, pa.Table):
        return table
    known = arrow_table(like).schema
    same = [name for name in known.names if known.field(name).type == table.schema.field(name).type]
    if isinstance(like, pd.DataFrame):
        return table.to_pandas().astype({name: like[name].dtype for name in same}).set_axis(like.index[at])
    return type(like)(table).cast({name: like.schema[name] for name in same})


def column_like(values: Array, like: Any, at: IntArray) -> Any:  # noqa: ANN401 - any kind of column
    """The numbers as a column of the same kind; of pandas, row i has the index of row at[i]."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    if isinstance(like, pd.DataFrame):
        return pd.DataFrame(column_like(values, like.iloc[:, 0], at))
    if isinstance(like, pd.Series):
        kind = like.dtype if pd.api.types.is_float_dtype(like.dtype) else np.float64
        return pd.Series(values, index=like.index[at], name=like.name, dtype=kind)
    if isinstance(like, list | tuple):
        return values.tolist()
    if isinstance(like, pa.ChunkedArray | pa.Array):
        return pa.array(values)
    if hasattr(like, "__arrow_c_stream__"):
        made = type(like)(like.name, values)
        return made.cast(like.dtype) if like.dtype.is_float() else made
    like = np.asarray(like)
    kind = like.dtype if np.issubdtype(like.dtype, np.floating) else np.float64
    return values.astype(kind).reshape(-1, *like.shape[1:])


def joined(first: Any, second: Any) -> Any:  # noqa: ANN401 - rows of any kind
    """The rows of both; whole numbers and fractions together are fractions."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    if isinstance(first, pd.DataFrame | pd.Series):
        return pd.concat([first, second])
    if isinstance(first, pa.Table):
        return pa.concat_tables([first, second], promote_options="permissive")
    if isinstance(first, pa.ChunkedArray | pa.Array):
        return pa.chunked_array([first.cast(pa.float64()), second])
    if isinstance(first, list | tuple):
        return [*first, *second]
    if not hasattr(first, "__arrow_c_stream__"):
        return np.concatenate([first, second])
    import polars as pl

    if isinstance(first, pl.Series):
        return pl.concat([first.cast(second.dtype), second])
    return pl.concat([first, second], how="vertical_relaxed")


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
