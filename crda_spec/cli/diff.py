"""`crda-spec diff A B`: what changed between two specs or two runs, and how the verdict changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from crda_spec.cli.options import AsJson, print_json
from crda_spec.errors import printable

_EITHER = "A spec, or the folder of a finished run."


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help=_EITHER, show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="B", help=_EITHER, show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Compare two specs or two runs, value by value; of two runs also data, graph, versions and verdict.

    Specs are compared as they would be run, with recipe and defaults filled in: comments and order do not count. A spec
    and a run are compared by their specs. The exit code is 0 whether they differ or not.
    """
    from crda_spec import api
    from crda_spec.audit.compare import ABSENT, said

    found = api.diff(first, second)
    differences, sentence = found.parts, found.verdict
    if as_json:

        def value(one: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
            return {} if one is ABSENT else {"value": one}

        listings = {
            part: [{"path": path, "a": value(one), "b": value(other)} for path, one, other in listed]
            for part, listed in differences.items()
        }
        content = {"a": str(first), "b": str(second), "same": not differences, "changes": listings}
        print_json({**content, "verdict": sentence or None})
        return
    if not differences:
        sys.stdout.write("no difference\n")
    for part, listed in differences.items():
        sys.stdout.write(f"{part}\n")
        for path, one, other in listed:
            label = f"{printable(path)}: " if path and path != part else ""
            before, after = map(printable, said(one, other))
            sys.stdout.write(f"  {label}{before} -> {after}\n")
    if sentence:
        sys.stdout.write(f"{printable(sentence)}\n")
