r"""The inline edge language: `dose -> recovery`, `a <- b`, `a <-> b`, chains `a -> b -> c`, groups `{a b} -> c`.

A name is written bare (`Blast Furnace Slag`, `Jitter(%)`, `x-1`) unless it holds one of `< > { } , ; "` or starts or
ends with a space; then it stands in double quotes, with `\"` and `\\` for a quote and a backslash inside. In braces
names are separated by commas or, when there is no comma, by spaces. An arrow ties every name on its left to every
name on its right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from crda_spec.errors import Complaint, GraphError, show
from crda_spec.scm.graph import MAX_EDGES, CausalGraph, Edge, GraphPieces, complaints_about

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


@dataclass(frozen=True, slots=True)
class _Token:
    kind: Kind
    text: str  # a name without its quotes, or the sign itself
    at: int  # counted from 1


@dataclass(slots=True)
class _Group:
    """The names on one side of an arrow, each with its character."""

    names: list[tuple[str, int]] = field(default_factory=list)
    braced: bool = False
    excused: bool = False  # what is missing here was already complained about


@dataclass(slots=True)
class _Reader:
    """Reads one entry; notes every complaint instead of stopping at the first."""

    text: str
    path: str
    complaints: list[Complaint] = field(default_factory=list)

    def complain(self, code: str, at: int, what: str, hint: str) -> None:
        self.complaints.append(Complaint(code=code, what=f"character {at}: {what}", hint=hint, path=self.path))

    def edges(self) -> tuple[Edge, ...]:
        """The edges of the entry; none when there was anything to complain about."""
        if len(self.text) > MAX_TEXT:
            what = f"the entry has {len(self.text)} characters, and at most {MAX_TEXT} are read"
            self.complain("edge-too-long", MAX_TEXT + 1, what, "write it as several entries")
            return ()
        groups, arrows = self._statement(self._tokens())
        if not self.complaints:
            self._check_count(groups)
        return () if self.complaints else tuple(_expand(groups, arrows, self.path))

    def _tokens(self) -> list[_Token]:
        found = []
        for match in _TOKEN.finditer(self.text):
            kind: Kind = match.lastgroup  # type: ignore[assignment]
            text, at = match.group(), match.start() + 1
            if kind == "unclosed":
                self.complain("edge-syntax", at, "a quoted name is not closed", 'end it with "')
                break
            if kind == "quoted":
                text = _ESCAPED.sub(r"\1", text[1:-1])
            elif kind == "bare":
                at += len(text) - len(text.lstrip())
                text = text.strip()
            if kind != "bare" or text:
                found.append(_Token(kind, text, at))
        return found

    def _statement(self, tokens: list[_Token]) -> tuple[list[_Group], list[_Token]]:
        """`group arrow group arrow group ...`: the groups and the arrows between them."""
        groups, arrows = [_Group()], list[_Token]()
        inside: _Token | None = None  # the brace that is open
        members: list[_Token] = []
        for token in tokens:
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
            elif token.kind == "open" and inside is None and not groups[-1].names and not groups[-1].braced:
                inside, members, groups[-1].braced = token, [], True
            elif token.kind in ("quoted", "bare") and not groups[-1].names and not groups[-1].braced:
                groups[-1].names = [(token.text, token.at)]
                self._check_name(token)
            else:
                self._misplaced(token)
                if token.kind in ("comma", "semicolon"):
                    groups[-1] = _Group(excused=True)
        if inside is not None:
            self.complain("edge-syntax", inside.at, "the brace is not closed", "end the group with }")
        self._check_end(groups, arrows)
        return groups, arrows

    def _members(self, brace: _Token, members: list[_Token]) -> list[tuple[str, int]]:
        """The names inside braces: between commas if there are any, else between spaces."""
        names: list[tuple[str, int]] = []
        if not members:
            self.complain("edge-syntax", brace.at, "the braces are empty", "name at least one node, as in {a b}")
        if any(token.kind == "comma" for token in members):
            expected = True  # a name, and not a comma
            for token in members:
                if (token.kind == "comma") == expected:
                    self._between_commas(token)
                elif token.kind != "comma" and self._check_name(token):
                    names.append((token.text, token.at))
                expected = token.kind == "comma"
            if expected:
                self._between_commas(members[-1])
            return names
        for token in members:
            if token.kind == "bare":
                names += [(word.group(), token.at + word.start()) for word in re.finditer(r"\S+", token.text)]
            elif self._check_name(token):
                names.append((token.text, token.at))
        return names

    def _between_commas(self, token: _Token) -> None:
        if token.kind == "comma":
            self.complain("edge-syntax", token.at, "a comma without a name beside it", "remove the comma or add a name")
        else:
            self.complain(
                "edge-syntax", token.at, f"no comma before {show(token.text)}", "separate the names by commas"
            )

    def _check_name(self, token: _Token) -> bool:
        if not token.text:
            self.complain("edge-syntax", token.at, "the quotes hold no name", "write the node's name between them")
        return bool(token.text)

    def _check_arrow(self, token: _Token, inside: _Token | None) -> None:
        if token.text not in _ARROWS:
            hint = "write ->, <- or <->, with a space on both sides; a name with < or > needs double quotes"
            self.complain("edge-syntax", token.at, f"{show(token.text)} is not an arrow", hint)
        if inside is not None:
            self.complain("edge-syntax", inside.at, "the brace is not closed before the arrow", "end the group with }")

    def _check_side(self, group: _Group, at: int, side: str) -> None:
        if not group.names and not group.braced and not group.excused:
            self.complain("edge-syntax", at, f"no name {side} the arrow", "write a node on both sides, as in a -> b")

    def _check_end(self, groups: list[_Group], arrows: list[_Token]) -> None:
        if arrows:
            self._check_side(groups[-1], arrows[-1].at, "after")
        elif not self.complaints:
            what = f"{show(self.text)} has no arrow"
            pretty = next((sign for sign in _PRETTY_ARROWS if sign in self.text), "")
            hint = (
                f"write {_PRETTY_ARROWS[pretty]} for {pretty}" if pretty else "write an edge, such as dose -> recovery"
            )
            self.complain("edge-syntax", self.text.find(pretty) + 1, what, hint)

    def _misplaced(self, token: _Token) -> None:
        match token.kind:
            case "comma":
                hint = "put several names in braces, as in {a, b} -> c; a name with a comma needs double quotes"
                self.complain("edge-syntax", token.at, "a comma outside braces", hint)
            case "semicolon":
                hint = "write each statement as its own entry; a name with ; needs double quotes"
                self.complain("edge-syntax", token.at, "a semicolon", hint)
            case "close":
                hint = "write { before the first name; a name with braces needs double quotes"
                self.complain("edge-syntax", token.at, "a closing brace that nothing opened", hint)
            case "open":
                hint = "close the group and write an arrow first; a name with braces needs double quotes"
                self.complain("edge-syntax", token.at, "an opening brace after a name or inside braces", hint)
            case _:
                hint = "put an arrow between them, or several names in braces, as in {a b} -> c"
                self.complain("edge-syntax", token.at, f"{show(token.text)} follows a name without an arrow", hint)

    def _check_count(self, groups: list[_Group]) -> None:
        count = sum(len(a.names) * len(b.names) for a, b in pairwise(groups))
        if count > MAX_EDGES:
            what = f"the entry stands for {count} edges, and at most {MAX_EDGES} are allowed"
            self.complain("graph-too-large", 1, what, "leave out what is not tied to the target")


def _expand(groups: list[_Group], arrows: list[_Token], path: str) -> Iterator[Edge]:
    for left, arrow, right in zip(groups, arrows, groups[1:], strict=False):
        for a, a_at in left.names:
            for b, b_at in right.names:
                if arrow.text == "<-":
                    yield Edge(b, a, "->", path, (b_at, a_at))
                else:
                    yield Edge(a, b, "->" if arrow.text == "->" else "<->", path, (a_at, b_at))


def parse_edges(
    texts: Sequence[str], *, path: str = "causal.graph.edges"
) -> tuple[tuple[Edge, ...], tuple[Complaint, ...]]:
    """The edges of all entries that can be read, and a complaint for each problem of the others.

    path: where the list of entries stands; entry i is at `path.i`.
    """
    edges: list[Edge] = []
    complaints: list[Complaint] = []
    for position, text in enumerate(texts):
        reader = _Reader(text, f"{path}.{position}")
        edges += reader.edges()
        complaints += reader.complaints
    return tuple(edges), tuple(complaints)


def from_edges(
    texts: Sequence[str],
    *,
    columns: Sequence[str],
    target: str,
    features: Sequence[str] | None = None,
    latents: Sequence[str] = (),
    noise_parents: Sequence[str] = (),
    path: str = "causal.graph",
) -> CausalGraph:
    """The graph that the entries describe, or one GraphError with all complaints about text and graph.

    columns: all columns of the data. features: those the model sees; all but the target when left out.
    """
    edges, unreadable = parse_edges(texts, path=f"{path}.edges")
    pieces = GraphPieces.of(
        edges,
        columns=columns,
        target=target,
        features=features,
        latents=latents,
        noise_parents=noise_parents,
        path=path,
    )
    if unreadable:
        raise GraphError([*unreadable, *complaints_about(pieces, complete=False)])
    return CausalGraph.from_pieces(pieces)


def to_edges(graph: CausalGraph) -> tuple[str, ...]:
    """One entry per edge, in the order of the names. `from_edges` reads the same graph back.

    The columns, the latent nodes and the noise's parents have their own places in a spec and are not repeated here.
    """
    return tuple(f"{_written(edge.tail)} {edge.mark} {_written(edge.head)}" for edge in graph.edges)


def _written(name: str) -> str:
    """The name bare where that is unambiguous, else in double quotes."""
    if name == name.strip() and _BARE.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
