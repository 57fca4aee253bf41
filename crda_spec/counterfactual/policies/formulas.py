"""Policies that need a feature's own column alone: a formula in its value, or in its rank, and a draw."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import SHARE, BasePolicy, Feature, Proposal, Rows, Share
from crda_spec.records import Array, Column, ColumnType, IntArray
from crda_spec.strict import Positive

_FITS_THE_CACHE = 20_000  # values


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


class Quantile(BasePolicy):
    """x' is the training value whose rank is x's own plus u, u uniform on [-reach, reach), ranks running from 0 to 1.

    Ranks are reflected at 0 and 1, not cut off, and a value that several rows share stands at a random place among
    its ranks: both together keep the column's distribution exactly as it is, with no pile at either end.
    Together: the same u and the same place among ties, so the same shift of rank.
    """

    size: ClassVar[str | None] = "reach"

    kind: Literal["quantile"] = Field(
        "quantile",
        description="Move to a training value of a nearby rank: the column keeps its distribution exactly.",
    )
    reach: Positive = Field(0.2, le=1, description="The largest change of rank, as a share of the rows.")
    share: Share = Field("cell", description=SHARE)

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        each = ", one shift for all features of a row moved so" if self.share == "row" else ""
        return f"moved by up to {100 * self.reach:g} % of the rows along its own distribution{each}"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        source = rows.shared if self.share == "row" else rng
        among, shift = source.random(len(x)), self.reach * source.uniform(-1.0, 1.0, len(x))
        if "sorted" not in feature.learnt:
            known = np.sort(feature.values[~np.isnan(feature.values)])
            alike = np.searchsorted(known, known, side="right") - np.searchsorted(known, known, side="left")
            feature.learnt.update(sorted=known, times=alike.astype(np.float64))
        known, times = feature.learnt["sorted"], feature.learnt["times"]
        if not len(known):
            return Proposal(x)
        below = _below(known, x)
        here = np.minimum(below, len(known) - 1)
        ties = np.where(known[here] == x, times[here], 0.0)
        rank = np.abs((below + among * ties) / len(known) + shift)
        rank = np.where(rank > 1.0, 2.0 - rank, rank)
        place = np.minimum((rank * len(known)).astype(np.int64), len(known) - 1)
        return Proposal(np.where(np.isnan(x), x, known[place]))


def _below(known: Array, x: Array) -> IntArray:
    """How many of the known values, ascending, are below each x."""
    if len(known) <= _FITS_THE_CACHE:
        return np.asarray(np.searchsorted(known, x), dtype=np.int64)
    # Looking up values in their own order walks through memory once; in any other order it is ten times slower.
    order, below = np.argsort(x), np.empty(len(x), dtype=np.int64)
    below[order] = np.searchsorted(known, x[order])
    return below
