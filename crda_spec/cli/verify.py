"""`crda-spec verify RUN`: is the folder what a run wrote, and do its numbers follow from each other?"""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from crda_spec.cli.options import AsJson, RunFolder, print_json, say

if TYPE_CHECKING:
    from crda_spec.audit.verify.checks import Check
    from crda_spec.audit.verify.folder import Depth, Verification

HowDeep = StrEnum("HowDeep", ["files", "rows", "full"])


def verify(
    run: RunFolder,
    depth: Annotated[
        HowDeep,
        typer.Option(
            "--depth",
            help="files: hashes. rows: also every row, label, certificate and verdict, without fitting. "
            "full: also the whole run again.",
        ),
    ] = HowDeep.rows,
    base: Annotated[
        Path | None, typer.Option("--base", metavar="DIR", help="Where the spec's relative paths start.")
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            help="On another platform: how far numbers may differ, as a part of their column's largest; 0 is bits.",
        ),
    ] = 0.0,
    seal: Annotated[
        str | None,
        typer.Option("--seal", metavar="HASH", help="The record's sha256 as you noted it, 12 digits at least."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a run's folder: hashes, every synthetic row, the certificate, the verdict, or the whole run again.

    Exit codes: 0 all that the depth covers is as it should be, 2 the folder cannot be read, 4 something was changed,
    5 part of what the depth covers could not be checked. What the depth does not cover is listed.
    """
    from crda_spec import api

    def told(check: Check) -> None:
        say(f"  {check.state:<8} {check.name}: {check.sentence}\n")
        say("".join(f"           - {one}\n" for one in check.findings))
        sys.stdout.flush()  # a run made again takes a while; what is known so far is seen

    found = api.verify(
        run,
        depth=cast("Depth", depth.value),
        base=base,
        tolerance=tolerance,
        seal=seal,
        progress=True,
        told=(lambda _: None) if as_json else told,
    )
    _report(found, as_json=as_json)
    raise typer.Exit(found.exit_status)


def _report(found: Verification, *, as_json: bool) -> None:
    if as_json:
        listed = [
            {"name": one.name, "state": one.state, "what": one.sentence, "findings": [*map(asdict, one.findings)]}
            for one in found.checks
        ]
        verified = {0: True, 5: "in part", 4: False}[found.exit_status]
        answer = {"run": str(found.folder), "depth": found.depth, "verified": verified, "checks": listed}
        print_json({**answer, "taken_as_recorded": list(found.taken_as_recorded)})
        return
    say(f"Depth {found.depth} takes as recorded:\n" + "".join(f"  - {one}\n" for one in found.taken_as_recorded))
    say(f"{found}\n")
