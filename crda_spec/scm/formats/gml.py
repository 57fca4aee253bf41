"""GML: `graph [ directed 1 node [ id 0 label "dose" ] edge [ source 0 target 1 ] ]`.

A node's name is its label. Roles are keys of our own with the values 1 and 0 (`latent`, `outcome`, `exposure`,
`adjusted`, `selected`, `noise`); an edge with `bidirected 1` or `mark "<->"` is a hidden common cause. Everything is
written in ASCII, other characters as `&#233;`, so any name can be held.

networkx has a reader too; this one is our own because that one keeps no positions, stops at the first error, turns line
breaks inside a label into spaces and the label `()` into a tuple, and fails on deep nesting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.entities import name2codepoint

from crda_spec.errors import did_you_mean, show
from crda_spec.scm.formats._protocol import ROLES, Draft, ReadGraph, Role, Source, as_flag, surrogates, unwritable
from crda_spec.scm.graph import Mark

MAX_DEPTH = 20  # brackets inside brackets
GRAPH_WORDS = ("directed", "multigraph", "node", "edge")
NODE_WORDS = ("id", "label", *ROLES, "graphics")
EDGE_WORDS = ("source", "target", "bidirected", "mark")
# Read over, and said to be lost.
LOOKS = frozenset(
    {"Creator", "Version", "comment", "creator", "version", "name", "label", "id", "key", "value", "weight"}
)
DRAWN = frozenset({"graphics", "LabelGraphics", "edgeAnchor"})

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|^[ \t]*\#[^\n]*)
  | (?P<text>"[^"]*")
  | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[Ee][+-]?\d+)?)
  | (?P<key>[A-Za-z_]\w*)
  | (?P<sign>[\[\]])
  | (?P<bad>"[^\n]*|[^\s\[\]"]+)
    """,
    re.VERBOSE | re.MULTILINE,
)
_ENTITY = re.compile(r"&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|([A-Za-z][0-9A-Za-z]*));")
_UNPRINTABLE = re.compile(r'[^ -~]|[&"]')


@dataclass(frozen=True, slots=True)
class _Pair:
    """`key value`, where the value is a text or more pairs; `at` is where the value stands."""

    key: str
    key_at: int
    value: str | tuple[_Pair, ...]
    at: int


@dataclass(slots=True)
class _Parser:
    """Reads pairs; goes on after what it cannot read."""

    source: Source
    tokens: list[tuple[str, str, int]]  # kind, text, offset
    position: int = 0
    astray: bool = False

    def pairs(self, depth: int) -> tuple[_Pair, ...]:
        """Up to a closing bracket, which is left for the caller, or the end."""
        found: list[_Pair] = []
        while (token := self.tokens[self.position])[0] != "end" and token[1] != "]" and not self.source.is_hopeless:
            kind, text, at = token
            self.position += 1
            if kind != "key":
                self._complain(at, f"a key is expected, but here is {show(text)}", "write pairs, as in id 0")
                continue
            pair = self._pair(text, at, depth)
            if pair is not None:
                found.append(pair)
        return tuple(found)

    def _pair(self, key: str, key_at: int, depth: int) -> _Pair | None:
        kind, text, at = self.tokens[self.position]
        if kind == "end" or text == "]":
            self._complain(key_at, f"{show(key)} has no value", "write a number, a text in double quotes or [ ... ]")
            return None
        self.position += 1
        if text != "[":
            return _Pair(key, key_at, _decoded(text[1:-1]) if kind == "text" else text, at)
        if depth >= MAX_DEPTH:
            self._complain(at, f"brackets are nested more than {MAX_DEPTH} deep", "write nodes and edges only")
            self.position, self.astray = len(self.tokens) - 1, True
            return None
        inner = self.pairs(depth + 1)
        if self.tokens[self.position][0] == "end":
            if not self.astray:
                self._complain(at, "the bracket is not closed", "end it with ]")
            self.astray = True
        else:
            self.position += 1
        return _Pair(key, key_at, inner, at)

    def _complain(self, at: int, what: str, hint: str) -> None:
        self.source.complain("graph-syntax", at, what, hint)


def _parse(source: Source) -> tuple[_Pair, ...]:
    found: list[tuple[str, str, int]] = []
    astray = False
    for match in _TOKEN.finditer(source.text):
        kind, text, at = match.lastgroup or "", match.group(), match.start()
        if kind == "bad":
            closed = not text.startswith('"')
            astray = astray or not closed  # the rest of the line is gone, brackets and all
            what = f"{show(text)} means nothing here" if closed else "a quoted text is not closed"
            source.complain("graph-syntax", at, what, "put it in double quotes" if closed else 'end it with "')
            if source.is_hopeless:
                break
        elif kind != "skip":
            found.append((kind, text, at))
    found.append(("end", "", len(source.text)))
    parser = _Parser(source, found, astray=astray)
    pairs = parser.pairs(0)
    if found[parser.position][0] != "end":
        source.complain("graph-syntax", found[parser.position][2], "a bracket closes that nothing opened", "remove it")
    return pairs


class _Reader:
    """Gives the pairs their meaning."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.names: dict[str, str] = {}  # of the ids

    def document(self, pairs: tuple[_Pair, ...]) -> None:
        graphs: list[_Pair] = []
        for pair in pairs:
            if pair.key == "graph" and isinstance(pair.value, tuple):
                graphs.append(pair)
            elif not self._drawn(pair, "the file"):
                self._unknown(pair, "a file", ("graph",))
        for pair in graphs[1:]:
            self._complain(pair.key_at, "a second graph", "write one graph to a file")
        if graphs:
            self._graph(graphs[0])
        elif not self.draft.source.complaints:
            self._complain(0, "there is no graph", "write graph [ directed 1 ... ]")

    def _graph(self, graph: _Pair) -> None:
        inside = graph.value if isinstance(graph.value, tuple) else ()
        directed = next((pair for pair in inside if pair.key == "directed"), None)
        if directed is None or self._flag(directed) is False:
            at = graph.key_at if directed is None else directed.key_at
            what = "the graph is not directed, and edges without a direction are not a causal claim"
            self.draft.source.complain("graph-not-causal", at, what, "write directed 1, and the cause as source")
        for pair in inside:
            if pair.key == "node" and isinstance(pair.value, tuple):
                self._node(pair, pair.value)
            elif pair.key in ("node", "edge") and not isinstance(pair.value, tuple):
                self._complain(pair.at, f"a {pair.key} is {show(pair.value)}", f"write {pair.key} [ ... ]")
            elif pair.key not in GRAPH_WORDS and not self._drawn(pair, "the graph"):
                self._unknown(pair, "a graph", GRAPH_WORDS)
        for pair in inside:  # only now, since an edge may stand before its nodes
            if pair.key == "edge" and isinstance(pair.value, tuple):
                self._edge(pair, pair.value)

    def _node(self, node: _Pair, inside: tuple[_Pair, ...]) -> None:
        key = self._one(node, inside, "id")
        label = self._one(node, inside, "label")
        if key is None or label is None or not isinstance(key.value, str) or not isinstance(label.value, str):
            return
        if key.value in self.names:
            self._complain(key.at, f"a second node has the id {show(key.value)}", "give each node its own id")
        elif label.value in self.draft.nodes:
            self._complain(label.at, f"a second node has the label {show(label.value)}", "give each node its own label")
        if not self.draft.node(label.value, label.at):
            return
        self.names.setdefault(key.value, label.value)
        for pair in inside:
            self._said_of(label.value, pair)

    def _said_of(self, name: str, pair: _Pair) -> None:
        role = next((role for role in ROLES if role == pair.key), None)
        if role is not None:
            if self._flag(pair):
                self.draft.role(role, name, pair.key_at)
        elif pair.key == "graphics" and isinstance(pair.value, tuple):
            xy = {inner.key: inner for inner in pair.value if inner.key in ("x", "y") and isinstance(inner.value, str)}
            if len(xy) == 2:
                self.draft.position(name, f"{xy['x'].value},{xy['y'].value}", xy["x"].at)
            if len(pair.value) > len(xy):
                self.draft.dropped["the graphics of a node"] += 1
        elif pair.key not in ("id", "label") and not self._drawn(pair, "a node"):
            self._unknown(pair, "a node", NODE_WORDS)

    def _edge(self, edge: _Pair, inside: tuple[_Pair, ...]) -> None:
        ends = []
        for key in ("source", "target"):
            pair = self._one(edge, inside, key)
            if pair is not None and isinstance(pair.value, str):
                if pair.value in self.names:
                    ends.append(self.names[pair.value])
                else:
                    hint = did_you_mean(pair.value, list(self.names), otherwise="the ids are")
                    self._complain(pair.at, f"no node has the id {show(pair.value)}", hint)
        mark: Mark = "->"
        for pair in inside:
            if pair.key == "bidirected":
                mark = "<->" if self._flag(pair) else mark
            elif pair.key == "mark":
                if pair.value not in ("->", "<->"):
                    self._complain(pair.at, f"the mark is {show(pair.value)}", 'write "->" or "<->"')
                mark = "<->" if pair.value == "<->" else mark
            elif pair.key not in EDGE_WORDS and not self._drawn(pair, "an edge"):
                self._unknown(pair, "an edge", EDGE_WORDS)
        if len(ends) == 2 and self.draft.has_room(1, edge.key_at):
            self.draft.edge(ends[0], ends[1], mark, edge.key_at)

    def _one(self, whole: _Pair, inside: tuple[_Pair, ...], key: str) -> _Pair | None:
        """The one pair with this key; complains when there is none, several, or a list."""
        found = [pair for pair in inside if pair.key == key]
        if not found:
            self._complain(
                whole.key_at, f"the {whole.key} has no {key}", f"write {key} and a value inside its brackets"
            )
            return None
        if len(found) > 1 or not isinstance(found[0].value, str):
            self._complain(found[-1].key_at, f"the {whole.key} needs one {key} with one value", "remove the rest")
            return None
        return found[0]

    def _flag(self, pair: _Pair) -> bool | None:
        flag = as_flag(pair.value) if isinstance(pair.value, str) else None
        if flag is None:
            value = show(pair.value) if isinstance(pair.value, str) else "a list"
            self._complain(pair.at, f"{pair.key} is {value}, which is neither 1 nor 0", f"write {pair.key} 1")
        return flag

    def _drawn(self, pair: _Pair, of: str) -> bool:
        if pair.key in DRAWN or (pair.key in LOOKS and isinstance(pair.value, str)):
            self.draft.dropped[f"the {pair.key} of {of}"] += 1
            return True
        return False

    def _unknown(self, pair: _Pair, of: str, known: tuple[str, ...]) -> None:
        hint = did_you_mean(pair.key, known, otherwise="known are")
        self._complain(pair.key_at, f"{show(pair.key)} is no key of {of}", hint)

    def _complain(self, at: int, what: str, hint: str) -> None:
        self.draft.source.complain("graph-attribute", at, what, hint)


@dataclass(frozen=True, slots=True)
class Gml:
    """Reads and writes directed graphs in GML. Nothing is lost."""

    name: str = "gml"
    loses: frozenset[Role] = frozenset()

    def read(self, text: str, *, file: str) -> ReadGraph:
        """See `Format.read`."""
        source = Source(text, file)
        draft = Draft(source)
        if source.is_readable():
            _Reader(draft).document(_parse(source))
        return draft.read(self.name, say_latent="give it latent 1")

    def write(self, graph: ReadGraph) -> str:
        """See `Format.write`."""
        unwritable([(name, why) for name in graph.nodes if (why := surrogates(name))], kind="GML")
        played = graph.roles_by_node()
        ids = {name: position for position, name in enumerate(graph.nodes)}
        lines = ["graph [", "  directed 1"]
        if len({(edge.tail, edge.head) for edge in graph.edges}) < len(graph.edges):
            lines.append("  multigraph 1")  # networkx reads a -> b beside a <-> b only so
        for name, key in ids.items():
            lines += ["  node [", f"    id {key}", f'    label "{_encoded(name)}"']
            lines += [f"    {role} 1" for role in played[name]]
            if name in graph.positions:
                x, y = graph.positions[name]
                lines.append(f"    graphics [ x {_real(x)} y {_real(y)} ]")
            lines.append("  ]")
        for edge in graph.edges:
            lines += ["  edge [", f"    source {ids[edge.tail]}", f"    target {ids[edge.head]}"]
            lines += ["    bidirected 1"] if edge.mark == "<->" else []
            lines.append("  ]")
        return "\n".join([*lines, "]\n"])


def _real(number: float) -> str:
    """GML asks for a decimal point also before an exponent."""
    mantissa, e, exponent = repr(number).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{e and 'E'}{exponent}"


def _encoded(text: str) -> str:
    return _UNPRINTABLE.sub(lambda match: f"&#{ord(match.group())};", text)


def _decoded(text: str) -> str:
    """Character references and named entities; an unknown one stays as it is written."""

    def character(match: re.Match[str]) -> str:
        decimal, hexadecimal, name = match.groups()
        code = int(decimal) if decimal else int(hexadecimal, 16) if hexadecimal else name2codepoint.get(name, -1)
        return chr(code) if 0 <= code < 0x110000 else match.group()

    return _ENTITY.sub(character, text)


GML = Gml()
