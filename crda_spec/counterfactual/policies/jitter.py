"""Add Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crda_spec.counterfactual.policies._protocol import NUMBERS, Feature, Proposal, Rows
from crda_spec.records import Array, Column, ColumnType


@dataclass(frozen=True, slots=True)
class Jitter:
    """x' = x + sd * s * e, s the feature's standard deviation among the training rows, e standard normal.

    Together: the same e, so the same sign and the same size in standard deviations.
    """

    kind: ClassVar[str] = "jitter"
    moves: ClassVar[frozenset[ColumnType]] = NUMBERS

    sd: float = 0.3

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        del column
        return f"Gaussian noise of {self.sd:g} standard deviations added"

    def propose(
        self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator, shared: np.random.Generator
    ) -> Proposal:
        """See `Policy.propose`."""
        del rows, shared
        return Proposal(x + self.sd * feature.sd * rng.standard_normal(len(x)))
