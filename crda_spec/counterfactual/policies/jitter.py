"""Add Gaussian noise."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import BasePolicy, Feature, Proposal, Rows
from crda_spec.records import Array, Column
from crda_spec.strict import Positive


class Jitter(BasePolicy):
    """x' = x + sd * s * e, s the feature's standard deviation among the training rows, e standard normal.

    Together: the same e, so the same sign and the same size in standard deviations.
    """

    size: ClassVar[str | None] = "sd"

    kind: Literal["jitter"] = Field("jitter", description="Add Gaussian noise.")
    sd: Positive = Field(0.3, le=100, description="The noise's size, in standard deviations of the feature.")

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        return f"Gaussian noise of {self.sd:g} standard deviations added"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        return Proposal(x + self.sd * feature.sd * rng.standard_normal(len(x)))
