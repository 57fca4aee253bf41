r"""Graphviz's DOT: `digraph { u [latent=true]; u -> dose -> recovery; a -> b [dir=both] }`, read by pydot.

A node's name is its id, not its label. Roles are attributes of our own, which Graphviz ignores: `latent`, `outcome`,
`exposure`, `adjusted`, `selected`, `noise`, each true or false. A dashed node is latent unless it says `latent=false`.
`dir=both` is a hidden common cause, `dir=back` turns the arrow, `dir=none` is refused. What only concerns the look is
read over, and said to be lost; what is neither is refused.

In quotes only `\"` is an escape, and `\\` stays two backslashes, as in Graphviz; so a name in which a backslash stands
before a line break, or an odd number of them before a quote or the end, cannot be written.

pydot keeps no places, reads `a -- b` as an arrow and `a <-> b` as three nodes, takes a port for a part of the name, and
needs time that doubles with each pair of braces. So the text is looked through first.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crda_spec.errors import did_you_mean, printable, show
from crda_spec.scm.formats._protocol import ROLES, Draft, ReadGraph, Role, Source, as_flag, surrogates, unwritable
from crda_spec.scm.graph import Mark

MAX_DOT = 200_000  # characters; pydot needs some 10 seconds for them
MAX_GROUPS = 500
MAX_DEPTH = 3  # groups inside groups

# Graphviz's attributes of looks and layout. The arrows' shapes are not among them: they could contradict `dir`.
_LOOKS = """
area arrowsize bb bgcolor center charset class clusterrank color colorscheme comment compound concentrate constraint
decorate defaultdist dim dpi edgetooltip edgeurl esep fillcolor fixedsize fontcolor fontname fontpath fontsize
forcelabels gradientangle group headclip headlabel headport headtooltip headurl height href id image imagepos
imagescale k label labelangle labeldistance labelfloat labelfontcolor labelfontname labelfontsize labeljust labelloc
labeltooltip landscape layer layers layout len lhead lheight lp ltail lwidth margin maxiter mclimit mindist minlen
mode model newrank nodesep nojustify normalize nslimit ordering orientation outputorder overlap pack packmode pad
page pagedir pencolor penwidth peripheries pin quadtree quantum rank rankdir ranksep ratio rects regular remincross
resolution root rotate samehead sametail searchsize sep shape shapefile sides size skew smoothing sortv splines
start stylesheet tailclip taillabel tailport tailtooltip tailurl target tooltip truecolor url vertices viewport
voro_margin weight width xdotversion xlabel xlp z
"""
LOOKS = frozenset(_LOOKS.split())
NODE_WORDS = (*ROLES, "pos", "style")
EDGE_WORDS = ("dir", "style")
KEYWORDS = frozenset({"node", "edge", "graph", "digraph", "subgraph", "strict"})
DIRECTIONS = ("forward", "back", "both", "none")
BESIDE = "a name with spaces or signs needs double quotes; separate statements by ; or a line break"

_HIDDEN = re.compile(r'"(?:[^"\\]|\\.)*+"|^[ \t]*\#[^\n]*|//[^\n]*|/\*.*?\*/|"|/\*', re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r'"_*"|[\w.]+|[{}\[\]=;,+]|-(?=[\d.])|[^\s\w."{}\[\]=;,+]+')
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMERAL = re.compile(r"\d+\.?\d*|\.\d+")
_ODD = re.compile(r'(?<!\\)(?:\\\\)*\\(?=["\r]|\Z)|\\\n')

Names = dict[str, int | None]  # each name with the offset of its first mention


class _Scan:
    """Looks through the text before pydot sees it, and notes where names and arrows stand."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.first: Names = {}  # of each word, as it is written
        self.arrows: list[int] = []  # of each arrow, the offset of what stands before it

    def graph(self) -> Mapping[str, Any] | None:
        """What pydot reads, as its plain dictionaries; None, with a complaint, when the text is refused."""
        if len(self.source.text) > MAX_DOT:
            what = f"the graph has {len(self.source.text)} characters, and at most {MAX_DOT} are read as DOT"
            self.source.complain("graph-too-long", None, what, "write it as dagitty, gml or graphml")
            return None
        bare = _HIDDEN.sub(self._bare, self.source.text)
        self._check_tokens(bare)
        head = re.match(r"\s*(?:strict\s)?\s*(\w*)", bare, re.IGNORECASE)
        self._check_head(head.group(1).lower() if head else "", head.start(1) if head else 0)
        return None if self.source.complaints else self._parsed()

    def _bare(self, match: re.Match[str]) -> str:
        """A quoted text without its letters, and nothing for a comment, in the same length."""
        text = match.group()
        if text in ('"', "/*"):
            what, hint = ("a quoted name", '"') if text == '"' else ("a comment", "*/")
            self._complain(match.start(), f"{what} is not closed", f"end it with {hint}")
            return " " * len(text)
        return f'"{"_" * (len(text) - 2)}"' if text[0] == '"' else re.sub(r"[^\n]", " ", text)

    def _check_head(self, kind: str, at: int) -> None:
        if kind == "graph":
            what = "a graph has edges without a direction, and those are not a causal claim"
            self.source.complain("graph-not-causal", at, what, "write digraph { a -> b }")
        elif kind == "dag":
            self._complain(at, "a dag is DAGitty, not DOT", "read the graph as dagitty, or write digraph")
        elif kind != "digraph":
            self._complain(at, "the graph does not start with digraph {", "write digraph { a -> b }")

    def _check_tokens(self, bare: str) -> None:
        """Signs, depth, and names side by side on a line, which pydot takes for two statements."""
        opened: list[int] = []
        groups, bracket, start, end, before = 0, False, 0, 0, ""
        for match in _TOKEN.finditer(bare):
            sign, at = match.group(), match.start()
            named = sign[0] in '"._' or sign[0].isalnum()
            if named:
                sign = self.source.text[at : match.end()]
                self.first.setdefault(sign, at)
                if "." in sign and sign[0] != '"' and not _NUMERAL.fullmatch(sign):
                    self._complain(at, f"{show(sign)} is no name", "a name with a dot needs double quotes")
                beside = before.lower() not in ("", "subgraph") and "\n" not in bare[end:at]
                if beside and len(opened) == 1 and not bracket:
                    self._complain(at, f"{show(sign)} follows {show(before)} on the same line", BESIDE)
            elif sign == "->":
                self.arrows.append(start)
            elif sign not in "{}[]=;,+-":
                self._complain(at, *_sign_hint(sign))
                if sign[0] == "<" and sign not in ("<-", "<->"):
                    return  # the rest of the HTML would be complained about too
            bracket = sign == "[" or (bracket and sign != "]")
            start, end, before = at, match.end(), sign if named else ""
            if sign == "{":
                opened.append(at)
                groups += 1
            elif sign == "}" and opened:
                start = opened.pop()
            if len(opened) > MAX_DEPTH + 1 or groups > MAX_GROUPS + 1:
                what = f"more than {MAX_GROUPS} pairs of braces, or more than {MAX_DEPTH} inside each other"
                self._complain(at, what, "write the edges without so many groups")
                return

    def _parsed(self) -> Mapping[str, Any] | None:
        from pyparsing import ParseException

        with warnings.catch_warnings(action="ignore"):  # pydot uses names that pyparsing has given up
            from pydot.dot_parser import GraphParser

        try:
            graphs = list(GraphParser.parser.parse_string(self.source.text, parse_all=True))
        except ParseException as error:
            what = printable(str(error).partition("  (at char")[0][:200])
            hint = "write statements such as a -> b; or a [latent=true]; inside digraph { }"
            self._complain(error.loc, f"pydot cannot read it: {what}", hint)
            return None
        except Exception:  # noqa: BLE001 - pydot hands attributes over as arguments, and anything may come of it
            what = "pydot cannot read it: an attribute is called name, src, dst or obj_dict"
            self._complain(None, what, f"known are: {', '.join(NODE_WORDS)}")
            return None
        if len(graphs) > 1:
            self._complain(None, "a second graph", "write one graph to a file")
            return None
        found: Mapping[str, Any] = graphs[0].obj_dict
        return found

    def place(self, word: str, value: str | None = None) -> int | None:
        """Where a word, or an attribute with this value, is first written."""
        if value is None:
            return self.first.get(word)
        match = re.search(rf'{re.escape(word)}\s*=\s*"?{re.escape(value)}', self.source.text, re.IGNORECASE)
        return self.first.get(word) if match is None else match.start()

    def _complain(self, at: int | None, what: str, hint: str) -> None:
        self.source.complain("graph-syntax", at, what, hint)


def _sign_hint(sign: str) -> tuple[str, str]:
    """Why a sign is refused, and what to write."""
    if sign == "--":
        return "'--' does not say which of the two is the cause, so it is not a causal claim", "write ->"
    if sign == "<->":
        return "'<->' is not DOT", "write a -> b [dir=both]"
    if sign == "<-":
        return "'<-' is not DOT", "write ->, and the cause on its left"
    if sign == ":":
        return "ports are not read", "a name with a colon needs double quotes"
    if sign[0] == "<":
        return "HTML is not read", "write names and labels in double quotes"
    return f"{show(sign)} means nothing here", "a name with signs needs double quotes"


Defaults = dict[str, dict[str, Any]]  # of `node` and `edge`


class _Walker:
    """Fills the draft. Keeps roles until the end, because a later word overrides."""

    def __init__(self, draft: Draft, scan: _Scan) -> None:
        self.draft = draft
        self.scan = scan
        self.arrows = iter(scan.arrows)
        self.flags: dict[tuple[str, Role], tuple[bool, int | None]] = {}
        self.dashed: dict[str, int | None] = {}
        self.unclear: list[tuple[int, int | None]] = []  # a dashed edge without a direction: its position, its place
        self.groups: dict[int, Names] = {}  # a group in the middle of a chain is an end of two edges

    def walk(self, graph: Mapping[str, Any], outer: Defaults) -> Names:
        """All statements in their order; returns the names that they mention."""
        defaults = dict(outer)
        found: Names = {}
        self._settings(graph["attributes"])
        items = [item for kind in ("nodes", "edges", "subgraphs") for same in graph[kind].values() for item in same]
        for item in sorted(items, key=lambda item: item["sequence"]):
            if item["type"] == "edge":
                found |= self._edge(item, defaults)
            elif item["type"] == "subgraph":
                found |= self.walk(item, defaults)
            elif item["name"] in ("node", "edge") and item["attributes"]:
                defaults[item["name"]] = {**defaults[item["name"]], **item["attributes"]}
            elif item["name"] == "graph" and item["attributes"]:
                self._settings(item["attributes"])
            else:
                found |= self._node(item["name"], item["attributes"], defaults)
        return found

    def _settings(self, attributes: Mapping[str, Any]) -> None:
        for word, _, at in self._values(attributes):
            if word in LOOKS | {"style"}:
                self.draft.dropped[f"the {word} of the graph"] += 1
            else:
                self._unknown(word, "a graph", ("rankdir", "label"), at)

    def _node(self, written: str, attributes: Mapping[str, Any], defaults: Defaults) -> Names:
        name, at = _read(written), self.scan.place(written)
        if written.lower() in KEYWORDS:
            hint = "write attributes in brackets after it; a node of that name needs double quotes"
            self.draft.source.complain("graph-syntax", at, f"{show(written)} is a keyword", hint)
            return {}
        new = name not in self.draft.nodes
        if not self.draft.node(name, at):
            return {}
        for word, value, place in self._values({**(defaults["node"] if new else {}), **attributes}):
            self._said_of(name, word, value, place)
        return {name: at}

    def _said_of(self, name: str, word: str, value: str, at: int | None) -> None:
        role = next((role for role in ROLES if role == word), None)
        if role is not None:
            flag = as_flag(value)
            if flag is None:
                self._complain(at, f"{word} is {show(value)}, which is neither true nor false", f"write {word}=true")
            else:
                self.flags[name, role] = (flag, at)
        elif word == "pos":
            self.draft.position(name, value, at)
        elif word == "style":
            if "dashed" in _styles(value):
                self.dashed.setdefault(name, at)
        elif word in LOOKS:
            self.draft.dropped[f"the {word} of a node"] += 1
        else:
            self._unknown(word, "a node", NODE_WORDS, at)

    def _edge(self, edge: Mapping[str, Any], defaults: Defaults) -> Names:
        left = self._end(edge["points"][0], defaults)
        at = next(self.arrows, None)
        right = self._end(edge["points"][1], defaults)
        kind = self._direction({**defaults["edge"], **edge["attributes"]})
        if kind is not None and self.draft.has_room(len(left) * len(right), at):
            for a in left:
                for b in right:
                    tail, head = (b, a) if kind == "back" else (a, b)
                    mark: Mark = "<->" if kind == "both" else "->"
                    self.draft.edge(tail, head, mark, at)
        return left | right

    def _end(self, end: str | Mapping[str, Any], defaults: Defaults) -> Names:
        if isinstance(end, str):
            return self._node(end, {}, defaults)
        if id(end) not in self.groups:
            self.groups[id(end)] = self.walk(end, defaults)
            if not self.groups[id(end)]:
                self._complain(None, "the braces are empty", "name at least one node, as in {a b}")
        return self.groups[id(end)]

    def _direction(self, attributes: Mapping[str, Any]) -> str | None:
        """One of DIRECTIONS, forward when none is said; None when the edge is refused."""
        direction, dashed, dashed_at = "", False, None
        for word, value, at in self._values(attributes):
            if word == "dir":
                direction = value.lower()
                if direction not in DIRECTIONS:
                    self._complain(at, f"dir is {show(value)}", f"write one of {', '.join(DIRECTIONS[:3])}")
                    return None
                if direction == "none":
                    what = "dir=none does not say which of the two is the cause, so it is not a causal claim"
                    self._complain(at, what, "write dir=forward, dir=back or, for a hidden common cause, dir=both")
                    return None
            elif word == "style":
                dashed, dashed_at = "dashed" in _styles(value), at
            elif word in LOOKS or word == "pos":
                self.draft.dropped[f"the {word} of an edge"] += 1
            else:
                self._unknown(word, "an edge", EDGE_WORDS, at)
        if dashed and not direction:
            self.unclear.append((len(self.draft.edges), dashed_at))
        return direction or "forward"

    def _values(self, attributes: Mapping[str, Any]) -> Iterator[tuple[str, str, int | None]]:
        """Each attribute with its value and its place; DOT knows none without a value."""
        for written, value in attributes.items():
            word = _read(written).lower()
            if value is None:
                self._complain(self.scan.place(written), f"{show(word)} has no value", f"write {word}=true")
            else:
                yield word, _read(value), self.scan.place(written, _read(value))

    def finish(self) -> None:
        """Settles the roles, then asks about dashed edges: those of a latent node are drawn so by custom."""
        for name, at in self.dashed.items():
            self.flags.setdefault((name, "latent"), (True, at))
        for (name, role), (flag, at) in self.flags.items():
            if flag:
                self.draft.role(role, name, at)
        latent = self.draft.roles.get("latent", {})
        for position, at in self.unclear:
            edge = self.draft.edges[position] if position < len(self.draft.edges) else None
            if edge is not None and edge.tail not in latent and edge.head not in latent:
                what = f"{edge.tail} -> {edge.head} is dashed, as hidden common causes often are"
                self._complain(at, what, "write dir=both if it is one, dir=forward if not")

    def _unknown(self, word: str, of: str, known: tuple[str, ...], at: int | None) -> None:
        hint = did_you_mean(word, known, otherwise="known are")
        self._complain(at, f"{show(word)} is no attribute of {of}", hint)

    def _complain(self, at: int | None, what: str, hint: str) -> None:
        self.draft.source.complain("graph-attribute", at, what, hint)


def _read(written: str) -> str:
    """A name or a value as it is meant; pydot leaves the quotes around it."""
    return written[1:-1].replace('\\"', '"') if written.startswith('"') else written


def _styles(value: str) -> list[str]:
    return [style.strip().lower() for style in value.split(",")]


@dataclass(frozen=True, slots=True)
class Dot:
    """Reads and writes digraphs in DOT. Nothing is lost."""

    name: str = "dot"
    loses: frozenset[Role] = frozenset()

    def read(self, text: str, *, file: str) -> ReadGraph:
        """See `Format.read`."""
        draft = Draft(Source(text, file))
        if draft.source.is_readable():
            scan = _Scan(draft.source)
            graph = scan.graph()
            if graph is not None:
                walker = _Walker(draft, scan)
                walker.walk(graph, {"node": {}, "edge": {}})
                walker.finish()
        return draft.read(self.name, say_latent="give it latent=true")

    def write(self, graph: ReadGraph) -> str:
        """See `Format.write`."""
        unwritable([(name, why) for name in graph.nodes if (why := _cannot_hold(name))], kind="DOT")
        played = graph.roles_by_node()
        lines = ["digraph {"]
        for name in graph.nodes:
            said = [f"{role}=true" for role in played[name]]
            said += ["style=dashed"] if "latent" in played[name] else []
            if name in graph.positions:
                x, y = graph.positions[name]
                said.append(f'pos="{x!r},{y!r}"')
            lines.append(f"  {_written(name)} [{', '.join(said)}];" if said else f"  {_written(name)};")
        for edge in graph.edges:
            both = " [dir=both, style=dashed]" if edge.mark == "<->" else ""
            lines.append(f"  {_written(edge.tail)} -> {_written(edge.head)}{both};")
        return "\n".join([*lines, "}\n"])


def _cannot_hold(name: str) -> str:
    if _ODD.search(name):
        return "a backslash stands before a line break, or an odd number of them before a quote or its end"
    if "\r" in name or "\0" in name:
        return "it holds a carriage return or a null, which a text file does not keep"
    return surrogates(name)


def _written(name: str) -> str:
    if _BARE.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '\\"') + '"'


DOT = Dot()
