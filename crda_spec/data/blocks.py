"""Files larger than memory: a Parquet or text file, read block by block, with the contracts of a known table.

A sheet of an Excel workbook is never so large: it is read whole and handed out like the others.

A run's columns are known before the first block is read, so nothing is inferred here: a cell either fits its column's
contract or is an error that names its row. Every block has exactly as many rows as were asked for, but for the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from crda_spec.data.cells import label_of
from crda_spec.data.raw import check_names, read_bytes, reason_of, require_file
from crda_spec.data.reading import Reading
from crda_spec.data.sources import Csv, Excel, Parquet, Source
from crda_spec.data.sources.csv import MISSING
from crda_spec.data.sources.frame import DESCRIPTION, arrow_table
from crda_spec.errors import Complaint, DataError, Place, did_you_mean, show

_KINDS: dict[str, type[Csv | Parquet | Excel]] = {
    **dict.fromkeys((".parquet", ".pq"), Parquet),
    **dict.fromkeys((".csv", ".tsv", ".txt"), Csv),
    **dict.fromkeys((".xlsx", ".xlsm"), Excel),
}
_CHUNK = 1 << 22  # bytes of a file, or of each column of one, that are read at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFile:
    """A table on disk or in memory, of known length."""

    path: Path
    source: Csv | Parquet | Excel
    names: tuple[str, ...]
    rows: int
    table: pa.Table | None = None  # all rows: a data frame's, or a workbook's as text
    cells: Sequence[Sequence[object]] = ()  # of a workbook, as it types them
    # What cells mean, and which columns are made of others.
    reading: Reading = field(default_factory=lambda: Reading(contracts={}))

    def read_by(self, reading: Reading) -> RowFile:
        """The same file, its cells read by a dataset's rules."""
        return replace(self, reading=reading)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that can be asked for: those of the file, and those made of them."""
        return self.reading.names(self.names)

    @property
    def decimal(self) -> str:
        """The decimal mark of its text."""
        return self.source.decimal if isinstance(self.source, Csv) else "."

    def blocks(self, size: int, names: Sequence[str]) -> Iterator[pa.Table]:
        """The rows in order, `size` at a time, only these columns."""
        first, origins = 0, list(dict.fromkeys(self.reading.origin(name, self.names) for name in names))
        for block in self._blocks(size, origins):
            yield self.reading.of_block(block, names, file=self.path.name, first=first)
            first += block.num_rows

    def _blocks(self, size: int, names: list[str]) -> Iterator[pa.Table]:
        waiting: list[pa.RecordBatch] = []
        count = 0
        for batch in self.batches(names, size):
            rest = batch
            while count + rest.num_rows >= size:
                take = size - count
                yield pa.Table.from_batches([*waiting, rest.slice(0, take)])
                rest, waiting, count = rest.slice(take), [], 0
            if rest.num_rows:
                waiting.append(rest)
                count += rest.num_rows
        if count:
            yield pa.Table.from_batches(waiting)

    def written(self, names: Sequence[str]) -> pa.Table:
        """These columns of all rows as the file has them: nothing is read as a number, and no word means missing."""
        if self.table is not None and not self.cells:
            return self.table.select(names)
        if self.cells:
            at = [self.names.index(name) for name in names]
            return pa.table([_as_typed([row[one] for row in self.cells]) for one in at], names=list(names))
        return pa.Table.from_batches(self.batches(list(names), _CHUNK, verbatim=True))

    def batches(self, names: list[str], size: int, *, verbatim: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows in order, in whatever pieces the file gives; at most `size` at a time where it can be told.

        verbatim: a text file's NA is a text like any other.
        """
        if self.table is not None:
            yield from self.table.select(names).to_batches(max_chunksize=size)
            return
        try:
            if isinstance(self.source, Csv):
                yield from _text_batches(self.path, self.source, self.names, names, verbatim=verbatim)
            else:
                # Not pyarrow's defaults, which read ahead by whole row groups and fill the memory with them.
                with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=_CHUNK) as file:
                    yield from file.iter_batches(batch_size=size, columns=names, use_threads=False)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            what, hint = f"the rows cannot be read: {reason_of(error)}", "check the file, or write it again"
            place = Place(file=self.path.name)
            raise DataError(Complaint(code="unreadable-rows", place=place, what=what, hint=hint)) from error


def open_rows(path: Path, *, like: Source | None = None) -> RowFile:
    """The file's header and number of rows; its ending tells the kind. like: a source whose text is written alike."""
    kind = _KINDS.get(path.suffix.casefold())
    if kind is None:
        what = f"'{path.name}' ends in neither .parquet, .csv nor .xlsx"
        raise DataError(Complaint(code="unknown-kind", what=what, hint="write the rows as Parquet, CSV or Excel"))
    require_file(path, str(path), key="")
    source = like.model_copy(update={"path": path.name}) if isinstance(like, kind) else kind(path=path.name)
    if isinstance(source, Excel):
        names, cells = source.cells(read_bytes(path))
        # Every cell as text, which keeps columns of mixed cells; what it means is the contract's business.
        texts = ([_text(row[at]) for row in cells] for at in range(len(names)))
        table = pa.table([pa.array(column, pa.string()) for column in texts], names=list(names))
        return RowFile(path=path, source=source, names=names, rows=len(cells), table=table, cells=cells)
    file = RowFile(path=path, source=source, names=source.header(path.parent), rows=0)
    if isinstance(source, Csv):
        rows = sum(batch.num_rows for batch in file.batches([file.names[0]], _CHUNK))
    else:
        with pq.ParquetFile(path) as opened:
            rows = int(opened.metadata.num_rows)
    if rows == 0:
        raise DataError(Complaint(code="no-rows", place=Place(file=path.name), what="the file has columns but no row"))
    return replace(file, rows=rows)


def frame_rows(data: Any) -> RowFile:  # noqa: ANN401 - any kind of frame
    """The rows of a data frame."""
    table = arrow_table(data)
    names = tuple(table.schema.names)
    check_names(names, DESCRIPTION)
    if not table.num_rows:
        raise DataError(Complaint(code="no-rows", path="data", what="the frame has columns but no row"))
    return RowFile(path=Path("data"), source=Parquet(path="data"), names=names, rows=table.num_rows, table=table)


def _text(cell: object) -> str | None:
    """A cell as a text file has it: a whole number without a point, a truth in words."""
    return None if cell is None or (isinstance(cell, str) and cell.strip() in MISSING) else label_of(cell)


def _as_typed(column: list[object]) -> pa.Array:
    """A column of a sheet in its own type, or as text where its cells have several."""
    try:
        return pa.array(column)
    except pa.ArrowException:
        return pa.array([None if cell is None else label_of(cell) for cell in column], pa.string())


def missing_columns(file: RowFile, wanted: Sequence[str]) -> list[Complaint]:
    """One complaint for each column that the file lacks."""
    place = Place(file=file.path.name)
    wanted = list(dict.fromkeys(file.reading.source(name) if name not in file.names else name for name in wanted))
    return [
        Complaint(code="unknown-column", place=place, what=f"there is no column {show(name)}", hint=hint)
        for name in wanted
        if name not in file.columns
        for hint in [did_you_mean(name, file.names, otherwise="its columns are", taken=wanted)]
    ]


def _text_batches(
    path: Path, source: Csv, header: Sequence[str], names: list[str], *, verbatim: bool
) -> Iterator[pa.RecordBatch]:
    """Every cell as text: what it means is the contract's business."""
    reader = pa_csv.open_csv(
        path,
        read_options=pa_csv.ReadOptions(
            encoding=source.encoding,
            block_size=_CHUNK,
            use_threads=False,
            column_names=list(header),
            skip_rows_after_names=1,  # a row, not a line: a name may hold a line break
        ),
        parse_options=pa_csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            null_values=sorted(MISSING),
            strings_can_be_null=not verbatim,
            quoted_strings_can_be_null=not verbatim,
            include_columns=names,
        ),
    )
    with reader:
        yield from reader
