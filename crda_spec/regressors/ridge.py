"""Least squares with an L2 penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sklearn.linear_model import Ridge as RidgeEstimator

from crda_spec.regressors._protocol import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge:
    """Ridge regression on standardised features."""

    kind: ClassVar[str] = "ridge"
    stopping: ClassVar[None] = None

    alpha: float = 1.0

    def train(self, design: Design, *, seed: int) -> RidgeEstimator:
        """Solves for the coefficients; the seed changes nothing."""
        del seed
        return RidgeEstimator(alpha=self.alpha).fit(design.x, design.y, sample_weight=design.weight)
