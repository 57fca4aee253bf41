"""Ordinary least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sklearn.linear_model import LinearRegression

from crda_spec.regressors._protocol import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Ordinary least squares; collinear columns share their coefficient (minimum norm)."""

    kind: ClassVar[str] = "linear"
    stopping: ClassVar[None] = None

    def train(self, design: Design, *, seed: int) -> LinearRegression:
        """Solves for the coefficients; the seed changes nothing."""
        del seed
        return LinearRegression().fit(design.x, design.y, sample_weight=design.weight)
