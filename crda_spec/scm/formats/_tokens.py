"""The tokens of DAGitty and DOT, and the dialect that tells the two apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from crda_spec.errors import show
from crda_spec.scm.formats._source import Source

Kind = Literal["word", "quoted", "arrow", "sign", "html", "bad", "end"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one language spells the shared syntax. `token` has the groups skip, word, quoted, arrow, sign, html, bad."""

    token: re.Pattern[str]
    arrows: frozenset[str]
    arrow_hint: Callable[[str], tuple[str, str]]  # of an arrow that is refused: what is wrong with it, and the hint
    unquote: Callable[[str], str]
    keywords: frozenset[str] = frozenset()  # words that start a statement of their own, in lower case


class Token(NamedTuple):  # a tuple because there may be a million of them
    """One token; `fresh` when a line break stands between it and the one before."""

    kind: Kind
    text: str
    at: int
    end: int
    fresh: bool

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else show(self.text)

    @property
    def names(self) -> bool:
        """Whether it is a word, quoted or not."""
        return self.kind in ("word", "quoted")


def tokens(source: Source, dialect: Dialect) -> Iterator[Token]:
    """The tokens of the text and one for its end; what is none is complained about and left out."""
    fresh = True
    for match in dialect.token.finditer(source.text):
        kind, text, at = match.lastgroup, match.group(), match.start()
        if kind == "skip":
            fresh = fresh or "\n" in text
            continue
        if kind == "bad":
            _bad(source, text, at)
            if source.is_hopeless:
                break
            continue
        if kind == "quoted":
            text = dialect.unquote(text[1:-1])
        yield Token(kind, text, at, match.end(), fresh)  # type: ignore[arg-type]
        fresh = False
    size = len(source.text)
    yield Token("end", "", size, size, fresh=True)


def _bad(source: Source, text: str, at: int) -> None:
    """What no language has a token for. The pattern of `bad` ends with the line, or with the text."""
    if text.startswith("'"):
        source.complain("graph-syntax", at, f"{show(text)} is in single quotes", "write names in double quotes")
    elif text.startswith('"'):
        source.complain("graph-syntax", at, "a quoted name is not closed", 'end it with "')
    elif text.startswith("/*"):
        source.complain("graph-syntax", at, "a comment is not closed", "end it with */")
    else:
        source.complain("graph-syntax", at, f"{show(text)} means nothing here", "a name with signs needs double quotes")
