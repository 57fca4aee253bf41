"""`crda-spec plan`: the certificate, the tests, the rows and the cost of a run, before anything is fitted."""

from __future__ import annotations

from crda_spec.cli.options import AsJson, Overrides, SpecFile, print_json, say


def plan(spec: SpecFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Show the certificate, the tests, the rows and the number of fits, before anything is fitted.

    Reads and checks the data. The count of fits is an upper bound, as long as the data do not contradict the graph: a
    fold in which nothing may move fits one less.
    """
    from crda_spec import api

    found = api.plan(spec, overrides=overrides or ())
    if as_json:
        print_json(found.facts)
    else:
        say(f"{found}\n")
