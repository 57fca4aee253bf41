"""Files as every source meets them: absent, misspelt, a folder, unreadable. Standard library only."""

from __future__ import annotations

from pathlib import Path

from crda_spec.errors import Complaint, DataError, Place, did_you_mean


def require_file(path: Path, written: str = "", *, key: str = "dataset.source.path") -> None:
    """Raises a DataError unless `path` is a file.

    written: the path as the spec writes it, relative to the spec; the file's name when it is not known.
    key: the place inside the spec that names the file. The complaint has no place of its own, so that the caller
    can point at that line of the spec.
    """
    if path.is_file():
        return
    shown = written or path.name
    if path.is_dir():
        raise DataError(
            Complaint(code="not-a-file", path=key, what=f"'{shown}' is a folder, not a file", hint="name a file in it")
        )
    if not path.parent.is_dir():
        folder = Path(written).parent if written else path.parent
        hint = f"its folder '{folder}' does not exist; a relative path starts at the spec's folder"
        raise DataError(Complaint(code="file-not-found", path=key, what=f"there is no file '{shown}'", hint=hint))
    neighbours = sorted(file.name for file in path.parent.iterdir() if file.is_file() and file.name[0] != ".")
    hint = did_you_mean(path.name, neighbours, otherwise="its folder holds") or "its folder holds no file"
    raise DataError(Complaint(code="file-not-found", path=key, what=f"there is no file '{shown}'", hint=hint))


def read_bytes(path: Path, written: str = "", *, key: str = "dataset.source.path") -> bytes:
    """The whole file, or a DataError that says what to try; `key` is the place inside the spec that names it."""
    require_file(path, written, key=key)
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"'{written or path.name}' cannot be read: {error.strerror}"
        raise DataError(Complaint(code="unreadable-file", path=key, what=what, hint="check its permissions")) from error


def check_names(names: tuple[str, ...], description: str, *, line: int = 0) -> None:
    """Raises a DataError that lists every blank and every repeated column name."""
    place = Place(file=description, line=line, col=1 if line else 0)
    found = [
        Complaint(
            code="blank-column-name",
            place=place,
            what=f"column {number} has no name",
            hint="name every column in the header",
        )
        for number, name in enumerate(names, start=1)
        if not name.strip()
    ]
    where: dict[str, list[int]] = {}
    for number, name in enumerate(names, start=1):
        where.setdefault(name, []).append(number)
    for name, numbers in where.items():
        if len(numbers) > 1 and name.strip():
            listed = ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"
            what = f"the name '{name}' heads {len(numbers)} columns ({listed})"
            hint = "give each column its own name"
            found.append(Complaint(code="duplicate-column-name", place=place, what=what, hint=hint))
    if found:
        raise DataError(found)
