"""The paper's action: multiply by 1 + delta."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import BasePolicy, Feature, Proposal, Rows, Share
from crda_spec.records import Array, Column
from crda_spec.strict import Positive


class Scale(BasePolicy):
    """x' = c + (x - c)(1 + delta), delta uniform on [-reach, reach), c the training mean or zero.

    The paper multiplies standardised values, which is c = mean: a value near the mean hardly moves.
    Together: the same delta.
    """

    size: ClassVar[str | None] = "reach"

    kind: Literal["scale"] = Field("scale", description="Multiply by 1 + delta, delta uniform on [-reach, reach].")
    reach: Positive = Field(0.7, le=10, description="The largest relative change; 0.7 means up to 70 percent.")
    around: Literal["mean", "zero"] = Field(
        "mean",
        description="Scale the distance from the feature's mean (the paper: standardised values), or the value.",
    )
    share: Share = Field(
        "row", description="One delta for all scaled features of a row (the paper), or one for each cell."
    )

    @property
    def needs_spread(self) -> bool:
        """Only around the mean: a value itself can be scaled wherever it is."""
        return self.around == "mean"

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        center = "its distance from the mean" if self.around == "mean" else "the value"
        each = "one factor for all scaled features of a row" if self.share == "row" else "a factor for each cell"
        return f"{center} scaled by up to {100 * self.reach:g} % either way, {each}"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        delta = self.reach * (rows.shared if self.share == "row" else rng).uniform(-1.0, 1.0, size=len(x))
        center = feature.mean if self.around == "mean" else 0.0
        return Proposal(center + (x - center) * (1.0 + delta))
