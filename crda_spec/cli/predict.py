"""`crda-spec predict RUN DATA`: the final model of a run on new rows."""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from crda_spec.cli.options import AsJson, RunFolder, check_new_file, say
from crda_spec.errors import did_you_mean, printable, show


@contextmanager
def _rows_of(data: Path) -> Iterator[Path]:
    """The file to read; what comes on standard input is kept in one, because its rows are counted first."""
    if str(data) != "-":
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="crda-predict-") as folder:
        file = Path(folder) / "stdin.csv"
        with file.open("wb") as sink:
            shutil.copyfileobj(sys.stdin.buffer, sink)
        yield file


def _plain(cell: object) -> object:
    """An id as JSON has it: text, a number, or null."""
    return cell if cell is None or isinstance(cell, str | int) else str(cell)


def predict(
    run: RunFolder,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Rows with the run's features: CSV, Parquet or Excel (.xlsx); - reads CSV from standard input.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write to this new file: .csv, .xlsx (Excel) or .parquet; else to the screen."
        ),
    ] = None,
    single: Annotated[
        bool, typer.Option("--single", help="Of an ensemble, ask its first model alone: the one that was gated.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Predict new rows with the model that a run chose: augmented if its gate accepted, else plain.

    A run with an ensemble (output.ensemble) answers with the mean of its models.
    The rows must obey the contracts of the run's columns; a cell that does not is named. A row with missing cells is
    treated by the run's own rule: an error, no prediction, or filled by the model. The columns of dataset.id stand
    beside the predictions, as they are written in DATA.
    """
    if out is not None:
        check_new_file(out, "choose another file")
    from crda_spec.api import resolved_spec
    from crda_spec.audit.new_rows import prepare_scoring
    from crda_spec.audit.open_run import open_run, readable
    from crda_spec.audit.predicted import check_ending, check_size, csv_lines, predicted_table, write_table

    if out is not None:
        check_ending(out)
    opened = open_run(run)
    record, spec = opened.record, resolved_spec(opened.record)
    with _rows_of(data) as file, readable(run):
        scoring = prepare_scoring(
            opened,
            file,
            missing=spec.dataset.missing.kind,
            like=spec.dataset.source,
            single=single,
            ids=spec.dataset.ids,
        )
        if out is not None:
            check_size(out, scoring.file.rows)
        predictions, ids = scoring.predictions(), scoring.written_ids()
    table = predicted_table(ids, {"prediction": predictions})
    if out is not None:
        write_table(table, out)
    listed = [None if math.isnan(value) else value for value in predictions.tolist()]
    count = len(listed) - listed.count(None)
    model, target, unit = record["final_model"], scoring.target.name, scoring.target.unit
    if as_json:
        content = {"rows": len(listed), "predicted": count, "target": target, "unit": unit, "model": model}
        content |= {"models": scoring.models} if record["ensemble"] is not None else {}
        if ids is not None and out is None:
            content["ids"] = {name: [_plain(cell) for cell in ids[name].to_pylist()] for name in ids.column_names}
        content |= {"predictions": listed} if out is None else {"file": str(out)}
        sys.stdout.write(json.dumps(content) + "\n")
    elif out is None:
        for lines in csv_lines(table):
            (say if sys.stdout.isatty() else sys.stdout.write)(lines)
    else:
        who = f"the {model} model" if scoring.models == 1 else f"the mean of {scoring.models} {model} models"
        say(f"{count} predictions of {target}{f' in {unit}' if unit else ''} by {who}: {out}\n")
    for name in spec.dataset.ids:
        if name not in scoring.ids:
            taken = {*scoring.ids, *(column.name for column in scoring.features)}
            near = did_you_mean(name, scoring.file.names, taken=taken)
            near = f"; {near}" if near.endswith("?") else ""
            sys.stderr.write(printable(f"{data.name}: there is no column {show(name)}: it is left out{near}") + "\n")
    if count < len(listed):
        sys.stderr.write(f"{len(listed) - count} rows with missing cells have no prediction.\n")
