"""The spec that a run kept: as somebody wrote it, as it was run, and with its data where they are at hand."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from crda_spec.errors import Complaint, CrdaError, SpecError
from crda_spec.regressors.estimator import spec_complaint
from crda_spec.spec.check import load_spec
from crda_spec.spec.load import Draft, read_draft
from crda_spec.spec.render import resolved, value_origins
from crda_spec.spec.run import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptSpec:
    """The spec, and its data and graph if they are at hand."""

    spec: RunSpec
    draft: Draft
    absent: str = ""  # why the data are not at hand; empty when they are
    unfit: str = ""  # why no model can be fitted again; empty when it can


def kept_spec(run: Path, base: Path | None, record: dict[str, Any]) -> KeptSpec:
    """The run's own spec.yaml; SpecError when it is none, or needs an environment that is not set."""
    tune = record["spec"]["resolved"].get("tune", {})
    searched = tune.get("kind") != "none" or (tune.get("augmentation") or {}).get("kind") == "tpe"
    # A search leaves alone what is written, and spec.yaml writes everything: then only what somebody wrote counts.
    kept = run / "spec.yaml"
    with _only_written(kept, record) if searched else nullcontext(kept) as file:
        draft = read_draft(file, environ=os.environ)
        written = draft.sound()
        files = tuple(_files(written))
        if any("***" in name for name in files):
            return KeptSpec(spec=written, draft=draft, absent="the database's URL is masked; write it with ${NAME}")
        here = [name for name in files if "://" not in name]
        nearest = (one for one in (Path.cwd(), *run.resolve().parents) if all((one / name).is_file() for name in here))
        folder = base if base is not None else next(nearest, None)
        if folder is None:
            absent = f"no folder holds {', '.join(files)}; say where with --base"
            return KeptSpec(spec=written, draft=draft, absent=absent)
        try:
            spec, loaded = load_spec(file, base=folder, fits=False)
        except CrdaError as error:
            if base is not None:
                raise
            return KeptSpec(spec=written, draft=draft, absent=error.complaints[0].headline())
        lost = spec_complaint(spec.regressor)
        return KeptSpec(spec=spec, draft=loaded, unfit="" if lost is None else lost.what)


def resolved_spec(record: dict[str, Any]) -> RunSpec:
    """The spec that the record itself holds; text from the environment stands there as it was written."""
    try:
        return RunSpec.model_validate_json(json.dumps(record["spec"]["resolved"]))
    except (ValidationError, KeyError, TypeError) as error:
        what = f"the record's spec is no spec of this version: {str(error).splitlines()[0]}"
        hint = "see what was changed: crda-spec verify RUN"
        raise SpecError(Complaint(code="bad-record", what=what, hint=hint)) from None


def origins_again(run: Path, record: dict[str, Any]) -> dict[str, Any]:
    """The spec that follows from what somebody wrote alone, and who wrote each value: `user`, whoever it was."""
    with _only_written(run / "spec.yaml", record) as file:
        draft = read_draft(file, environ=os.environ)
    values = resolved(draft.sound(), draft, shared=True)
    return {"resolved": values, "origins": somebody(value_origins(values, draft))}


def written_spec(run: Path, record: dict[str, Any]) -> dict[str, Any]:
    """The values that somebody wrote: what the run's spec.yaml says beside recipe and defaults."""
    with _only_written(run / "spec.yaml", record) as file:
        values: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return values


def somebody(origins: Mapping[str, str]) -> dict[str, str]:
    """The origins of values, without who of those that write specs it was."""
    return {name: one if one in ("default", "recipe", "goal") else "user" for name, one in origins.items()}


@contextmanager
def _only_written(file: Path, record: dict[str, Any]) -> Iterator[Path]:
    """A spec's file with only what somebody wrote, as the record tells it."""
    origins = record["spec"]["origins"]
    written = {name for name, origin in origins.items() if origin not in ("default", "recipe", "goal")}
    filled = {name for name, origin in origins.items() if origin in ("recipe", "goal")}
    kept = _kept(yaml.safe_load(file.read_text(encoding="utf-8")), "", written, filled)
    with tempfile.TemporaryDirectory(prefix="crda-verify-") as folder:
        pruned = Path(folder) / file.name
        pruned.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
        yield pruned


def _kept(value: Any, path: str, written: set[str], filled: set[str]) -> Any:  # noqa: ANN401 - any value of a spec
    """The value without what nobody wrote, None when nothing is left.

    A list keeps its length. A section keeps its kind, unless a recipe fills it in again.
    """
    below = [name for name in written if name == path or not path or name.startswith(f"{path}.")]
    if isinstance(value, list) and below:
        parts = ((f"{path}.{at}", one) for at, one in enumerate(value))
        return [_kept(one, place, written, filled) if isinstance(one, dict) else one for place, one in parts]
    if not isinstance(value, dict) or not value:
        return value if below else None
    inner = {key: (_kept(one, f"{path}.{key}" if path else key, written, filled), one) for key, one in value.items()}
    kept = {key: one for key, (left, one) in inner.items() if left is not None or f"{path}.{key}" in written}
    kept = {key: inner[key][0] if isinstance(one, dict | list) and one else one for key, one in kept.items()}
    if kept and "kind" in value and f"{path}.kind" not in filled:
        kept = {"kind": value["kind"], **kept}
    return kept or None


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


def graph_folder(run: Path, spec: RunSpec, base: Path | None) -> Path | None:
    """Where the graph's file is, if it has one: the folder that is given, this one, or one above the run."""
    path = getattr(spec.causal.graph, "path", None)
    if path is None or base is not None:
        return base
    return next((one for one in (Path.cwd(), *run.resolve().parents) if (one / path).is_file()), None)
