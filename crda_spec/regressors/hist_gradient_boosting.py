"""Gradient-boosted trees (scikit-learn)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sklearn.ensemble import HistGradientBoostingRegressor

from crda_spec.regressors._protocol import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class HistGradientBoosting:
    """scikit-learn's histogram boosting, for a fixed number of rounds."""

    kind: ClassVar[str] = "hist_gradient_boosting"
    stopping: ClassVar[None] = None

    max_iter: int = 300
    learning_rate: float = 0.05
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 20
    l2_regularization: float = 0.0

    def train(self, design: Design, *, seed: int) -> HistGradientBoostingRegressor:
        """Boosts without scikit-learn's own early stopping, which would watch synthetic rows."""
        model = HistGradientBoostingRegressor(
            max_iter=self.max_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.l2_regularization,
            early_stopping=False,
            random_state=seed,
        )
        return model.fit(design.x, design.y, sample_weight=design.weight)
