r"""DAGitty's text: `dag { dose [exposure] u [latent] u -> dose -> recovery; a <-> b }` (Textor et al. 2016).

Names are bare (letters, digits, `_`, `.`) or in double quotes, where only `\"` is an escape, as in DAGitty itself; so
a name that ends with a backslash, or holds a control character, cannot be written. Comments (`#`, `//`, `/* */`) are
read over. Only a `dag` is read: a pdag, mag or pag has edges without a direction, and those are no causal claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from crda_spec.errors import did_you_mean, show
from crda_spec.scm.formats._protocol import Draft, ReadGraph, Role, Source, surrogates, unwritable
from crda_spec.scm.graph import Mark

MAX_DEPTH = 20  # braces inside braces
BESIDE = "a name with spaces or signs needs double quotes; separate statements by ; or a line break"
ROLE_WORDS: dict[str, Role] = {
    "exposure": "exposure",
    "outcome": "outcome",
    "latent": "latent",
    "unobserved": "latent",
    "adjusted": "adjusted",
    "selected": "selected",
}
NODE_WORDS = (*ROLE_WORDS, "pos")
EDGE_WORDS = ("pos", "beta")
UNDIRECTED = ("--", "@-@", "@->", "<-@", "@--", "--@")
CLASSES = ("pdag", "mag", "pag", "graph")
ARROWS = ("->", "<-", "<->")

_BARE = re.compile(r"[A-Za-z0-9_.]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPED = re.compile(r'\\(?:(")|\n)')
_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|\#[^\n]*|//[^\n]*|/\*.*?\*/)
  | (?P<quoted>"(?:[^"\\\n]|\\"|\\\n|\\)*+")
  | (?P<arrow>[-~@<>]{2,}|=>|[<>~@])
  | (?P<word>-?[\w.]+)
  | (?P<sign>[{}\[\]=;,+])
  | (?P<bad>'[^'\n]*'?|"[^\n]*|/\*.*|.)
    """,
    re.VERBOSE | re.DOTALL,
)

Kind = Literal["word", "quoted", "arrow", "sign", "end"]


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


def _tokens(source: Source) -> Iterator[Token]:
    """The tokens of the text and one for its end; what is none is complained about and left out."""
    fresh = True
    for match in _TOKEN.finditer(source.text):
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
            text = _ESCAPED.sub(lambda escape: escape.group(1) or "", text[1:-1])
        yield Token(kind, text, at, match.end(), fresh)  # type: ignore[arg-type]
        fresh = False
    size = len(source.text)
    yield Token("end", "", size, size, fresh=True)


def _bad(source: Source, text: str, at: int) -> None:
    """What is no token. The pattern of `bad` ends with the line, or with the text."""
    if text.startswith("'"):
        source.complain("graph-syntax", at, f"{show(text)} is in single quotes", "write names in double quotes")
    elif text.startswith('"'):
        source.complain("graph-syntax", at, "a quoted name is not closed", 'end it with "')
    elif text.startswith("/*"):
        source.complain("graph-syntax", at, "a comment is not closed", "end it with */")
    else:
        source.complain("graph-syntax", at, f"{show(text)} means nothing here", "a name with signs needs double quotes")


@dataclass(frozen=True, slots=True)
class Attribute:
    """`key` or `key=value` in brackets."""

    key: Token
    value: Token | None


@dataclass(frozen=True, slots=True)
class Group:
    """Statements in braces."""

    at: int
    members: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """`a -> {b c} -> d [attributes]`; with one operand and no arrow, a node or a group by itself."""

    operands: tuple[Token | Group, ...]
    arrows: tuple[Token, ...]
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """`key = value` as a statement."""

    key: Token
    value: Token


Statement = Chain | Setting


@dataclass(frozen=True, slots=True)
class Document:
    """The words before the first brace, and the statements in it."""

    head: tuple[Token, ...]
    statements: tuple[Statement, ...]


def _arrow_hint(arrow: str) -> tuple[str, str]:
    """Why an arrow is refused, and what to write."""
    if arrow in UNDIRECTED:
        what = f"{show(arrow)} does not say which of the two is the cause, so it is not a causal claim"
        return what, "write ->, <- or, for a hidden common cause, <->"
    return f"{show(arrow)} is not an arrow", "write ->, <- or <->"


@dataclass(slots=True)
class _Parser:
    """Reads statement by statement; after a complaint it goes on with the next one."""

    source: Source
    tokens: list[Token]
    position: int = 0
    _astray: bool = False  # a brace was left open, so that those around it seem open too

    @property
    def now(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.tokens[self.position]
        if token.kind != "end":
            self.position += 1
        return token

    def at_sign(self, *signs: str) -> bool:
        return self.now.kind == "sign" and self.now.text in signs

    def complain(self, token: Token, what: str, hint: str) -> None:
        self.source.complain("graph-syntax", token.at, what, hint)

    def unclosed(self, brace: Token, hint: str) -> None:
        if not self._astray:
            self.complain(brace, "the brace is not closed", hint)
        self._astray = True

    def document(self) -> Document:
        head: list[Token] = []
        while self.now.names:
            head.append(self.take())
        if not self.at_sign("{"):
            self.complain(self.now, f"a brace is expected, but here is {self.now}", "write the edges between { and }")
            return Document(tuple(head), ())
        brace = self.take()
        statements = self.statements(0)
        if self.at_sign("}"):
            self.take()
            if self.now.kind != "end":
                self.complain(
                    self.now, f"{self.now} stands after the end of the graph", "write one graph, in one pair of braces"
                )
        else:
            self.unclosed(brace, "end the graph with }")
        return Document(tuple(head), statements)

    def statements(self, depth: int) -> tuple[Statement, ...]:
        """Up to the closing brace, which is left for the caller."""
        found: list[Statement] = []
        while not self.at_sign("}") and self.now.kind != "end" and not self.source.is_hopeless:
            if self.at_sign(";"):
                self.take()
                continue
            start = self.position
            statement = self.statement(depth)
            if statement is None:
                self.skip(start)
                continue
            found.append(statement)
            self.check_end(statement, depth)
        return tuple(found)

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
        if depth and self.at_sign(","):
            self.complain(token, "a comma between names in braces", "separate them by spaces, as in {a b}")
            self.take()
            return
        self.complain(token, f"{token} follows {before} on the same line", BESIDE)
        self.skip(self.position)

    def statement(self, depth: int) -> Statement | None:
        first = self.operand(depth)
        if first is None:
            return None
        if isinstance(first, Token) and self.at_sign("="):
            self.take()
            if not self.now.names:
                self.complain(
                    self.now, f"a value is expected after =, but here is {self.now}", 'write a value, as in key="value"'
                )
                return None
            return Setting(first, self.take())
        return self.chain(first, depth)

    def chain(self, first: Token | Group, depth: int) -> Chain | None:
        operands, arrows = [first], list[Token]()
        sound = True
        while self.now.kind == "arrow":
            arrow = self.take()
            if arrow.text not in ARROWS:
                self.complain(arrow, *_arrow_hint(arrow.text))
                sound = False
            operand = self.operand(depth)
            if operand is None:
                return None
            arrows.append(arrow)
            operands.append(operand)
        attributes = self.attributes() if self.at_sign("[") else ()
        if not sound:
            arrows = []
        return Chain(tuple(operands), tuple(arrows), attributes if sound else ())

    def operand(self, depth: int) -> Token | Group | None:
        if self.now.names:
            return self.name()
        if self.at_sign("{"):
            return self.group(depth)
        hint = "write a node's name on both sides of an arrow, as in a -> b"
        self.complain(self.now, f"a name is expected, but here is {self.now}", hint)
        return None

    def name(self) -> Token:
        """A name; quoted parts may be joined by plus signs."""
        token = self.take()
        while token.kind == "quoted" and self.at_sign("+"):
            self.take()
            if self.now.kind != "quoted":
                self.complain(self.now, f"a quoted text is expected after +, but here is {self.now}", 'write "a" + "b"')
                break
            more = self.take()
            token = Token("quoted", token.text + more.text, token.at, more.end, token.fresh)
        return token

    def group(self, depth: int) -> Group | None:
        brace = self.take()
        if depth >= MAX_DEPTH:
            self.complain(
                brace, f"braces are nested more than {MAX_DEPTH} deep", "write the edges without so many groups"
            )
            self.position, self._astray = len(self.tokens) - 1, True
            return None
        members = self.statements(depth + 1)
        if not self.at_sign("}"):
            self.unclosed(brace, "end the group with }")
            return None
        self.take()
        if not members:
            self.complain(brace, "the braces are empty", "name at least one node, as in {a b}")
            return None
        return Group(brace.at, members)

    def attributes(self) -> tuple[Attribute, ...]:
        """One or more lists in brackets."""
        found: list[Attribute] = []
        while self.at_sign("["):
            bracket = self.take()
            while self.now.names:
                key = self.name()
                value = None
                if self.at_sign("="):
                    self.take()
                    value = self.value()
                found.append(Attribute(key, value))
                if self.at_sign(",", ";"):
                    self.take()
            if not self.at_sign("]"):
                what = f"the bracket is not closed before {self.now}"
                self.complain(bracket, what, 'write attributes as in [latent] or [pos="0,1"]')
                return tuple(found)
            self.take()
        return tuple(found)

    def value(self) -> Token | None:
        if self.now.names:
            return self.name()
        self.complain(
            self.now, f"a value is expected after =, but here is {self.now}", 'write a value, as in key="value"'
        )
        return None


Names = dict[str, int]  # each name with the offset at which it stands


class _Walker:
    """Walks over the statements in order and fills the draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    def walk(self, statements: tuple[Statement, ...]) -> Names:
        """All statements; returns the names that they mention."""
        found: Names = {}
        for statement in statements:
            if isinstance(statement, Setting):
                self._setting(statement)
            else:
                for names in self._chain(statement):
                    for name, at in names.items():
                        found.setdefault(name, at)
        return found

    def _chain(self, chain: Chain) -> list[Names]:
        lone = not chain.arrows
        sides = [self._side(operand, chain.attributes if lone else ()) for operand in chain.operands]
        first = next(iter(sides[0].values()), None)
        for (left, right), arrow in zip(pairwise(sides), chain.arrows, strict=False):
            mark = self._mark(arrow, chain.attributes)
            if not self.draft.has_room(len(left) * len(right), first):
                continue
            for a, a_at in left.items():
                for b, b_at in right.items():
                    tail, head = (b, a) if arrow.text == "<-" else (a, b)
                    self.draft.edge(tail, head, mark, min(a_at, b_at))
        return sides

    def _side(self, operand: Token | Group, attributes: tuple[Attribute, ...]) -> Names:
        if isinstance(operand, Token):
            self._node(operand, attributes)
            return {operand.text: operand.at} if operand.text else {}
        for attribute in attributes:
            what = f"{show(attribute.key.text)} is said of a group"
            self._complain(attribute.key, what, "write it after each node, or after an edge")
        return self.walk(operand.members)

    def _node(self, name: Token, attributes: tuple[Attribute, ...]) -> None:
        if not self.draft.node(name.text, name.at):
            return
        for attribute in attributes:
            word, key = attribute.key.text, attribute.key
            if word in ROLE_WORDS:
                if attribute.value is not None:
                    self._complain(key, f"{show(word)} takes no value", f"write [{word}]")
                self.draft.role(ROLE_WORDS[word], name.text, key.at)
            elif word == "pos":
                self.draft.position(name.text, attribute.value.text if attribute.value else "", key.at)
            else:
                self._unknown(key, "a node", NODE_WORDS)

    def _mark(self, arrow: Token, attributes: tuple[Attribute, ...]) -> Mark:
        for attribute in attributes:
            if attribute.key.text in EDGE_WORDS:
                self.draft.dropped[f"the {attribute.key.text} of an edge"] += 1
            else:
                self._unknown(attribute.key, "an edge", EDGE_WORDS)
        return "<->" if arrow.text == "<->" else "->"

    def _setting(self, setting: Setting) -> None:
        if setting.key.text == "bb":
            self.draft.dropped["the bounding box"] += 1
        else:
            self._unknown(setting.key, "a graph", ("bb",))

    def _complain(self, token: Token, what: str, hint: str) -> None:
        self.draft.source.complain("graph-attribute", token.at, what, hint)

    def _unknown(self, token: Token, of: str, known: tuple[str, ...]) -> None:
        self._complain(
            token, f"{show(token.text)} is no attribute of {of}", did_you_mean(token.text, known, otherwise="known are")
        )


@dataclass(frozen=True, slots=True)
class Dagitty:
    """Reads and writes DAGitty's text. It has no word for noise that depends on features."""

    name: str = "dagitty"
    loses: frozenset[Role] = frozenset({"noise"})

    def read(self, text: str, *, file: str) -> ReadGraph:
        """See `Format.read`."""
        source = Source(text, file)
        draft = Draft(source)
        if source.is_readable():
            document = _Parser(source, list(_tokens(source))).document()
            _check_head(source, document)
            _Walker(draft).walk(document.statements)
        return draft.read(self.name, say_latent="mark it [latent]")

    def write(self, graph: ReadGraph) -> str:
        """See `Format.write`."""
        unwritable([(name, why) for name in graph.nodes if (why := _cannot_hold(name))], kind="DAGitty")
        played = graph.roles_by_node()
        lines = ["dag {"]
        for name in graph.nodes:
            said: list[str] = [role for role in played[name] if role not in self.loses]
            if name in graph.positions:
                x, y = graph.positions[name]
                said.append(f'pos="{x!r},{y!r}"')
            lines.append(f"{_written(name)} [{','.join(said)}]" if said else _written(name))
        lines += [f"{_written(edge.tail)} {edge.mark} {_written(edge.head)}" for edge in graph.edges]
        return "\n".join([*lines, "}\n"])


def _check_head(source: Source, document: Document) -> None:
    words = list(document.head)
    if words and words[0].text.lower() == "strict":
        words.pop(0)
    kind = words[0].text.lower() if words else ""
    at = words[0].at if words else 0
    if kind in CLASSES:
        what = f"a {kind} can have edges without a direction, and those are not a causal claim"
        source.complain("graph-not-causal", at, what, "decide on the direction of each edge and write dag { ... }")
    elif kind == "digraph":
        source.complain(
            "graph-syntax", at, "a digraph is DOT, not DAGitty", "read the graph as dot, or write dag { ... }"
        )
    elif kind != "dag":
        source.complain("graph-syntax", at, "the graph does not start with dag {", "write dag { a -> b }")
    for extra in words[2:]:
        source.complain("graph-syntax", extra.at, f"{extra} stands before the brace", "write dag { a -> b }")


def _cannot_hold(name: str) -> str:
    if _CONTROL.search(name):
        return "it holds a line break or another control character"
    return "it ends with a backslash, which would hide the closing quote" if name.endswith("\\") else surrogates(name)


def _written(name: str) -> str:
    return name if _BARE.fullmatch(name) else '"' + name.replace('"', '\\"') + '"'


DAGITTY = Dagitty()
