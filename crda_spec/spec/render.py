"""RunSpec -> YAML, with every default filled in and no secret in it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any

import yaml

from crda_spec.data.raw import RawTable
from crda_spec.errors import redact_url
from crda_spec.spec.load import Draft, leaves
from crda_spec.spec.run import Execution, Output, RunSpec
from crda_spec.spec.yaml_tree import SpecPath, dotted, resolve_scalar, value_at

_SOURCES: tuple[SpecPath, ...] = (("dataset", "source"), ("dataset", "split", "source"))


def _portable(spec: RunSpec) -> RunSpec:
    """The spec without what changes no number (workers, output folder) and without folders of this machine."""
    dataset, split, graph = spec.dataset, spec.dataset.split, spec.causal.graph
    changed: dict[str, Any] = {"source": _anonymous(dataset.source)}
    if split.kind == "source":
        changed["split"] = split.model_copy(update={"source": _anonymous(split.source)})
    causal = spec.causal if graph is None else spec.causal.model_copy(update={"graph": _anonymous(graph)})
    return spec.model_copy(
        update={
            "dataset": dataset.model_copy(update=changed),
            "causal": causal,
            "execution": Execution(),
            "output": spec.output.model_copy(update={"dir": Output().dir}),
        }
    )


def _anonymous(part: Any) -> Any:  # noqa: ANN401 - a source or a graph
    """A source or a graph that names no folder of this machine: of an absolute path only the file's name stays."""
    changed = {}
    path, url = getattr(part, "path", None), getattr(part, "url", None)
    if path is not None and _is_absolute(path):
        changed["path"] = PureWindowsPath(path).name
    if url is not None:
        head, slashes, file = url.partition(":///")
        if head.startswith("sqlite") and slashes and _is_absolute(file):
            changed["url"] = f"{head}:///{PureWindowsPath(file).name}"
    return part.model_copy(update=changed) if changed else part


def _is_absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute() or path.startswith("~")


def resolved(spec: RunSpec, draft: Draft | None = None, *, shared: bool = False) -> dict[str, Any]:
    """The spec as plain values, all defaults filled in. shared: for a record, which names no folder and no user.

    Text that came from the environment may be a secret or a path of this machine, so it is written as it stands in the
    file, `${NAME}` and all; numbers from there are filled in. Secrets in a database URL are masked.
    """
    plain: dict[str, Any] = (_portable(spec) if shared else spec).model_dump(mode="json")
    for name in ("time", "id"):  # so that a run whose rows have no order, or no name, leaves the bytes it always left
        if plain["dataset"][name] is None:
            del plain["dataset"][name]
    for path, written in _from_environment(plain, draft):
        value_at(plain, path[:-1])[path[-1]] = written
    for source in map(partial(value_at, plain), _SOURCES):
        if isinstance(source, dict) and source.get("kind") == "sql":
            source["url"] = redact_url(source["url"], users=shared)
    return plain


def value_origins(plain: dict[str, Any], draft: Draft) -> dict[str, str]:
    """Who wrote each value of a resolved spec: user, recipe, goal, environment, `--set`, or nobody (`default`).

    How the work is spread and where it is written are left out: they change no number.
    """
    return {
        name: draft.origins.get(name, "default")
        for name in (dotted(path) for path, _ in leaves(plain))
        if not name.startswith(("execution.", "output.dir"))
    }


def render(spec: RunSpec, draft: Draft | None = None, *, without: Sequence[SpecPath] = (), shared: bool = False) -> str:
    """The resolved spec as YAML that loads to the same spec, but for masked secrets. shared: as in `resolved`.

    without: values that a search varies. Written, they would be the user's and no longer searched; left out, the
    recipe fills them in again.
    """
    plain = resolved(spec, draft, shared=shared)
    escaped = _escape(plain)
    for path in without:
        section = value_at(escaped, path[:-1])
        if isinstance(section, dict):
            section.pop(path[-1], None)
    for path, _ in _from_environment(spec.model_dump(mode="json"), draft):
        value_at(escaped, path[:-1])[path[-1]] = value_at(plain, path)  # its ${NAME} is meant to be filled in again
    return yaml.dump(escaped, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Written:
    """A spec as somebody wrote it, before recipe and defaults."""

    values: Mapping[str, Any]
    folder: Path  # where its relative paths start
    frame: RawTable | None = None  # its rows, where they are a data frame
    environment: Mapping[SpecPath, str] = field(default_factory=dict)  # values with ${NAME} in them, as written

    @classmethod
    def of(cls, draft: Draft) -> Written:
        """With ${NAME} where the environment filled something in."""
        tree = draft.tree
        return cls(values=draft.written, folder=draft.file.parent, frame=draft.frame, environment=tree.environment)

    def text(self, folder: Path, *, source: Mapping[str, Any] | None = None) -> str:
        """YAML that gives the same run from another folder. source: in place of the one that is written."""
        values: Any = _escape(deepcopy(dict(self.values)))
        for path, written in self.environment.items():
            section = value_at(values, path[:-1])
            if section is not None and value_at(values, path) is not None:
                section[path[-1]] = written
        for path in _PATHS:
            file = value_at(values, path)
            if isinstance(file, str) and path not in self.environment and not _is_absolute(file):
                moved = os.path.relpath(self.folder / file, folder)
                value_at(values, path[:-1])["path"] = PurePath(moved).as_posix()
        if source is not None:
            values["dataset"]["source"] = _escape(dict(source))
        return str(yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110))


_PATHS: tuple[SpecPath, ...] = (*((*path, "path") for path in _SOURCES), ("causal", "graph", "path"))
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_OTHER_YAMLS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def scalar_text(value: str | float | None, *, key: bool = False) -> str:
    """One value on one line, as it may stand anywhere in a spec, also inside braces, and reads back as itself."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _WORD.fullmatch(value) and isinstance(resolve_scalar(value), str) and value.lower() not in _OTHER_YAMLS:
        return value
    shown = value if key else _escape(value)  # a key's ${NAME} is not filled in
    text: str = yaml.dump(shown, Dumper=_Quoted, allow_unicode=True, width=1 << 30).strip()
    # Marks that change the direction of text are letters to YAML; a reader must see them.
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in text)


def _from_environment(plain: dict[str, Any], draft: Draft | None) -> Iterator[tuple[SpecPath, str]]:
    """Every text value with a variable in it: its path, and how it was written.

    Not those of `execution`: they change no number, and a run's record leaves them out.
    """
    for path, written in ({} if draft is None else draft.tree.environment).items():
        if path and path[0] != "execution" and isinstance(value_at(plain, path), str):
            yield path, written


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


class _Quoted(yaml.SafeDumper):
    """All text in double quotes, in which anything can be written."""


_Quoted.add_representer(str, lambda dumper, data: dumper.represent_scalar("tag:yaml.org,2002:str", data, style='"'))
