"""Turn true into false and false into true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crda_spec.counterfactual.policies._protocol import Feature, Proposal, Rows
from crda_spec.records import Array, Column, ColumnType


@dataclass(frozen=True, slots=True)
class Flip:
    """x' = 1 - x with the given probability, else x. Together: all of them flip, or none."""

    kind: ClassVar[str] = "flip"
    moves: ClassVar[frozenset[ColumnType]] = frozenset({"boolean"})

    probability: float = 0.5

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        del column
        return f"turned round with probability {self.probability:g}"

    def propose(
        self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator, shared: np.random.Generator
    ) -> Proposal:
        """See `Policy.propose`."""
        del feature, rows, shared
        return Proposal(np.where(rng.random(len(x)) < self.probability, 1.0 - x, x))
