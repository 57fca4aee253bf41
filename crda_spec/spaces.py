"""Search spaces of the regressors' settings. No heavy import: `crda-spec validate` reads this.

xgboost and mlp: the paper's appendix, value by value. The paper prints no space for CatBoost; ours mirrors its XGBoost
table in CatBoost's terms. The other spaces are ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these values, each as likely."""

    values: tuple[Any, ...]

    def at(self, u: float) -> Any:  # noqa: ANN401 - a setting may be anything
        """The value at the quantile u in [0, 1)."""
        return self.values[int(u * len(self.values))]


@dataclass(frozen=True, slots=True)
class LogUniform:
    """A number whose logarithm is uniform between those of low and high."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """The value at the quantile u in [0, 1)."""
        return self.low * math.exp(u * math.log(self.high / self.low))


Space = Mapping[str, Choice | LogUniform]


def _log_points(low: float, high: float, points: int) -> Choice:
    """`points` values from 10^low to 10^high, evenly spaced in the exponent."""
    step = (high - low) / (points - 1)
    return Choice(tuple(10.0 ** (low + position * step) for position in range(points)))


SPACES: Mapping[str, Space] = {
    "xgboost": {
        "learning_rate": _log_points(-3, -1, 10),
        "max_depth": Choice((3, 4, 6)),
        "min_child_weight": Choice((1.0, 5.0)),
        "subsample": Choice((0.7, 1.0)),
        "colsample_bytree": Choice((0.7, 1.0)),
        "reg_lambda": _log_points(-3, 1, 6),
    },
    "mlp": {
        "hidden_layer_sizes": Choice(((128, 64, 32), (128, 64), (64, 32), (64,))),
        "alpha": LogUniform(1e-5, 1e-3),
        "learning_rate_init": LogUniform(1e-3, 1e-2),
        "tol": LogUniform(1e-5, 1e-4),
    },
    "catboost": {
        "learning_rate": _log_points(-3, -1, 10),
        "depth": Choice((3, 4, 6)),
        "l2_leaf_reg": _log_points(-1, 1, 6),
    },
    "ridge": {"alpha": LogUniform(1e-3, 1e3)},
    "kernel_ridge": {"alpha": LogUniform(1e-3, 1e1), "gamma": LogUniform(1e-3, 1e0)},
    "gaussian_process": {"kernel": Choice(("rational_quadratic", "matern", "rbf"))},
    "random_forest": {"min_samples_leaf": Choice((1, 2, 5, 10)), "max_features": Choice((0.33, 0.67, 1.0))},
    "hist_gradient_boosting": {
        "learning_rate": LogUniform(1e-2, 3e-1),
        "max_leaf_nodes": Choice((7, 15, 31)),
        "min_samples_leaf": Choice((5, 10, 20)),
        "l2_regularization": LogUniform(1e-3, 1e1),
    },
    "svr": {"C": LogUniform(1e-1, 1e3), "epsilon": LogUniform(1e-3, 3e-1), "gamma": LogUniform(1e-3, 1e0)},
    "knn": {"n_neighbors": Choice((2, 3, 5, 8, 13, 21)), "weights": Choice(("uniform", "distance"))},
}

# Kinds of regressors whose fit does not depend on the seed: fitted twice on the same rows they are the same model.
SEEDLESS = frozenset({"linear", "ridge", "kernel_ridge", "gaussian_process", "svr", "knn", "hist_gradient_boosting"})

# scikit-learn's nearest neighbours take no sample weights, so no row, real or synthetic, can weigh less or more.
TAKES_NO_WEIGHTS = frozenset({"knn"})
