"""GraphML: `<graphml><key .../><graph edgedefault="directed"><node id="dose"/><edge source=".." target=".."/>...`.

A node's name is its id, as networkx writes it, unless it has a `name` or `label`. Roles are boolean data of our own,
positions are `x` and `y`; an edge with `bidirected` true or the mark `<->` is a hidden common cause.

networkx builds the graph, from elements that were looked through: it would take a missing id for the name None, invent
the ends of an edge, merge nodes of one id, and pass over elements that it does not know. A document type is refused
before anything is parsed, because it can define entities.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from crda_spec.errors import did_you_mean, show
from crda_spec.scm.formats._protocol import ROLES, Draft, Format, ReadGraph, surrogates
from crda_spec.scm.formats.objects import AttributeReader, NodeItem

if TYPE_CHECKING:
    import networkx as nx

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
INSIDE = {
    "": ("graphml",),
    "graphml": ("key", "desc", "graph", "data"),
    "key": ("default", "desc"),
    "graph": ("desc", "node", "edge", "data"),
    "node": ("desc", "data"),
    "edge": ("desc", "data"),
}
NODE_WORDS = ("name", "label", *ROLES, "x", "y")
LOOKS = frozenset(
    {"color", "description", "id", "key", "label", "nodegraphics", "edgegraphics", "shape", "size", "weight"}
)
_DECLARATION = re.compile(r"<!(?:DOCTYPE|ENTITY)")
_HIDDEN = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>", re.DOTALL)
_TAG = re.compile(r"<(?=[^/!?])")
# XML 1.0 has no way to write these.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SPECIAL = re.compile('[&<>"\t\n\r\x7f-\x9f\u2028]')


@dataclass(slots=True)
class _Document:
    """The elements of a document: checked, put into one namespace, and rid of what networkx would misread."""

    draft: Draft
    root: ET.Element
    places: dict[ET.Element, int]
    keys: dict[str, str] = field(default_factory=dict)  # of the ids, the names
    nodes: dict[str, int] = field(default_factory=dict)  # of the ids, the offsets

    def check(self) -> None:
        """Complains about whatever is not read."""
        if not self._is_read("", self.root):
            return
        for key in self.root.findall(_tag("key")):
            identity = key.get("id", "")
            drawn = key.attrib.pop("yfiles.type", None)
            self.keys[identity] = key.get("attr.name") or drawn or identity
            key.attrib.update({"id": identity, "attr.name": self.keys[identity], "attr.type": "string"})
            for default in key.findall(_tag("default")):
                default.text = default.text or ""
        graphs = self.root.findall(_tag("graph"))
        if len(graphs) != 1:
            what = "a second graph" if graphs else "there is no graph"
            self._complain((graphs or [self.root])[-1], what, "write nodes and edges inside one <graph>")
        for graph in graphs[:1]:
            if graph.get("edgedefault") != "directed":
                what = "the graph is not directed, and edges without a direction are not a causal claim"
                hint = 'write edgedefault="directed", and the cause as source'
                self.draft.source.complain("graph-not-causal", self.places[graph], what, hint)
            for node in graph.findall(_tag("node")):
                self._node(node)
            for count, edge in enumerate(graph.findall(_tag("edge")), start=1):
                if not self.draft.has_room(count, self.places[edge]):
                    break
                self._edge(edge)

    def _is_read(self, parent: str, element: ET.Element) -> bool:
        """Whether the element belongs here; removes what does not belong inside it."""
        space, _, name = element.tag.rpartition("}")
        foreign = space not in ("", f"{{{NAMESPACE}")
        if foreign and parent == "data":
            return False  # an editor's own elements
        if foreign or name not in INSIDE.get(parent, ()):
            where = f"inside <{parent}>" if parent else "at the top"
            hint = "write nodes and edges inside one <graph>, keys before it"
            self._complain(element, f"<{name}> {where} is not read", hint)
            return False
        if name == "data" and parent in ("graph", "graphml"):
            self.draft.dropped["data of the graph"] += 1
            return False
        element.tag = _tag(name)
        element[:] = [child for child in element if self._is_read(name, child)]
        return True

    def _node(self, node: ET.Element) -> None:
        identity = node.get("id")
        if identity is None:
            self._complain(node, "the node has no id", 'write <node id="..."/>')
            return
        if identity in self.nodes:
            self._complain(node, f"a second node has the id {show(identity)}", "give each node its own id")
        self.nodes.setdefault(identity, self.places[node])
        node.attrib = {"id": identity}
        self._check_data(node)

    def _edge(self, edge: ET.Element) -> None:
        if edge.get("directed") == "false":
            what = "the edge is not directed, so it is not a causal claim"
            self._complain(edge, what, "make the cause its source; for a hidden common cause, say bidirected")
        ends = {side: edge.get(side) for side in ("source", "target")}
        for side, identity in ends.items():
            if identity is None:
                self._complain(edge, f"the edge has no {side}", f'write <edge {side}="..."/>')
            elif identity not in self.nodes:
                hint = did_you_mean(identity, list(self.nodes), otherwise="the ids are")
                self._complain(edge, f"no node has the id {show(identity)}", hint)
        # networkx makes the id of an edge its key: the offset comes back as such.
        edge.attrib = {"id": str(self.places[edge]), **{side: end or "" for side, end in ends.items()}}
        self._check_data(edge)

    def _check_data(self, item: ET.Element) -> None:
        seen: set[str] = set()
        for data in item.findall(_tag("data")):
            key = data.get("key", "")
            name = self.keys.get(key)
            if name is None:
                hint = did_you_mean(key, list(self.keys), otherwise="declared are")
                self._complain(data, f"no key {show(key)} is declared", hint or 'declare it: <key id="..." .../>')
            elif name in seen:
                self._complain(data, f"{show(name)} is said twice", "remove one")
            else:
                seen.add(name)

    def graph(self) -> nx.MultiDiGraph[Any]:
        """The graph of the checked elements. Every value is a text, and defaults are said of each node and edge."""
        import networkx as nx

        reader: Any = nx.GraphMLReader(force_multigraph=True)
        keys, defaults = reader.find_graphml_keys(self.root)
        graph: nx.MultiDiGraph[Any] = reader.make_graph(self.root.find(_tag("graph")), keys, defaults)
        for kind, items in (("node", graph.nodes), ("edge", graph.edges)):
            defaulted = {
                keys[key]["name"]: text for key, text in defaults.items() if keys[key]["for"] in (kind, "all", None)
            }
            for item in items if defaulted else ():
                items[item].update({**defaulted, **items[item]})
        return graph

    def _complain(self, element: ET.Element, what: str, hint: str) -> None:
        self.draft.source.complain("graph-syntax", self.places[element], what, hint)


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


def _document(draft: Draft) -> _Document | None:
    """The elements with their offsets; None, with a complaint, when the text is refused or no XML."""
    source = draft.source
    if declared := _DECLARATION.search(source.text):
        what = "a document type declaration is refused: it can define entities"
        source.complain("graph-syntax", declared.start(), what, "remove <!DOCTYPE ...>")
        return None
    try:
        root = ET.fromstring(source.text)  # noqa: S314 - without a document type nothing expands and nothing is fetched
    except ET.ParseError as error:
        line, column = error.position
        what = f"this is not XML: {str(error).partition(':')[0]}"
        hint = "write one <graphml> element, every tag closed"
        source.complain("graph-syntax", source.offset(line, column + 1), what, hint)
        return None
    except ValueError:
        source.complain("graph-syntax", None, f"this is not XML: {surrogates(source.text)}", "remove it")
        return None
    bare = _HIDDEN.sub(lambda match: " " * len(match.group()), source.text)
    return _Document(draft, root, dict(zip(root.iter(), (match.start() for match in _TAG.finditer(bare)), strict=True)))


def _nodes(document: _Document, graph: nx.MultiDiGraph[Any]) -> Iterator[tuple[Hashable, NodeItem]]:
    for identity, attributes in graph.nodes(data=True):
        at = document.nodes[identity]
        names = {attributes.pop(word) for word in ("name", "label") if word in attributes}
        if len(names) > 1:
            what = f"the node {show(identity)} has a name and another label"
            document.draft.source.complain("graph-attribute", at, what, "remove one of them")
        position = [attributes.pop(axis) for axis in "xy" if axis in attributes]
        if len(position) == 2:
            attributes["pos"] = position
        yield identity, (min(names, default=identity), attributes, at)


class GraphMl(Format):
    """Reads and writes directed graphs in GraphML. Nothing is lost."""

    name = "graphml"
    title = "GraphML"
    say_latent = "give it the data latent, true"

    def _fill(self, draft: Draft) -> None:
        document = _document(draft)
        if document is None:
            return
        document.check()
        if not draft.source.complaints:
            graph = document.graph()
            edges = ((tail, head, attributes, at) for tail, head, at, attributes in graph.edges(keys=True, data=True))
            reader = AttributeReader(draft, NODE_WORDS, "write true or false", LOOKS)
            reader.read_file(_nodes(document, graph), edges, called="name")

    def _lines(self, graph: ReadGraph) -> Iterator[str]:
        yield from ('<?xml version="1.0" encoding="UTF-8"?>', f'<graphml xmlns="{NAMESPACE}">')
        yield from (_key(role, "node", "boolean") for role in ROLES if graph.having(role))
        yield from (_key(axis, "node", "double") for axis in "xy" if graph.positions)
        if any(edge.mark == "<->" for edge in graph.edges):
            yield _key("bidirected", "edge", "boolean")
        yield '  <graph edgedefault="directed">'
        for name, roles in graph.roles_by_node().items():
            values = dict.fromkeys(map(str, roles), "true")
            values |= zip("xy", map(repr, graph.positions.get(name, ())), strict=False)
            yield _element("node", {"id": name}, values)
        for edge in graph.edges:
            both = {"bidirected": "true"} if edge.mark == "<->" else {}
            yield _element("edge", {"source": edge.tail, "target": edge.head}, both)
        yield from ("  </graph>", "</graphml>")

    def _cannot_hold(self, name: str) -> str:
        return "XML has no way to write one of its characters" if _FORBIDDEN.search(name) else ""


def _key(name: str, of: str, kind: str) -> str:
    return f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>'


def _element(tag: str, attributes: dict[str, str], data: dict[str, str]) -> str:
    # As the value of an attribute XML would turn a bare line break or tab into a space.
    escaped = {key: _SPECIAL.sub(lambda match: f"&#{ord(match.group())};", text) for key, text in attributes.items()}
    start = " ".join([tag, *(f'{key}="{text}"' for key, text in escaped.items())])
    inside = "".join(f'<data key="{key}">{text}</data>' for key, text in data.items())
    return f"    <{start}>{inside}</{tag}>" if inside else f"    <{start}/>"
