"""A run from Python as a spec for `crda-run`: what was written, with the rows of its data frame in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from crda_spec.audit.runfolder import check_new_file, whole_file, writing
from crda_spec.data.assemble import assemble
from crda_spec.data.raw import RawTable
from crda_spec.data.sources import Csv, Parquet
from crda_spec.errors import Complaint, CrdaError, OutputError, SpecError, show
from crda_spec.records import Table
from crda_spec.regressors.estimator import spec_complaint
from crda_spec.spec.render import Written
from crda_spec.spec.run import RunSpec

_KINDS: Mapping[str, type[Csv | Parquet]] = {".parquet": Parquet, ".pq": Parquet, ".csv": Csv}


def write_spec(written: Written, spec: RunSpec, path: Path | None, data: Path | None) -> str:
    """The text; written to `path`, and the frame to `data`, where they are given."""
    lost = spec_complaint(spec.regressor)
    if lost is not None:
        raise SpecError(lost)
    frame = written.frame
    if frame is None and data is not None:
        what = f"the run's rows are no data frame, but of the source {show(_kind(written))}, which its spec names"
        raise _refused("data", what, "leave data out")
    if frame is None and _kind(written) == "frame":
        what = "the rows were a data frame, which the run's folder does not hold"
        raise _refused("data", what, "ask the run that was made from the frame")
    if frame is not None and data is None:
        what = "the run's rows are a data frame, which no spec can name"
        raise _refused("data", what, 'say where to write them: to_spec("spec.yaml", data="rows.parquet")')
    for name, file in (("path", path), ("data", data)):
        if file is not None:
            check_new_file(file, "choose another file", option=name)
    folder = Path.cwd() if path is None else path.parent
    source = None
    if frame is not None and data is not None:
        source = {"kind": _write_rows(frame, spec, data).kind, "path": _from(folder, data)}
    text = written.text(folder, source=source)
    if path is not None:
        with writing(path, "choose another file", "path"):
            path.write_text(text, encoding="utf-8")
    return text


def _kind(written: Written) -> str:
    source = written.values.get("dataset", {}).get("source", {})
    return str(source.get("kind"))


def _from(folder: Path, file: Path) -> str:
    return (file if file.is_absolute() else PurePath(os.path.relpath(file, folder))).as_posix()


def _write_rows(frame: RawTable, spec: RunSpec, data: Path) -> Csv | Parquet:
    """The rows by the file's ending; a file that would be read as other rows is not left behind."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = _KINDS.get(data.suffix.casefold())
    if kind is None:
        what = f"the ending of {show(data.name)} tells no kind of table"
        raise _refused("data", what, "end it in .parquet or .csv")
    with whole_file(data) as partial:
        if kind is Parquet:
            pq.write_table(pa.Table.from_pandas(frame.frame, preserve_index=False), partial)
        else:
            frame.frame.to_csv(partial, index=False)
        source = kind(path=partial.name)
        try:
            same = _same(_table(source.read(partial.parent), spec), _table(frame, spec))
        except CrdaError:
            same = False
        if not same:
            what = f"{show(data.name)} would be read as other rows: text cannot hold all that the frame's types say"
            raise _refused("data", what, "write .parquet")
    return source


def _table(raw: RawTable, spec: RunSpec) -> Table:
    return assemble(raw, spec.dataset, seed=spec.seed).table


def _same(one: Table, other: Table) -> bool:
    """Bit for bit."""

    def equal(left: Any, right: Any) -> bool:  # noqa: ANN401 - any field of a table
        if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
            return left.shape == right.shape and left.tobytes() == right.tobytes()
        return bool(left == right)

    return all(equal(getattr(one, item.name), getattr(other, item.name)) for item in fields(Table))


def _refused(path: str, what: str, hint: str) -> OutputError:
    return OutputError(Complaint(code="no-rows-to-write", path=path, what=what, hint=hint))
