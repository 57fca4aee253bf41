"""`--set gate.folds=12`: one value of the spec, written on the command line.

The value is YAML and is checked by the same models as the file. An override may reach into a section that the file
leaves out; that section then keeps its default `kind`, so that `--set gate.folds=12` needs no `gate:` in the file.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from crda_spec.errors import Complaint, Place, show
from crda_spec.spec.run import RunSpec
from crda_spec.spec.yaml_tree import SpecPath, Tree, dotted, read_tree

Leaves = list[tuple[SpecPath, Any]]


def apply_override(tree: Tree, override: str) -> list[Complaint]:
    """Writes one `key=value` into the tree, or says why that cannot be done."""
    place = Place(f"--set {override}")
    name, equals, text = override.partition("=")
    path: SpecPath = tuple(int(part) if part.isdigit() else part for part in name.split("."))
    if not equals or not all(str(part) for part in path):
        hint = "e.g. --set gate.folds=12"
        return [Complaint(code="bad-override", what="expected key=value", hint=hint, place=place)]
    sub = read_tree(text or "null", place.file, {})
    if sub.complaints:
        return [Complaint(code=one.code, what=one.what, hint=one.hint, place=place) for one in sub.complaints]
    target: Any = tree.value
    for position, part in enumerate(path):
        trouble = _closed(target, part, path[:position])
        if trouble:
            hint = f"set {dotted(path[:position])} as a whole"
            return [Complaint(code="bad-override", what=trouble, hint=hint, place=place)]
        if position < len(path) - 1:
            target = _inside(target, part)
    target[path[-1] if isinstance(target, list) else str(path[-1])] = sub.value
    _mark(tree, path, sub.value, place)
    return []


def leaves(value: Any, path: SpecPath = ()) -> Leaves:  # noqa: ANN401 - any YAML value
    """Every scalar (and every empty list or mapping) below `path`, with its own path."""
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for position, inner in enumerate(value) for leaf in leaves(inner, (*path, position))]
    return [(path, value)]


def fill_kinds(tree: Tree) -> None:
    """Gives a section that only overrides have touched the `kind` it has by default."""
    for path in sorted(_opened(tree), key=len):
        section: Any = tree.value
        for part in path:
            section = section.get(str(part)) if isinstance(section, dict) else None
        kind = _default_kind(path)
        if isinstance(section, dict) and kind is not None:
            section.setdefault("kind", kind)


def _closed(target: Any, part: str | int, above: SpecPath) -> str:  # noqa: ANN401
    """Why nothing can be set at `part` of `target`; empty when it can."""
    if isinstance(target, dict):
        return ""
    if isinstance(target, list) and isinstance(part, int):
        return "" if part < len(target) else f"{dotted(above)} has no item {part}: it has {len(target)}, from 0"
    return f"{dotted(above)} is {show(target)}, with no key {show(str(part))} inside"


def _inside(target: Any, part: str | int) -> Any:  # noqa: ANN401
    return target.setdefault(str(part), {}) if isinstance(target, dict) else target[part]


def _mark(tree: Tree, path: SpecPath, value: Any, place: Place) -> None:  # noqa: ANN401
    """The override is now where the value was written; what it replaced is forgotten."""
    _forget(tree.value_places, path)
    _forget(tree.key_places, path)
    _forget(tree.environment, path)
    for leaf, _ in leaves(value, path):
        for length in range(len(path), len(leaf) + 1):
            tree.value_places[leaf[:length]] = place
            tree.key_places[leaf[:length]] = place


def _forget(known: dict[SpecPath, Any], path: SpecPath) -> None:
    for old in [one for one in known if one[: len(path)] == path]:
        del known[old]


def _opened(tree: Tree) -> set[SpecPath]:
    """Sections that the file does not write, but that now hold something an override wrote."""
    above = {path[:length] for path in tree.value_places for length in range(1, len(path))}
    return {path for path in above if path not in tree.value_places}


def _default_kind(path: SpecPath) -> str | None:
    """The `kind` of the default at `path` of a RunSpec, None where there is no default or it has no kind."""
    current: Any = RunSpec
    for part in path:
        if isinstance(current, BaseModel):
            current = getattr(current, str(part), None)
        elif isinstance(current, type) and issubclass(current, BaseModel) and str(part) in current.model_fields:
            field = current.model_fields[str(part)]
            current = field.annotation if field.is_required() else field.get_default(call_default_factory=True)
        else:
            return None
    return getattr(current, "kind", None) if isinstance(current, BaseModel) else None
