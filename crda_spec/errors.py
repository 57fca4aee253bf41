"""Everything that can go wrong on purpose.

::

    CrdaError                 exit code 2 unless it says otherwise
    ├── SpecError             the spec says something that cannot be run
    ├── DataError             the data break their contract
    ├── GraphError            the causal graph is not one
    ├── MissingExtraError     an optional package is needed and absent
    ├── OutputError           the run folder cannot be written, or read as one
    └── TamperedError         a run's file is not as the run wrote it; exit code 4
    NotAugmentedWarning       a sampler added no row

Each of the first three carries *all* its complaints. A complaint names the place (`spec.yaml:12:5`), the path
inside the spec, what is wrong with the value, and the next thing to try.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

_LONGEST = 200  # letters of a word that is written, and of one that is looked for


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
        parts = [_any_url(str(self.place), _URL_LINE)] if self.place is not None else []
        if self.path:
            parts.append(self.path if len(self.path) <= _LONGEST else f"{self.path[: _LONGEST - 1]}…")
        what = _any_url(self.what, _URL)
        parts.append(f"{what}; {self.hint}" if self.hint else what)
        return printable(": ".join(parts))

    def __str__(self) -> str:
        return self.headline()

    def render(self) -> str:
        """The headline and, when the source line is known, that line with a caret under the column."""
        if self.place is None or not self.place.line or not self.place.text:
            return self.headline()
        if self.path.endswith(".url") and "://" not in self.place.text:  # which part of it would be the password?
            return self.headline()
        number = str(self.place.line)
        shown, caret = _shorten(_any_url(self.place.text.rstrip("\n"), _URL_LINE), self.place.col)
        gutter = " " * len(number)
        return f"{self.headline()}\n    {number} | {printable(shown)}\n    {gutter} | {' ' * (caret - 1)}^"


def _shorten(text: str, col: int, width: int = 100) -> tuple[str, int]:
    """Keeps the caret of a very long line on screen; tabs become single spaces so that the caret lines up."""
    text = text.replace("\t", " ")
    if len(text) <= width:
        return text, col
    start = max(0, col - width // 2)
    cut = text[start : start + width]
    return ("…" + cut[1:] if start else cut[:-1] + "…"), col - start


class CrdaError(Exception):
    """The root: everything this package raises on purpose, with its complaints.

    Attributes
    ----------
    complaints : tuple of Complaint
        What is wrong: each with its place, ``path`` inside the spec, ``what`` and ``hint``.

    Examples
    --------
    >>> import crda_spec
    >>> try:
    ...     crda_spec.load_spec({"version": 1, "name": "fields", "dataset": {"target": "grain"}})
    ... except crda_spec.CrdaError as error:
    ...     print(error)
    spec: dataset.source: the key 'source' is missing; it says: where the rows come from

    """

    exit_code = 2

    def __init__(self, complaints: Complaint | Iterable[Complaint]) -> None:
        """Keeps the complaints in the order of their places."""
        listed = [complaints] if isinstance(complaints, Complaint) else list(complaints)
        self.complaints: tuple[Complaint, ...] = tuple(sorted(listed, key=lambda one: one.place or Place("")))
        super().__init__(self.render())

    def __reduce__(self) -> tuple[type[CrdaError], tuple[tuple[Complaint, ...]]]:
        """Lets the error cross a process boundary whole."""
        return type(self), (self.complaints,)

    def render(self) -> str:
        """All complaints, in the order of their places, and their number when there are several."""
        text = "\n".join(complaint.render() for complaint in self.complaints)
        return f"{text}\n{len(self.complaints)} problems" if len(self.complaints) > 1 else text


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


class NotAugmentedWarning(UserWarning):
    """A sampler returned the rows as they came: the gate did not accept, or nothing may move."""


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
    near = difflib.get_close_matches(word[:_LONGEST].casefold(), list(folded), n=1, cutoff=0.6)
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


_URL = re.compile(r"[\w.+-]+://[^\s'\"]*")  # in a sentence
_URL_LINE = re.compile(r"[\w.+-]+://.*", re.DOTALL)  # in a line of a spec, where a password may hold a space
_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_SECRET_OPTION = re.compile(
    r"(?P<key>[?&]\w*(?:pass|pwd|secret|token|key|credential|odbc_connect)\w*=)(?P<value>[^&]*)", re.IGNORECASE
)
_USER_OPTION = re.compile(r"(?P<key>[?&](?:user|username|uid)=)(?P<value>[^&]*)", re.IGNORECASE)
_NO_PORT = re.compile(r"(?P<key>[^:/?@]*:)(?P<value>(?!\d+(?:[/?]|$))[^/?]+)")


def redact_url(url: str, *, users: bool = False) -> str:
    """A database URL without its secrets: `postgresql://ada:***@db/houses`. users: without its users too.

    A password may hold any character, so all up to the last @ counts as one: rather a host too little than a secret
    too much. A whole `${NAME}` in a secret's place stays: it tells nothing.
    """
    scheme, slashes, rest = url.partition("://")
    if not slashes:
        scheme, rest = "", url
    written, at, tail = rest.rpartition("@")
    if scheme.startswith("sqlite") and rest.startswith("/"):  # a file, whatever its name holds
        written, at, tail = "", "", rest
    if at:
        user, colon, password = written.partition(":")
        opened = [*_SECRET_OPTION.finditer(written)]
        if opened and opened[-1].end() == len(written):  # the @ stands in the value of an option
            tail = re.sub(r"^[^&]*", "***", tail, count=1)
        user = _masked(user) if users and user else _SECRET_OPTION.sub(_mask_value, user)
        written = f"{user}{colon}{_masked(password) if password else ''}"
    elif slashes and (no_port := _NO_PORT.match(tail)):
        tail = f"{'***:***' if users else _mask_value(no_port)}{tail[no_port.end() :]}"
    tail = _SECRET_OPTION.sub(_mask_value, tail)
    return f"{scheme}{slashes}{written}{at}{_USER_OPTION.sub(_mask_value, tail) if users else tail}"


def _masked(secret: str) -> str:
    return secret if _VARIABLE.fullmatch(secret) else "***"


def _mask_value(match: re.Match[str]) -> str:
    return f"{match['key']}{_masked(match['value'])}"


def _any_url(text: str, pattern: re.Pattern[str]) -> str:
    """The text with every database URL in it as a record shows it."""
    return pattern.sub(lambda match: redact_url(match.group(), users=True), text)
