"""`crda-spec lock SPEC`: writes down what a run depends on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from crda_spec.cli.options import AsJson, Overrides, SpecFile
from crda_spec.errors import CrdaError


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

    try:
        made, _ = lock_now(found, draft, build_plan(found, draft))
    except CrdaError as error:
        raise type(error)(draft.placed(complaint) for complaint in error.complaints) from error
    file = out or lock_file(spec)
    write_lock(file, made)
    if as_json:
        sys.stdout.write(json.dumps({"file": str(file), "lock": made}, ensure_ascii=False) + "\n")
        return
    data, versions = made["data"], made["versions"]
    sys.stdout.write(
        f"{file}: {data['source']} ({data['rows_used']} rows, sha256 {data['sha256'][:12]}), "
        f"crda-spec {versions['crda-spec']} and {len(versions) - 1} other versions\n"
        f"run it with: crda-run {spec} --locked\n"
    )
