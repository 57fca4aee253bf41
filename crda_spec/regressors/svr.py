"""Support vector regression with a Gaussian kernel."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from crda_spec.regressors._protocol import BaseRegressor, Design, Estimator, LogUniform, Space
from crda_spec.strict import NonNegative, Positive


class Svr(BaseRegressor):
    """Epsilon-SVR; epsilon is in standard deviations of the target."""

    space: ClassVar[Space] = {
        "C": LogUniform(1e-1, 1e3),
        "epsilon": LogUniform(1e-3, 3e-1),
        "gamma": LogUniform(1e-3, 1e0),
    }
    seedless: ClassVar[bool] = True

    kind: Literal["svr"] = Field("svr", description="Support vector regression with a Gaussian kernel.")
    C: Positive = Field(10.0, description="Weight of the errors against the penalty.")
    epsilon: NonNegative = Field(0.05, description="Errors up to this many target standard deviations are free.")
    gamma: Positive | None = Field(None, description="The kernel's inverse width; null: 1 / number of features.")

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Solves the dual problem; the seed changes nothing."""
        from sklearn.svm import SVR

        del seed
        gamma = "auto" if self.gamma is None else self.gamma
        fitted: Estimator = SVR(C=self.C, epsilon=self.epsilon, gamma=gamma).fit(
            design.x, design.y, sample_weight=design.weight
        )
        return fitted
