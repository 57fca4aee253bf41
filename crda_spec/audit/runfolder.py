"""A run's folder appears whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from crda_spec.audit.canonical import sha256_of
from crda_spec.errors import Complaint, OutputError, show

if sys.platform != "win32":
    import fcntl

MARKER = ".crda-partial"  # the file that makes a half-written folder ours
_OURS = re.compile(r"\.partial-.+-\d+-[0-9a-f]{6}")


@contextmanager
def writing(file: Path, hint: str, path: str = "") -> Iterator[None]:
    """What the system has against writing the file is an OutputError."""
    try:
        yield
    except OSError as error:
        what = f"cannot write '{file}': {(error.strerror or str(error)).lower()}"
        raise OutputError(Complaint(code="cannot-write", path=path, what=what, hint=hint)) from error


def check_destination(folder: Path) -> None:
    """Complains before the work starts, not after, when the folder cannot be written."""
    if folder.exists() and not folder.is_dir():
        raise _refused(folder, "it is a file", "choose another folder with --out")
    if folder.exists() and any(folder.iterdir()):
        raise _refused(folder, "it already exists and is not empty", "choose another folder with --out")
    above = folder.absolute().parent
    while not above.exists():
        above = above.parent
    try:
        with half_written(above / folder.name):  # the only sure way to know
            pass
    except OSError as error:
        raise _refused(folder, f"'{above}' is not a folder one may write to", "choose another with --out") from error


def plan_folder(out: Path | None, *, base: Path, name: str) -> Path:
    """Where the run will go, checked before any work is done. The clock and a random part make the id unique."""
    stamp = datetime.now(tz=UTC).strftime("%Y%m%d-%H%M%S")
    folder = out if out is not None else base / name / f"{stamp}-{secrets.token_hex(3)}"
    check_destination(folder)
    return folder


def check_new_file(out: Path, hint: str, *, option: str = "--out", no_folder: str | None = None) -> None:
    """Complains before the work starts, not after. no_folder: the hint where the folder is missing, if another."""
    try:
        taken = out.exists()
    except OSError as error:  # a name that is too long
        what = f"{show(str(out))} cannot be written: {(error.strerror or '').lower()}"
        raise OutputError(Complaint(code="cannot-write", path=option, what=what, hint=hint)) from error
    if taken:
        raise OutputError(Complaint(code="cannot-write", path=option, what=f"'{out}' already exists", hint=hint))
    if not out.parent.is_dir():
        what = f"there is no folder '{out.parent}'"
        raise OutputError(Complaint(code="cannot-write", path=option, what=what, hint=no_folder or hint))


def write_run(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes all files to a folder beside the final one, then renames it; on any interruption nothing remains."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with half_written(folder) as partial:
            for name, data in files.items():
                target = partial / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            if folder.exists():
                folder.rmdir()  # only an empty one passed the check
            (partial / MARKER).unlink()
            partial.rename(folder)
    except OSError as error:
        raise _refused(folder, (error.strerror or str(error)).lower(), "choose another folder with --out") from error


@contextmanager
def half_written(target: Path) -> Iterator[Path]:
    """A hidden folder beside the target, to write in; what is left of it at the end is removed.

    A killed process cannot tidy up. What it leaves has a name of our form, our marker in it and nobody who holds it any
    more; the next writer sweeps it away, and nothing else.
    """
    sweep(target.parent)
    partial = target.parent / f".partial-{target.name}-{os.getpid()}-{secrets.token_hex(3)}"
    handle = None
    while handle is None:
        partial.mkdir(exist_ok=True)
        handle = _claimed(partial)  # None when another run swept the folder before we had it in hand
    try:
        (partial / MARKER).touch()
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(handle)


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """Where to write a file that takes its own name when all is written."""
    with writing(out, "choose another file with --out"), half_written(out) as partial:
        yield partial / out.name
        (partial / out.name).replace(out)


def _claimed(folder: Path, *, locked: bool = False) -> int | None:
    """The folder's handle, locked where the file system has such locks; None when the folder is gone or held.

    locked: None too where there are no locks.

    The system lets go of it when the process dies, however it dies.
    """
    if sys.platform == "win32":
        return os.open(os.devnull, os.O_RDONLY)
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:  # no locks here: then nobody sweeps here either
        if not locked:
            return handle
    else:
        if folder.exists():
            return handle
    os.close(handle)
    return None


def sweep(folder: Path) -> None:
    """Removes what killed writers left half-written in this folder, and nothing that is not ours or is still held."""
    if sys.platform == "win32":
        return  # no folder can be held there, so none may be taken for abandoned
    for left in folder.glob(".partial-*"):
        if not _OURS.fullmatch(left.name) or left.is_symlink() or not left.is_dir():
            continue
        handle = _claimed(left, locked=True)
        if handle is not None:
            if (left / MARKER).is_file():
                shutil.rmtree(left, ignore_errors=True)
            else:
                with suppress(OSError):
                    left.rmdir()  # killed before its marker was written: then it is empty, or not ours
            os.close(handle)


def file_hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """File name -> sha256, for the record."""
    return {name: sha256_of(data) for name, data in sorted(files.items())}


def _refused(folder: Path, why: str, hint: str) -> OutputError:
    what = f"cannot write the run to '{folder}': {why}"
    return OutputError(Complaint(code="cannot-write", path="output.dir", what=what, hint=hint))
