"""Policies that are one formula in a feature's own value and a draw."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import SHARE, BasePolicy, Feature, Proposal, Rows, Share
from crda_spec.records import Array, Column, ColumnType
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
