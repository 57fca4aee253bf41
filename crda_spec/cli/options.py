"""What several commands share: arguments, the files that they write, complaints with their places."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from crda_spec import __version__
from crda_spec.errors import Complaint, OutputError, SpecError, did_you_mean, printable, show


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


# The formats of a graph, by the endings of files.
ENDINGS: Mapping[str, str] = {
    ".svg": "svg",
    ".png": "png",
    ".txt": "edges",
    ".dag": "dagitty",
    ".dagitty": "dagitty",
    ".dot": "dot",
    ".gv": "dot",
    ".gml": "gml",
    ".graphml": "graphml",
}


def say(text: str) -> None:
    """Writes to the terminal; what a file or a spec holds there is shown, never obeyed."""
    sys.stdout.write("".join(one if one == "\n" else printable(one) for one in text))


def print_json(content: object, *, indent: int | None = 2) -> None:
    """One JSON object for `--json`."""
    text = json.dumps(content, indent=indent, ensure_ascii=False)
    sys.stdout.write("".join(one if one == "\n" or one.isprintable() else json.dumps(one)[1:-1] for one in text) + "\n")


def format_by_ending(out: Path, endings: Mapping[str, str]) -> str:
    """The format of a graph that a file's ending names."""
    ending = out.suffix.lower()
    if ending not in endings:
        what = f"the ending of {show(out.name)} tells no format"
        hint = did_you_mean(ending, list(endings), otherwise="endings")
        joint = "" if hint.endswith("?") else ";"
        raise SpecError(Complaint(code="unknown-ending", what=what, hint=f"{hint}{joint} or say --format"))
    return endings[ending]


def check_terminal(form: str, out: Path | None) -> None:
    """A PNG needs a file, or a pipe."""
    if out is None and form == "png" and sys.stdout.isatty():
        what, hint = "a PNG picture cannot be printed on a terminal", "name a file: --out graph.png, or use > graph.png"
        raise OutputError(Complaint(code="bytes-on-a-terminal", what=what, hint=hint))


def write_graph_file(data: bytes, form: str, out: Path | None, notes: Iterable[str]) -> None:
    """Writes a picture or a graph to the file or the screen; notes go to the error stream, where they are seen."""
    if out is None and form == "png":
        sys.stdout.buffer.write(data)
    elif out is None:
        sys.stdout.write(data.decode())
    else:
        try:
            out.write_bytes(data)
        except OSError as error:
            what = f"cannot write {show(str(out))}: {(error.strerror or str(error)).lower()}"
            raise OutputError(Complaint(code="cannot-write", what=what, hint="choose another file")) from error
        sys.stderr.write(f"{out}\n")
    for note in notes:
        sys.stderr.write(f"note: {note}\n")


@contextmanager
def printing(hint: str = "") -> Iterator[None]:
    """For prints alone: where standard output is closed or full, an error says so. hint: what it ends with."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        raise unprinted(error, hint) from None


def unprinted(error: OSError, hint: str = "") -> OutputError:
    """The complaint; what is still to be printed is forgotten, or Python would try once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    what = (error.strerror or str(error)).lower()
    return OutputError(Complaint(code="not-printed", path="standard output", what=what, hint=hint))
