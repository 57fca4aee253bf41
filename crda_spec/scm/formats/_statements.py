"""The syntax that DAGitty and DOT share: `head { statements }`, chains of arrows, groups in braces."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal, NamedTuple

from crda_spec.errors import did_you_mean, show
from crda_spec.scm.formats._protocol import Draft, Source
from crda_spec.scm.graph import Mark

Kind = Literal["word", "quoted", "arrow", "sign", "html", "bad", "end"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one language spells the shared syntax. `token` has the groups skip, word, quoted, arrow, sign, html, bad."""

    token: re.Pattern[str]
    arrows: frozenset[str]
    arrow_hint: Callable[[str], tuple[str, str]]  # of an arrow that is refused: what is wrong with it, and the hint
    unquote: Callable[[str], str]
    start: str  # the word before the first brace
    refused: Mapping[str, tuple[str, str, str]]  # words that may stand there instead -> code, what, hint
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
        elif kind == "bad":
            _bad(source, text, at)
            if source.is_hopeless:
                break
        else:
            shown = dialect.unquote(text[1:-1]) if kind == "quoted" else text
            yield Token(kind, shown, at, match.end(), fresh)  # type: ignore[arg-type]
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


MAX_DEPTH = 20  # braces inside braces
BESIDE = "a name with spaces or signs needs double quotes; separate statements by ; or a line break"


class Attribute(NamedTuple):
    """`key` or `key=value` in brackets."""

    key: Token
    value: Token | None


class Group(NamedTuple):
    """Statements in braces."""

    at: int
    members: tuple[Statement, ...]


class Chain(NamedTuple):
    """`a -> {b c} -> d [attributes]`; with one operand and no arrow, a node or a group by itself."""

    operands: tuple[Token | Group, ...]
    arrows: tuple[Token, ...]
    attributes: tuple[Attribute, ...]


class Setting(NamedTuple):
    """`key = value` as a statement, or, with a keyword in front, `node [attributes]`."""

    key: Token
    value: Token | None
    attributes: tuple[Attribute, ...] = ()


Statement = Chain | Setting


def parse(source: Source, dialect: Dialect) -> tuple[Statement, ...]:
    """What could be read; whatever could not is among the source's complaints."""
    head, statements = _Parser(source, dialect, list(tokens(source, dialect))).document()
    words = head[1:] if head and head[0].text.lower() == "strict" else head
    kind, at = (words[0].text.lower(), words[0].at) if words else ("", 0)
    hint = f"write {dialect.start} {{ a -> b }}"
    if kind in dialect.refused:
        code, what, instead = dialect.refused[kind]
        source.complain(code, at, what, instead)
    elif kind != dialect.start:
        source.complain("graph-syntax", at, f"the graph does not start with {dialect.start} {{", hint)
    for extra in words[2:]:
        source.complain("graph-syntax", extra.at, f"{extra} stands before the brace", hint)
    return statements


@dataclass(slots=True)
class _Parser:
    """Reads statement by statement; after a complaint it goes on with the next one."""

    source: Source
    dialect: Dialect
    tokens: list[Token]
    position: int = 0
    _astray: bool = False  # a brace was left open, so that those around it seem open too

    @property
    def now(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.now
        self.position += token.kind != "end"
        return token

    def at_sign(self, *signs: str) -> bool:
        return self.now.kind == "sign" and self.now.text in signs

    def accept(self, *signs: str) -> bool:
        """Takes one of these signs, if it is next."""
        return self.at_sign(*signs) and bool(self.take())

    def complain(self, token: Token, what: str, hint: str) -> None:
        self.source.complain("graph-syntax", token.at, what, hint)

    def unclosed(self, brace: Token, hint: str) -> None:
        if not self._astray:
            self.complain(brace, "the brace is not closed", hint)
        self._astray = True

    def document(self) -> tuple[list[Token], tuple[Statement, ...]]:
        """The words before the first brace, and the statements in it."""
        head: list[Token] = []
        while self.now.names:
            head.append(self.take())
        if not self.at_sign("{"):
            self.complain(self.now, f"a brace is expected, but here is {self.now}", "write the edges between { and }")
            return head, ()
        brace = self.take()
        statements = self.statements(0)
        if self.accept("}"):
            if self.now.kind != "end":
                what = f"{self.now} stands after the end of the graph"
                self.complain(self.now, what, "write one graph, in one pair of braces")
        else:
            self.unclosed(brace, "end the graph with }")
        return head, statements

    def statements(self, depth: int) -> tuple[Statement, ...]:
        """Up to the closing brace, which is left for the caller."""
        statements: list[Statement] = []
        while not self.at_sign("}") and self.now.kind != "end" and not self.source.is_hopeless:
            if self.accept(";"):
                continue
            start = self.position
            statement = self.statement(depth)
            if statement is None:
                self.skip(start)
            else:
                statements.append(statement)
                self.check_end(statement, depth)
        return tuple(statements)

    def skip(self, start: int) -> None:
        """Goes on at the next statement, or the next line, past at least one token."""
        if self.position == start:
            self.take()
        while self.now.kind != "end" and not self.now.fresh and not self.at_sign(";", "}"):
            self.take()

    def check_end(self, statement: Statement, depth: int) -> None:
        token, before = self.now, self.tokens[self.position - 1]
        if token.kind == "end" or token.fresh or self.at_sign(";", "}"):
            return
        closed = before.kind == "sign" or (before.kind == "quoted" and isinstance(statement, Setting))
        if closed and (token.names or self.at_sign("{")):
            return  # `bb="0,1" x [exposure] y [outcome]`: nothing to mistake
        bare = isinstance(statement, Chain) and not statement.arrows and not statement.attributes
        if depth and bare and token.names and token.at > before.end:
            return  # names in braces stand side by side
        if depth and self.accept(","):
            self.complain(token, "a comma between names in braces", "separate them by spaces, as in {a b}")
            return
        self.complain(token, f"{token} follows {before} on the same line", BESIDE)
        self.skip(self.position)

    def statement(self, depth: int) -> Statement | None:
        word = self.now
        if word.kind == "word" and word.text.lower() in self.dialect.keywords - {"subgraph"}:
            self.take()
            if not self.at_sign("["):
                hint = "write attributes in brackets after it; a node of that name needs double quotes"
                self.complain(word, f"{word} is a keyword", hint)
                return None
            return Setting(word, None, self.attributes())
        first = self.operand(depth)
        if first is None:
            return None
        if isinstance(first, Token) and self.accept("="):
            value = self.take() if self.now.names else self.value_missing()
            return None if value is None else Setting(first, value)
        return self.chain(first, depth)

    def chain(self, first: Token | Group, depth: int) -> Chain | None:
        operands, arrows = [first], list[Token]()
        sound = True
        while self.now.kind == "arrow":
            arrow = self.take()
            if arrow.text not in self.dialect.arrows:
                self.complain(arrow, *self.dialect.arrow_hint(arrow.text))
                sound = False
            operand = self.operand(depth)
            if operand is None:
                return None
            arrows.append(arrow)
            operands.append(operand)
        attributes = self.attributes()
        return Chain(tuple(operands), tuple(arrows), attributes) if sound else Chain(tuple(operands), (), ())

    def operand(self, depth: int) -> Token | Group | None:
        if self.now.names and not (self.now.kind == "word" and self.now.text.lower() in self.dialect.keywords):
            return self.name()
        if self.now.kind == "word" and self.now.text.lower() == "subgraph":
            self.take()
            if self.now.names:
                self.take()
        if self.at_sign("{"):
            return self.group(depth)
        hint = "write a node's name on both sides of an arrow, as in a -> b"
        if self.now.kind == "html":
            hint = "a label in angle brackets is no name; write the name in double quotes"
        self.complain(self.now, f"a name is expected, but here is {self.now}", hint)
        return None

    def name(self) -> Token:
        """A name; quoted parts may be joined by plus signs."""
        token = self.take()
        while token.kind == "quoted" and self.accept("+"):
            if self.now.kind != "quoted":
                self.complain(self.now, f"a quoted text is expected after +, but here is {self.now}", 'write "a" + "b"')
                break
            more = self.take()
            token = Token("quoted", token.text + more.text, token.at, more.end, token.fresh)
        return token

    def group(self, depth: int) -> Group | None:
        brace = self.take()
        if depth >= MAX_DEPTH:
            what = f"braces are nested more than {MAX_DEPTH} deep"
            self.complain(brace, what, "write the edges without so many groups")
            self.position, self._astray = len(self.tokens) - 1, True
            return None
        members = self.statements(depth + 1)
        if not self.accept("}"):
            self.unclosed(brace, "end the group with }")
            return None
        if not members:
            self.complain(brace, "the braces are empty", "name at least one node, as in {a b}")
            return None
        return Group(brace.at, members)

    def attributes(self) -> tuple[Attribute, ...]:
        """One or more lists in brackets."""
        attributes: list[Attribute] = []
        while self.at_sign("["):
            bracket = self.take()
            while self.now.names:
                key = self.name()
                attributes.append(Attribute(key, self.value() if self.accept("=") else None))
                self.accept(",", ";")
            if not self.accept("]"):
                what = f"the bracket is not closed before {self.now}"
                self.complain(bracket, what, 'write attributes as in [latent] or [pos="0,1"]')
                break
        return tuple(attributes)

    def value(self) -> Token | None:
        if self.now.names:
            return self.name()
        return self.take() if self.now.kind == "html" else self.value_missing()

    def value_missing(self) -> Token | None:
        what = f"a value is expected after =, but here is {self.now}"
        self.complain(self.now, what, 'write a value, as in key="value"')
        return None


Names = dict[str, int]  # each name with the offset at which it stands


class Walker(ABC):
    """Walks over the statements in order and fills the draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    @abstractmethod
    def node(self, name: Token, attributes: tuple[Attribute, ...]) -> None:
        """Notes a node that is not yet, or is again, mentioned, with what is said about it."""

    @abstractmethod
    def edge(self, arrow: Token, attributes: tuple[Attribute, ...]) -> tuple[bool, Mark] | None:
        """Whether the edges of this arrow run from right to left, and their mark; None when they are refused."""

    @abstractmethod
    def setting(self, setting: Setting) -> None:
        """A statement that names no node."""

    def walk(self, statements: tuple[Statement, ...]) -> Names:
        """All statements; returns the names that they mention."""
        mentioned: Names = {}
        for statement in statements:
            if isinstance(statement, Setting):
                self.setting(statement)
            else:
                for names in self._chain(statement):
                    for name, at in names.items():
                        mentioned.setdefault(name, at)
        return mentioned

    def _chain(self, chain: Chain) -> list[Names]:
        lone = not chain.arrows
        sides = [self._side(operand, chain.attributes if lone else ()) for operand in chain.operands]
        first = next(iter(sides[0].values()), None)
        for (left, right), arrow in zip(pairwise(sides), chain.arrows, strict=False):
            kind = self.edge(arrow, chain.attributes)
            if kind is None or not self.draft.has_room(len(left) * len(right), first):
                continue
            turned, mark = kind
            for (a, a_at), (b, b_at) in product(left.items(), right.items()):
                tail, head = (b, a) if turned else (a, b)
                self.draft.edge(tail, head, mark, min(a_at, b_at))
        return sides

    def _side(self, operand: Token | Group, attributes: tuple[Attribute, ...]) -> Names:
        if isinstance(operand, Token):
            self.node(operand, attributes)
            return {operand.text: operand.at} if operand.text else {}
        for attribute in attributes:
            what = f"{show(attribute.key.text)} is said of a group"
            self.complain(attribute.key, what, "write it after each node, or after an edge")
        return self.walk(operand.members)

    def complain(self, token: Token, what: str, hint: str) -> None:
        """About an attribute."""
        self.draft.source.complain("graph-attribute", token.at, what, hint)

    def unknown(self, token: Token, of: str, known: tuple[str, ...]) -> None:
        """An attribute that the format gives no meaning."""
        hint = did_you_mean(token.text, known, otherwise="known are")
        self.complain(token, f"{show(token.text)} is no attribute of {of}", hint)
