"""`crda-spec predict RUN DATA`: the final model of a run on new rows."""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson, RunFolder, check_new_file, say
from crda_spec.errors import did_you_mean, printable, show

if TYPE_CHECKING:
    from crda_spec.audit.new_rows import Scoring


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
    --interval needs a run whose gate held rows out; docs/intervals.md tells what such an interval promises.
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
            dataset=spec.dataset,
            like=spec.dataset.source,
            single=single,
            level=interval,
        )
        if out is not None:
            check_size(out, scoring.file.rows)
        predictions, ids = scoring.predictions(), scoring.written_ids()
    table = predicted_table(ids, predictions)
    if out is not None:
        write_table(table, out)
    listed, *bounds = ([_number(value) for value in values.tolist()] for values in predictions.values())
    count = len(listed) - listed.count(None)
    model, target, unit = record["final_model"], scoring.target.name, scoring.target.unit
    if as_json:
        content = {"rows": len(listed), "predicted": count, "target": target, "unit": unit, "model": model}
        content |= {"models": scoring.models} if record["ensemble"] is not None else {}
        content |= {} if interval is None else {"level": interval}
        if ids is not None and out is None:
            content["ids"] = {name: [_plain(cell) for cell in ids[name].to_pylist()] for name in ids.column_names}
        content |= dict(zip(("predictions", "low", "high"), (listed, *bounds), strict=False)) if out is None else {}
        content |= {} if out is None else {"file": str(out)}
        sys.stdout.write(json.dumps(content) + "\n")
    elif out is None:
        for lines in csv_lines(table):
            (say if sys.stdout.isatty() else sys.stdout.write)(lines)
    else:
        who = f"the {model} model" if scoring.models == 1 else f"the mean of {scoring.models} {model} models"
        say(f"{count} predictions of {target}{f' in {unit}' if unit else ''} by {who}: {out}\n")
    for note in _notes(scoring, spec.dataset.ids, data.name):
        sys.stderr.write(f"{note}\n")
    if count < len(listed):
        sys.stderr.write(f"{len(listed) - count} rows with missing cells have no prediction.\n")


def _notes(scoring: Scoring, ids: Sequence[str], name: str) -> Iterator[str]:
    """What the reader of the predictions should know. name: of the file of rows."""
    from crda_spec.regressors.intervals import fewest_units

    level, band = scoring.level, scoring.band
    if level is not None and band is not None and fewest_units(level) > band.units:
        fewest = f"at level {level:g} an interval needs {fewest_units(level)} held-out rows (or groups)"
        yield f"All intervals are infinite: {fewest}, and the run has {band.units}."
    for absent in (one for one in ids if one not in scoring.ids):
        taken = {*scoring.ids, *(column.name for column in scoring.features)}
        near = did_you_mean(absent, scoring.file.names, taken=taken)
        near = f"; {near}" if near.endswith("?") else ""
        yield printable(f"{name}: there is no column {show(absent)}: it is left out{near}")
