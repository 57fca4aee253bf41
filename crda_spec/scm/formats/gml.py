"""GML: `graph [ directed 1 node [ id 0 label "dose" ] edge [ source 0 target 1 ] ]`, read by networkx.

A node's name is its label. Roles are keys of our own with the values 1 and 0; an edge with `bidirected 1` or `mark
"<->"` is a hidden common cause. Everything is written in ASCII, other characters as `&#233;`, so any name can be held.

networkx keeps no places, recurses into brackets and is silent about much: what stands outside the graph, `directed 0`
said twice, a label that is a bracket, every line after a comment with one quotation mark. So the text is looked through
first, and each node and edge takes its offset along as a key of its own.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

from crda_spec.errors import did_you_mean, printable, show
from crda_spec.scm.formats._protocol import ROLES, Draft, Format, ReadGraph
from crda_spec.scm.formats.objects import AttributeReader, NodeItem

if TYPE_CHECKING:
    import networkx as nx

MAX_DEPTH = 20  # brackets inside brackets
GRAPH_WORDS = ("directed", "multigraph", "node", "edge")
# Read over, and said to be lost.
LOOKS = frozenset(
    {"Creator", "Version", "comment", "creator", "version", "name", "label", "id", "key", "value", "weight"}
    | {"graphics", "LabelGraphics", "edgeAnchor"}
)
NODE_WORDS = ("id", "label", *ROLES, "graphics")
OFFSET = "crdaOffset"

_COMMENT = re.compile(r'("[^"\n]*")|#[^\n]*')
_TEXT = re.compile(r'"[^"\n]*"?')
_WORD = re.compile(r"[A-Za-z]\w*|[][]")
_NO_VALUE = re.compile(r"(?<![A-Za-z_])(id|label|source|target)\s*[][]")
_TRUE = re.compile(r'directed\s+"?(1|true|yes)\b', re.IGNORECASE)
_INSERTED = re.compile(rf" (?:{OFFSET} \d+|multigraph 1) ")
_UNPRINTABLE = re.compile(r'[^ -~]|[&"]')


class _Scan:
    """Looks through the text before networkx sees it."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.offsets: dict[str, list[int]] = {"graph": [], "node": [], "edge": []}
        self.directed: list[int] = []

    def graph(self) -> nx.MultiDiGraph[Any] | None:
        """What networkx reads; None, with a complaint, when the text is refused."""
        plain = _COMMENT.sub(lambda match: match.group(1) or " " * len(match.group()), self.draft.source.text)
        bare = _TEXT.sub(self._blank, plain)
        for match in _NO_VALUE.finditer(bare):
            hint = "write a number or a text in double quotes after it"
            self._complain(match.start(), f"{show(match.group(1))} has no value", hint)
        inserts = list(self._inserts(bare))
        self._check_graph(plain)
        if self.draft.source.complaints:
            return None
        pieces, done = list[str](), 0
        for at, text in inserts:
            pieces += [plain[done:at], text]
            done = at
        return self._parsed("".join([*pieces, plain[done:]]))

    def _blank(self, match: re.Match[str]) -> str:
        text = match.group()
        if len(text) == 1 or text[-1] != '"':
            hint = 'end it with " on the same line; a line break inside it is &#10;'
            self._complain(match.start(), "a quoted text is not closed", hint)
        return '"'.ljust(len(text) - 1) + '"' if len(text) > 1 else text

    def _inserts(self, bare: str) -> Iterator[tuple[int, str]]:
        """What networkx shall read beside the text: at these positions, the offset of each node and edge."""
        depth, word, word_at = 0, "", 0
        for match in _WORD.finditer(bare):
            sign, at = match.group(), match.start()
            if sign == "[":
                depth += 1
                if depth > MAX_DEPTH:
                    self._complain(at, f"brackets are nested more than {MAX_DEPTH} deep", "write nodes and edges only")
                    return
                if (depth, word) in ((1, "graph"), (2, "node"), (2, "edge")):
                    self.offsets[word].append(word_at)
                    yield at + 1, " multigraph 1 " if depth == 1 else f" {OFFSET} {word_at} "
            elif sign == "]":
                depth -= 1
            elif sign == OFFSET or (depth == 0 and sign not in LOOKS | {"graph"}):
                hint = did_you_mean(sign, ["graph"], otherwise="known are")
                self._complain(at, f"{show(sign)} is no key of a file", hint)
            elif depth == 0 and sign != "graph":
                self.draft.dropped[f"the {sign} of the file"] += 1
            elif depth == 1 and sign == "directed":
                self.directed.append(at)
            word, word_at = sign, at

    def _check_graph(self, plain: str) -> None:
        source, edges = self.draft.source, self.offsets["edge"]
        graphs = self.offsets["graph"]
        if len(graphs) != 1 and not source.complaints:
            what = "a second graph" if graphs else "there is no graph"
            self._complain(graphs[1] if graphs else 0, what, "write one graph to a file: graph [ directed 1 ... ]")
        elif graphs and not (len(self.directed) == 1 and _TRUE.match(plain, self.directed[0])):
            at = (self.directed or graphs)[0]
            what = "the graph is not directed, and edges without a direction are not a causal claim"
            source.complain("graph-not-causal", at, what, "write directed 1, and the cause as source")
        for count, at in enumerate(edges, start=1):
            if not self.draft.has_room(count, at):
                break

    def _parsed(self, text: str) -> nx.MultiDiGraph[Any] | None:
        import networkx as nx

        try:
            # By lines, because a text as a whole is also split at line separators inside quotes.
            return nx.parse_gml(text.split("\n"), label=None)  # type: ignore[call-overload,no-any-return]
        except Exception as error:  # noqa: BLE001 - whatever networkx trips over stands in the text
            known = isinstance(error, nx.NetworkXError)
            reason = _INSERTED.sub("", str(error)) if known else "a key has a value of the wrong kind, or several"
        # networkx says `... at (line, column)`, `node #i ...`, `edge #i ...`, or no place.
        at = None
        if place := re.search(r" at \((\d+), \d+\)$", reason):
            reason, at = reason[: place.start()], self.draft.source.offset(int(place.group(1)), 1)
        elif item := re.match(r"(node|edge) #(\d+) ", reason):
            at = self.offsets[item.group(1)][int(item.group(2))]
        hint = 'write keys with their values, as in node [ id 0 label "dose" ]'
        self._complain(at, f"networkx cannot read it: {printable(reason[:200])}", hint)
        return None

    def _complain(self, at: int | None, what: str, hint: str) -> None:
        self.draft.source.complain("graph-syntax", at, what, hint)


def _nodes(draft: Draft, graph: nx.MultiDiGraph[Any]) -> Iterator[tuple[Hashable, NodeItem]]:
    for key, attributes in graph.nodes(data=True):
        at, label = attributes.pop(OFFSET, None), attributes.pop("label", None)
        if not (isinstance(label, str | int | float) or label in ((), [])):
            hint = 'write label "..." inside its brackets'
            draft.source.complain("graph-attribute", at, f"the node {show(key)} needs one label", hint)
            continue
        graphics = attributes.get("graphics")
        if isinstance(graphics, dict) and {"x", "y"} <= graphics.keys():
            attributes["pos"] = (graphics.pop("x"), graphics.pop("y"))
            if not graphics:
                del attributes["graphics"]
        yield key, (str(label), attributes, at)


class Gml(Format):
    """Reads and writes directed graphs in GML. Nothing is lost."""

    name = "gml"
    title = "GML"
    say_latent = "give it latent 1"

    def _fill(self, draft: Draft) -> None:
        graph = _Scan(draft).graph()
        if graph is None:
            return
        for word in graph.graph:
            if word in LOOKS:
                draft.dropped[f"the {word} of the graph"] += 1
            else:
                what, at = f"{show(word)} is no key of a graph", draft.source.text.find(word)
                hint = did_you_mean(word, GRAPH_WORDS, otherwise="known are")
                draft.source.complain("graph-attribute", at, what, hint)
        edges = ((tail, head, said, said.pop(OFFSET, None)) for tail, head, said in graph.edges(data=True))
        reader = AttributeReader(draft, NODE_WORDS, "write {word} 1", LOOKS)
        reader.read_file(_nodes(draft, graph), edges, called="label")

    def _lines(self, graph: ReadGraph) -> Iterator[str]:
        ids = {name: position for position, name in enumerate(graph.nodes)}
        yield from ("graph [", "  directed 1")
        if len({(edge.tail, edge.head) for edge in graph.edges}) < len(graph.edges):
            yield "  multigraph 1"  # networkx reads a -> b beside a <-> b only so
        for name, roles in graph.roles_by_node().items():
            encoded = _UNPRINTABLE.sub(lambda match: f"&#{ord(match.group())};", name)
            yield from ("  node [", f"    id {ids[name]}", f'    label "{encoded}"')
            yield from (f"    {role} 1" for role in roles)
            if name in graph.positions:
                yield "    graphics [ x {} y {} ]".format(*map(_real, graph.positions[name]))
            yield "  ]"
        for edge in graph.edges:
            yield from ("  edge [", f"    source {ids[edge.tail]}", f"    target {ids[edge.head]}")
            yield from ["    bidirected 1"] if edge.mark == "<->" else []
            yield "  ]"
        yield "]"


def _real(number: float) -> str:
    """GML asks for a decimal point also before an exponent."""
    mantissa, e, exponent = repr(number).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{e and 'E'}{exponent}"
