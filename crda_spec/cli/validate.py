"""`crda-spec validate`: is this spec sound? Reads the data's header, fits nothing."""

from __future__ import annotations

import json
import sys

import typer

from crda_spec.cli.options import AsJson, Overrides, SpecFile
from crda_spec.errors import CrdaError


def validate(spec: SpecFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Check a spec against its data's header and its graph, without fitting anything.

    Prints every problem with its place; exit code 0 when the spec is sound, 2 when it is not.
    """
    from crda_spec.spec.check import load_spec, undrawn_notes

    try:
        found, draft = load_spec(spec, overrides=overrides or ())
    except CrdaError as error:
        if not as_json:
            raise
        problems = [
            {
                "code": one.code,
                "file": one.place.file if one.place else None,
                "line": one.place.line if one.place else None,
                "col": one.place.col if one.place else None,
                "path": one.path,
                "what": one.what,
                "hint": one.hint,
            }
            for one in error.complaints
        ]
        sys.stdout.write(json.dumps({"valid": False, "problems": problems}, indent=2, ensure_ascii=False) + "\n")
        raise typer.Exit(error.exit_code) from None
    if as_json:
        sys.stdout.write(json.dumps({"valid": True, "name": found.name, "problems": []}, indent=2) + "\n")
    else:
        sys.stdout.write(
            f"{spec.name}: valid (rows not read); see what it would do with: crda-spec plan {spec}, "
            f"run it with: crda-run {spec}\n"
        )
        for note in undrawn_notes(found, draft):
            sys.stdout.write(f"note: it is assumed that {note}\n")
