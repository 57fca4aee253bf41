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
        typer.Option("--out", metavar="FILE", help="Write to this new file, CSV or Parquet; else to the screen."),
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
    treated by the run's own rule: an error, no prediction, or filled by the model.
    --interval needs a run whose gate held rows out; docs/intervals.md tells what such an interval promises.
    """
    if out is not None:
        check_new_file(out, "choose another file")
    from crda_spec.api import resolved_spec
    from crda_spec.audit.new_rows import predictions_csv, prepare_scoring, write_predictions
    from crda_spec.audit.open_run import open_run, readable
    from crda_spec.regressors.intervals import fewest_units

    opened = open_run(run)
    record, spec = opened.record, resolved_spec(opened.record)
    with _rows_of(data) as file, readable(run):
        scoring = prepare_scoring(
            opened, file, missing=spec.dataset.missing.kind, like=spec.dataset.source, single=single, level=interval
        )
        predictions = scoring.predictions()
    if out is not None:
        write_predictions(predictions, out)
    listed, *bounds = ([_number(value) for value in values.tolist()] for values in predictions.values())
    count = len(listed) - listed.count(None)
    model, target, unit = record["final_model"], scoring.target.name, scoring.target.unit
    if as_json:
        content = {"rows": len(listed), "predicted": count, "target": target, "unit": unit, "model": model}
        content |= {"models": scoring.models} if record["ensemble"] is not None else {}
        content |= {} if interval is None else {"level": interval}
        content |= dict(zip(("predictions", "low", "high"), (listed, *bounds), strict=False)) if out is None else {}
        content |= {} if out is None else {"file": str(out)}
        sys.stdout.write(json.dumps(content) + "\n")
    elif out is None:
        sys.stdout.write(predictions_csv(predictions))
    else:
        who = f"the {model} model" if scoring.models == 1 else f"the mean of {scoring.models} {model} models"
        say(f"{count} predictions of {target}{f' in {unit}' if unit else ''} by {who}: {out}\n")
    if interval is not None and scoring.band is not None and fewest_units(interval) > scoring.band.units:
        fewest = f"at level {interval:g} an interval needs {fewest_units(interval)} held-out rows (or groups)"
        sys.stderr.write(f"All intervals are infinite: {fewest}, and the run has {scoring.band.units}.\n")
    if count < len(listed):
        sys.stderr.write(f"{len(listed) - count} rows with missing cells have no prediction.\n")
