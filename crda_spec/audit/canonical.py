"""One byte form for one value, its hash, a record's seal, and the way back from JSON to records."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np
from pydantic import TypeAdapter

from crda_spec import records
from crda_spec.report.words import causal
from crda_spec.report.words.discovery import inquiry_sentence, note_sentence
from crda_spec.report.words.gate import verdict_sentence


def plain(value: Any) -> Any:  # noqa: ANN401 - turns anything a record holds into JSON's types
    """Dataclasses, arrays, mappings and tuples as JSON's types; a number that JSON cannot hold becomes text.

    Facts for which a record has a sentence are written as that sentence.
    """
    if value is None or isinstance(value, str | int):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        speak = _SENTENCES.get(type(value))
        if speak is not None:
            words = speak(value)
            return {name: words[name] if name in words else plain(getattr(value, name)) for name in _keys(type(value))}
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    if isinstance(value, np.ndarray):
        # Of a teacher's million numbers none need be looked at one by one.
        settled = value.dtype.kind in "biu" or (value.dtype.kind == "f" and bool(np.isfinite(value).all()))
        return value.tolist() if settled else plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


# By record: its keys that hold sentences. What is read back from a record says them again as they were written.
_SENTENCES: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    records.FeatureVerdict: lambda one: {
        "reason": causal.reason_sentence(one.reason),
        "held": causal.held_sentence(one.held),
        "lemma": causal.lemma_sentence(one.lemma),
        "warning": causal.warning_sentence(one.warning),
    },
    records.Certificate: lambda one: {
        "assumes": list(map(causal.assumption_sentence, one.assumes)),
        "notes": list(map(note_sentence, one.notes)),
        "method": inquiry_sentence(one.method),
    },
    records.Repair: lambda one: {"sentence": causal.repair_sentence(one)},
    records.Remedy: lambda one: {"sentence": causal.remedy_sentence(one)},
    records.JointEvidence: lambda one: {"sentence": causal.joint_sentence(one)},
    records.Falsification: lambda one: {
        "sentence": causal.falsification_sentence(one),
        "test": causal.falsification_test(one),
    },
    records.Sensitivity: lambda one: {"sentence": causal.sensitivity_sentence(one)},
    records.Movement: lambda one: {"sentence": causal.movement_sentence(one)},
    records.Verdict: lambda one: {"sentence": verdict_sentence(one)},
}


@cache
def _keys(kind: type[Any]) -> tuple[str, ...]:
    """What a record on disk has of this record: all but what only its sentences tell."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(item.name for item in fields(kind) if records.UNPUBLISHED not in get_args(hints[item.name]))


def canonical_json(value: Any) -> str:  # noqa: ANN401
    """Sorted keys, two spaces, UTF-8, a final newline: equal values give equal bytes."""
    return json.dumps(plain(value), sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def sha256_of(data: bytes | str) -> str:
    """The hash of bytes, or of text as UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


Record = TypeVar("Record")


def read_as(kind: type[Record], told: Mapping[str, Any]) -> Record:
    """The record whose `plain` form this is; keys that the record does not have are passed over.

    A key that is missing takes the field's default, so that a record written by an older version still opens; without
    a default it is a ValueError.
    """
    record: Record = _reader(kind).validate_python(told)
    return record


_reader: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)  # making one takes longer than using it


def seal(part: Mapping[str, Any], *without: str) -> str:
    """The hash of a record, or of its volatile part; neither counts a seal that is in it, nor what else is named."""
    return sha256_of(canonical_json({name: one for name, one in part.items() if name not in ("sha256", *without)}))


def sealed(record: Mapping[str, Any], volatile: Mapping[str, Any]) -> dict[str, Any]:
    """The whole record, ready to be written."""
    return {**record, "sha256": seal(record, "volatile"), "volatile": {**volatile, "sha256": seal(volatile)}}
