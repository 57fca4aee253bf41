"""What an expert knows before the search: tiers, required and forbidden edges, roots, leaves and noise.

Standard library only, so that a spec can be checked without loading a numerical library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crda_spec.errors import Complaint, SpecError, did_you_mean, show

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """What may cause what, and what must."""

    may_cause: BoolArray  # (d, d): row i, column j: i -> j is allowed
    required: BoolArray  # (d, d): i -> j is known
    exogenous: BoolArray  # (d,): noise, which shares no hidden cause with anything
    severed: BoolArray  # (d, d): not even a hidden cause ties the two

    @classmethod
    def of(cls, knowledge: Knowledge, names: tuple[str, ...]) -> Constraints:
        """The matrices over these columns; knowledge about other columns is left out.

        Raises a SpecError with every contradiction, so that no search begins on one.
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
        for tail, head in knowledge.forbidden:
            if tail in here and head in here:
                may[here[tail], here[head]] = False
                severed[here[tail], here[head]] = True
        severed &= severed.T  # forbidden both ways
        may[:, [here[name] for name in (*knowledge.roots, *knowledge.noise) if name in here]] = False
        may[[here[name] for name in knowledge.leaves if name in here], :] = False
        exogenous[[here[name] for name in knowledge.noise if name in here]] = True
        for tail, head in knowledge.required:
            if tail in here and head in here:
                required[here[tail], here[head]] = True
                may[here[head], here[tail]] = False
        np.fill_diagonal(may, val=False)
        severed |= ~(may | may.T) & (exogenous[:, None] | exogenous[None, :])
        return cls(*(read_only_mask(mask) for mask in (may, required, exogenous, severed)))

    @classmethod
    def none(cls, d: int) -> Constraints:
        """Nothing is known."""
        nothing = np.zeros((d, d), np.bool_)
        masks = (~np.eye(d, dtype=np.bool_), nothing, np.zeros(d, np.bool_), nothing)
        return cls(*(read_only_mask(mask) for mask in masks))

    @property
    def never_linked(self) -> BoolArray:
        """Pairs of which neither may cause the other: no link, and nothing to test."""
        return ~(self.may_cause | self.may_cause.T)

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
        return Constraints(read_only_mask(free), self.required, self.exogenous, self.severed)

    def one_way(self, i: int, j: int) -> bool:
        """Whether knowledge alone decides that a link of the two reads i -> j."""
        return bool(self.may_cause[i, j] and not self.may_cause[j, i])


def read_only_mask(mask: BoolArray) -> BoolArray:
    """The same mask, closed for writing."""
    mask.setflags(write=False)
    return mask


Arrow = tuple[str, str]
PATH = "causal.discovery.knowledge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What is known about the causes among columns. Everything here binds the search; nothing is a mere hint."""

    tiers: tuple[tuple[str, ...], ...] = ()  # earliest first: nothing causes a column of an earlier tier
    required: tuple[Arrow, ...] = ()  # (cause, effect): the edge is there, whatever the tests say
    forbidden: tuple[Arrow, ...] = ()  # (cause, effect): the first does not cause the second directly
    roots: tuple[str, ...] = ()  # nothing among the columns causes these
    leaves: tuple[str, ...] = ()  # these cause nothing among the columns
    noise: tuple[str, ...] = ()  # exogenous: nothing causes these, and no hidden cause ties them to anything

    def __bool__(self) -> bool:
        return bool(self.tiers or self.required or self.forbidden or self.roots or self.leaves or self.noise)

    def check(self, names: Sequence[str] | None = None) -> None:
        """Raises a SpecError with every complaint."""
        complaints = list(complaints_about(self, names))
        if complaints:
            raise SpecError(complaints)


def restricted(knowledge: Knowledge, names: Sequence[str], *, noise: str | None = None) -> Knowledge:
    """What is known of some of the columns only; `noise` names one that nothing causes."""
    known = set(names)
    return Knowledge(
        tiers=tuple(tuple(name for name in tier if name in known) for tier in knowledge.tiers),
        required=tuple(edge for edge in knowledge.required if known.issuperset(edge)),
        forbidden=tuple(edge for edge in knowledge.forbidden if known.issuperset(edge)),
        roots=tuple(name for name in knowledge.roots if name in known),
        leaves=tuple(name for name in knowledge.leaves if name in known),
        noise=(*(name for name in knowledge.noise if name in known), *(() if noise is None else (noise,))),
    )


def complaints_about(knowledge: Knowledge, names: Sequence[str] | None = None) -> Iterator[Complaint]:
    """Everything that contradicts itself, or names no column, each at its place in the spec.

    names: the columns that are searched; without them names are not checked.
    """
    if names is not None:
        yield from _unknown_names(knowledge, names)
    yield from _tier_complaints(knowledge)
    yield from _required_complaints(knowledge)
    yield from _circle_complaints(knowledge)


def _written(knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """Every name and the place where it is written."""
    for level, members in enumerate(knowledge.tiers):
        yield from ((name, f"tiers.{level}.{place}") for place, name in enumerate(members))
    for field, edges in (("required", knowledge.required), ("forbidden", knowledge.forbidden)):
        for place, edge in enumerate(edges):
            yield from ((name, f"{field}.{place}") for name in edge)
    for field, listed in (("roots", knowledge.roots), ("leaves", knowledge.leaves), ("noise", knowledge.noise)):
        yield from ((name, f"{field}.{place}") for place, name in enumerate(listed))


def _unknown_names(knowledge: Knowledge, names: Sequence[str]) -> Iterator[Complaint]:
    known = set(names)
    for name, place in _written(knowledge):
        if name not in known:
            yield Complaint(
                code="unknown-column",
                what=f"{show(name)} is not among the columns that are searched",
                hint=did_you_mean(name, names, otherwise="the columns are"),
                path=f"{PATH}.{place}",
            )


def _tier_complaints(knowledge: Knowledge) -> Iterator[Complaint]:
    """A column stands in one tier only."""
    first: dict[str, int] = {}
    for level, members in enumerate(knowledge.tiers):
        for place, name in enumerate(members):
            if name in first:
                yield Complaint(
                    code="two-tiers",
                    what=f"{show(name)} is already in tier {first[name]}",
                    hint="keep it in one tier",
                    path=f"{PATH}.tiers.{level}.{place}",
                )
            first.setdefault(name, level)


def _required_complaints(knowledge: Knowledge) -> Iterator[Complaint]:
    """A required edge agrees with everything else that is known."""
    tier = {name: level for level, members in reversed(list(enumerate(knowledge.tiers))) for name in members}
    forbidden = {edge: place for place, edge in reversed(list(enumerate(knowledge.forbidden)))}
    rooted = dict.fromkeys(knowledge.roots, "roots") | dict.fromkeys(knowledge.noise, "noise")
    for place, (tail, head) in enumerate(knowledge.required):
        edge, path = f"{tail} -> {head}", f"{PATH}.required.{place}"
        if tail == head:
            yield _clash(edge, "would make a column its own cause", "remove it", path)
            continue
        if (tail, head) in forbidden:
            other = f"forbidden.{forbidden[tail, head]}"
            yield _clash(edge, f"is required and forbidden ({other})", "keep one of the two", path)
        if tail in tier and head in tier and tier[tail] > tier[head]:
            against = f"runs from tier {tier[tail]} back to tier {tier[head]}"
            yield _clash(edge, against, "turn it round, or move one of its ends to another tier", path)
        if head in rooted:
            against = f"is required, but nothing causes {show(head)} ({rooted[head]})"
            yield _clash(edge, against, f"remove it, or take {show(head)} out of {rooted[head]}", path)
        if tail in knowledge.leaves:
            against = f"is required, but {show(tail)} causes nothing (leaves)"
            yield _clash(edge, against, f"remove it, or take {show(tail)} out of leaves", path)


def _clash(edge: str, against: str, hint: str, path: str) -> Complaint:
    return Complaint(code="knowledge-clash", what=f"{edge} {against}", hint=hint, path=path)


def _circle_complaints(knowledge: Knowledge) -> Iterator[Complaint]:
    """Required edges hold no circle: one complaint for each edge that closes one over earlier edges."""
    kept: list[Arrow] = []
    for place, (tail, head) in enumerate(knowledge.required):
        if tail == head:
            continue
        back = _way(kept, head, tail)
        if back:
            circle = " -> ".join((tail, *back))
            yield Complaint(
                code="knowledge-circle",
                what=f"the required edges run in a circle: {circle}",
                hint="remove or turn round one of them",
                path=f"{PATH}.required.{place}",
            )
        else:
            kept.append((tail, head))


def _way(edges: Iterable[Arrow], start: str, end: str) -> tuple[str, ...]:
    """A shortest way along the edges, both ends included; empty when there is none."""
    children: dict[str, list[str]] = {}
    for tail, head in edges:
        children.setdefault(tail, []).append(head)
    ways: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    for way in ways:  # grows while it is read: breadth first
        if way[-1] == end:
            return way
        for child in children.get(way[-1], ()):
            if child not in seen:
                seen.add(child)
                ways.append((*way, child))
    return ()
