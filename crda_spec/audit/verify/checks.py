"""One thing that was looked at, and what was found wrong with it."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crda_spec.audit.canonical import canonical_json, content_seal, sha256_of, volatile_seal
from crda_spec.audit.export import CRATE, crate_json
from crda_spec.audit.record import RECORD_VERSION
from crda_spec.errors import Complaint, CrdaError, OutputError, Place, show
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


EXACT = Tolerance()


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


_LARGEST = 256 * 2**20  # a record has a few hundred kilobytes; nobody should have to read a bomb


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a run; an OutputError when the folder is no run's, or its record is no record."""
    file = folder / "record.json"
    if not file.is_file():
        hint = "name the folder that crda-run wrote, runs/<name>/<id>"
        raise OutputError(Complaint(code="no-run", what=f"'{folder}' is not the folder of a finished run", hint=hint))
    place = Place(file=str(file))
    hint = "it was not written by crda-run, or it was changed since"
    if file.stat().st_size > _LARGEST:
        raise OutputError(
            Complaint(code="bad-record", place=place, what="the record is too large to be one", hint=hint)
        )
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        what = f"the record is not JSON: {error}"
        raise OutputError(Complaint(code="bad-record", place=place, what=what, hint=hint)) from None
    if not isinstance(record, dict) or "record_version" not in record:
        raise OutputError(Complaint(code="bad-record", place=place, what="the file is no run's record", hint=hint))
    if record["record_version"] != RECORD_VERSION:
        what = f"the record has version {show(record['record_version'])}, but this crda-spec reads {RECORD_VERSION}"
        hint = "use the crda-spec that wrote it"
        raise OutputError(Complaint(code="record-version", place=place, what=what, hint=hint))
    return record


def check_record(folder: Path, record: Mapping[str, Any], *, noted: str | None = None) -> Check:
    """The record against its seals; `noted` is a seal, or its beginning, that somebody wrote down at the time."""

    def look() -> Iterator[Finding]:
        if content_seal(record) != record.get("sha256"):
            yield Finding(where="record.json", what="was changed after it was written: its seal is broken")
        volatile = record.get("volatile")
        if not isinstance(volatile, dict) or volatile_seal(volatile) != volatile.get("sha256"):
            what = "its volatile part (time, seconds, workers) was changed: its seal is broken"
            yield Finding(where="record.json", what=what)
        if (folder / "record.json").read_text(encoding="utf-8") != canonical_json(record):
            yield Finding(where="record.json", what="is not in the form in which a run writes it")
        if noted is not None and not str(record.get("sha256")).startswith(noted):
            yield Finding(where="record.json", what=f"has the seal {record.get('sha256')}, not the one you noted")

    return checked("record", "the record's seal and form", look)


def check_files(folder: Path, record: Mapping[str, Any]) -> Check:
    """Every file against the hash that the record names."""

    def look() -> Iterator[Finding]:
        listed: dict[str, str] = record["files"]
        for name in sorted({*listed, *_present(folder)} - {"record.json", CRATE}):
            file = folder / name
            if name not in listed:
                yield Finding(where=name, what="was not written by the run")
            elif file.is_symlink() or not file.is_file():
                yield Finding(where=name, what="is missing" if not file.is_symlink() else "is a link, not a file")
            elif sha256_of(file.read_bytes()) != listed[name]:
                yield Finding(where=name, what="was changed after it was written: its hash differs")
        yield from _crate(folder, record)

    return checked("files", f"{len(record.get('files', ()))} files by their hashes", look)


def _crate(folder: Path, record: Mapping[str, Any]) -> Iterator[Finding]:
    """The crate tells the day, so the record holds no hash of it; but it follows from the record and the files."""
    file = folder / CRATE
    if file.is_symlink() or not file.is_file():
        yield Finding(where=CRATE, what="is missing" if not file.is_symlink() else "is a link, not a file")
        return
    files = {
        name: (folder / name).read_bytes() for name in _present(folder) - {CRATE} if not (folder / name).is_symlink()
    }
    if file.read_bytes() != crate_json(record, files).encode():
        yield Finding(where=CRATE, what="does not tell what the record and the files do")


def _present(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or path.is_file()}
