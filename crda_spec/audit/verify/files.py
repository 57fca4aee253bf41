"""The cheapest look: is every file there, unchanged, and is the record itself whole?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crda_spec.audit.canonical import canonical_json, sha256_of
from crda_spec.audit.crate import CRATE, crate_json
from crda_spec.audit.record import RECORD_VERSION
from crda_spec.audit.seal import content_seal, volatile_seal
from crda_spec.audit.verify.checks import Check, Finding, checked
from crda_spec.errors import Complaint, OutputError, Place, show

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
