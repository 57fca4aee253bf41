r"""DAGitty's text: `dag { dose [exposure] u [latent] u -> dose -> recovery; a <-> b }` (Textor et al. 2016).

Names are bare (letters, digits, `_`, `.`) or in double quotes, where only `\"` is an escape, as in DAGitty itself; so
a name that ends with a backslash, or holds a control character, cannot be written. Comments (`#`, `//`, `/* */`) are
read over. Only a `dag` is read: a pdag, mag or pag has edges without a direction, and those are no causal claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crda_spec.errors import show
from crda_spec.scm.formats._protocol import Draft, Format, ReadGraph, Role
from crda_spec.scm.formats._statements import Attribute, Dialect, Setting, Token, Walker, parse
from crda_spec.scm.graph import Mark

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

_BARE = re.compile(r"[A-Za-z0-9_.]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPED = re.compile(r'\\(?:(")|\n)')


def arrow_hint(arrow: str) -> tuple[str, str]:
    """Why an arrow is refused, and what to write."""
    if arrow in UNDIRECTED:
        what = f"{show(arrow)} does not say which of the two is the cause, so it is not a causal claim"
        return what, "write ->, <- or, for a hidden common cause, <->"
    return f"{show(arrow)} is not an arrow", "write ->, <- or <->"


DIALECT = Dialect(
    token=re.compile(
        r"""
        (?P<skip>\s+|\#[^\n]*|//[^\n]*|/\*.*?\*/)
      | (?P<quoted>"(?:[^"\\\n]|\\"|\\\n|\\)*+")
      | (?P<arrow>[-~@<>]{2,}|=>|[<>~@])
      | (?P<word>-?[\w.]+)
      | (?P<sign>[{}\[\]=;,+])
      | (?P<bad>'[^'\n]*'?|"[^\n]*|/\*.*|.)
        """,
        re.VERBOSE | re.DOTALL,
    ),
    arrows=frozenset({"->", "<-", "<->"}),
    arrow_hint=arrow_hint,
    start="dag",
    refused={
        **{
            kind: (
                "graph-not-causal",
                f"a {kind} can have edges without a direction, and those are not a causal claim",
                "decide on the direction of each edge and write dag { ... }",
            )
            for kind in ("pdag", "mag", "pag", "graph")
        },
        "digraph": ("graph-syntax", "a digraph is DOT, not DAGitty", "read the graph as dot, or write dag { ... }"),
    },
    unquote=lambda text: _ESCAPED.sub(lambda match: match.group(1) or "", text),
)


class _Walker(Walker):
    def node(self, name: Token, attributes: tuple[Attribute, ...]) -> None:
        if not self.draft.node(name.text, name.at):
            return
        for attribute in attributes:
            word, key = attribute.key.text, attribute.key
            if word in ROLE_WORDS:
                if attribute.value is not None:
                    self.complain(key, f"{show(word)} takes no value", f"write [{word}]")
                self.draft.role(ROLE_WORDS[word], name.text, key.at)
            elif word == "pos":
                self.draft.position(name.text, attribute.value.text if attribute.value else "", key.at)
            else:
                self.unknown(key, "a node", NODE_WORDS)

    def edge(self, arrow: Token, attributes: tuple[Attribute, ...]) -> tuple[bool, Mark] | None:
        for attribute in attributes:
            if attribute.key.text in EDGE_WORDS:
                self.draft.dropped[f"the {attribute.key.text} of an edge"] += 1
            else:
                self.unknown(attribute.key, "an edge", EDGE_WORDS)
        return arrow.text == "<-", "<->" if arrow.text == "<->" else "->"

    def setting(self, setting: Setting) -> None:
        if setting.key.text == "bb":
            self.draft.dropped["the bounding box"] += 1
        else:
            self.unknown(setting.key, "a graph", ("bb",))


class Dagitty(Format):
    """Reads and writes DAGitty's text. It has no word for parents of the noise, additive or unrelated nodes."""

    name = "dagitty"
    title = "DAGitty"
    say_latent = "mark it [latent]"
    loses = frozenset({"noise", "additive", "unrelated"})

    def _fill(self, draft: Draft) -> None:
        _Walker(draft).walk(parse(draft.source, DIALECT))

    def _lines(self, graph: ReadGraph) -> Iterator[str]:
        yield "dag {"
        for name, roles in graph.roles_by_node().items():
            attributes: list[str] = [role for role in roles if role not in self.loses]
            if name in graph.positions:
                attributes.append('pos="{!r},{!r}"'.format(*graph.positions[name]))
            yield f"{_written(name)} [{','.join(attributes)}]" if attributes else _written(name)
        yield from (f"{_written(edge.tail)} {edge.mark} {_written(edge.head)}" for edge in graph.edges)
        yield "}"

    def _cannot_hold(self, name: str) -> str:
        if _CONTROL.search(name):
            return "it holds a line break or another control character"
        return "it ends with a backslash, which would hide the closing quote" if name.endswith("\\") else ""


def _written(name: str) -> str:
    return name if _BARE.fullmatch(name) else '"' + name.replace('"', '\\"') + '"'
