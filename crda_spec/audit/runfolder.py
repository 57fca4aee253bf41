"""A run's folder appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from crda_spec.audit.canonical import sha256_of
from crda_spec.errors import Complaint, OutputError


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
        Path(tempfile.mkdtemp(prefix=".partial-", dir=above)).rmdir()  # the only sure way to know
    except OSError as error:
        why = f"'{above}' is not a folder one may write to"
        raise _refused(folder, why, "choose another with --out") from error


def write_run(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes all files to a folder beside the final one, then renames it; on any interruption nothing remains."""
    partial = folder.parent / f".partial-{folder.name}-{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)  # a killed run of the same process number may have left one
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
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


def file_hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """File name -> sha256, for the record."""
    return {name: sha256_of(data) for name, data in sorted(files.items())}


def _refused(folder: Path, why: str, hint: str) -> OutputError:
    what = f"cannot write the run to '{folder}': {why}"
    return OutputError(Complaint(code="cannot-write", path="output.dir", what=what, hint=hint))
