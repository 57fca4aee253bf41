"""The text of a graph: its lines, places in it, and the complaints about it, up to a number that helps."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from crda_spec.errors import Complaint, Place

MAX_TEXT = 4_000_000  # characters
MAX_COMPLAINTS = 20  # a text of the wrong kind would give thousands


class Source:
    """One text, and what is wrong with it."""

    __slots__ = ("_found", "_lines", "_more", "_starts", "file", "text")

    def __init__(self, text: str, file: str) -> None:
        """Drops a byte order mark; lines end at line feeds only, as editors count them."""
        self.text = text.removeprefix("\ufeff")
        self.file = file
        # Places share these strings: a text of one long line is not copied for each of its edges.
        self._lines = self.text.split("\n") if len(self.text) <= MAX_TEXT else []
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._found: list[Complaint] = []
        self._more = False

    def place(self, at: int) -> Place:
        """The place of the character with this offset."""
        line = min(bisect_right(self._starts, at), len(self._lines)) - 1
        return Place(self.file, line + 1, at - self._starts[line] + 1, self._lines[line])

    def offset(self, line: int, col: int) -> int:
        """The offset of a place, both counted from 1; the reverse of `place`."""
        return self._starts[min(line, len(self._lines)) - 1] + col - 1

    def complain(self, code: str, at: int | None, what: str, hint: str = "") -> None:
        """Notes a complaint at an offset, or about the text as a whole."""
        if len(self._found) >= MAX_COMPLAINTS:
            self._more = True
            return
        place = (Place(self.file) if self.file else None) if at is None else self.place(at)
        self._found.append(Complaint(code=code, what=what, hint=hint, place=place))

    def is_readable(self) -> bool:
        """Whether there is a text of a size that is read; complains otherwise."""
        if len(self.text) > MAX_TEXT:
            what = f"the graph has {len(self.text)} characters, and at most {MAX_TEXT} are read"
            self.complain("graph-too-long", None, what, "leave out what is not tied to the target")
            return False
        if not self.text.strip():
            self.complain("graph-empty", None, "the graph has no text", "write what causes what")
            return False
        return True

    @property
    def is_hopeless(self) -> bool:
        """Whether there are more complaints than are shown, so that a reader may stop."""
        return self._more

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        """All complaints; the last one says when there are more."""
        if not self._more:
            return tuple(self._found)
        what = "there are more problems than are shown"
        rest = Complaint(
            code="more-problems", what=what, hint="is it a file of this kind?", place=self._found[-1].place
        )
        return (*self._found, rest)
