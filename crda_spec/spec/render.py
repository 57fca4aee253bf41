"""RunSpec -> YAML, with every default filled in and no secret in it."""

from __future__ import annotations

import re
from typing import Any

import yaml

from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec

_PASSWORD = re.compile(r"(?P<head>^[^:/@]+://[^:/@]*:)[^@]*(?=@)")


def redact_url(url: str) -> str:
    """A database URL without its password."""
    return _PASSWORD.sub(r"\g<head>***", url)


def resolved(spec: RunSpec, draft: Draft | None = None) -> dict[str, Any]:
    """The spec as plain values, all defaults filled in.

    A database URL that came from the environment is written as it stands in the file; a password elsewhere is masked.
    """
    plain: dict[str, Any] = spec.model_dump(mode="json")
    for path in (("dataset", "source"), ("dataset", "split", "source")):
        source: Any = plain
        for part in path:
            source = source.get(part) if isinstance(source, dict) else None
        if isinstance(source, dict) and source.get("kind") == "sql":
            written = draft.tree.environment.get((*path, "url")) if draft is not None else None
            source["url"] = written or redact_url(source["url"])
    return plain


def render(spec: RunSpec, draft: Draft | None = None) -> str:
    """The resolved spec as YAML that loads to the same spec."""
    return yaml.safe_dump(resolved(spec, draft), sort_keys=False, allow_unicode=True, width=110)
