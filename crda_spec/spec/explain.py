"""pydantic's errors -> complaints in our words, each with its place."""

from __future__ import annotations

import re
import types
import typing
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from crda_spec.errors import Complaint, did_you_mean, show
from crda_spec.spec.yaml_tree import SpecPath, Tree, dotted, resolve_scalar, value_at
from crda_spec.strict import LIST, MAPPING, RANGE, TEXT

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping (key: value lines)",
    "model_type": "a mapping (key: value lines)",
    "model_attributes_type": "a mapping (key: value lines)",
    "finite_number": "a finite number",
}
_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a mapping",
}
_FORMER = {  # keys that had another name, or another place
    "gate.candidates": "'tune.augmentation: {kind: candidates, candidates: ...}'",
    "gate.candidate_folds": "'tune.augmentation: {kind: candidates, folds: ...}'",
    "gate.starts": "'restarts'",
    "perturbation.unmoved": "'copy_fraction'",
}
_BOUNDS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def explain(errors: Iterable[ErrorDetails], model: type[BaseModel], tree: Tree) -> list[Complaint]:
    """One complaint for each place that is wrong, in our words."""
    grouped: dict[SpecPath, list[ErrorDetails]] = defaultdict(list)
    for error in errors:
        path = _path_of(error, tree.value)
        if not _only_broken_entries(error, value_at(tree.value, path)):
            grouped[path].append(error)
    return [_one(path, there, model, tree) for path, there in grouped.items()]


def _only_broken_entries(error: ErrorDetails, value: Any) -> bool:  # noqa: ANN401
    """A list that is long enough: pydantic counts its sound entries alone, and complains of the others anyway."""
    return error["type"] == "too_short" and isinstance(value, list) and len(value) >= error["ctx"]["min_length"]


def _path_of(error: ErrorDetails, value: Any) -> SpecPath:  # noqa: ANN401
    """Pydantic's location without the union tags it mixes in."""
    path: list[str | int] = []
    tagged = False  # the tag comes right behind the way into the union; a key may have the same name
    for position, part in enumerate(error["loc"]):
        last = position == len(error["loc"]) - 1
        if not tagged and isinstance(value, dict) and value.get("kind") == part:
            tagged = True
            continue
        tagged = False
        if isinstance(value, dict) and part in value:
            value = value[str(part)]
            path.append(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
            path.append(part)
        elif last and error["type"] == "missing":
            path.append(part)
        elif part not in (LIST, RANGE, MAPPING, TEXT):
            break
    return tuple(path)


def _one(path: SpecPath, errors: list[ErrorDetails], model: type[BaseModel], tree: Tree) -> Complaint:
    error = errors[0]
    kind, place = error["type"], tree.place(path)
    if kind == "extra_forbidden":
        code, what, place = "unknown-key", f"unknown key {show(str(path[-1]))}", tree.place(path, key=True)
        hint = _key_hint(path, model, tree.value)
    elif kind == "missing":
        code, what, place = "missing-key", f"the key {show(str(path[-1]))} is missing", tree.place(path[:-1])
        hint = _missing_hint(path[:-1], str(path[-1]), model, tree.value)
    elif kind == "union_tag_not_found":
        code, what = "missing-key", "the key 'kind' is missing"
        hint = f"choose one of {', '.join(str(_kind_of(one)) for one in _models_at(model, path, tree.value))}"
    elif kind == "union_tag_invalid":
        tag, kinds = (str(error.get("ctx", {}).get(key, "")) for key in ("tag", "expected_tags"))
        path = (*path, "kind")
        code, what, place = "unknown-kind", f"unknown kind {show(tag)}", tree.place(path)
        hint = did_you_mean(tag, re.findall(r"'([^']*)'", kinds), otherwise="kinds")
    else:
        code, what, hint = _bad_value(errors)
        if code == "wrong-type" and not hint:
            members = [kind for one in _models_at(model, path, None) for kind in _kinds_of(one)]
            hint = _one_word(error["input"], members)
    return Complaint(code=code, what=what, hint=hint, path=dotted(path), place=place)


def _key_hint(path: SpecPath, model: type[BaseModel], value: Any) -> str:  # noqa: ANN401
    """Of an unknown key: the kind that it belongs to, if another one has it; else the nearest key, or all of them."""
    above, key = path[:-1], str(path[-1])
    owners = [str(_kind_of(one)) for one in _models_at(model, above, None) if key in _keys(one)]
    known = sorted(_fields_at(model, above, value))
    if dotted(path) in _FORMER:
        return f"did you mean {_FORMER[dotted(path)]}?"
    if not owners:
        return did_you_mean(key, known, otherwise="keys here")
    chosen = [str(_kind_of(one)) for one in _models_at(model, above, value)]
    return f"kind {', '.join(chosen)} has no such key; it belongs to kind {' and '.join(owners)}"


def _one_word(value: object, kinds: Sequence[str]) -> str:
    """The hint for a section that was written as one word: most often the word is its kind."""
    if not isinstance(value, str) or not kinds:
        return ""
    if value in kinds:
        return f"write {{kind: {value}}}"
    return did_you_mean(value, list(kinds), otherwise="a mapping with one of the kinds")


def _missing_hint(above: SpecPath, key: str, model: type[BaseModel], value: Any) -> str:  # noqa: ANN401
    """What to write, or what a key says that has to be written."""
    only = _kind_of(_models_at(model, above, value)[0]) if key == "kind" else None
    if only is not None:
        return f"write kind: {only}"
    field = _fields_at(model, above, value).get(key)
    meaning = (field.description or "").rstrip(".") if field is not None else ""
    return f"it says: {meaning[:1].lower()}{meaning[1:]}" if meaning else ""


def _bad_value(errors: list[ErrorDetails]) -> tuple[str, str, str]:
    """Code, what and hint for a value of the wrong type or outside its range."""
    error = errors[0]
    kind, ctx, value = error["type"], error.get("ctx", {}), error["input"]
    if all(one["type"] in _EXPECTED or one["type"] == "literal_error" for one in errors):
        if len(errors) == 1 and kind == "literal_error":
            words = re.findall(r"'([^']*)'", str(ctx.get("expected", "")))
            hint = did_you_mean(str(value), words, otherwise="choose one of") if words else f"write {ctx['expected']}"
            return "unknown-value", f"unknown value {show(value)}", hint
        expected = (_EXPECTED.get(one["type"]) or str(one.get("ctx", {}).get("expected", "")) for one in errors)
        wanted = " or ".join(dict.fromkeys(expected))
        hint = "remove the key to use the default" if value is None else _type_hint(kind, value)
        got = "nothing" if value is None else f"{show(value)} ({_NAMES.get(type(value), type(value).__name__)})"
        return "wrong-type", f"expected {wanted}, got {got}", hint
    if kind in _BOUNDS:
        words_, key = _BOUNDS[kind]
        limit = f"{ctx[key]:g}" if isinstance(ctx[key], float) else ctx[key]
        return "out-of-range", f"must be {words_} {limit}, got {show(value)}", ""
    if kind in ("too_short", "string_too_short"):
        least = ctx.get("min_length", 1)
        what = "must not be empty" if least == 1 else f"needs at least {least} entries, got {ctx['actual_length']}"
        return "empty-value", what, ""
    if kind == "string_pattern_mismatch":
        what = f"{show(value)} cannot name a folder"
        return "bad-name", what, "use letters, digits, '.', '_' and '-', at most 64, a letter or digit first"
    return "bad-value", f"{error['msg'][:1].lower()}{error['msg'][1:]}, got {show(value)}", ""


def _type_hint(kind: str, value: object) -> str:
    if kind in ("int_type", "float_type") and isinstance(value, str) and not isinstance(resolve_scalar(value), str):
        return "write the number without quotes"
    if kind == "bool_type" and isinstance(value, str):
        return "write true or false without quotes"
    if kind == "tuple_type" and isinstance(value, str):
        return f"put it in brackets: [{value}]" if len(value) < 40 else "put it in brackets"
    if kind == "string_type" and isinstance(value, list):
        return "write one of them, without brackets"
    if kind == "string_type" and isinstance(value, int | float):
        return f"quote it: '{value}'"
    return ""


def _fields_at(model: type[BaseModel], path: SpecPath, value: Any) -> dict[str, Any]:  # noqa: ANN401
    """The fields that may be written at `path`, of the union's member that the spec chose where there is one."""
    return {name: field for one in _models_at(model, path, value) for name, field in _keys(one).items()}


def _keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A model's fields by the keys that a spec writes: `class` cannot be the name of a field."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _models_at(model: type[BaseModel], path: SpecPath, value: Any) -> list[type[BaseModel]]:  # noqa: ANN401
    """The models that can stand at `path`: one, or all members of a union whose `kind` is missing or unknown."""
    current: list[Any] = [model]
    for part in path:
        inside = [member for one in current for member in _members(_inner(one, str(part)))]
        value = value_at(value, (part,))
        kind = value.get("kind") if isinstance(value, dict) else None
        current = [one for one in inside if _is_model(one) and _kind_of(one) == kind is not None] or inside
    return [one for one in current if _is_model(one)]


def _inner(annotation: Any, part: str) -> Any:  # noqa: ANN401
    """What stands inside: a model's field, a mapping's value, a list's item; None when there is no such thing."""
    if _is_model(annotation):
        field = next((one for name, one in annotation.model_fields.items() if part == (one.alias or name)), None)
        return field.annotation if field is not None else None
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is dict:
        return arguments[1]
    return arguments[0] if typing.get_origin(annotation) is tuple else None


def _members(annotation: Any) -> list[Any]:  # noqa: ANN401
    """The alternatives of an annotation, through Annotated and unions."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _members(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [member for part in typing.get_args(annotation) for member in _members(part)]
    return [annotation]


def _is_model(annotation: Any) -> bool:  # noqa: ANN401
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _kind_of(model: type[BaseModel]) -> str | None:
    return next(iter(_kinds_of(model)), None)


def _kinds_of(model: type[BaseModel]) -> list[str]:
    """The kinds that a model may have: one in a family, several where the kind is a choice of its own."""
    field = model.model_fields.get("kind")
    return [] if field is None else list(map(str, typing.get_args(field.annotation)))
