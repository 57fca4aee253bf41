"""RunSpec -> JSON Schema, for editors and other tools. `python -m crda_spec.spec.schema` rewrites the file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from crda_spec.spec.run import RunSpec

PUBLISHED = Path("schemas/crda-spec.v1.schema.json")


def spec_schema() -> dict[str, Any]:
    """The schema as editors' YAML servers take it (draft 2020-12)."""
    schema = RunSpec.model_json_schema(mode="validation")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    schema["title"] = "crda-spec v1"
    return schema


def spec_schema_text() -> str:
    """The published form: indented, with a final newline, the same bytes every time."""
    return json.dumps(spec_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PUBLISHED
    target.write_text(spec_schema_text(), encoding="utf-8")
