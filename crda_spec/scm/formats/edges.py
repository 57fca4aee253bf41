r"""The inline edge language: `dose -> recovery`, `a <- b`, `a <-> b`, chains `a -> b -> c`, groups `{a b} -> c`.

A name is written bare (`Blast Furnace Slag`, `Jitter(%)`, `x-1`) unless it holds one of `< > { } , ; "` or starts or
ends with a space; then it stands in double quotes, with `\"` and `\\` for a quote and a backslash inside. In braces
names are separated by commas or, when there is no comma, by spaces. An arrow ties every name on its left to every
name on its right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Literal, NamedTuple, Unpack

from crda_spec.errors import Complaint, GraphError, show
from crda_spec.scm.formats._protocol import ReadGraph
from crda_spec.scm.graph import MAX_EDGES, CausalGraph, Declared, Edge, GraphDeclaration, complaints_about

MAX_TEXT = 10_000  # characters of one entry

# A run of arrow characters that holds < or > is an arrow or a mistake; dashes and equal signs alone belong to names.
_TOKEN = re.compile(
    r"""
    (?P<quoted>"(?:[^"\\]|\\.)*+")
  | (?P<unclosed>")
  | (?P<arrow>[-=~]*+[<>][-=~<>]*+)
  | (?P<open>\{) | (?P<close>\}) | (?P<comma>,) | (?P<semicolon>;)
  | (?P<bare>(?:(?![-=~]*+[<>])[^"{},;<>])++)
    """,
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r"(?:(?![-=~]*+[<>])[^\"{},;<>])++", re.DOTALL)
_ARROWS = ("->", "<-", "<->")
_PRETTY_ARROWS = {"↔": "<->", "→": "->", "⟶": "->", "⇒": "->", "←": "<-"}  # as word processors write them
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

Kind = Literal["quoted", "unclosed", "arrow", "open", "close", "comma", "semicolon", "bare"]


class _Token(NamedTuple):
    kind: Kind
    text: str  # a name without its quotes, or the sign itself
    at: int  # counted from 1


@dataclass(slots=True)
class _Group:
    """The names on one side of an arrow, each with its character."""

    names: list[tuple[str, int]] = field(default_factory=list)
    braced: bool = False
    excused: bool = False  # what is missing here was already complained about


_MISPLACED: dict[Kind, tuple[str, str]] = {
    "comma": (
        "a comma outside braces",
        "put several names in braces, as in {a, b} -> c; a name with a comma needs double quotes",
    ),
    "semicolon": ("a semicolon", "write each statement as its own entry; a name with ; needs double quotes"),
    "close": (
        "a closing brace that nothing opened",
        "write { before the first name; a name with braces needs double quotes",
    ),
    "open": (
        "an opening brace after a name or inside braces",
        "close the group and write an arrow first; a name with braces needs double quotes",
    ),
}


@dataclass(slots=True)
class _Reader:
    """Reads one entry; notes every complaint instead of stopping at the first."""

    text: str
    path: str
    complaints: list[Complaint] = field(default_factory=list)

    def complain(self, at: int, what: str, hint: str, code: str = "edge-syntax") -> None:
        self.complaints.append(Complaint(code=code, what=f"character {at}: {what}", hint=hint, path=self.path))

    def edges(self) -> Iterator[Edge]:
        """The edges of the entry; none when there was anything to complain about."""
        if len(self.text) > MAX_TEXT:
            what = f"the entry has {len(self.text)} characters, and at most {MAX_TEXT} are read"
            self.complain(MAX_TEXT + 1, what, "write it as several entries", "edge-too-long")
            return
        groups, arrows = self._statement(list(self._tokens()))
        if self.complaints:
            return
        count = sum(len(a.names) * len(b.names) for a, b in pairwise(groups))
        if count > MAX_EDGES:
            what = f"the entry stands for {count} edges, and at most {MAX_EDGES} are allowed"
            self.complain(1, what, "leave out what is not tied to the target", "graph-too-large")
            return
        for (left, right), arrow in zip(pairwise(groups), arrows, strict=True):
            for (a, a_at), (b, b_at) in product(left.names, right.names):
                if arrow.text == "<-":
                    yield Edge(b, a, "->", self.path, (b_at, a_at))
                else:
                    yield Edge(a, b, "->" if arrow.text == "->" else "<->", self.path, (a_at, b_at))

    def _tokens(self) -> Iterator[_Token]:
        for match in _TOKEN.finditer(self.text):
            kind: Kind = match.lastgroup  # type: ignore[assignment]
            text, at = match.group(), match.start() + 1
            if kind == "unclosed":
                self.complain(at, "a quoted name is not closed", 'end it with "')
                return
            if kind == "quoted":
                text = _ESCAPED.sub(r"\1", text[1:-1])
            elif kind == "bare":
                at += len(text) - len(text.lstrip())
                text = text.strip()
            if kind != "bare" or text:
                yield _Token(kind, text, at)

    def _statement(self, tokens: Iterable[_Token]) -> tuple[list[_Group], list[_Token]]:
        """`group arrow group arrow group ...`: the groups and the arrows between them."""
        groups, arrows = [_Group()], list[_Token]()
        inside: _Token | None = None  # the brace that is open
        members: list[_Token] = []
        for token in tokens:
            empty = not groups[-1].names and not groups[-1].braced
            if inside is not None and token.kind in ("quoted", "bare", "comma"):
                members.append(token)
            elif token.kind == "close" and inside is not None:
                groups[-1].names = self._members(inside, members)
                inside = None
            elif token.kind == "arrow":
                self._check_arrow(token, inside)
                self._check_side(groups[-1], token.at, "before")
                arrows.append(token)
                groups.append(_Group())
                inside = None
            elif token.kind == "open" and inside is None and empty:
                inside, members, groups[-1].braced = token, [], True
            elif token.kind in ("quoted", "bare") and empty:
                groups[-1].names = [(token.text, token.at)]
                self._check_name(token)
            else:
                hint = "put an arrow between them, or several names in braces, as in {a b} -> c"
                beside = f"{show(token.text)} follows a name without an arrow", hint
                self.complain(token.at, *_MISPLACED.get(token.kind, beside))
                if token.kind in ("comma", "semicolon"):
                    groups[-1] = _Group(excused=True)
        if inside is not None:
            self.complain(inside.at, "the brace is not closed", "end the group with }")
        if arrows:
            self._check_side(groups[-1], arrows[-1].at, "after")
        elif not self.complaints:
            pretty = next((sign for sign in _PRETTY_ARROWS if sign in self.text), "")
            hint = "write an edge, such as dose -> recovery"
            if pretty:
                hint = f"write {_PRETTY_ARROWS[pretty]} for {pretty}"
            self.complain(self.text.find(pretty) + 1, f"{show(self.text)} has no arrow", hint)
        return groups, arrows

    def _members(self, brace: _Token, members: list[_Token]) -> list[tuple[str, int]]:
        """The names inside braces: between commas if there are any, else between spaces."""
        names: list[tuple[str, int]] = []
        if not members:
            self.complain(brace.at, "the braces are empty", "name at least one node, as in {a b}")
        commas = any(token.kind == "comma" for token in members)
        expected = True  # a name, and not a comma
        for token in members:
            if token.kind == "comma":
                if expected:
                    self._lone_comma(token)
            elif commas and not expected:
                self.complain(token.at, f"no comma before {show(token.text)}", "separate the names by commas")
            elif token.kind == "bare" and not commas:
                names += [(word.group(), token.at + word.start()) for word in re.finditer(r"\S+", token.text)]
            elif self._check_name(token):
                names.append((token.text, token.at))
            expected = token.kind == "comma"
        if commas and expected:
            self._lone_comma(members[-1])
        return names

    def _lone_comma(self, token: _Token) -> None:
        self.complain(token.at, "a comma without a name beside it", "remove the comma or add a name")

    def _check_name(self, token: _Token) -> bool:
        if not token.text:
            self.complain(token.at, "the quotes hold no name", "write the node's name between them")
        return bool(token.text)

    def _check_arrow(self, token: _Token, inside: _Token | None) -> None:
        if token.text not in _ARROWS:
            hint = "write ->, <- or <->, with a space on both sides; a name with < or > needs double quotes"
            self.complain(token.at, f"{show(token.text)} is not an arrow", hint)
        if inside is not None:
            self.complain(inside.at, "the brace is not closed before the arrow", "end the group with }")

    def _check_side(self, group: _Group, at: int, side: str) -> None:
        if not group.names and not group.braced and not group.excused:
            self.complain(at, f"no name {side} the arrow", "write a node on both sides, as in a -> b")


def parse_edges(
    texts: Sequence[str], *, path: str = "causal.graph.edges"
) -> tuple[tuple[Edge, ...], tuple[Complaint, ...]]:
    """The edges of all entries that can be read, and the others' complaints; entry i is at `path.i`."""
    edges: list[Edge] = []
    complaints: list[Complaint] = []
    for position, text in enumerate(texts):
        reader = _Reader(text, f"{path}.{position}")
        edges += reader.edges()
        complaints += reader.complaints
    return tuple(edges), tuple(complaints)


def from_edges(texts: Sequence[str], **declared: Unpack[Declared]) -> CausalGraph:
    """The graph that the entries describe, or one GraphError with all complaints about text and graph."""
    edges, unreadable = parse_edges(texts, path=f"{declared.get('path', 'causal.graph')}.edges")
    pieces = GraphDeclaration.of(edges, **declared)
    if unreadable:
        raise GraphError([*unreadable, *complaints_about(pieces, complete=False)])
    return CausalGraph.from_declaration(pieces)


def to_edges(graph: CausalGraph | ReadGraph) -> tuple[str, ...]:
    """One entry per edge, in the order of the names; columns, latent nodes and the noise's parents are not repeated."""
    return tuple(f"{written(edge.tail)} {edge.mark} {written(edge.head)}" for edge in graph.edges)


def written(name: str) -> str:
    """The name as an edge takes it: bare where that is unambiguous, else in double quotes."""
    return name if name == name.strip() and _BARE.fullmatch(name) else quoted(name)


def quoted(name: str) -> str:
    """The name in double quotes, as an edge takes any."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
