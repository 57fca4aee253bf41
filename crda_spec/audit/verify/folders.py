"""Two folders of the same spec: the run as it was kept, and the run made again."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crda_spec.audit.crate import CRATE
from crda_spec.audit.verify.checks import Check, Finding, Tolerance, checked, compared, named
from crda_spec.errors import show

_VOLATILE = ("volatile", "sha256")
# What a tolerance does not reach: pictures, pages and models hold numbers in forms of their own.
_BYTES_ONLY = (".html", ".svg", ".png", ".skops")


def check_folders(kept: Path, again: Path, *, tolerance: Tolerance) -> Check:
    """Byte for byte; with a tolerance, tables and JSON number by number, and no pictures, pages or models."""

    def look() -> Iterator[Finding]:
        names = sorted({*_files(kept), *_files(again)} - {CRATE})  # it tells the day, and follows from all others
        for name in names:
            one, other = kept / name, again / name
            if not one.is_file() or not other.is_file():
                what = "the run made again has no such file" if one.is_file() else "the run made again has it too"
                yield Finding(where=name, what=what)
            elif name == "record.json":
                yield from named(_records(one, other, tolerance))
            elif one.read_bytes() != other.read_bytes() and _compared(name, tolerance):
                yield from named(_contents(name, one, other, tolerance))

    how = "byte for byte" if tolerance.relative == 0.0 else f"number by number, {tolerance}; not pictures and models"
    return checked("run again", f"the run made again, {how}", look)


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _compared(name: str, tolerance: Tolerance) -> bool:
    models = name.startswith(("model/", "teacher/", "ensemble/"))
    return tolerance.relative == 0.0 or not (models or name.endswith(_BYTES_ONLY))


def _records(one: Path, other: Path, tolerance: Tolerance) -> Iterator[Finding]:
    """All but the volatile part; hashes of files are compared as files, and versions only where bytes are."""
    found, expected = (json.loads(file.read_text(encoding="utf-8")) for file in (one, other))
    left_out = [*_VOLATILE, "files", *(["versions", "platform"] if tolerance.relative > 0.0 else [])]
    for record in (found, expected):
        for key in left_out:
            record.pop(key, None)
    yield from compared("record.json", found, expected, tolerance=tolerance)


def _contents(name: str, one: Path, other: Path, tolerance: Tolerance) -> Iterator[Finding]:
    """Where the contents differ; when they do not, the bytes do, which counts unless there is a tolerance."""
    found: list[Finding] = []
    if name.endswith(".json"):
        values = (json.loads(file.read_text(encoding="utf-8")) for file in (one, other))
        found = compared(name, *values, tolerance=tolerance)
    elif name.endswith(".csv"):
        found = list(_tables(name, _read_csv(one), _read_csv(other), tolerance))
    elif name.endswith(".parquet"):
        found = list(_tables(name, pq.read_table(one), pq.read_table(other), tolerance))
    yield from found
    if not found and (tolerance.relative == 0.0 or not name.endswith((".json", ".csv", ".parquet"))):
        yield Finding(where=name, what="differs from the run made again")


def _read_csv(file: Path) -> pa.Table:
    header, *lines = csv.reader(io.StringIO(file.read_text(encoding="utf-8")))
    columns = [_column([line[at] for line in lines]) for at in range(len(header))]
    return pa.table(columns, names=header)


def _column(cells: list[str]) -> Any:  # noqa: ANN401 - an array of numbers or of text
    try:
        return pa.array([None if cell == "" else float(cell) for cell in cells], pa.float64())
    except ValueError:
        return pa.array(cells, pa.string())


def _tables(name: str, found: pa.Table, expected: pa.Table, tolerance: Tolerance) -> Iterator[Finding]:
    if found.schema != expected.schema:
        yield Finding(where=name, what="has other columns than the run made again")
        return
    if found.num_rows != expected.num_rows:
        yield Finding(where=name, what=f"has {found.num_rows} rows, the run made again {expected.num_rows}")
        return
    for column in found.column_names:
        one, other = found[column].combine_chunks(), expected[column].combine_chunks()
        if pa.types.is_floating(one.type):
            left, right = (np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64) for cells in (one, other))
            wrong = np.flatnonzero(tolerance.differ(left, right))
        else:
            wrong = np.flatnonzero([a != b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)])
        for at in wrong.tolist():
            what = f"is {show(one[at].as_py())}, the run made again says {show(other[at].as_py())}"
            yield Finding(where=f"{name}, row {at + 1}, {show(column)}", what=what)
