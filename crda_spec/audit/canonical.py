"""One byte form for one value: canonical JSON and its hash."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


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
