"""Draw another value of the same column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from crda_spec.counterfactual.policies._protocol import Feature, RowDraws
from crda_spec.records import Array, ColumnType


@dataclass(frozen=True, slots=True)
class Resample:
    """x' is a value that a training row has: as often as it occurs, or every distinct one alike."""

    kind: ClassVar[str] = "resample"
    moves: ClassVar[frozenset[ColumnType]] = frozenset({"continuous", "integer", "category", "boolean"})

    weights: Literal["empirical", "uniform"] = "empirical"

    def describe(self) -> str:
        """What it does, in words for the report."""
        return "redrawn from its own column, " + (
            "each value as often as it occurs" if self.weights == "empirical" else "every value alike"
        )

    def propose(self, x: Array, feature: Feature, shared: RowDraws, *, rng: np.random.Generator) -> Array:
        """x: (m,) values of the source rows. Returns (m,); a missing cell stays missing."""
        del shared
        pool = feature.values if self.weights == "empirical" else np.unique(feature.values)
        if not len(pool):
            return x
        drawn: Array = rng.choice(pool, size=x.shape)
        return np.where(np.isnan(x), x, drawn)
