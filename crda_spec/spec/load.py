"""YAML -> RunSpec, or every complaint about it in one go.

`read_draft` does all that needs no data and raises nothing; `crda_spec.check` adds what the data's header and the
graph know, and only then raises, so that a user sees everything at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from crda_spec.errors import Complaint, Place, did_you_mean, show
from crda_spec.spec.checks import check_parts
from crda_spec.spec.explain import explain
from crda_spec.spec.run import RECIPES, RunSpec
from crda_spec.spec.yaml_tree import MAX_BYTES, SpecPath, Tree, dotted, read_tree

Origin = Literal["user", "recipe", "environment", "--set"]


@dataclass(slots=True)
class Draft:
    """A spec on its way: what could be read, where it was written, and all that is wrong with it."""

    file: Path
    tree: Tree
    parts: dict[str, Any] = field(default_factory=dict)  # section -> model, only where it is valid
    spec: RunSpec | None = None
    origins: dict[str, Origin] = field(default_factory=dict)  # dotted path of a leaf -> who wrote it
    complaints: list[Complaint] = field(default_factory=list)

    def complain(self, complaint: Complaint) -> None:
        """Adds a complaint, at the place its path was written if it has none of its own."""
        self.complaints.append(self.placed(complaint))

    def placed(self, complaint: Complaint) -> Complaint:
        """The complaint at the place where its path was written, unless it has a place of its own."""
        key = complaint.code == "unknown-column" and complaint.path.startswith(("dataset.columns.", "perturbation."))
        path = _path_in(self.tree, complaint.path)
        return complaint.at(self.tree.place(path, key=key) or Place(self.file.name))


def read_draft(file: Path, *, overrides: Sequence[str] = (), environ: Mapping[str, str]) -> Draft:
    """Reads a spec file, fills in its recipe, applies `--set` overrides and checks every section."""
    text, trouble = _read_text(file)
    tree = read_tree(text, file.name, environ) if trouble is None else Tree()
    draft = Draft(file=file, tree=tree, complaints=[trouble] if trouble else list(tree.complaints))
    if trouble is not None or (tree.value is None and tree.complaints):
        return draft
    if not isinstance(tree.value, dict):
        what = f"a spec is a mapping (key: value lines), got {show(tree.value)}"
        draft.complaints.append(
            Complaint(code="not-a-mapping", what=what, hint="start with `version: 1`", place=tree.place(()))
        )
        return draft
    for override in overrides:
        _apply_override(draft, override)
    draft.origins.update(_user_origins(draft))
    _fill_recipe(draft)
    _validate(draft)
    for complaint in check_parts(draft.parts):
        draft.complain(complaint)
    return draft


def _read_text(file: Path) -> tuple[str, Complaint | None]:
    place = Place(file.name)
    try:
        size = file.stat().st_size
        raw = file.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        near = sorted(path.name for path in file.parent.glob("*.y*ml")) if file.parent.is_dir() else []
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else (error.strerror or "").lower()
        hint = did_you_mean(file.name, near, otherwise="specs in that folder")
        return "", Complaint(code="unreadable-spec", what=f"{reason}: {show(str(file))}", hint=hint, place=place)
    if size > MAX_BYTES:
        what = f"the file has {size} bytes, a spec may have {MAX_BYTES}"
        return "", Complaint(code="spec-too-large", what=what, hint="put data into a data file", place=place)
    try:
        return raw.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        what = f"not UTF-8 text: byte {error.start} is 0x{raw[error.start]:02x}"
        return "", Complaint(code="not-utf8", what=what, hint="save the spec as UTF-8", place=place)


def _apply_override(draft: Draft, override: str) -> None:
    """`--set gate.folds=12`: the value is YAML, checked by the same models as the file."""
    place = Place(f"--set {override}")
    name, equals, text = override.partition("=")
    path: SpecPath = tuple(int(part) if part.isdigit() else part for part in name.split("."))
    if not equals or not all(str(part) for part in path):
        complaint = Complaint(
            code="bad-override", what="expected key=value", hint="e.g. --set gate.folds=12", place=place
        )
        draft.complaints.append(complaint)
        return
    sub = read_tree(text or "null", place.file, {})
    if sub.complaints:
        draft.complaints.extend(complaint.at(place) for complaint in sub.complaints)
        return
    target: Any = draft.tree.value
    for position, part in enumerate(path[:-1]):
        target = _descend(target, part)
        if target is None:
            what = f"{dotted(path[: position + 1])} has nothing inside it to set"
            draft.complaints.append(
                Complaint(code="bad-override", what=what, hint="set the whole section", place=place)
            )
            return
    _assign(draft, target, path, sub.value, place)


def _descend(target: Any, part: str | int) -> Any:  # noqa: ANN401
    if isinstance(target, dict):
        return target.setdefault(str(part), {})
    if isinstance(target, list) and isinstance(part, int) and part < len(target):
        return target[part]
    return None


def _assign(draft: Draft, target: Any, path: SpecPath, value: Any, place: Place) -> None:  # noqa: ANN401
    last = path[-1]
    if isinstance(target, dict):
        target[str(last)] = value
    elif isinstance(target, list) and isinstance(last, int) and last < len(target):
        target[last] = value
    else:
        what = f"{dotted(path)} cannot be set"
        draft.complaints.append(Complaint(code="bad-override", what=what, hint="set the whole section", place=place))
        return
    for leaf, _ in _leaves(value, path):
        for length in range(len(path), len(leaf) + 1):
            draft.tree.value_places[leaf[:length]] = place
            draft.tree.key_places[leaf[:length]] = place
        draft.origins[dotted(leaf)] = "--set"


def _leaves(value: Any, path: SpecPath = ()) -> list[tuple[SpecPath, Any]]:  # noqa: ANN401
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for position, inner in enumerate(value) for leaf in _leaves(inner, (*path, position))]
    return [(path, value)]


def _user_origins(draft: Draft) -> dict[str, Origin]:
    found: dict[str, Origin] = {}
    for path, _ in _leaves(draft.tree.value):
        name = dotted(path)
        if name not in draft.origins:
            found[name] = "environment" if path in draft.tree.environment else "user"
    return found


def _fill_recipe(draft: Draft) -> None:
    """A recipe fills what is absent. What the user writes wins; another `kind` replaces the recipe's whole choice."""
    preset = RECIPES.get(str(draft.tree.value.get("recipe", "paper")))
    if preset is None:
        return  # the models will complain about the name

    def fill(value: Any, default: Any, path: SpecPath) -> Any:  # noqa: ANN401
        if not isinstance(value, dict) or not isinstance(default, dict):
            return value
        if "kind" in default and value.get("kind") not in (None, default["kind"]):
            return value
        merged = dict(value)
        for key, inner in default.items():
            if key in value:
                merged[key] = fill(value[key], inner, (*path, key))
            else:
                merged[key] = inner
                for leaf, _ in _leaves(inner, (*path, key)):
                    draft.origins[dotted(leaf)] = "recipe"
        return merged

    draft.tree.value = fill(draft.tree.value, preset, ())


def _validate(draft: Draft) -> None:
    value = draft.tree.value
    try:
        # Through JSON, so that strict mode takes a list for a tuple but never text for a number.
        draft.spec = RunSpec.model_validate_json(json.dumps(value))
    except ValidationError as error:
        found = error.errors(include_url=False)
        known = {
            complaint.place for complaint in draft.complaints
        }  # a value refused by the YAML reader is refused once
        explained = explain(found, RunSpec, draft.tree)
        draft.complaints.extend(complaint for complaint in explained if complaint.place not in known)
        broken = {one["loc"][0] for one in found if one["loc"]}
        draft.parts = {
            name: _section(info, value[name])
            for name, info in RunSpec.model_fields.items()
            if name in value and name not in broken
        }
    else:
        draft.parts = {name: getattr(draft.spec, name) for name in RunSpec.model_fields}


def _section(info: FieldInfo, value: Any) -> Any:  # noqa: ANN401
    adapter: TypeAdapter[Any] = TypeAdapter(info.rebuild_annotation())
    return adapter.validate_json(json.dumps(value))


def _path_in(tree: Tree, name: str) -> SpecPath:
    """The path that a dotted name stands for; column names may themselves contain dots."""
    path: SpecPath = ()
    value, rest = tree.value, name
    while rest:
        keys = [str(key) for key in value] if isinstance(value, dict) else []
        match = max((key for key in keys if rest == key or rest.startswith(key + ".")), key=len, default=None)
        head = match if match is not None else rest.split(".", 1)[0]
        rest = rest[len(head) + 1 :]
        if isinstance(value, list) and head.isdigit() and int(head) < len(value):
            path, value = (*path, int(head)), value[int(head)]
        else:
            path, value = (*path, head), value.get(head) if isinstance(value, dict) else None
    return path
