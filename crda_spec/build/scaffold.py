"""From a table to the `dataset` section of a first spec: what its columns are, and what must be said to make it run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from crda_spec.build.data import build_source
from crda_spec.check import LEDGER_PREFIX
from crda_spec.data.assemble import Assembled, assemble
from crda_spec.data.contract import Assembly
from crda_spec.data.raw import RawTable
from crda_spec.errors import Complaint, DataError
from crda_spec.records import Array, Column
from crda_spec.spec.dataset import CsvSource, ExcelSource, ParquetSource

SourceSpec = CsvSource | ParquetSource | ExcelSource
_ENDINGS: dict[str, Literal["csv", "parquet", "excel"]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
}
_MOST_LABELS = 20  # of a category, that are listed in the spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The contract of one column, and what a reader should know of it."""

    name: str
    settings: dict[str, Any]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold:
    """What a first spec says of a table."""

    source: dict[str, Any]
    target: Contract
    features: tuple[Contract, ...]
    left_out: dict[str, str] = field(default_factory=dict)  # columns that cannot be features, and why
    missing: str = "error"
    missing_cells: int = 0
    duplicates: str = "error"
    rows: int = 0  # that can be used
    units: int = 0  # rows, or sets of copies, that a fold cannot tear apart


def scaffold(data: Path, target: str, *, written: str) -> Scaffold:
    """Reads the whole table once. written: the file's path as the spec will write it."""
    source = _source(data)
    raw = build_source(source, data.parent, target=target, seed=0).read()
    names = [str(name) for name in raw.frame.columns]
    ours = {name: "a column of our own ledger" for name in names if name.startswith(LEDGER_PREFIX)}
    start = Assembly(target=target, features=None)
    if ours:
        start = replace(start, features=tuple(name for name in names if name != target and name not in ours))
    assembled, assembly, left_out = _settled(raw, start, names)
    table = assembled.table
    settings = source.model_dump(exclude_defaults=True) | {"kind": source.kind, "path": written}
    return Scaffold(
        source={"kind": settings.pop("kind"), "path": settings.pop("path"), **settings},
        target=_contract(table.target, table.y),
        features=tuple(_contract(one, values) for one, values in zip(table.features, table.x.T, strict=True)),
        left_out={**ours, **left_out},
        missing=assembly.missing,
        missing_cells=assembled.report.missing_cells,
        duplicates=assembly.duplicates,
        rows=len(table),
        units=len(table) if table.groups is None else len(np.unique(table.groups)),
    )


def _source(data: Path) -> SourceSpec:
    kind = _ENDINGS.get(data.suffix.casefold())
    if kind == "parquet":
        return ParquetSource(kind="parquet", path=data.name)
    if kind == "excel":
        return ExcelSource(kind="excel", path=data.name)
    if kind == "csv":
        return _text_source(data)
    what = f"the ending of '{data.name}' tells no kind of table"
    raise DataError(Complaint(code="unknown-kind", what=what, hint="use .csv, .tsv, .parquet or .xlsx"))


def _text_source(data: Path) -> CsvSource:
    """How a text file is written, as far as its first lines tell."""
    if not data.is_file():
        return CsvSource(kind="csv", path=data.name)  # the reader says what is wrong, and what is near
    with data.open("rb") as file:
        head = file.read(1 << 16)
    encoding = "utf-8"
    try:
        text = head[: head.rfind(b"\n") + 1 or None].decode("utf-8-sig")
    except UnicodeDecodeError:
        encoding, text = "cp1252", head.decode("cp1252", errors="replace")
    first, _, rest = text.partition("\n")
    delimiter = max((",", ";", "\t", "|"), key=lambda mark: (first.count(mark), mark == ","))
    comma = delimiter != "," and _decimal_commas(rest, delimiter)
    return CsvSource(kind="csv", path=data.name, delimiter=delimiter, encoding=encoding, decimal="," if comma else ".")


def _decimal_commas(text: str, delimiter: str) -> bool:
    """Whether cells look like 3,14 more often than like 3.14."""
    cells = [cell.strip() for line in text.splitlines()[:50] for cell in line.split(delimiter)]
    commas, points = (sum(_is_number(cell, mark) for cell in cells) for mark in (",", "."))
    return commas > points


def _is_number(cell: str, mark: str) -> bool:
    whole, found, part = cell.lstrip("+-").partition(mark)
    return bool(found) and whole.isdigit() and part.isdigit()


def _settled(raw: RawTable, assembly: Assembly, names: Sequence[str]) -> tuple[Assembled, Assembly, dict[str, str]]:
    """Answers what the data ask for, one rule at a time, until they can be used; what cannot be answered is raised."""
    left_out: dict[str, str] = {}
    while True:
        try:
            return assemble(raw, assembly, seed=0), assembly, left_out
        except DataError as error:
            changed = _answered(error.complaints, assembly, names, left_out)
            if changed == assembly:
                raise
            assembly = changed


def _answered(
    complaints: Sequence[Complaint], assembly: Assembly, names: Sequence[str], left_out: dict[str, str]
) -> Assembly:
    features = assembly.features or tuple(name for name in names if name != assembly.target)
    for one in complaints:
        name = one.path.removeprefix("dataset.columns.")
        if one.path.startswith("dataset.columns.") and name in features:
            left_out[name] = one.what
    missing, duplicates = assembly.missing, assembly.duplicates
    if any(one.code == "missing" for one in complaints):
        of_target = any(f"target '{assembly.target}'" in one.what for one in complaints if one.code == "missing")
        missing = "drop" if of_target else "impute"
    if any(one.code == "duplicates" for one in complaints):
        duplicates = "keep"
    stay = tuple(name for name in features if name not in left_out)
    if not stay:
        what = f"no column is left to predict '{assembly.target}' from: " + "; ".join(left_out.values())
        raise DataError(Complaint(code="no-features", what=what, hint="repair the columns, or add others"))
    chosen = assembly.features if not left_out and assembly.features is None else stay
    return replace(assembly, features=chosen, missing=missing, duplicates=duplicates)


def _contract(column: Column, values: Array) -> Contract:
    known = values[~np.isnan(values)]
    settings: dict[str, Any] = {"type": column.type}
    if column.type == "category":
        labels = list(column.labels or ())
        if len(labels) <= _MOST_LABELS:
            settings["values"] = labels
        return Contract(name=column.name, settings=settings, note=f"{len(labels)} labels")
    if column.type == "boolean":
        return Contract(name=column.name, settings=settings, note=f"true in {float(known.mean()):.0%} of the rows")
    low, high = float(known.min()), float(known.max())
    note = f"seen: {low:.6g} to {high:.6g}"
    if low >= 0:
        settings["min"] = 0
        note += "; min: 0 because nothing below was seen"
    return Contract(name=column.name, settings=settings, note=note)
