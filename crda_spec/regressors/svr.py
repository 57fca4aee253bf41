"""Support vector regression with a Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sklearn.svm import SVR

from crda_spec.regressors._protocol import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class Svr:
    """Epsilon-SVR; epsilon is in standard deviations of the target."""

    kind: ClassVar[str] = "svr"
    stopping: ClassVar[None] = None

    C: float = 10.0
    epsilon: float = 0.05
    gamma: float | None = None

    def train(self, design: Design, *, seed: int) -> SVR:
        """Solves the dual problem; the seed changes nothing."""
        del seed
        gamma = "auto" if self.gamma is None else self.gamma
        return SVR(C=self.C, epsilon=self.epsilon, gamma=gamma).fit(design.x, design.y, sample_weight=design.weight)
