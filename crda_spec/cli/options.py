"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crda_spec import __version__


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"crda-spec {__version__}")
        raise typer.Exit


SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.", show_default=False)]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override one value, e.g. --set gate.folds=12; may be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
ShowVersion = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
]
