r"""Graphviz's DOT: `digraph { u [latent=true]; u -> dose -> recovery; a -> b [dir=both] }`. No Graphviz is needed.

A node's name is its id, not its label. Roles are attributes of our own, true or false, which Graphviz ignores. A dashed
node is latent unless it says `latent=false`. `dir=both` is a hidden common cause, `dir=back` turns the arrow,
`dir=none` is refused. What only concerns the look is read over, and said to be lost; what is neither is refused.

In quotes only `\"` is an escape, and `\\` stays two backslashes, as in Graphviz; so a name in which an odd number of
backslashes stands before a quote, a line break or the end cannot be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crda_spec.errors import show
from crda_spec.scm.formats._protocol import ROLES, Draft, Format, ReadGraph, Role, as_flag
from crda_spec.scm.formats._statements import Attribute, Dialect, Names, Setting, Statement, Token, Walker, parse
from crda_spec.scm.graph import Mark

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

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPED = re.compile(r'\\(\\|"|\r?\n)')
_ODD = re.compile(r'(?<!\\)(?:\\\\)*\\(?=["\r\n]|\Z)')


def arrow_hint(arrow: str) -> tuple[str, str]:
    """Why an arrow is refused, and what to write."""
    if arrow == "--":
        return "'--' does not say which of the two is the cause, so it is not a causal claim", "write ->"
    if arrow == "<->":
        return "'<->' is not DOT", "write a -> b [dir=both]"
    return f"{show(arrow)} is not DOT", "write ->, and the cause on its left"


DIALECT = Dialect(
    token=re.compile(
        r"""
        (?P<skip>\s+|^\#[^\n]*|//[^\n]*|/\*.*?\*/)
      | (?P<quoted>"(?:[^"\\]|\\.)*+")
      | (?P<html><(?!-)(?:[^<>]|<[^<>]*+>)*+>)
      | (?P<arrow>[-~@<>]{2,}|=>|[<>~@])
      | (?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))
      | (?P<sign>[{}\[\]=;,+:])
      | (?P<bad>'[^'\n]*'?|".*|/\*.*|.)
        """,
        re.VERBOSE | re.DOTALL | re.MULTILINE,
    ),
    arrows=frozenset({"->"}),
    arrow_hint=arrow_hint,
    start="digraph",
    refused={
        "graph": (
            "graph-not-causal",
            "a graph has edges without a direction, and those are not a causal claim",
            "write digraph { a -> b }",
        ),
        "dag": ("graph-syntax", "a dag is DAGitty, not DOT", "read the graph as dagitty, or write digraph"),
    },
    unquote=lambda text: _ESCAPED.sub(lambda m: {"\\": "\\\\", '"': '"'}.get(m.group(1), ""), text),
    keywords=KEYWORDS,
)

Defaults = dict[str, tuple[Attribute, ...]]  # of `node` and `edge`


class _Walker(Walker):
    """Keeps the defaults of each pair of braces, and roles until the end, because a later word overrides."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(draft)
        self.defaults: list[Defaults] = [{"node": (), "edge": ()}]
        self.flags: dict[tuple[str, Role], tuple[bool, int]] = {}
        self.dashed: dict[str, int] = {}
        self.unclear: list[tuple[int, int]] = []  # a dashed edge without a direction: its position, its attribute

    def walk(self, statements: tuple[Statement, ...]) -> Names:
        """Braces inherit the defaults around them and keep their own to themselves."""
        self.defaults.append(dict(self.defaults[-1]))
        names = super().walk(statements)
        self.defaults.pop()
        return names

    def node(self, name: Token, attributes: tuple[Attribute, ...]) -> None:
        new = name.text not in self.draft.nodes
        if not self.draft.node(name.text, name.at):
            return
        for attribute in (*(self.defaults[-1]["node"] if new else ()), *attributes):
            self._said_of(name.text, attribute)

    def _said_of(self, name: str, attribute: Attribute) -> None:
        key, word = attribute.key, attribute.key.text.lower()
        value = self._value(attribute)
        if value is None:
            return
        role = next((role for role in ROLES if role == word), None)
        if role is not None:
            flag = as_flag(value)
            if flag is None:
                self.complain(key, f"{word} is {show(value)}, which is neither true nor false", f"write {word}=true")
            else:
                self.flags[name, role] = (flag, key.at)
        elif word == "pos":
            self.draft.position(name, value, key.at)
        elif word == "style":
            if "dashed" in _styles(value):
                self.dashed.setdefault(name, key.at)
        elif word in LOOKS:
            self.draft.dropped[f"the {word} of a node"] += 1
        else:
            self.unknown(key, "a node", NODE_WORDS)

    def edge(self, arrow: Token, attributes: tuple[Attribute, ...]) -> tuple[bool, Mark] | None:
        del arrow  # DOT has only one
        direction, dashed = "", None
        for attribute in (*self.defaults[-1]["edge"], *attributes):
            key, word = attribute.key, attribute.key.text.lower()
            value = self._value(attribute)
            if value is None:
                continue
            if word == "dir":
                direction = value.lower()
                if direction not in DIRECTIONS:
                    self.complain(key, f"dir is {show(value)}", f"write one of {', '.join(DIRECTIONS[:3])}")
                    return None
                if direction == "none":
                    what = "dir=none does not say which of the two is the cause, so it is not a causal claim"
                    self.complain(key, what, "write dir=forward, dir=back or, for a hidden common cause, dir=both")
                    return None
            elif word == "style":
                dashed = key.at if "dashed" in _styles(value) else None
            elif word in LOOKS or word == "pos":
                self.draft.dropped[f"the {word} of an edge"] += 1
            else:
                self.unknown(key, "an edge", EDGE_WORDS)
        if dashed is not None and not direction:
            self.unclear.append((len(self.draft.edges), dashed))
        return direction == "back", "<->" if direction == "both" else "->"

    def setting(self, setting: Setting) -> None:
        word = setting.key.text.lower()
        if setting.value is None and word in ("node", "edge"):
            self.defaults[-1][word] += setting.attributes
            return
        attributes = setting.attributes if setting.value is None else (Attribute(setting.key, setting.value),)
        for attribute in attributes:
            if self._value(attribute) is None:
                continue
            if attribute.key.text.lower() in LOOKS | {"style"}:
                self.draft.dropped[f"the {attribute.key.text.lower()} of the graph"] += 1
            else:
                self.unknown(attribute.key, "a graph", ("rankdir", "label"))

    def _value(self, attribute: Attribute) -> str | None:
        """The value as text; DOT knows no attribute without one."""
        key = attribute.key
        if attribute.value is None:
            self.complain(key, f"{show(key.text)} has no value", f"write {key.text}=true")
            return None
        if attribute.value.kind == "html":
            self.complain(key, f"{show(key.text)} is written in HTML, which is not read", "write it in double quotes")
            return None
        return attribute.value.text

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
                hint = "write dir=both if it is one, dir=forward if not"
                self.draft.source.complain("graph-attribute", at, what, hint)


def _styles(value: str) -> list[str]:
    return [style.strip().lower() for style in value.split(",")]


class Dot(Format):
    """Reads and writes digraphs in DOT. Nothing is lost."""

    name = "dot"
    title = "DOT"
    say_latent = "give it latent=true"

    def _fill(self, draft: Draft) -> None:
        walker = _Walker(draft)
        walker.walk(parse(draft.source, DIALECT))
        walker.finish()

    def _lines(self, graph: ReadGraph) -> Iterator[str]:
        yield "digraph {"
        for name, roles in graph.roles_by_node().items():
            attributes = [f"{role}=true" for role in roles]
            attributes += ["style=dashed"] if "latent" in roles else []
            if name in graph.positions:
                attributes.append('pos="{!r},{!r}"'.format(*graph.positions[name]))
            yield f"  {_written(name)} [{', '.join(attributes)}];" if attributes else f"  {_written(name)};"
        for edge in graph.edges:
            both = " [dir=both, style=dashed]" if edge.mark == "<->" else ""
            yield f"  {_written(edge.tail)} -> {_written(edge.head)}{both};"
        yield "}"

    def _cannot_hold(self, name: str) -> str:
        if _ODD.search(name):
            return "an odd number of backslashes stands before a quote, a line break or its end"
        return (
            "it holds a carriage return or a null, which a text file does not keep" if set(name) & {"\r", "\0"} else ""
        )


def _written(name: str) -> str:
    if _BARE.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '\\"') + '"'
