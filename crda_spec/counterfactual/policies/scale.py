"""The paper's action: multiply by 1 + delta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from crda_spec.counterfactual.policies._protocol import NUMBERS, Feature, Proposal, Rows, Share
from crda_spec.records import Array, Column, ColumnType


@dataclass(frozen=True, slots=True)
class Scale:
    """x' = c + (x - c)(1 + delta), delta uniform on [-reach, reach), c the training mean or zero.

    The paper multiplies standardised values, which is c = mean: a value near the mean hardly moves.
    Together: the same delta.
    """

    kind: ClassVar[str] = "scale"
    moves: ClassVar[frozenset[ColumnType]] = NUMBERS

    reach: float = 0.7
    around: Literal["mean", "zero"] = "mean"
    share: Share = "row"

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        del column
        center = "its distance from the mean" if self.around == "mean" else "the value"
        each = "one factor for all scaled features of a row" if self.share == "row" else "a factor for each cell"
        return f"{center} scaled by up to {100 * self.reach:g} % either way, {each}"

    def propose(
        self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator, shared: np.random.Generator
    ) -> Proposal:
        """See `Policy.propose`."""
        del rows
        delta = self.reach * (shared if self.share == "row" else rng).uniform(-1.0, 1.0, size=len(x))
        center = feature.mean if self.around == "mean" else 0.0
        return Proposal(center + (x - center) * (1.0 + delta))
