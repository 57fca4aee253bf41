"""Expert knowledge as the searches use it: two matrices over the columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crda_spec.scm.discovery.knowledge import Knowledge

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
