"""Everything that can go wrong on purpose.

::

    CrdaError                 exit code 2 unless it says otherwise
    ├── SpecError             the spec says something that cannot be run
    ├── DataError             the data break their contract
    ├── GraphError            the causal graph is not one
    ├── MissingExtraError     an optional package is needed and absent
    ├── OutputError           the run folder cannot be written, or read as one
    └── TamperedError         a run's file is not as the run wrote it; exit code 4

Each of the first three carries *all* its complaints. A complaint names the place (`spec.yaml:12:5`), the path
inside the spec, what is wrong with the value, and the next thing to try.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something was written: `file:line:col`, both counted from 1; `text` is the line itself."""

    file: str
    line: int = 0
    col: int = 0
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One thing that is wrong: where, what, and what to try next.

    `code` is a stable, short identifier for machines (`unknown-key`); `path` is the place inside the spec
    (`gate.folds`), empty when the trouble is not in the spec.
    """

    code: str
    what: str
    hint: str = ""
    path: str = ""
    place: Place | None = None

    def at(self, place: Place | None) -> Complaint:
        """The same complaint at a place, unless it already has one."""
        return self if self.place is not None else replace(self, place=place)

    def moved(self, old: str, new: str) -> Complaint:
        """The same complaint with `new` in place of `old` at the start of its path."""
        return replace(self, path=new + self.path[len(old) :]) if self.path.startswith(old) else self

    def headline(self) -> str:
        """The complaint on one line: `place: path: what; hint`."""
        parts = [str(self.place)] if self.place is not None else []
        if self.path:
            parts.append(self.path)
        parts.append(f"{self.what}; {self.hint}" if self.hint else self.what)
        return ": ".join(parts)

    def render(self) -> str:
        """The headline and, when the source line is known, that line with a caret under the column."""
        if self.place is None or not self.place.line or not self.place.text:
            return self.headline()
        number = str(self.place.line)
        shown, caret = _shorten(self.place.text.rstrip("\n"), self.place.col)
        gutter = " " * len(number)
        return f"{self.headline()}\n    {number} | {shown}\n    {gutter} | {' ' * (caret - 1)}^"


def _shorten(text: str, col: int, width: int = 100) -> tuple[str, int]:
    """Keeps the caret of a very long line on screen; tabs become single spaces so that the caret lines up."""
    text = text.replace("\t", " ")
    if len(text) <= width:
        return text, col
    start = max(0, col - width // 2)
    cut = text[start : start + width]
    return ("…" + cut[1:] if start else cut[:-1] + "…"), col - start


class CrdaError(Exception):
    """The root: everything this package raises on purpose, with its complaints."""

    exit_code = 2

    def __init__(self, complaints: Complaint | Iterable[Complaint]) -> None:
        """Keeps the complaints in the order of their places."""
        found = [complaints] if isinstance(complaints, Complaint) else list(complaints)
        self.complaints: tuple[Complaint, ...] = tuple(sorted(found, key=_order))
        super().__init__(self.render())

    def __reduce__(self) -> tuple[type[CrdaError], tuple[tuple[Complaint, ...]]]:
        """Lets the error cross a process boundary whole."""
        return type(self), (self.complaints,)

    def render(self) -> str:
        """All complaints, in the order of their places, and their number when there are several."""
        text = "\n".join(complaint.render() for complaint in self.complaints)
        return f"{text}\n{len(self.complaints)} problems" if len(self.complaints) > 1 else text


def _order(complaint: Complaint) -> tuple[str, int, int]:
    place = complaint.place
    return ("", 0, 0) if place is None else (place.file, place.line, place.col)


class SpecError(CrdaError):
    """The spec says something that cannot be run."""


class DataError(CrdaError):
    """The data break their contract."""


class GraphError(CrdaError):
    """The causal graph is not one."""


class MissingExtraError(CrdaError):
    """An optional package is needed and absent."""


class OutputError(CrdaError):
    """The run folder cannot be written, or read as one."""


class TamperedError(CrdaError):
    """A run's file is not as the run wrote it."""

    exit_code = 4


def inconsistent(path: str, what: str, hint: str) -> Complaint:
    """Two parts of a spec that cannot both hold."""
    return Complaint(code="inconsistent", path=path, what=what, hint=hint)


def repeated(path: str, values: Iterable[object]) -> Iterator[Complaint]:
    """One complaint for each value of a list that stands in it more than once."""
    for value, times in Counter(values).items():
        if times > 1:
            yield inconsistent(path, f"{show(value)} is listed {times} times", "list it once")


def did_you_mean(word: str, known: Sequence[str], *, otherwise: str = "known", taken: Collection[str] = ()) -> str:
    """A hint: the nearest known word, or the list of known ones when none is near and the list is short.

    taken: known words that cannot have been meant, since they are asked for themselves. The result ends no sentence, so
    that it can follow a semicolon.
    """
    folded = {name.casefold(): name for name in reversed(known) if name not in taken}
    near = difflib.get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.6)
    if near:
        return f"did you mean '{folded[near[0]]}'?"
    if not known:
        return ""
    shown = ", ".join(known[:12])
    return f"{otherwise}: {shown}" + (f" and {len(known) - 12} more" if len(known) > 12 else "")


def show(value: object, width: int = 60) -> str:
    """A value as it appears in a message: quoted text, short lists, never a page."""
    text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"


def printable(text: str) -> str:
    """Text of unknown origin on one line of a terminal: control and direction marks are shown, not obeyed."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
