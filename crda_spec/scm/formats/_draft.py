"""A graph while it is being read: every reader fills one of these, so that all keep to the same rules."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from crda_spec.errors import Place, show
from crda_spec.scm.edge import Edge, Mark
from crda_spec.scm.formats._protocol import ROLES, ReadGraph, Role
from crda_spec.scm.formats._source import Source
from crda_spec.scm.pieces import MAX_EDGES

POSITION_HINT = 'write two numbers, as in pos="0.5,-1"'


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
        """Notes a name; False, with a complaint, for an empty one."""
        if not name:
            self.source.complain("node-name", at, "a name is empty", "write the node's name")
            return False
        if name not in self.nodes:
            self.nodes[name] = None if at is None else self.source.place(at)
        return True

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
        numbers = [as_number(part) for part in text.strip().removesuffix("!").split(",")]
        if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
            self.positions[name] = (numbers[0], numbers[1])
        else:
            self.source.complain("graph-attribute", at, f"{show(text)} is not a position", POSITION_HINT)

    def read(self, kind: str, *, say_latent: str) -> ReadGraph:
        """What was read."""
        for name, at in self.roles.get("latent", {}).items():
            if name in self.roles.get("outcome", {}):
                what = f"{show(name)} is both latent and the outcome"
                self.source.complain("contradictory-roles", at, what, "an outcome is measured; remove one of the roles")
        if not self.nodes and not self.source.complaints:
            self.source.complain("graph-empty", None, "the graph names no node", "write what causes what")
        return ReadGraph(
            kind=kind,
            file=self.source.file,
            nodes=dict(self.nodes),
            edges=tuple(self.edges),
            roles={role: tuple(self.roles[role]) for role in ROLES if role in self.roles},
            positions=dict(self.positions),
            lost=tuple(what if count == 1 else f"{what} ({count} times)" for what, count in self.dropped.items()),
            complaints=self.source.complaints,
            say_latent=say_latent,
        )


def as_number(text: str) -> float | None:
    """A finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def as_flag(text: str) -> bool | None:
    """true, yes and 1; false, no and 0; None for anything else."""
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.strip().lower())
