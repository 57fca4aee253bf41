"""GraphML: `<graphml><key .../><graph edgedefault="directed"><node id="dose"/><edge source=".." target=".."/>...`.

A node's name is its id, as networkx writes it, unless it has a `name` or `label`. Roles are boolean data of our own
(`latent`, `outcome`, `exposure`, `adjusted`, `selected`, `noise`), positions are `x` and `y`; an edge with `bidirected`
true or the mark `<->` is a hidden common cause.

networkx has a reader too; it is not used because it keeps no places, stops at the first error, and reads documents that
define their own entities. See `_graphml_events` for what is refused before anything is parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from crda_spec.errors import did_you_mean, show
from crda_spec.scm.edge import Mark
from crda_spec.scm.formats._draft import Draft, as_flag
from crda_spec.scm.formats._graphml_events import NAMESPACE, Events, Item
from crda_spec.scm.formats._protocol import ROLES, ReadGraph, Role, surrogates, unwritable
from crda_spec.scm.formats._source import Source

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
