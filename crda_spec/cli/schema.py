"""`crda-spec schema`: the spec language as JSON Schema."""

from __future__ import annotations

import sys


def schema() -> None:
    """Print the JSON Schema of the spec language, for editors and other tools."""
    from crda_spec.spec.schema import spec_schema_text

    sys.stdout.write(spec_schema_text())
