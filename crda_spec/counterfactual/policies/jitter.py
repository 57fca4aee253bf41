"""Add Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crda_spec.counterfactual.policies._protocol import Feature, RowDraws
from crda_spec.records import Array, ColumnType


@dataclass(frozen=True, slots=True)
class Jitter:
    """x' = x + sd * s * e, s the feature's standard deviation among the training rows, e standard normal."""

    kind: ClassVar[str] = "jitter"
    moves: ClassVar[frozenset[ColumnType]] = frozenset({"continuous", "integer"})

    sd: float = 0.3

    def describe(self) -> str:
        """What it does, in words for the report."""
        return f"Gaussian noise of {self.sd:g} standard deviations added"

    def propose(self, x: Array, feature: Feature, shared: RowDraws, *, rng: np.random.Generator) -> Array:
        """x: (m,) values of the source rows. Returns (m,)."""
        del shared
        return x + self.sd * feature.sd * rng.standard_normal(x.shape)
