"""One thing that was looked at, and what was found wrong with it."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crda_spec.errors import CrdaError, show
from crda_spec.records import Array

_MOST_NAMED = 5  # findings of one kind that are spelt out; the rest is counted
# What a file that was tampered with can make a reader raise. Nothing in it is executed, so all of these are findings.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    EOFError,
    ArithmeticError,
    csv.Error,
    pa.ArrowException,
    zipfile.BadZipFile,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be: where, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question, and its answer."""

    name: str
    state: Literal["ok", "failed", "skipped"]
    sentence: str  # what was compared; of a skipped check, why
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two numbers may lie apart: 0 means the same bits."""

    relative: float = 0.0

    def differ(self, found: Array, expected: Array) -> npt.NDArray[np.bool_]:
        """Which numbers differ. Beside a tolerance, a column's own size counts: rounding errors are of that size."""
        nan = np.isnan(found) & np.isnan(expected)
        if self.relative == 0.0:
            bits = np.ascontiguousarray(found).view(np.int64) != np.ascontiguousarray(expected).view(np.int64)
            return np.asarray(bits & ~nan, dtype=np.bool_)
        known = expected[np.isfinite(expected)]
        size = float(np.max(np.abs(known))) if len(known) else 0.0
        with np.errstate(invalid="ignore"):
            near = np.abs(found - expected) <= self.relative * size
        return np.asarray(~(near | nan | (found == expected)), dtype=np.bool_)

    def differs(self, found: float, expected: float) -> bool:
        """The same for two numbers."""
        return bool(self.differ(np.array([found]), np.array([expected]))[0])

    def __str__(self) -> str:
        return "bit for bit" if self.relative == 0.0 else f"within {self.relative:g} of the column's largest value"


def checked(name: str, sentence: str, look: Callable[[], Iterable[Finding]]) -> Check:
    """Looks, and turns whatever cannot even be read into a finding."""
    try:
        found = tuple(look())
    except CrdaError as error:
        found = tuple(Finding(where=str(one.place or name), what=one.what) for one in error.complaints)
    except _UNREADABLE as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        found = (Finding(where=name, what=f"cannot be read ({type(error).__name__}: {reason})"),)
    return Check(name=name, state="failed" if found else "ok", sentence=sentence, findings=found)


def skipped(name: str, why: str) -> Check:
    """A question that could not be asked."""
    return Check(name=name, state="skipped", sentence=why)


def named(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first findings, and how many more there are."""
    found = list(findings)
    if len(found) <= _MOST_NAMED:
        return tuple(found)
    more = Finding(where=found[_MOST_NAMED].where.split(",")[0], what=f"{len(found) - _MOST_NAMED} more of this kind")
    return (*found[:_MOST_NAMED], more)


def compared(where: str, found: Any, expected: Any, *, tolerance: Tolerance) -> list[Finding]:  # noqa: ANN401
    """Where two JSON values differ, each by its path."""
    if isinstance(found, dict) and isinstance(expected, dict):
        keys = sorted({*found, *expected})
        return [
            one
            for key in keys
            for one in compared(
                f"{where}.{key}" if where else key, _of(found, key), _of(expected, key), tolerance=tolerance
            )
        ]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return [
            one
            for number, (left, right) in enumerate(zip(found, expected, strict=True))
            for one in compared(f"{where}.{number}", left, right, tolerance=tolerance)
        ]
    if _number(found) and _number(expected):
        same = not tolerance.differs(float(found), float(expected))
    else:
        same = type(found) is type(expected) and found == expected
    return [] if same else [Finding(where=where, what=f"says {_shown(found)}, should be {_shown(expected)}")]


class _Absent:
    """Stands for a key that one of the two lacks."""


_ABSENT = _Absent()


def _of(value: dict[str, Any], key: str) -> Any:  # noqa: ANN401
    return value.get(key, _ABSENT)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return "nothing" if value is _ABSENT else show(value, 80)
