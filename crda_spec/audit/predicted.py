"""Predictions beside the rows' ids, and any other table, written as CSV, Excel or Parquet: the file's ending tells."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.audit.runfolder import whole_file
from crda_spec.data.cells import label_of
from crda_spec.errors import Complaint, OutputError, show
from crda_spec.records import Array

_PARQUET, _EXCEL, _TEXT = (".parquet", ".pq"), ".xlsx", ".csv"
_MOST_ROWS = 1_048_575  # of a sheet, below its header
_LONGEST = 32_767  # characters of a cell of a sheet
_EXACT = 10**15  # a sheet keeps fifteen digits of a number
_WRITTEN_AT_A_TIME = 4096
_NO_MOMENT = (1980, 1, 1, 0, 0, 0)


def check_ending(out: Path) -> None:
    """Complains of an ending that names no kind of file, before anything is read."""
    if out.suffix.casefold() not in (*_PARQUET, _EXCEL, _TEXT):
        what = f"the ending of {show(out.name)} tells no kind of table"
        hint = "end it in .csv, .xlsx (Excel) or .parquet"
        raise OutputError(Complaint(code="unknown-ending", path="--out", what=what, hint=hint))


def check_size(out: Path, rows: int) -> None:
    """Complains of more rows than a sheet can have."""
    if out.suffix.casefold() == _EXCEL and rows > _MOST_ROWS:
        what = f"an Excel sheet has at most {_MOST_ROWS:,} rows below its header, and there are {rows:,}"
        raise OutputError(Complaint(code="too-large", path="--out", what=what, hint="write .csv or .parquet"))


def predicted_table(ids: pa.Table | None, numbers: Mapping[str, Array]) -> pa.Table:
    """The ids, or where there are none the rows' numbers from 1, then the numbers; what is NaN is empty.

    numbers: name -> (n,), all of one length.
    """
    rows = len(next(iter(numbers.values())))
    known = {name: pa.array(values, mask=np.isnan(values)) for name, values in numbers.items()}
    if ids is None:
        return pa.table({"row": np.arange(1, rows + 1), **known})
    return pa.table({**{name: ids[name] for name in ids.column_names}, **known})


def write_table(table: pa.Table, out: Path) -> None:
    """Writes it by the file's ending, whole or not at all."""
    ending = out.suffix.casefold()
    data = _workbook([table], "predictions") if ending == _EXCEL else None
    with whole_file(out) as partial:
        if ending in _PARQUET:
            pq.write_table(table, partial)
        elif data is not None:
            partial.write_bytes(data)
        else:
            with partial.open("w", encoding="utf-8", newline="") as file:
                file.writelines(csv_lines(table))


@contextmanager
def table_writer(file: Path, schema: pa.Schema, *, few: Collection[str]) -> Iterator[Callable[[pa.Table], None]]:
    """Writes a table part after part by the file's ending: to Parquet a row group each, to a sheet all at the end.

    few: columns of numbers in which hardly any two differ.
    """
    ending, parts = file.suffix.casefold(), list[pa.Table]()
    if ending in _PARQUET:
        # A dictionary pays for labels and columns of one value; of other numbers it is built in vain.
        repeated = [one.name for one in schema if one.type == pa.string() or one.name in few]
        with pq.ParquetWriter(file, schema, use_dictionary=repeated) as parquet:
            yield lambda table: parquet.write_table(table, row_group_size=table.num_rows)
    elif ending == _EXCEL:
        yield parts.append
        file.write_bytes(_workbook(parts, "rows"))
    else:
        with file.open("w", encoding="utf-8", newline="") as text:
            text.writelines(csv_lines(schema.empty_table()))
            yield lambda table: text.writelines(csv_lines(table, head=False))


def csv_lines(table: pa.Table, *, head: bool = True) -> Iterator[str]:
    """The table as text, numbers in the shortest form that reads back as the same number."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if head:
        writer.writerow(table.column_names)
    for block in table.to_batches(max_chunksize=_WRITTEN_AT_A_TIME):
        writer.writerows(zip(*([_text(cell) for cell in column.to_pylist()] for column in block.columns), strict=True))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()  # the head, where there is no row


def _text(cell: object) -> str:
    return "" if cell is None else repr(cell) if isinstance(cell, float) else label_of(cell)


def _workbook(parts: Sequence[pa.Table], title: str) -> bytes:
    """One sheet. Text stays text, whatever it begins with: a formula in somebody's id is never one here."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook(write_only=True)
    sheet = book.create_sheet(title)

    def cell_of(value: object) -> object:
        if value is None or value == "":
            return None
        if isinstance(value, float | int) and np.isfinite(value) and abs(value) < _EXACT:
            return value
        if isinstance(value, date) and getattr(value, "tzinfo", None) is None:
            return value.replace(microsecond=value.microsecond // 1000 * 1000) if isinstance(value, datetime) else value
        text = _text(value)
        try:
            cell = WriteOnlyCell(sheet, value=text)
        except IllegalCharacterError:
            raise _no_cell(text, "holds a control character") from None
        if len(text) > _LONGEST:
            raise _no_cell(text, f"has {len(text):,} characters, and a cell may have {_LONGEST:,}")
        cell.data_type = "s"
        return cell

    sink = io.BytesIO()
    try:
        sheet.append([cell_of(name) for name in parts[0].column_names])
        for block in (block for part in parts for block in part.to_batches(max_chunksize=_WRITTEN_AT_A_TIME)):
            for row in zip(*(column.to_pylist() for column in block.columns), strict=True):
                sheet.append([cell_of(value) for value in row])
    finally:  # also where a cell is refused: until then the rows lie in a temporary file
        book.save(sink)
    return _timeless(sink)


def _no_cell(text: str, why: str) -> OutputError:
    what = f"{show(text)} cannot stand in an Excel sheet: it {why}"
    return OutputError(Complaint(code="cannot-write", path="--out", what=what, hint="write .csv or .parquet"))


def _timeless(book: io.BytesIO) -> bytes:
    """The same workbook without the moment at which it was written."""
    sink = io.BytesIO()
    with zipfile.ZipFile(book) as source, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"(<dcterms:(created|modified)[^>]*>)[^<]*", rb"\g<1>1980-01-01T00:00:00Z", data)
            target.writestr(zipfile.ZipInfo(name, date_time=_NO_MOMENT), data, zipfile.ZIP_DEFLATED)
    return sink.getvalue()
