"""Add a random amount, in the feature's own unit or in standard deviations."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import SHARE, BasePolicy, Feature, Proposal, Rows, Share
from crda_spec.records import Array, Column
from crda_spec.strict import Positive


class Shift(BasePolicy):
    """x' = x + amount * s * u: s the unit (1, or the training standard deviation), u uniform on [-1, 1) or normal.

    Unlike `scale`, it moves a value near the mean as far as any other. Together: the same u, so the same sign and the
    same size in the amount's own measure.
    """

    size: ClassVar[str | None] = "amount"

    kind: Literal["shift"] = Field("shift", description="Add a random amount, up or down.")
    amount: Positive = Field(
        0.5, le=1e9, description="The largest shift (uniform), or the shift's standard deviation (normal)."
    )
    measure: Literal["sd", "unit"] = Field(
        "sd", description="The amount counts in standard deviations of the feature, or in its own unit."
    )
    draw: Literal["uniform", "normal"] = Field("uniform", description="How the size of the shift is drawn.")
    share: Share = Field("cell", description=SHARE)

    @property
    def needs_spread(self) -> bool:
        """Only where the spread is the unit of the amount."""
        return self.measure == "sd"

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        unit = f" {column.unit}" if column.unit else " in its own unit"
        amount = f"{self.amount:g}" + (unit if self.measure == "unit" else " standard deviations")
        size = f"by up to {amount} either way" if self.draw == "uniform" else f"by a normal amount of size {amount}"
        each = ", one draw for all shifted features of a row" if self.share == "row" else ""
        return f"shifted {size}{each}"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        source = rows.shared if self.share == "row" else rng
        drawn = source.uniform(-1.0, 1.0, len(x)) if self.draw == "uniform" else source.standard_normal(len(x))
        return Proposal(x + self.amount * (feature.sd if self.measure == "sd" else 1.0) * drawn)
