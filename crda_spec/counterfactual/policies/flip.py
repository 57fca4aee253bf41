"""Turn true into false and false into true."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import BasePolicy, Feature, Proposal, Rows
from crda_spec.records import Array, Column, ColumnType
from crda_spec.strict import Positive


class Flip(BasePolicy):
    """x' = 1 - x with the given probability, else x. Together: all of them flip, or none."""

    moves: ClassVar[frozenset[ColumnType]] = frozenset({"boolean"})

    kind: Literal["flip"] = Field("flip", description="Turn true into false and false into true; booleans only.")
    probability: Positive = Field(0.5, le=1, description="How often it is turned round.")

    @property
    def needs_spread(self) -> bool:
        """A column of one value turns round as well."""
        return False

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        return f"turned round with probability {self.probability:g}"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        return Proposal(np.where(rng.random(len(x)) < self.probability, 1.0 - x, x))
