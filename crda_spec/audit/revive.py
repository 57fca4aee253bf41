"""Records back from the JSON they were written as: the inverse of `canonical.plain`, led by the records' own types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

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
