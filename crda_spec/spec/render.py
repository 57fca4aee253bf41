"""RunSpec -> YAML, with every default filled in and no secret in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from crda_spec.spec.load import Draft
from crda_spec.spec.run import RunSpec
from crda_spec.spec.yaml_tree import SpecPath, resolve_scalar

# What stands for a secret in a URL: user:SECRET@host, and options such as ?password=SECRET.
_SECRET = re.compile(
    r"(?P<head>[\w.+-]+://[^:/@]*:)(?P<password>[^@]*)(?=@)"
    r"|(?P<key>[?&](?:\w*password|passwd|pwd|secret|token|api_?key|odbc_connect)=)(?P<option>[^&]*)",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_SOURCES: tuple[SpecPath, ...] = (("dataset", "source"), ("dataset", "split", "source"))


def redact_url(url: str) -> str:
    """A database URL without its secrets. A whole `${NAME}` in a secret's place stays: it tells nothing."""

    def mask(match: re.Match[str]) -> str:
        secret = match["password"] if match["head"] else match["option"]
        return match.group() if _VARIABLE.fullmatch(secret) else f"{match['head'] or match['key']}***"

    return _SECRET.sub(mask, url)


def resolved(spec: RunSpec, draft: Draft | None = None) -> dict[str, Any]:
    """The spec as plain values, all defaults filled in.

    A database URL that came from the environment is written as it stands in the file; secrets are masked.
    """
    plain: dict[str, Any] = spec.model_dump(mode="json")
    for path, source in _databases(plain):
        source["url"] = redact_url(_as_written(draft, path) or source["url"])
    return plain


def render(spec: RunSpec, draft: Draft | None = None) -> str:
    """The resolved spec as YAML that loads to the same spec, but for masked secrets."""
    plain = resolved(spec, draft)
    escaped = _escape(plain)
    for path, source in _databases(escaped):
        if _as_written(draft, path) is not None:
            source["url"] = _at(plain, path)["url"]  # its ${NAME} is meant to be filled in again
    return yaml.dump(escaped, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def _databases(plain: dict[str, Any]) -> Iterator[tuple[SpecPath, dict[str, Any]]]:
    for path in _SOURCES:
        source = _at(plain, path)
        if isinstance(source, dict) and source.get("kind") == "sql":
            yield path, source


def _at(plain: dict[str, Any], path: SpecPath) -> Any:  # noqa: ANN401
    value: Any = plain
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _as_written(draft: Draft | None, path: SpecPath) -> str | None:
    return None if draft is None else draft.tree.environment.get((*path, "url"))


def _escape(value: Any) -> Any:  # noqa: ANN401 - any plain value
    """Dollar signs that the loader would read as the start of a variable, doubled. Keys are never filled in."""
    if isinstance(value, dict):
        return {key: _escape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_escape(inner) for inner in value]
    return re.sub(r"\$(?=[${])", "$$", value) if isinstance(value, str) else value


class _Dumper(yaml.SafeDumper):
    """Quotes text that our loader, which follows YAML 1.2, would read as a number: PyYAML follows 1.1."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        """Plain where that is safe in both versions of YAML."""
        style = None if isinstance(resolve_scalar(data), str) else "'"
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)
