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

from crda_spec.cli.options import AsJson, RunFolder, say


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


def _number(value: float) -> float | str | None:
    """As JSON holds it: nothing for a row without a prediction, words for a bound that is not finite."""
    return None if math.isnan(value) else value if math.isfinite(value) else str(value)


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
    interval: Annotated[
        float | None,
        typer.Option(
            "--interval",
            metavar="LEVEL",
            help="Also the bounds (columns low and high) between which outcomes lie with this probability, say 0.9.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict new rows with the model that a run chose: augmented if its gate accepted, else plain.

    A run with an ensemble (output.ensemble) answers with the mean of its models.
    The rows must obey the contracts of the run's columns; a cell that does not is named. A row with missing cells is
    treated by the run's own rule: an error, no prediction, or filled by the model. The columns of dataset.id stand
    beside the predictions, as they are written in DATA.
    --interval needs a run whose gate held rows out; docs/explanation/intervals.md tells what such an interval promises.
    """
    from crda_spec import api

    with _rows_of(data) as file:
        found = api.predict(run, file, out=out, single=single, level=interval)
    final, ids, predictions = found.final, found.ids, found.numbers
    listed, *bounds = ([_number(value) for value in values.tolist()] for values in predictions.values())
    count = len(listed) - listed.count(None)
    model, target, unit = final.arm, final.target.name, final.target.unit
    if as_json:
        content = {"rows": len(listed), "predicted": count, "target": target, "unit": unit, "model": model}
        content |= {"models": final.models} if final.ensemble else {}
        content |= {} if interval is None else {"level": interval}
        if ids is not None and out is None:
            content["ids"] = {name: [_plain(cell) for cell in ids[name].to_pylist()] for name in ids.column_names}
        content |= dict(zip(("predictions", "low", "high"), (listed, *bounds), strict=False)) if out is None else {}
        content |= {} if out is None else {"file": str(out)}
        sys.stdout.write(json.dumps(content) + "\n")
    elif out is None:
        for lines in found.csv_lines():
            (say if sys.stdout.isatty() else sys.stdout.write)(lines)
    else:
        who = f"the {model} model" if final.models == 1 else f"the mean of {final.models} {model} models"
        say(f"{count} predictions of {target}{f' in {unit}' if unit else ''} by {who}: {out}\n")
    for note in found.notes:
        sys.stderr.write(f"{note}\n")
    if count < len(listed):
        sys.stderr.write(f"{len(listed) - count} rows with missing cells have no prediction.\n")
