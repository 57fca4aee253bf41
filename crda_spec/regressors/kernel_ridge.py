"""Ridge regression with a Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sklearn.kernel_ridge import KernelRidge as KernelRidgeEstimator

from crda_spec.regressors._protocol import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRidge:
    """Gaussian-kernel ridge; cost grows with the cube of the rows."""

    kind: ClassVar[str] = "kernel_ridge"
    stopping: ClassVar[None] = None

    alpha: float = 0.1
    gamma: float | None = None

    def train(self, design: Design, *, seed: int) -> KernelRidgeEstimator:
        """Solves for the dual coefficients; the seed changes nothing."""
        del seed
        model = KernelRidgeEstimator(kernel="rbf", alpha=self.alpha, gamma=self.gamma)
        return model.fit(design.x, design.y, sample_weight=design.weight)
