"""One byte form for one value, its hash, a record's seal, and the way back from JSON to records."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt


def plain(value: Any) -> Any:  # noqa: ANN401 - turns anything a record holds into JSON's types
    """Dataclasses, arrays, mappings and tuples as JSON's types; a number that JSON cannot hold becomes text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def canonical_json(value: Any) -> str:  # noqa: ANN401
    """Sorted keys, two spaces, UTF-8, a final newline: equal values give equal bytes."""
    return json.dumps(plain(value), sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def sha256_of(data: bytes | str) -> str:
    """The hash of bytes, or of text as UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


Record = TypeVar("Record")

# Names that the records import for type checkers only, since `validate` must not wait for numpy.
_NAMES = {"np": np, "npt": npt, "Any": Any}


def revived(kind: type[Record], told: Mapping[str, Any]) -> Record:
    """The record whose `plain` form this is; keys that the record does not have are passed over.

    A key that is missing takes the field's default, so that a record written by an older version still opens; without
    a default it is a TypeError.
    """
    types = record_types(kind)
    return kind(**{name: _value(types[name], told[name]) for name in types if name in told})


def record_types(kind: type[Any]) -> dict[str, Any]:
    """The type of each field of a record."""
    hints = get_type_hints(kind, localns=_NAMES)
    return {field.name: hints[field.name] for field in fields(kind) if field.init}


def _value(kind: Any, told: Any) -> Any:  # noqa: ANN401 - any type of a record, any value of JSON
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        chosen = [one for one in inner if one is not NoneType]
        return None if told is None else _value(chosen[0], told)
    if origin is tuple:
        return _tuple(inner, told)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _value(inner[1], one) for key, one in told.items()}
    if origin is np.ndarray:
        return np.array(told, dtype=get_args(inner[1])[0])
    if isinstance(kind, type) and is_dataclass(kind):
        return revived(kind, told)
    if kind is float:
        return float(told)  # a number that JSON cannot hold was written as text
    if origin is Literal or kind in (int, str, bool, object, Any):
        return told
    raise TypeError(f"a record may not hold {kind}")


def _tuple(inner: tuple[Any, ...], told: list[Any]) -> tuple[Any, ...]:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(_value(inner[0], one) for one in told)
    return tuple(_value(kind, one) for kind, one in zip(inner, told, strict=True))


def content_seal(record: Mapping[str, Any]) -> str:
    """The hash of a record without its volatile part."""
    return sha256_of(
        canonical_json({name: part for name, part in record.items() if name not in ("sha256", "volatile")})
    )


def volatile_seal(volatile: Mapping[str, Any]) -> str:
    """The hash of the volatile part."""
    return sha256_of(canonical_json({name: part for name, part in volatile.items() if name != "sha256"}))


def sealed(record: Mapping[str, Any], volatile: Mapping[str, Any]) -> dict[str, Any]:
    """The whole record, ready to be written."""
    return {
        **record,
        "sha256": content_seal(record),
        "volatile": {**volatile, "sha256": volatile_seal(volatile)},
    }


Schema = dict[str, Any]


def closed_object(description: str, **properties: Schema) -> Schema:
    """An object with these members, all of them, and no others."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def text(description: str) -> Schema:
    """A string."""
    return {"type": "string", "description": description}
