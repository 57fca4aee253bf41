"""`crda-spec render`: the spec with every default filled in."""

from __future__ import annotations

import json
import sys

from crda_spec.cli.options import AsJson, Overrides, SpecFile


def render(spec: SpecFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Print the spec as it will be run: recipe and defaults filled in, overrides applied, secrets masked."""
    from crda_spec.spec.check import load_spec, searched_paths
    from crda_spec.spec.render import render as to_yaml
    from crda_spec.spec.render import resolved

    found, draft = load_spec(spec, overrides=overrides or ())
    if as_json:
        sys.stdout.write(json.dumps(resolved(found, draft), indent=2, ensure_ascii=False) + "\n")
    else:
        parts = {name: getattr(found, name) for name in type(found).model_fields}
        sys.stdout.write(to_yaml(found, draft, without=searched_paths(draft, parts)))
