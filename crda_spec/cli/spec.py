"""What one asks of a spec alone: `crda-spec validate`, `render`, `lock` and `schema`. Nothing is fitted."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crda_spec.cli.options import AsJson, Overrides, SpecFile, print_json, say
from crda_spec.errors import CrdaError

if TYPE_CHECKING:
    from crda_spec.spec.load import Draft
    from crda_spec.spec.run import RunSpec


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
    from crda_spec.spec.check import load_spec, undrawn_notes

    rows = "rows not read"
    try:
        found, draft = load_spec(spec, overrides=overrides or ())
        if not no_data:
            rows = _rows_read(found, draft)
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
            f"{spec.name}: valid ({rows}); see what it would do with: crda-spec plan {spec}, "
            f"run it with: crda-run {spec}\n"
        )
        for note in undrawn_notes(found, draft):
            say(f"note: it is assumed that {note}\n")


def _rows_read(spec: RunSpec, draft: Draft) -> str:
    """How many rows can be used; raises all that is wrong with them."""
    from crda_spec.spec.build import build_plan

    with draft.placing():
        split, report = build_plan(spec, draft).load()
    tuned = 0 if split.tuning is None else len(split.tuning)
    aside = f", {tuned} to tune" if tuned else ""
    return (
        f"{report.rows_used} of {report.rows_read} rows: {len(split.train)} to train{aside}, {len(split.test)} to test"
    )


def render(spec: SpecFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Print the spec as it will be run: recipe and defaults filled in, overrides applied, secrets masked."""
    from crda_spec.spec.check import load_spec
    from crda_spec.spec.check_models import searched_paths
    from crda_spec.spec.render import render as to_yaml
    from crda_spec.spec.render import resolved

    found, draft = load_spec(spec, overrides=overrides or ())
    if as_json:
        print_json(resolved(found, draft))
    else:
        sys.stdout.write(to_yaml(found, draft, without=searched_paths(draft)))


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
    from crda_spec.spec.check import load_spec

    found, draft = load_spec(spec, overrides=overrides or ())
    from crda_spec.api import lock_now
    from crda_spec.audit.record import lock_file, write_lock
    from crda_spec.spec.build import build_plan

    with draft.placing():
        made, _ = lock_now(found, draft, build_plan(found, draft))
    file = out or lock_file(spec)
    write_lock(file, made)
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
    from crda_spec.spec.schema import spec_schema_text

    sys.stdout.write(spec_schema_text())
