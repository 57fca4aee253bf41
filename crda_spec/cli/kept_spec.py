"""The spec that a run kept, and the folder at which its relative paths start: a run's record names no folder."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crda_spec.errors import Complaint, CrdaError, SpecError

if TYPE_CHECKING:
    from crda_spec.spec.load import Draft
    from crda_spec.spec.run import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptSpec:
    """The spec, and its data and graph if they are at hand."""

    spec: RunSpec
    draft: Draft
    absent: str = ""  # why the data are not at hand; empty when they are


def kept_spec(run: Path, base: Path | None, record: dict[str, Any]) -> KeptSpec:
    """The run's own spec.yaml; SpecError when it is none, or needs an environment that is not set."""
    import os

    from crda_spec.check import load_spec
    from crda_spec.spec.load import read_draft

    with _as_written(run / "spec.yaml", record) as file:
        draft = read_draft(file, environ=os.environ)
        if draft.spec is None or draft.complaints:
            raise SpecError(draft.complaints)
        files = tuple(_files(draft.spec))
        if any("***" in name for name in files):
            return KeptSpec(spec=draft.spec, draft=draft, absent="the database's URL is masked; write it with ${NAME}")
        folder = base if base is not None else _base(run, files)
        if folder is None:
            absent = f"no folder holds {', '.join(files)}; say where with --base"
            return KeptSpec(spec=draft.spec, draft=draft, absent=absent)
        try:
            spec, loaded = load_spec(file, base=folder)
        except CrdaError as error:
            if base is not None:
                raise
            return KeptSpec(spec=draft.spec, draft=draft, absent=error.complaints[0].headline())
        return KeptSpec(spec=spec, draft=loaded)


@contextmanager
def _as_written(file: Path, record: dict[str, Any]) -> Iterator[Path]:
    """The spec's file; of a run that searched, one with only what somebody wrote.

    A search leaves alone what is written, and spec.yaml writes everything. The record knows who wrote what.
    """
    tune = record["spec"]["resolved"].get("tune", {})
    if tune.get("kind") == "none" and not tune.get("augmentation"):
        yield file
        return
    import yaml

    origins = record["spec"]["origins"]
    written = {name for name, origin in origins.items() if origin not in ("default", "recipe")}
    kept = _kept(yaml.safe_load(file.read_text(encoding="utf-8")), "", written)
    with tempfile.TemporaryDirectory(prefix="crda-verify-") as folder:
        pruned = Path(folder) / file.name
        pruned.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
        yield pruned


def _kept(value: Any, path: str, written: set[str]) -> Any:  # noqa: ANN401 - any value of a spec
    """The value without what nobody wrote, None when nothing is left. A list stays whole, a section keeps its kind."""
    below = [name for name in written if name == path or not path or name.startswith(f"{path}.")]
    if not isinstance(value, dict) or not value:
        return value if below else None
    inner = {key: (_kept(one, f"{path}.{key}" if path else key, written), one) for key, one in value.items()}
    kept = {key: one for key, (left, one) in inner.items() if left is not None or f"{path}.{key}" in written}
    kept = {key: inner[key][0] if isinstance(one, dict) and one else one for key, one in kept.items()}
    if kept and "kind" in value:
        kept = {"kind": value["kind"], **kept}
    return kept or None


def resolved_spec(record: dict[str, Any]) -> RunSpec:
    """The spec that the record itself holds; text from the environment stands there as it was written."""
    from pydantic import ValidationError

    from crda_spec.spec.run import RunSpec

    try:
        return RunSpec.model_validate_json(json.dumps(record["spec"]["resolved"]))
    except (ValidationError, KeyError, TypeError) as error:
        what = f"the record's spec is no spec of this version: {str(error).splitlines()[0]}"
        hint = "see what was changed: crda-spec verify RUN"
        raise SpecError(Complaint(code="bad-record", what=what, hint=hint)) from None


def required(kept: KeptSpec) -> KeptSpec:
    """The same, or a complaint when the data are not at hand."""
    if kept.absent:
        hint = "name the folder at which the spec's relative paths start: --base DIR"
        raise SpecError(Complaint(code="data-absent", what=f"the run's data are not here: {kept.absent}", hint=hint))
    return kept


def _base(run: Path, files: tuple[str, ...]) -> Path | None:
    """The working folder, or the nearest one above the run, in which every file is found."""
    for folder in (Path.cwd(), *run.resolve().parents):
        if all((folder / name).is_file() for name in files if "://" not in name):
            return folder
    return None


def _files(spec: RunSpec) -> Iterator[str]:
    """The files, and the databases, that a spec reads."""
    graph: Any = spec.causal.graph
    if getattr(graph, "path", None):
        yield graph.path
    split: Any = spec.dataset.split
    sources: tuple[Any, ...] = (spec.dataset.source, getattr(split, "source", None))
    for source in sources:
        if getattr(source, "path", None):
            yield source.path
        elif source is not None and source.kind == "sql":
            lite = source.url.startswith("sqlite:///") and source.url != "sqlite:///:memory:"
            yield source.url.removeprefix("sqlite:///").partition("?")[0] if lite else source.url
