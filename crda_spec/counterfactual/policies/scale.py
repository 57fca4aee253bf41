"""The paper's action: multiply by 1 + delta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from crda_spec.counterfactual.policies._protocol import Feature, RowDraws
from crda_spec.records import Array, ColumnType


@dataclass(frozen=True, slots=True)
class Scale:
    """x' = c + (x - c)(1 + delta), delta uniform on [-reach, reach), c the training mean or zero.

    The paper multiplies standardised values, which is c = mean: a value near the mean hardly moves.
    """

    kind: ClassVar[str] = "scale"
    moves: ClassVar[frozenset[ColumnType]] = frozenset({"continuous", "integer"})

    reach: float = 0.7
    around: Literal["mean", "zero"] = "mean"
    share: Literal["row", "cell"] = "row"

    def describe(self) -> str:
        """What it does, in words for the report."""
        center = "its distance from the mean" if self.around == "mean" else "the value"
        each = "one factor for all scaled features of a row" if self.share == "row" else "a factor for each cell"
        return f"{center} scaled by up to {100 * self.reach:g} % either way, {each}"

    def propose(self, x: Array, feature: Feature, shared: RowDraws, *, rng: np.random.Generator) -> Array:
        """x: (m,) values of the source rows. Returns (m,)."""
        delta = shared.scale * self.reach if self.share == "row" else rng.uniform(-self.reach, self.reach, size=x.shape)
        center = feature.mean if self.around == "mean" else 0.0
        return center + (x - center) * (1.0 + delta)
