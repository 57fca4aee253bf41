"""Ordinary least squares."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from crda_spec.regressors._protocol import BaseRegressor, Design, Estimator


class Linear(BaseRegressor):
    """Ordinary least squares; collinear columns share their coefficient (minimum norm)."""

    seedless: ClassVar[bool] = True

    kind: Literal["linear"] = Field("linear", description="Ordinary least squares.")

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Solves for the coefficients; the seed changes nothing."""
        from sklearn.linear_model import LinearRegression

        del seed
        fitted: Estimator = LinearRegression().fit(design.x, design.y, sample_weight=design.weight)
        return fitted
