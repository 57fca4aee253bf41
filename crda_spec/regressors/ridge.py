"""Least squares with an L2 penalty."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from crda_spec.regressors._protocol import BaseRegressor, Design, Estimator, LogUniform, Space
from crda_spec.strict import Positive


class Ridge(BaseRegressor):
    """Ridge regression on standardised features."""

    space: ClassVar[Space] = {"alpha": LogUniform(1e-3, 1e3)}
    seedless: ClassVar[bool] = True

    kind: Literal["ridge"] = Field("ridge", description="Least squares with an L2 penalty.")
    alpha: Positive = Field(1.0, description="The penalty, on standardised features.")

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Solves for the coefficients; the seed changes nothing."""
        from sklearn.linear_model import Ridge as RidgeEstimator

        del seed
        fitted: Estimator = RidgeEstimator(alpha=self.alpha).fit(design.x, design.y, sample_weight=design.weight)
        return fitted
