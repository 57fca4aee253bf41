"""GraphML as a stream of events, each with its place; what they mean is said in `graphml`.

The text is read by expat itself. A document type declaration is refused where it starts: without one XML has no
entities of its own, so nothing can expand and nothing outside can be fetched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from crda_spec.errors import did_you_mean, show
from crda_spec.scm.formats._source import Source

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
