"""YAML text -> plain values, with the place of every key and value.

Differences from `yaml.safe_load`, each for a user's sake: scalars follow YAML 1.2 (`no` and `on` are words, `1e-3` is a
number, a date is text), keys are always text, repeated keys and unknown tags are complaints, and size, nesting
and alias expansion are bounded. Anchors, aliases and `<<` work.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import yaml

from crda_spec.errors import Complaint, GraphError, Place, show
from crda_spec.scm.formats import to_edges
from crda_spec.scm.formats._protocol import Role
from crda_spec.scm.formats.python import edge_lines, language_of, read_any

SpecPath = tuple[str | int, ...]

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 50_000

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(_TAG + name for name in ("null", "bool", "int", "float", "str", "timestamp", "merge", "value"))
_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_VARIABLE = re.compile(r"\$\$|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|\$\{")


@dataclass(slots=True)
class Tree:
    """Plain values and where they were written."""

    value: Any = None
    value_places: dict[SpecPath, Place] = field(default_factory=dict)
    key_places: dict[SpecPath, Place] = field(default_factory=dict)
    environment: dict[SpecPath, str] = field(default_factory=dict)  # as written, where ${NAME} was filled in
    secrets: dict[str, str] = field(default_factory=dict)  # what was filled in -> ${NAME}
    complaints: list[Complaint] = field(default_factory=list)

    def place(self, path: SpecPath, *, key: bool = False) -> Place | None:
        """Where the value (or key) at `path` was written, or the key of the nearest section around it.

        A section that starts below its key is shown by its key. What stands in no section has only a file.
        """
        wanted = path
        while path and path not in self.value_places:
            path = path[:-1]
        value, written = self.value_places.get(path), self.key_places.get(path)
        if value is None or (wanted and not path):
            return None if value is None else Place(value.file)
        if written is not None and (key or path != wanted or written.line != value.line):
            return written
        return value


def dotted(path: SpecPath) -> str:
    """A path as it is shown and as `--set` takes it: `dataset.columns.area`."""
    return ".".join(str(part) for part in path)


def value_at(value: Any, path: SpecPath) -> Any:  # noqa: ANN401 - any YAML value
    """What stands at `path` inside the value; None when nothing does."""
    for part in path:
        if isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            value = value.get(str(part)) if isinstance(value, dict) else None
    return value


def resolve_scalar(text: str) -> Any:  # noqa: ANN401 - that is what a scalar is
    """A plain (unquoted) scalar by the rules of YAML 1.2."""
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _INT.match(text):
        return int(text) if len(text) < 400 else text
    if _FLOAT.match(text):
        return float(text)
    return text


def read_tree(text: str, file: str, environ: Mapping[str, str]) -> Tree:
    """Reads one YAML document; whatever is wrong with it is in the tree's complaints."""
    reader = _Reader(text, file, environ)
    reader.read()
    return reader.tree


def _graph_section(graph: object) -> dict[str, Any]:
    """A graph that Python has, as a spec writes it."""
    if isinstance(graph, str) and (language := language_of(graph)) != "edges":
        return {"kind": language, "text": graph}
    if isinstance(graph, str | list | tuple):
        return {"kind": "edges", "edges": edge_lines(graph)}
    read = read_any(graph)
    if read.complaints:
        raise GraphError(read.complaints)
    additive = read.having("additive")
    latents = tuple(dict.fromkeys((*read.latents, *additive)))
    latent: Any = {name: "additive" if name in additive else None for name in latents} if additive else latents
    roles: dict[str, Role] = {"selected": "selected", "unrelated": "unrelated", "noise": "noise"}
    written = {name: read.having(role) for name, role in roles.items() if read.having(role)}
    return {"kind": "edges", "edges": to_edges(read), **({"latent": latent} if latents else {}), **written}


def tree_of(values: Mapping[str, Any], name: str) -> Tree:
    """The values that Python has already; what a spec cannot hold is in the tree's complaints. name: for messages."""
    tree = Tree(value_places={(): Place(name)})

    def plain(value: object, path: SpecPath) -> Any:  # noqa: ANN401 - any YAML value
        if path == ("causal", "graph") and value is not None and not isinstance(value, Mapping):
            return plain_graph(value)
        if isinstance(value, Mapping):
            return {str(key): plain(inner, (*path, str(key))) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [plain(inner, (*path, at)) for at, inner in enumerate(value)]
        if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a number of numpy
            value = value.item()
        if isinstance(value, PurePath):
            return str(value)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        what = f"a value of type {type(value).__name__} cannot stand in a spec"
        hint = "use text, numbers, lists and mappings"
        tree.complaints.append(
            Complaint(code="unknown-value", what=what, hint=hint, path=dotted(path), place=Place(name))
        )
        return None

    def plain_graph(value: object) -> Any:  # noqa: ANN401
        try:
            return plain(_graph_section(value), ("causal", "graph"))
        except GraphError as error:
            tree.complaints += [replace(one, path="causal.graph", place=Place(name)) for one in error.complaints]
            return None

    tree.value = plain(values, ())
    return tree


class _Reader:
    def __init__(self, text: str, file: str, environ: Mapping[str, str]) -> None:
        self.text = text
        self.lines = text.splitlines()
        self.file = file
        self.environ = environ
        self.tree = Tree()
        self.nodes = 0
        self.inside: set[int] = set()

    def at(self, mark: Any) -> Place:  # noqa: ANN401 - PyYAML's marks have no stable type
        line = self.lines[mark.line] if mark.line < len(self.lines) else ""
        return Place(self.file, mark.line + 1, mark.column + 1, line)

    def complain(self, code: str, what: str, hint: str, place: Place, path: SpecPath = ()) -> None:
        self.tree.complaints.append(Complaint(code=code, what=what, hint=hint, path=dotted(path), place=place))

    def read(self) -> None:
        try:
            if not self._shallow_enough():
                return
            node = yaml.compose(self.text, Loader=yaml.SafeLoader)
        except yaml.reader.ReaderError as error:
            line = self.text.count("\n", 0, error.position)
            start = self.text.rfind("\n", 0, error.position) + 1
            place = Place(self.file, line + 1, error.position - start + 1, self.text[start:].split("\n", 1)[0])
            self.complain("yaml-syntax", "a control character that YAML does not allow", "remove it", place)
            return
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            what = (error.problem or "this is not YAML").split("\n")[0]
            place = self.at(mark) if mark is not None else Place(self.file)
            self.complain("yaml-syntax", f"not valid YAML: {what}", _syntax_hint(what, place.text), place)
            return
        if node is None:
            self.complain("empty-spec", "the spec is empty", "start with `version: 1`", Place(self.file, 1, 1))
            return
        self.tree.value = self._value(node, ())

    def _shallow_enough(self) -> bool:
        """PyYAML composes by recursion, so nesting is measured on its flat event stream first."""
        depth = documents = 0
        for event in yaml.parse(self.text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            documents += isinstance(event, yaml.DocumentStartEvent)
            if depth > MAX_DEPTH:
                what = f"nested more than {MAX_DEPTH} levels deep"
                self.complain("too-deep", what, "a spec needs about 5 levels", self.at(event.start_mark))
                return False
            if documents > 1:
                what = "a second YAML document starts here"
                self.complain("many-documents", what, "one file holds one spec", self.at(event.start_mark))
                return False
        return True

    def _value(self, node: yaml.Node, path: SpecPath) -> Any:  # noqa: ANN401
        place = self.at(node.start_mark)
        self.tree.value_places[path] = place
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path, place) if self._affordable(place, path) else None
        if node.tag not in (_TAG + "seq", _TAG + "map"):
            self._bad_tag(node, path, place)
            return None
        with self._entered(node, place, path) as open_:
            if not open_:
                return None
            if isinstance(node, yaml.SequenceNode):
                return [self._value(item, (*path, position)) for position, item in enumerate(node.value)]
            assert isinstance(node, yaml.MappingNode)  # noqa: S101 - PyYAML has three kinds of node
            return self._mapping(node, path)

    def _affordable(self, place: Place, path: SpecPath) -> bool:
        """Counts one more value: aliases can make a short text stand for a huge one."""
        self.nodes += 1
        if self.nodes == MAX_NODES:
            self.complain("too-large", f"more than {MAX_NODES} values after aliases", "use fewer aliases", place, path)
        return self.nodes < MAX_NODES

    @contextmanager
    def _entered(self, node: yaml.Node, place: Place, path: SpecPath) -> Iterator[bool]:
        """Whether the inside of a list or mapping may be read: not when it contains itself, or is one too many."""
        if id(node) in self.inside:
            self.complain("alias-loop", "an alias that contains itself", "write the value out", place, path)
            yield False
        elif not self._affordable(place, path):
            yield False
        else:
            self.inside.add(id(node))
            try:
                yield True
            finally:
                self.inside.discard(id(node))

    def _bad_tag(self, node: yaml.Node, path: SpecPath, place: Place) -> None:
        tag = node.tag.replace(_TAG, "!!")
        hint = "write plain text, numbers, lists and key: value lines; a spec never constructs objects"
        self.complain("yaml-tag", f"the tag {show(tag)} is not allowed", hint, place, path)

    def _mapping(self, node: yaml.MappingNode, path: SpecPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        bases: list[yaml.Node] = []
        for key_node, value_node in node.value:
            place = self.at(key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                self.complain("bad-key", "a key must be plain text", "quote it", place, path)
                continue
            key = str(key_node.value)
            if not self._readable(key, path, place):
                continue
            if key == "<<" and key_node.style is None:
                bases += value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                continue
            if key in mapping:
                first = self.tree.key_places[(*path, key)].line
                what = f"the key {show(key)} is written twice"
                self.complain("repeated-key", what, f"the first is on line {first}; keep one", place, (*path, key))
                continue
            self.tree.key_places[(*path, key)] = place
            mapping[key] = self._value(value_node, (*path, key))
        merged: dict[str, Any] = {}
        for base in bases:
            self._merge(base, path, mapping, merged)
        return {**merged, **mapping}

    def _merge(self, base: yaml.Node, path: SpecPath, found: dict[str, Any], merged: dict[str, Any]) -> None:
        """`<<: *base`: the base's keys, but for those of the mapping itself (found) and of earlier bases."""
        place = self.at(base.start_mark)
        if not isinstance(base, yaml.MappingNode):
            self.complain("bad-merge", "<< needs a mapping", "point it at an anchor of key: value lines", place, path)
            return
        with self._entered(base, place, path) as open_:
            below: list[yaml.Node] = []
            for key_node, value_node in base.value if open_ else ():
                key = str(key_node.value)
                if not isinstance(key_node, yaml.ScalarNode) or not self._affordable(place, path):
                    continue
                if key == "<<" and key_node.style is None:
                    below += value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                elif key not in found and key not in merged:
                    self.tree.key_places[(*path, key)] = self.at(key_node.start_mark)
                    merged[key] = self._value(value_node, (*path, key))
            for one in below:
                self._merge(one, path, found, merged)

    def _scalar(self, node: yaml.ScalarNode, path: SpecPath, place: Place) -> Any:  # noqa: ANN401
        if node.tag not in _PLAIN_TAGS:
            self._bad_tag(node, path, place)
            return None
        text = str(node.value)
        filled = self._fill(text, path, place) if "$" in text else text
        if not self._readable(filled, path, place):
            return None
        plain = node.style is None and not (node.tag == _TAG + "str" and _looks_typed(text))
        value = resolve_scalar(filled) if plain else filled
        if isinstance(value, float) and not math.isfinite(value):  # neither JSON nor any setting could hold it
            hint = "write a finite number, or quote it if it is text"
            self.complain("not-finite", f"{filled} is not a finite number", hint, place, path)
            return None
        return value

    def _readable(self, text: str, path: SpecPath, place: Place) -> bool:
        """Whether the text can be written as UTF-8: half of a surrogate pair cannot."""
        if any("\ud800" <= one <= "\udfff" for one in text):
            what = f"{show(text)} contains half of a character (a lone surrogate)"
            self.complain("not-text", what, "write the character itself", place, path)
            return False
        return True

    def _fill(self, text: str, path: SpecPath, place: Place) -> str:
        """`${NAME}` and `${NAME:-default}`; `$$` is a dollar sign."""

        def one(match: re.Match[str]) -> str:
            if match.group() == "$$":
                return "$"
            name, default = match.group("name"), match.group("default")
            if name is None:
                hint = "write ${NAME} or ${NAME:-default}; a literal ${ is $${"
                self.complain("bad-variable", f"an unfinished ${{ in {show(text)}", hint, place, path)
                return ""
            if value := self.environ.get(name):
                self.tree.secrets[value] = f"${{{name}}}"
                return value
            if default is not None:
                return default
            what = f"the environment variable {name} is {'empty' if name in self.environ else 'not set'}"
            self.complain("unset-variable", what, f"set it, or give a default: ${{{name}:-value}}", place, path)
            return ""

        filled = _VARIABLE.sub(one, text)
        if any(match.group("name") for match in _VARIABLE.finditer(text)):
            self.tree.environment[path] = text
        return filled


def _looks_typed(text: str) -> bool:
    """Whether PyYAML would have given this plain scalar another tag: then a `!!str` stands before it."""
    tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return bool(tag != _TAG + "str")


_SYNTAX_HINTS = (  # by what PyYAML calls the problem; the last suits any
    ("\\t", "indent with spaces, not tabs"),
    ("tab", "indent with spaces, not tabs"),
    ("undefined alias", "define it above with &, or quote text that starts with *"),
    ("mapping values are not allowed", "quote text that contains ': '"),
    ("could not find expected ':'", "check the indentation of this line and the one above"),
    ("expected <block end>", "check the indentation of this line and the one above"),
    ("", "check quotes, brackets and indentation around here"),
)


def _syntax_hint(problem: str, line: str) -> str:
    edge = re.match(r"\s*-\s*([{\[])(.*?)[}\]](\s*(?:->|<-).*)", line)
    if edge:  # several nodes at once are written in braces: `{a b} -> c`
        opening, nodes, rest = edge.groups()
        written = f"{{{nodes}}}{rest.rstrip()}"
        return f"put the entry in quotes: YAML reads a {opening} at its start as its own. Write - '{written}'"
    return next(hint for part, hint in _SYNTAX_HINTS if part in problem)
