"""What every format of a causal graph shares: its text, the draft that a reader fills, and what it can write."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import ClassVar, Literal, get_args

from crda_spec.errors import Complaint, GraphError, Place, show
from crda_spec.scm.graph import MAX_EDGES, CausalGraph, Edge, GraphDeclaration, Mark, complaints_about

MAX_TEXT = 4_000_000  # characters
MAX_COMPLAINTS = 20  # a text of the wrong kind would give thousands


class Source:
    """One text, and what is wrong with it."""

    __slots__ = ("_complaints", "_lines", "_starts", "file", "is_hopeless", "text")

    def __init__(self, text: str, file: str) -> None:
        """Drops a byte order mark; lines end at line feeds only, as editors count them."""
        self.text = text.removeprefix("\ufeff")
        self.file = file
        # Places share these strings: a text of one long line is not copied for each of its edges.
        self._lines = self.text.split("\n") if len(self.text) <= MAX_TEXT else []
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._complaints: list[Complaint] = []
        self.is_hopeless = False  # there are more complaints than are shown, so that a reader may stop

    def place(self, at: int) -> Place:
        """The place of the character with this offset."""
        line = min(bisect_right(self._starts, at), len(self._lines)) - 1
        return Place(self.file, line + 1, at - self._starts[line] + 1, self._lines[line])

    def offset(self, line: int, col: int) -> int:
        """The offset of a place, both counted from 1; the reverse of `place`."""
        return self._starts[min(line, len(self._lines)) - 1] + col - 1

    def complain(self, code: str, at: int | None, what: str, hint: str = "") -> None:
        """Notes a complaint at an offset, or about the text as a whole."""
        if len(self._complaints) >= MAX_COMPLAINTS:
            self.is_hopeless = True
            return
        place = (Place(self.file) if self.file else None) if at is None else self.place(at)
        self._complaints.append(Complaint(code=code, what=what, hint=hint, place=place))

    def is_readable(self) -> bool:
        """Whether there is a text of a size that is read; complains otherwise."""
        if len(self.text) > MAX_TEXT:
            what = f"the graph has {len(self.text)} characters, and at most {MAX_TEXT} are read"
            self.complain("graph-too-long", None, what, "leave out what is not tied to the target")
        elif not self.text.strip():
            self.complain("graph-empty", None, "the graph has no text", "write what causes what")
        return not self._complaints

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        """All complaints; the last one says when there are more."""
        if not self.is_hopeless:
            return tuple(self._complaints)
        what, hint = "there are more problems than are shown", "is it a file of this kind?"
        more = Complaint(code="more-problems", what=what, hint=hint, place=self._complaints[-1].place)
        return (*self._complaints, more)


@dataclass(slots=True)
class Draft:
    """Names, edges and roles in the order of their mention. An offset is None where there is no text."""

    source: Source
    nodes: dict[str, Place | None] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    roles: dict[Role, dict[str, int | None]] = field(default_factory=dict)
    positions: dict[str, tuple[float, float]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)  # what was said and is not kept, in words
    _full: bool = False

    def node(self, name: str, at: int | None) -> bool:
        """Notes a name; False, with a complaint, for one that is empty or no text."""
        why = surrogates(name)
        if not name:
            self.source.complain("node-name", at, "a name is empty", "write the node's name")
        elif why:
            self.source.complain("node-name", at, f"{show(name)} is no name: {why}", "rename the node")
        elif name not in self.nodes:
            self.nodes[name] = None if at is None else self.source.place(at)
        return bool(name) and not why

    def has_room(self, count: int, at: int | None) -> bool:
        """Whether so many edges more are allowed; complains once when they are not."""
        if len(self.edges) + count <= MAX_EDGES and not self._full:
            return True
        if not self._full:
            what = f"the graph has {len(self.edges) + count} edges or more, and at most {MAX_EDGES} are allowed"
            self.source.complain("graph-too-large", at, what, "leave out what is not tied to the target")
        self._full = True
        return False

    def edge(self, tail: str, head: str, mark: Mark, at: int | None) -> None:
        """Notes an edge whose first name stands at the offset."""
        self.edges.append(Edge(tail, head, mark, place=None if at is None else self.source.place(at)))

    def role(self, role: Role, name: str, at: int | None) -> None:
        """Gives a node a role; saying it twice changes nothing."""
        self.roles.setdefault(role, {}).setdefault(name, at)

    def position(self, name: str, text: str, at: int | None) -> None:
        """Reads `x,y`. Graphviz marks a pinned node by an exclamation mark at the end."""
        try:
            x, y = (float(part) for part in text.strip().removesuffix("!").split(","))
        except ValueError:
            x = y = math.nan
        if math.isfinite(x) and math.isfinite(y):
            self.positions[name] = (x, y)
        else:
            hint = 'write two numbers, as in pos="0.5,-1"'
            self.source.complain("graph-attribute", at, f"{show(text)} is not a position", hint)

    def read(self, *, say_latent: str) -> ReadGraph:
        """What was read."""
        for name, at in self.roles.get("latent", {}).items():
            if name in self.roles.get("outcome", {}):
                what = f"{show(name)} is both latent and the outcome"
                self.source.complain("contradictory-roles", at, what, "an outcome is measured; remove one of the roles")
        if not self.nodes and not self.source.complaints:
            self.source.complain("graph-empty", None, "the graph names no node", "write what causes what")
        return ReadGraph(
            file=self.source.file,
            nodes=dict(self.nodes),
            edges=tuple(self.edges),
            roles={role: tuple(self.roles[role]) for role in ROLES if role in self.roles},
            positions=dict(self.positions),
            lost=tuple(what if count == 1 else f"{what} ({count} times)" for what, count in self.dropped.items()),
            complaints=self.source.complaints,
            say_latent=say_latent,
        )


def as_flag(text: str) -> bool | None:
    """true, yes and 1; false, no and 0; None for anything else."""
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.strip().lower())


# `noise`: the size of the target's noise depends on this feature. `additive`, `unrelated`: see `Declared`.
Role = Literal["latent", "additive", "outcome", "exposure", "adjusted", "selected", "noise", "unrelated"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGraph:
    """What a text, or another library's graph, says about causes before it meets the data."""

    file: str
    nodes: Mapping[str, Place | None]  # every name, in the order of its first mention, and where that stands
    edges: tuple[Edge, ...]
    roles: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    positions: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # where a drawing puts a node
    lost: tuple[str, ...] = ()  # what the text says and nothing here keeps
    complaints: tuple[Complaint, ...] = ()
    say_latent: str = "list it under latent"  # how the format says that nobody measured a node

    def having(self, role: Role) -> tuple[str, ...]:
        """The nodes of one role."""
        return self.roles.get(role, ())

    def roles_by_node(self) -> dict[str, list[Role]]:
        """The roles of each node, in their usual order."""
        members = {role: frozenset(self.having(role)) for role in ROLES}
        return {name: [role for role in ROLES if name in members[role]] for name in self.nodes}

    @property
    def latents(self) -> tuple[str, ...]:
        """The nodes that nobody measured."""
        return self.having("latent")

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The nodes that the text calls the outcome; usually one."""
        return self.having("outcome")

    @property
    def place(self) -> Place | None:
        """The text as a whole, when it has a name."""
        return Place(self.file) if self.file else None

    def graph(
        self,
        *,
        columns: Sequence[str] | None = None,
        target: str | None = None,
        features: Sequence[str] | None = None,
        latents: Sequence[str] = (),
        noise_parents: Sequence[str] = (),
        selected: Sequence[str] = (),
        additive: Sequence[str] = (),
        unrelated: Sequence[str] = (),
        path: str = "causal.graph",
    ) -> CausalGraph:
        """The checked graph, or one GraphError with every complaint about the text and about the graph.

        columns: all columns of the data; when left out, every node that is not latent.  target: when left out, the one
        outcome that the text names.  The roles add to those of the text; an additive node is latent.
        """
        passing = tuple(dict.fromkeys((*additive, *self.having("additive"))))
        hidden = tuple(dict.fromkeys((*latents, *self.latents, *passing)))
        complaints = [*self.complaints, *self._about_roles(target)]
        if target is None and len(self.outcomes) != 1:
            raise GraphError(complaints)
        pieces = GraphDeclaration.of(
            self.edges,
            columns=[name for name in self.nodes if name not in hidden] if columns is None else columns,
            target=self.outcomes[0] if target is None else target,
            features=features,
            latents=hidden,
            noise_parents=tuple(dict.fromkeys((*noise_parents, *self.having("noise")))),
            selected=tuple(dict.fromkeys((*selected, *self.having("selected")))),
            additive=passing,
            unrelated=tuple(dict.fromkeys((*unrelated, *self.having("unrelated")))),
            path=path,
        )
        pieces = replace(pieces, place=self.place, declared=self.nodes, say_latent=self.say_latent)
        complaints += complaints_about(pieces, complete=not self.complaints)
        if complaints:
            raise GraphError(complaints)
        return CausalGraph.from_declaration(pieces)

    def _about_roles(self, target: str | None) -> Iterator[Complaint]:
        """Roles that contradict the run."""
        if target is None and len(self.outcomes) != 1:
            named = ", ".join(show(name) for name in self.outcomes) or "none"
            what = f"the target was left to the graph, which has to name one outcome; it names {named}"
            hint = "mark one node as the outcome, or say which column is the target"
            yield Complaint(code="outcome-unclear", what=what, hint=hint, place=self.place)
        for name in self.outcomes if target is not None and target not in self.outcomes else ():
            what = f"the graph calls {show(name)} the outcome, but the target is {show(target)}"
            hint = "move the role in the graph, or change the target"
            yield Complaint(code="outcome-is-not-target", what=what, hint=hint, place=self.nodes.get(name))


@dataclass(frozen=True, slots=True)
class Written:
    """A graph as text, and in words whatever the format could not hold."""

    text: str
    lost: tuple[str, ...] = ()


class Format(ABC):
    """A way to write a graph down as text. Stateless; reading never raises, writing raises GraphError for bad names."""

    name: ClassVar[str]  # what a spec calls it
    title: ClassVar[str]
    say_latent: ClassVar[str]  # how it says that nobody measured a node
    loses: ClassVar[frozenset[Role]] = frozenset()  # the roles that it has no word for

    def read(self, text: str, *, file: str) -> ReadGraph:
        """Everything that the text says, and every complaint about it. `file` is its name, for the places."""
        draft = Draft(Source(text, file))
        if draft.source.is_readable():
            self._fill(draft)
        return draft.read(say_latent=self.say_latent)

    def write(self, graph: ReadGraph) -> str:
        """The graph as text, without what the format loses; GraphError for names that it cannot hold."""
        unwritable = [(name, why) for name in graph.nodes if (why := self._cannot_hold(name) or surrogates(name))]
        if unwritable:
            cannot, hint = f"cannot be written as {self.title}", "rename the node, or choose another format"
            raise GraphError(
                Complaint(code="unwritable-name", what=f"the name {show(name)} {cannot}: {why}", hint=hint)
                for name, why in unwritable
            )
        return "".join(f"{line}\n" for line in self._lines(graph))

    @abstractmethod
    def _fill(self, draft: Draft) -> None:
        """Notes in the draft all that its text says, and every complaint."""

    @abstractmethod
    def _lines(self, graph: ReadGraph) -> Iterator[str]:
        """The lines of the text."""

    def _cannot_hold(self, name: str) -> str:
        """Why the format cannot hold a name, or nothing."""
        return ""


def described(graph: CausalGraph) -> ReadGraph:
    """A checked graph in the words of the formats."""
    roles: Mapping[Role, tuple[str, ...]]
    roles = {
        "latent": graph.latents,
        "additive": graph.additive,
        "outcome": (graph.target,),
        "selected": graph.selected,
        "noise": graph.noise_parents,
        "unrelated": graph.unrelated,
    }
    nodes = dict.fromkeys(sorted((*graph.observed, *graph.latents)))
    return ReadGraph(file="", nodes=nodes, edges=graph.edges, roles=roles)


def surrogates(name: str) -> str:
    """Why no text file can hold the name, or nothing."""
    if "\0" in name:
        return "NUL is no character of a text"
    return "half of a surrogate pair is no character" if any("\ud800" <= sign <= "\udfff" for sign in name) else ""
