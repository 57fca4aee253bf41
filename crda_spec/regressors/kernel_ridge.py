"""Ridge regression with a Gaussian kernel."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from crda_spec.regressors._protocol import BaseRegressor, Design, Estimator, LogUniform, Space
from crda_spec.strict import Positive


class KernelRidge(BaseRegressor):
    """Gaussian-kernel ridge; cost grows with the cube of the rows."""

    space: ClassVar[Space] = {"alpha": LogUniform(1e-3, 1e1), "gamma": LogUniform(1e-3, 1e0)}
    seedless: ClassVar[bool] = True

    kind: Literal["kernel_ridge"] = Field("kernel_ridge", description="Ridge regression with a Gaussian kernel.")
    alpha: Positive = Field(0.1, description="The penalty.")
    gamma: Positive | None = Field(None, description="The kernel's inverse width; null: 1 / number of features.")

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Solves for the dual coefficients; the seed changes nothing."""
        from sklearn.kernel_ridge import KernelRidge as KernelRidgeEstimator

        del seed
        model = KernelRidgeEstimator(kernel="rbf", alpha=self.alpha, gamma=self.gamma)
        fitted: Estimator = model.fit(design.x, design.y, sample_weight=design.weight)
        return fitted
