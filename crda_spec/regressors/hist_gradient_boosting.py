"""Gradient-boosted trees (scikit-learn)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from crda_spec.regressors._protocol import BaseRegressor, Choice, Design, Estimator, LogUniform, Space
from crda_spec.strict import NonNegative


class HistGradientBoosting(BaseRegressor):
    """scikit-learn's histogram boosting, for a fixed number of rounds."""

    space: ClassVar[Space] = {
        "learning_rate": LogUniform(1e-2, 3e-1),
        "max_leaf_nodes": Choice((7, 15, 31)),
        "min_samples_leaf": Choice((5, 10, 20)),
        "l2_regularization": LogUniform(1e-3, 1e1),
    }
    seedless: ClassVar[bool] = True
    grows_trees: ClassVar[bool] = True
    saved_types: ClassVar[tuple[str, ...]] = (
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn._loss.loss.HalfSquaredError",
        "sklearn._loss.link.IdentityLink",
        "sklearn._loss.link.Interval",
        "sklearn._loss._loss.CyHalfSquaredError",
    )

    kind: Literal["hist_gradient_boosting"] = Field(
        "hist_gradient_boosting", description="Gradient-boosted trees (scikit-learn)."
    )
    max_iter: int = Field(300, ge=1, le=100_000, description="Boosting rounds.")
    learning_rate: float = Field(0.05, gt=0, le=1, description="Shrinkage of each round.")
    max_leaf_nodes: int = Field(31, ge=2, description="Leaves of a tree at most.")
    min_samples_leaf: int = Field(20, ge=1, description="Rows of a leaf at least.")
    l2_regularization: NonNegative = Field(0.0, description="L2 penalty on leaf values.")

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Boosts without scikit-learn's own early stopping, which would watch synthetic rows."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        model = HistGradientBoostingRegressor(
            max_iter=self.max_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.l2_regularization,
            early_stopping=False,
            random_state=seed,
        )
        fitted: Estimator = model.fit(design.x, design.y, sample_weight=design.weight)
        return fitted
