"""A run's folder appears whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from crda_spec.audit.canonical import sha256_of
from crda_spec.errors import Complaint, OutputError

if sys.platform != "win32":
    import fcntl

PARTIAL = ".partial-"  # how the name of a half-written folder begins


def check_destination(folder: Path) -> None:
    """Complains before the work starts, not after, when the folder cannot be written."""
    if folder.exists() and not folder.is_dir():
        raise _refused(folder, "it is a file", "choose another folder with --out")
    if folder.exists() and any(folder.iterdir()):
        raise _refused(folder, "it already exists and is not empty", "choose another folder with --out")
    above = folder.absolute().parent
    while not above.exists():
        above = above.parent
    sweep(above)
    try:
        probe = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=above))  # the only sure way to know
        with suppress(FileNotFoundError):  # swept by another run that starts at this moment
            probe.rmdir()
    except OSError as error:
        why = f"'{above}' is not a folder one may write to"
        raise _refused(folder, why, "choose another with --out") from error


def write_run(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes all files to a folder beside the final one, then renames it; on any interruption nothing remains.

    A killed process cannot tidy up. What it leaves is a hidden folder that nobody holds any more, and the next run
    sweeps it away.
    """
    partial = folder.parent / f"{PARTIAL}{folder.name}-{os.getpid()}-{secrets.token_hex(3)}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep(folder.parent)
        with _held(partial):
            for name, data in files.items():
                target = partial / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            if folder.exists():
                folder.rmdir()  # only an empty one passed the check
            partial.rename(folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise _refused(folder, (error.strerror or str(error)).lower(), "choose another folder with --out") from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Makes the folder and holds it: nobody may sweep it. The system lets go when the process dies, however it dies."""
    handle = None
    while handle is None:
        folder.mkdir(exist_ok=True)
        handle = _claimed(folder)  # None when another run swept the folder before we had it in hand
    try:
        yield
    finally:
        os.close(handle)


def _claimed(folder: Path) -> int | None:
    """The folder's handle, locked where the file system has such locks; None when the folder is gone or held."""
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
    except OSError:
        return handle  # no locks here: then nobody sweeps here either
    if folder.exists():
        return handle
    os.close(handle)
    return None


def sweep(folder: Path) -> None:
    """Removes what killed runs left half-written in this folder, and nothing that a living process holds."""
    if sys.platform == "win32":
        return  # no folder can be held there, so none may be taken for abandoned
    for left in folder.glob(f"{PARTIAL}*"):
        if left.is_symlink() or not left.is_dir():
            continue
        handle = _claimed(left)
        if handle is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(handle)


def file_hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """File name -> sha256, for the record."""
    return {name: sha256_of(data) for name, data in sorted(files.items())}


def _refused(folder: Path, why: str, hint: str) -> OutputError:
    what = f"cannot write the run to '{folder}': {why}"
    return OutputError(Complaint(code="cannot-write", path="output.dir", what=what, hint=hint))
