"""GraphML: `<graphml><key .../><graph edgedefault="directed"><node id="dose"/><edge source=".." target=".."/>...`.

A node's name is its id, as networkx writes it, unless it has a `name` or `label`. Roles are boolean data of our own
(`latent`, `outcome`, `exposure`, `adjusted`, `selected`, `noise`), positions are `x` and `y`; an edge with `bidirected`
true or the mark `<->` is a hidden common cause.

networkx has a reader too; it is not used because it keeps no places, stops at the first error, and reads documents that
define their own entities. See `_graphml_events` for what is refused before anything is parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from crda_spec.errors import did_you_mean, show
from crda_spec.scm.formats._protocol import ROLES, Draft, ReadGraph, Role, Source, as_flag, surrogates, unwritable
from crda_spec.scm.graph import Mark

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
PARENTS = {
    "graphml": ("",),
    "key": ("graphml",),
    "default": ("key",),
    "desc": ("graphml", "key", "graph", "node", "edge"),
    "graph": ("graphml",),
    "node": ("graph",),
    "edge": ("graph",),
    "data": ("graphml", "graph", "node", "edge"),
}


class _RefusedError(Exception):
    """Ends the reading at once; the complaint was made."""


@dataclass(slots=True)
class Key:
    """A declared kind of data."""

    name: str
    of: str
    default: str | None = None


@dataclass(slots=True)
class Item:
    """A node or an edge with its data, each with its offset."""

    tag: str
    at: int
    attributes: dict[str, str]
    data: dict[str, tuple[str, int]] = field(default_factory=dict)


class Events:
    """The events of one document, collected; their meaning is given when all keys and nodes are known."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.items: list[Item] = []
        self.keys: dict[str, Key] = {}
        self.dropped: list[str] = []
        self._stack: list[str] = []
        self._skipping = 0  # the depth at which a foreign element was entered
        self._text: list[str] = []
        self._data: tuple[str, int] | None = None  # the key of the data element that is open, and its offset
        self._key = ""
        self._graphs = 0
        self._parser = expat.ParserCreate(encoding="utf-8", namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append

    def run(self) -> None:
        """Reads the whole text."""
        try:
            self._parser.Parse(self.source.text.encode("utf-8", "surrogatepass"), True)  # noqa: FBT003
        except expat.ExpatError as error:
            at = self.source.offset(error.lineno, error.offset + 1)
            what = f"this is not XML: {expat.ErrorString(error.code)}"
            self.source.complain("graph-syntax", at, what, "write one <graphml> element, every tag closed")
        except _RefusedError:
            return

    @property
    def _at(self) -> int:
        return self.source.offset(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    def complain(self, what: str, hint: str, at: int | None = None) -> None:
        """At this offset, or at the event at hand."""
        self.source.complain("graph-syntax", self._at if at is None else at, what, hint)

    def _doctype(self, *_: object) -> None:
        at = self.source.text.rfind("<!DOCTYPE", 0, self._at)  # the event comes at its end, or at its first bracket
        self.complain("a document type declaration is refused: it can define entities", "remove <!DOCTYPE ...>", at)
        raise _RefusedError

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        space, _, name = tag.rpartition(" ")
        self._stack.append(name)
        if self._skipping:
            return
        parent = self._stack[-2] if len(self._stack) > 1 else ""
        if space not in ("", NAMESPACE) and self._data is not None:
            self._skipping = len(self._stack)  # an editor's own elements, inside data
        elif space not in ("", NAMESPACE) or parent not in PARENTS.get(name, ()):
            where = f"inside <{parent}>" if parent else "at the top"
            self.complain(f"<{name}> {where} is not read", "write nodes and edges inside one <graph>, keys before it")
            self._skipping = len(self._stack)
        else:
            self._open(name, parent, attributes)

    def _open(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        self._text.clear()
        if name == "key":
            self._key = attributes.get("id", "")
            known = attributes.get("attr.name") or attributes.get("yfiles.type") or self._key
            self.keys[self._key] = Key(known, attributes.get("for", "all"))
        elif name == "graph":
            self._graphs += 1
            if self._graphs > 1:
                self.complain("a second graph", "write one graph to a file")
            if attributes.get("edgedefault") != "directed":
                what = "the graph is not directed, and edges without a direction are not a causal claim"
                hint = 'write edgedefault="directed", and the cause as source'
                self.source.complain("graph-not-causal", self._at, what, hint)
        elif name in ("node", "edge"):
            self.items.append(Item(name, self._at, attributes))
        elif name == "data":
            self._data = (attributes.get("key", ""), self._at)
            if parent in ("graph", "graphml"):
                self.dropped.append("data of the graph")

    def _end(self, tag: str) -> None:
        name = tag.rpartition(" ")[2]
        depth = len(self._stack)
        self._stack.pop()
        if self._skipping:
            if depth == self._skipping:
                self._skipping = 0
            return
        text = "".join(self._text)
        if name == "default":
            self.keys[self._key].default = text
        elif name == "data" and self._data is not None:
            key, at = self._data
            self._data = None
            if self._stack[-1] in ("node", "edge"):
                self._note(self.items[-1], key, text, at)
        self._text.clear()

    def _note(self, item: Item, key: str, text: str, at: int) -> None:
        if key not in self.keys:
            hint = did_you_mean(key, list(self.keys), otherwise="declared are") or 'declare it: <key id="..." .../>'
            self.complain(f"no key {show(key)} is declared", hint, at)
        elif self.keys[key].name in item.data:
            self.complain(f"{show(self.keys[key].name)} is said twice", "remove one", at)
        else:
            item.data[self.keys[key].name] = (text, at)

    def said(self, item: Item) -> dict[str, tuple[str, int]]:
        """The data of an item, defaults of its keys included."""
        known = (key for key in self.keys.values() if key.of in (item.tag, "all") and key.default is not None)
        return {**{key.name: (key.default or "", item.at) for key in known}, **item.data}


NODE_WORDS = ("name", "label", *ROLES, "x", "y")
EDGE_WORDS = ("bidirected", "mark")
# Read over, and said to be lost.
LOOKS = frozenset(
    {"color", "description", "id", "key", "label", "nodegraphics", "edgegraphics", "shape", "size", "weight"}
)
# XML 1.0 has no way to write these.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SPECIAL = re.compile('[&<>"\t\n\r\x7f-\x9f\u2028]')


class _Meaning:
    """Turns the items into a draft."""

    def __init__(self, draft: Draft, events: Events) -> None:
        self.draft = draft
        self.events = events
        self.names: dict[str, str] = {}  # of the ids

    def nodes(self, item: Item) -> None:
        said = self.events.said(item)
        key = item.attributes.get("id")
        if key is None:
            self._complain(item.at, "the node has no id", 'write <node id="..."/>')
            return
        calls = {said[word][0] for word in ("name", "label") if word in said}
        if len(calls) > 1:
            self._complain(item.at, f"the node {show(key)} has a name and another label", "remove one of them")
        name = min(calls, default=key)
        if key in self.names:
            self._complain(item.at, f"a second node has the id {show(key)}", "give each node its own id")
        elif name in self.draft.nodes:
            self._complain(item.at, f"a second node has the name {show(name)}", "give each node its own name")
        self.names.setdefault(key, name)
        if not self.draft.node(name, item.at):
            return
        for word, (text, at) in said.items():
            self._said_of(name, word, text, at)
        if "x" in said and "y" in said:
            self.draft.position(name, f"{said['x'][0]},{said['y'][0]}", said["x"][1])

    def _said_of(self, name: str, word: str, text: str, at: int) -> None:
        role = next((role for role in ROLES if role == word), None)
        if role is not None:
            if self._flag(word, text, at):
                self.draft.role(role, name, at)
        elif word not in NODE_WORDS:
            self._other(word, "a node", NODE_WORDS, at)

    def edges(self, item: Item) -> None:
        if item.attributes.get("directed") == "false":
            what = "the edge is not directed, so it is not a causal claim"
            self._complain(item.at, what, "make the cause its source; for a hidden common cause, say bidirected")
            return
        mark: Mark = "->"
        for word, (text, at) in self.events.said(item).items():
            if word == "bidirected":
                mark = "<->" if self._flag(word, text, at) else mark
            elif word == "mark":
                if text not in ("->", "<->"):
                    self._complain(at, f"the mark is {show(text)}", "write -> or <->")
                mark = "<->" if text == "<->" else mark
            else:
                self._other(word, "an edge", EDGE_WORDS, at)
        ends = [self._end_of(item, side) for side in ("source", "target")]
        if None not in ends and self.draft.has_room(1, item.at):
            self.draft.edge(str(ends[0]), str(ends[1]), mark, item.at)

    def _end_of(self, item: Item, side: str) -> str | None:
        key = item.attributes.get(side)
        if key is None:
            self._complain(item.at, f"the edge has no {side}", f'write <edge {side}="..."/>')
        elif key not in self.names:
            hint = did_you_mean(key, list(self.names), otherwise="the ids are")
            self._complain(item.at, f"no node has the id {show(key)}", hint)
        return self.names.get(key or "")

    def _flag(self, word: str, text: str, at: int) -> bool | None:
        flag = as_flag(text)
        if flag is None:
            self._complain(at, f"{word} is {show(text)}, which is neither true nor false", "write true or false")
        return flag

    def _other(self, word: str, of: str, known: tuple[str, ...], at: int) -> None:
        if word in LOOKS:
            self.draft.dropped[f"the {word} of {of}"] += 1
        else:
            self._complain(at, f"{show(word)} is no data of {of}", did_you_mean(word, known, otherwise="known are"))

    def _complain(self, at: int, what: str, hint: str) -> None:
        self.draft.source.complain("graph-attribute", at, what, hint)


@dataclass(frozen=True, slots=True)
class GraphMl:
    """Reads and writes directed graphs in GraphML. Nothing is lost."""

    name: str = "graphml"
    loses: frozenset[Role] = frozenset()

    def read(self, text: str, *, file: str) -> ReadGraph:
        """See `Format.read`."""
        source = Source(text, file)
        draft = Draft(source)
        if source.is_readable():
            events = Events(source)
            events.run()
            draft.dropped.update(events.dropped)
            meaning = _Meaning(draft, events)
            for item in (item for item in events.items if item.tag == "node"):
                meaning.nodes(item)
            for item in (item for item in events.items if item.tag == "edge"):
                meaning.edges(item)
        return draft.read(self.name, say_latent="give it the data latent, true")

    def write(self, graph: ReadGraph) -> str:
        """See `Format.write`."""
        unwritable([(name, why) for name in graph.nodes if (why := _cannot_hold(name))], kind="GraphML")
        roles = [role for role in ROLES if graph.having(role)]
        played = graph.roles_by_node()
        lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<graphml xmlns="{NAMESPACE}">']
        lines += [_key(role, "node", "boolean") for role in roles]
        lines += [_key(axis, "node", "double") for axis in "xy"] if graph.positions else []
        lines += [_key("bidirected", "edge", "boolean")] if any(edge.mark == "<->" for edge in graph.edges) else []
        lines.append('  <graph edgedefault="directed">')
        for name in graph.nodes:
            said = [_data(role, "true") for role in played[name]]
            if name in graph.positions:
                said += [_data(axis, repr(value)) for axis, value in zip("xy", graph.positions[name], strict=True)]
            lines.append(_element("node", {"id": name}, said))
        for edge in graph.edges:
            said = [_data("bidirected", "true")] if edge.mark == "<->" else []
            lines.append(_element("edge", {"source": edge.tail, "target": edge.head}, said))
        return "\n".join([*lines, "  </graph>", "</graphml>\n"])


def _key(name: str, of: str, kind: str) -> str:
    return f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>'


def _data(key: str, value: str) -> str:
    return f'<data key="{key}">{value}</data>'


def _element(tag: str, attributes: dict[str, str], inside: list[str]) -> str:
    said = "".join(f' {key}="{_escaped(value)}"' for key, value in attributes.items())
    return f"    <{tag}{said}>{''.join(inside)}</{tag}>" if inside else f"    <{tag}{said}/>"


def _escaped(text: str) -> str:
    """As the value of an attribute, in which XML would turn a bare line break or tab into a space."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match.group())};", text)


def _cannot_hold(name: str) -> str:
    return "XML has no way to write one of its characters" if _FORBIDDEN.search(name) else surrogates(name)


GRAPHML = GraphMl()
