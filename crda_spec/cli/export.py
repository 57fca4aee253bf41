"""`crda-spec export RUN --out FILE`: the final model of a run for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crda_spec.cli.options import RunFolder, say


def export(
    run: RunFolder,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="The new file: .skops or .onnx; its contract is FILE.json."),
    ],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="skops: a pipeline of scikit-learn. onnx: needs crda-spec[export]. Else the file's ending tells.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the model that a run chose as a file that other tools read, with its contract beside it.

    Raw numbers of the run's columns go in, predictions in the target's unit come out: filling, encoding and scaling
    are inside. The contract names the columns in their order, with types, units, bounds and the codes of labels. The
    file is written only if it predicts the training rows as the run does.
    """
    from crda_spec import api

    model, contract = api.export(run, out, form=form)
    say(f"model: {model}\ncontract: {contract}\n")
