"""What one asks of a spec alone: `crda-spec validate`, `render`, `lock` and `schema`. Nothing is fitted."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from crda_spec.cli.options import AsJson, Overrides, SpecFile, print_json, say
from crda_spec.errors import CrdaError


def validate(
    spec: SpecFile,
    overrides: Overrides = None,
    no_data: Annotated[
        bool, typer.Option("--no-data", help="Check the spec against the data's header alone, and read no row.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a spec against its data and its graph, without fitting anything.

    Reads every row, so that plan and run find nothing new. Prints every problem with its place; exit code 0 when the
    spec is sound, 2 when it is not.
    """
    from crda_spec import api

    try:
        found = api.check(spec, overrides=overrides or (), rows=not no_data)
    except CrdaError as error:
        if not as_json:
            raise
        problems = [
            {
                "code": one.code,
                **{key: getattr(one.place, key, None) for key in ("file", "line", "col")},
                **{key: getattr(one, key) for key in ("path", "what", "hint")},
            }
            for one in error.complaints
        ]
        print_json({"valid": False, "problems": problems})
        raise typer.Exit(error.exit_code) from None
    if as_json:
        sys.stdout.write(json.dumps({"valid": True, "name": found.name, "problems": []}, indent=2) + "\n")
    else:
        say(
            f"{spec.name}: valid ({found.rows}); see what it would do with: crda-spec plan {spec}, "
            f"run it with: crda-run {spec}\n"
        )
        for note in found.assumptions:
            say(f"note: it is assumed that {note}\n")


def render(spec: SpecFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Print the spec as it will be run: recipe and defaults filled in, overrides applied, secrets masked."""
    from crda_spec import api

    rendered = api.render(spec, overrides=overrides or (), as_json=as_json)
    if as_json:
        print_json(rendered)
    else:
        sys.stdout.write(rendered)


def lock(
    spec: SpecFile,
    overrides: Overrides = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write to this file instead of SPEC's name with .lock.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write spec.lock: the spec as resolved, the data's hash and columns, the graph's hash, the versions.

    `crda-run SPEC --locked` then refuses to run when any of them differs. An existing lock is replaced.
    """
    from crda_spec import api

    file, made = api.lock(spec, overrides=overrides or (), out=out)
    if as_json:
        print_json({"file": str(file), "lock": made}, indent=None)
        return
    data, versions = made["data"], made["versions"]
    say(
        f"{file}: {data['source']} ({data['rows_used']} rows, sha256 {data['sha256'][:12]}), "
        f"crda-spec {versions['crda-spec']} and {len(versions) - 1} other versions\n"
        f"run it with: crda-run {spec} --locked\n"
    )


def schema() -> None:
    """Print the JSON Schema of the spec language, for editors and other tools."""
    from crda_spec import api

    sys.stdout.write(api.schema())
