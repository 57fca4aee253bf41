"""Averaged randomised trees."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from crda_spec.regressors._protocol import BaseRegressor, Choice, Design, Estimator, Space


class RandomForest(BaseRegressor):
    """A random forest."""

    space: ClassVar[Space] = {"min_samples_leaf": Choice((1, 2, 5, 10)), "max_features": Choice((0.33, 0.67, 1.0))}
    grows_trees: ClassVar[bool] = True
    saved_types: ClassVar[tuple[str, ...]] = ("sklearn.tree._tree.Tree",)

    kind: Literal["random_forest"] = Field("random_forest", description="Averaged randomised trees.")
    n_estimators: int = Field(200, ge=1, le=10_000, description="Number of trees.")
    max_depth: int | None = Field(None, ge=1, description="Depth of a tree at most; null: no limit.")
    min_samples_leaf: int = Field(1, ge=1, description="Rows of a leaf at least.")
    max_features: float = Field(1.0, gt=0, le=1, description="Part of the features that a split considers.")

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Grows the trees on one thread: the gate's folds are what runs in parallel."""
        from sklearn.ensemble import RandomForestRegressor

        model = RandomForestRegressor(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            random_state=seed,
            n_jobs=1,
        )
        fitted: Estimator = model.fit(design.x, design.y, sample_weight=design.weight)
        return fitted
