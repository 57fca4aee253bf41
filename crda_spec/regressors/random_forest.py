"""Averaged randomised trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sklearn.ensemble import RandomForestRegressor

from crda_spec.regressors._protocol import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomForest:
    """A random forest."""

    kind: ClassVar[str] = "random_forest"
    stopping: ClassVar[None] = None

    n_estimators: int = 200
    max_depth: int | None = None
    min_samples_leaf: int = 1
    max_features: float = 1.0

    def train(self, design: Design, *, seed: int) -> RandomForestRegressor:
        """Grows the trees on one thread: the gate's folds are what runs in parallel."""
        model = RandomForestRegressor(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            random_state=seed,
            n_jobs=1,
        )
        return model.fit(design.x, design.y, sample_weight=design.weight)
