"""What an expert knows before a search: tiers, required and forbidden edges, roots and leaves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from crda_spec.errors import Complaint, SpecError, did_you_mean, show
from crda_spec.records import read_only
from crda_spec.scm.formats import parse_edges
from crda_spec.scm.graph import Edge, shortest_route
from crda_spec.strict import ColumnName, EdgeText, Strict

BoolArray = npt.NDArray[np.bool_]
PATH = "causal.discovery.knowledge"


class Knowledge(Strict):
    """What the expert knows before the search. All of it is enforced while searching."""

    tiers: tuple[tuple[ColumnName, ...], ...] = Field(
        (), description="Groups of columns in causal order, the earliest first: nothing causes an earlier group."
    )
    required: tuple[EdgeText, ...] = Field((), description="Edges that are there, whatever the tests say: a -> b.")
    forbidden: tuple[EdgeText, ...] = Field(
        (), description="Edges that are not there: a -> b forbids this direction, list b -> a as well to forbid both."
    )
    roots: tuple[ColumnName, ...] = Field((), description="Nothing among the columns causes these.")
    leaves: tuple[ColumnName, ...] = Field((), description="These cause nothing among the columns.")

    def __bool__(self) -> bool:
        return bool(self.tiers or self.required or self.forbidden or self.roots or self.leaves)

    @property
    def edges(self) -> KnownEdges:
        """The edges one by one: an entry may stand for several (a chain, a fan-out)."""
        return _read(self.required, self.forbidden)

    def check(self, names: Sequence[str] | None = None) -> None:
        """Raises a SpecError with every complaint."""
        complaints = list(self.complaints(names))
        if complaints:
            raise SpecError(complaints)

    def complaints(self, names: Sequence[str] | None = None) -> Iterator[Complaint]:
        """What cannot be read, contradicts itself or, among names that are given, is none; each at its place."""
        yield from self.edges.complaints
        if names is not None:
            known = set(names)
            for name, place in _written(self):
                if name not in known:
                    what = f"{show(name)} is not among the columns that are searched"
                    hint = did_you_mean(name, names, otherwise="the columns are")
                    yield Complaint(code="unknown-column", what=what, hint=hint, path=place)
        yield from _tier_complaints(self)
        yield from _required_complaints(self)
        yield from _circle_complaints(self)


class KnownEdges(NamedTuple):
    """The edges that knowledge speaks of, all `->`, and what is wrong with their text."""

    required: tuple[Edge, ...]
    forbidden: tuple[Edge, ...]
    complaints: tuple[Complaint, ...]


@lru_cache(maxsize=16)  # a search on resamples asks a hundred times
def _read(required: tuple[str, ...], forbidden: tuple[str, ...]) -> KnownEdges:
    needed, unreadable = parse_edges(required, path=f"{PATH}.required")
    barred, illegible = parse_edges(forbidden, path=f"{PATH}.forbidden")
    return KnownEdges(
        required=tuple(edge for edge in needed if edge.mark == "->"),
        forbidden=tuple(edge for edge in barred if edge.mark == "->"),
        complaints=(*unreadable, *_undirected("required", needed), *illegible, *_undirected("forbidden", barred)),
    )


def _undirected(field: str, edges: Iterable[Edge]) -> Iterator[Complaint]:
    for edge in edges:
        if edge.mark == "<->":
            hint = "a search decides about hidden causes itself; write a -> b"
            what = f"{show(str(edge))} is no direction that can be {field}"
            yield Complaint(code="knowledge-clash", path=edge.path, what=what, hint=hint)


def _written(knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """Every name and the place where it is written."""
    for level, members in enumerate(knowledge.tiers):
        yield from ((name, f"{PATH}.tiers.{level}.{place}") for place, name in enumerate(members))
    for edge in (*knowledge.edges.required, *knowledge.edges.forbidden):
        yield from ((name, edge.path) for name in (edge.tail, edge.head))
    for field, listed in (("roots", knowledge.roots), ("leaves", knowledge.leaves)):
        yield from ((name, f"{PATH}.{field}.{place}") for place, name in enumerate(listed))


def _tier_complaints(knowledge: Knowledge) -> Iterator[Complaint]:
    """A column stands in one tier only."""
    first: dict[str, int] = {}
    for level, members in enumerate(knowledge.tiers):
        for place, name in enumerate(members):
            if name in first:
                what, path = f"{show(name)} is already in tier {first[name]}", f"{PATH}.tiers.{level}.{place}"
                yield Complaint(code="two-tiers", what=what, hint="keep it in one tier", path=path)
            first.setdefault(name, level)


def _required_complaints(knowledge: Knowledge) -> Iterator[Complaint]:
    """A required edge agrees with everything else that is known."""
    tier = {name: level for level, members in reversed(list(enumerate(knowledge.tiers))) for name in members}
    forbidden = {(edge.tail, edge.head): edge.path for edge in reversed(knowledge.edges.forbidden)}
    for edge in knowledge.edges.required:
        tail, head = edge.tail, edge.head
        if tail == head:
            yield _clash(edge, "would make a column its own cause", "remove it")
            continue
        if (tail, head) in forbidden:
            other = forbidden[tail, head].removeprefix(f"{PATH}.")
            yield _clash(edge, f"is required and forbidden ({other})", "keep one of the two")
        if tail in tier and head in tier and tier[tail] > tier[head]:
            against = f"runs from tier {tier[tail]} back to tier {tier[head]}"
            yield _clash(edge, against, "turn it round, or move one of its ends to another tier")
        if head in knowledge.roots:
            against = f"is required, but nothing causes {show(head)} (roots)"
            yield _clash(edge, against, f"remove it, or take {show(head)} out of roots")
        if tail in knowledge.leaves:
            against = f"is required, but {show(tail)} causes nothing (leaves)"
            yield _clash(edge, against, f"remove it, or take {show(tail)} out of leaves")


def _clash(edge: Edge, against: str, hint: str) -> Complaint:
    return Complaint(code="knowledge-clash", what=f"{edge} {against}", hint=hint, path=edge.path)


def _circle_complaints(knowledge: Knowledge) -> Iterator[Complaint]:
    """Required edges hold no circle: one complaint for each edge that closes one over earlier edges."""
    effects: defaultdict[str, list[str]] = defaultdict(list)
    for edge in knowledge.edges.required:
        if edge.tail == edge.head:
            continue
        back = shortest_route(effects.__getitem__, edge.head, edge.tail)
        if back:
            what = f"the required edges run in a circle: {' -> '.join((edge.tail, *back))}"
            hint = "remove or turn round one of them"
            yield Complaint(code="knowledge-circle", what=what, hint=hint, path=edge.path)
        else:
            effects[edge.tail].append(edge.head)


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """What may cause what, and what must."""

    may_cause: BoolArray  # (d, d): row i, column j: i -> j is allowed
    required: BoolArray  # (d, d): i -> j is known
    exogenous: BoolArray  # (d,): noise, which shares no hidden cause with anything
    severed: BoolArray  # (d, d): not even a hidden cause ties the two

    @classmethod
    def of(cls, knowledge: Knowledge, names: Sequence[str], *, noise: Sequence[str] = ()) -> Constraints:
        """The matrices over these columns; a SpecError with every contradiction, so that no search begins on one.

        noise: exogenous columns, which nothing causes and which no hidden cause ties to anything.
        """
        knowledge.check()
        here = {name: place for place, name in enumerate(names)}
        d = len(names)
        may, required = np.ones((d, d), np.bool_), np.zeros((d, d), np.bool_)
        severed, exogenous = np.zeros((d, d), np.bool_), np.zeros(d, np.bool_)
        tier = np.full(d, -1)
        for level, members in enumerate(knowledge.tiers):
            tier[[here[name] for name in members if name in here]] = level
        later = (tier[:, None] > tier[None, :]) & (tier[None, :] >= 0)
        may[later] = False
        for edge in knowledge.edges.forbidden:
            if edge.tail in here and edge.head in here:
                may[here[edge.tail], here[edge.head]] = False
                severed[here[edge.tail], here[edge.head]] = True
        severed &= severed.T  # forbidden both ways
        may[:, [here[name] for name in (*knowledge.roots, *noise) if name in here]] = False
        may[[here[name] for name in knowledge.leaves if name in here], :] = False
        exogenous[[here[name] for name in noise]] = True
        for edge in knowledge.edges.required:
            if edge.tail in here and edge.head in here:
                required[here[edge.tail], here[edge.head]] = True
                may[here[edge.head], here[edge.tail]] = False
        np.fill_diagonal(may, val=False)
        severed |= ~(may | may.T) & (exogenous[:, None] | exogenous[None, :])
        return cls(*(read_only(mask) for mask in (may, required, exogenous, severed)))

    @property
    def always_linked(self) -> BoolArray:
        """Pairs with a required edge: no test may cut it."""
        return self.required | self.required.T

    def with_hidden_causes(self) -> Constraints:
        """What is left to rule out links and sets when columns may share hidden causes.

        Columns of which neither causes the other may then still be tied, and a set may need columns that cause
        neither end's neighbour: only what is severed or required stays decided before the tests.
        """
        free = ~self.severed
        np.fill_diagonal(free, val=False)
        return Constraints(read_only(free), self.required, self.exogenous, self.severed)
