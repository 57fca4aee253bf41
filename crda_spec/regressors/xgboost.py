"""Gradient-boosted trees (XGBoost)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xgboost

from crda_spec.records import Array
from crda_spec.regressors._protocol import Design, Stopping


@dataclass(frozen=True, slots=True, eq=False)
class Booster:
    """Trained trees, cut at the best round."""

    trees: xgboost.Booster

    def predict(self, x: Array) -> Array:
        """x: (m, p). Returns (m,)."""
        if not len(x):
            return np.empty(0)
        return np.asarray(self.trees.inplace_predict(x), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Xgboost:
    """XGBoost with the histogram method; defaults are the paper's modal best values."""

    kind: ClassVar[str] = "xgboost"

    n_estimators: int = 1000
    learning_rate: float = 0.02154
    max_depth: int = 6
    min_child_weight: float = 5.0
    subsample: float = 0.7
    colsample_bytree: float = 0.7
    reg_lambda: float = 0.03981
    reg_alpha: float = 0.0
    stopping: Stopping | None = Stopping()

    def train(self, design: Design, *, seed: int) -> Booster:
        """Boosts for `n_estimators` rounds, or until the early-stopping rows stop improving."""
        parameters: dict[str, Any] = {
            "objective": "reg:squarederror",
            "tree_method": "hist",
            "learning_rate": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "subsample": self.subsample,
            "colsample_bytree": self.colsample_bytree,
            "reg_lambda": self.reg_lambda,
            "reg_alpha": self.reg_alpha,
            "seed": seed,
            "nthread": 1,
            "verbosity": 0,
        }
        rows = xgboost.DMatrix(design.x, design.y, weight=design.weight, nthread=1)
        if self.stopping is None or design.validation_x is None:
            return Booster(xgboost.train(parameters, rows, self.n_estimators))
        held = xgboost.DMatrix(design.validation_x, design.validation_y, weight=design.validation_weight, nthread=1)
        trees = xgboost.train(
            parameters,
            rows,
            self.n_estimators,
            evals=[(held, "held")],
            early_stopping_rounds=self.stopping.rounds,
            verbose_eval=False,
        )
        return Booster(trees[: trees.best_iteration + 1])
