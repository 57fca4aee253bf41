"""Gradient-boosted trees: XGBoost, and CatBoost behind the extra `crda-spec[catboost]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.errors import Complaint, MissingExtraError
from crda_spec.records import Array
from crda_spec.regressors._protocol import (
    MONOTONE,
    OBJECTIVE,
    QUANTILE,
    BaseRegressor,
    Choice,
    Design,
    EarlyStopping,
    Objective,
    Space,
    log_points,
)
from crda_spec.regressors.mlp import Network
from crda_spec.strict import Fraction, NonNegative

if TYPE_CHECKING:
    import xgboost


@dataclass(frozen=True, slots=True, eq=False)
class Booster:
    """Trained trees, cut at the best round."""

    trees: xgboost.Booster

    def predict(self, x: Array) -> Array:
        """x: (m, p). Returns (m,)."""
        if not len(x):
            return np.empty(0)
        return np.asarray(self.trees.inplace_predict(x), dtype=np.float64)


_OURS = ("monotone", "objective", "quantile")  # settings that are no parameters of the libraries

# Of a student that learns from many smooth rows: at the paper's step size it runs out of rounds (docs/design/paper.md).
STUDENTS_STEP = 0.05


class Xgboost(BaseRegressor):
    """XGBoost, histogram method; defaults are the modal best values and the space that of the paper's appendix."""

    space: ClassVar[Space] = {
        "learning_rate": log_points(-3, -1, 10),
        "max_depth": Choice((3, 4, 6)),
        "min_child_weight": Choice((1.0, 5.0)),
        "subsample": Choice((0.7, 1.0)),
        "colsample_bytree": Choice((0.7, 1.0)),
        "reg_lambda": log_points(-3, 1, 6),
    }
    grows_trees: ClassVar[bool] = True
    holds_signs: ClassVar[bool] = True
    learns_quantiles: ClassVar[bool] = True

    kind: Literal["xgboost"] = Field("xgboost", description="Gradient-boosted trees (XGBoost, histogram method).")
    n_estimators: int = Field(1000, ge=1, le=100_000, description="Boosting rounds at most.")
    learning_rate: float = Field(0.02154, gt=0, le=1, description="Shrinkage of each round.")
    max_depth: int = Field(6, ge=1, le=30, description="Depth of a tree at most.")
    min_child_weight: NonNegative = Field(5.0, description="Weight of the rows in a leaf at least.")
    subsample: float = Field(0.7, gt=0, le=1, description="Part of the rows that a round sees.")
    colsample_bytree: float = Field(0.7, gt=0, le=1, description="Part of the features that a tree sees.")
    reg_lambda: NonNegative = Field(0.03981, description="L2 penalty on leaf values.")
    reg_alpha: NonNegative = Field(0.0, description="L1 penalty on leaf values.")
    early_stopping: EarlyStopping | None = Field(EarlyStopping(), description="When to stop early; null: never.")
    monotone: bool = Field(default=False, description=MONOTONE)
    objective: Objective = Field("mean", description=OBJECTIVE)
    quantile: Fraction | None = Field(None, description=QUANTILE)

    def train(self, design: Design, *, seed: int) -> Booster:
        """Boosts for `n_estimators` rounds, or until the early-stopping rows stop improving."""
        import xgboost

        objective: dict[str, Any] = {"objective": "reg:squarederror"}
        if self.quantile_level is not None:
            objective = {"objective": "reg:quantileerror", "quantile_alpha": self.quantile_level}
        parameters: dict[str, Any] = {
            **objective,
            "tree_method": "hist",
            **self.model_dump(exclude={"kind", "n_estimators", "early_stopping", *_OURS}),
            **({} if design.signs is None else {"monotone_constraints": design.signs}),
            "seed": seed,
            "nthread": 1,
            "verbosity": 0,
        }
        rows = xgboost.DMatrix(design.x, design.y, weight=design.weight, nthread=1)
        if self.early_stopping is None or design.validation_x is None:
            return Booster(xgboost.train(parameters, rows, self.n_estimators))
        held = xgboost.DMatrix(design.validation_x, design.validation_y, weight=design.validation_weight, nthread=1)
        trees = xgboost.train(
            parameters,
            rows,
            self.n_estimators,
            evals=[(held, "held")],
            early_stopping_rounds=self.early_stopping.rounds,
            verbose_eval=False,
        )
        return Booster(trees[: trees.best_iteration + 1])

    def refit(self, stopped: Booster, design: Design, *, seed: int) -> Booster:
        """As many rounds as `stopped` kept."""
        rounds = stopped.trees.num_boosted_rounds()
        return self.model_copy(update={"n_estimators": rounds, "early_stopping": None}).train(design, seed=seed)


class Catboost(BaseRegressor):
    """CatBoost. The paper prints no settings for it: these are CatBoost's own with the paper's early stopping.

    The space mirrors the paper's XGBoost table in CatBoost's terms.
    """

    space: ClassVar[Space] = {
        "learning_rate": log_points(-3, -1, 10),
        "depth": Choice((3, 4, 6)),
        "l2_leaf_reg": log_points(-1, 1, 6),
    }
    grows_trees: ClassVar[bool] = True
    holds_signs: ClassVar[bool] = True
    learns_quantiles: ClassVar[bool] = True

    kind: Literal["catboost"] = Field(
        "catboost", description="Gradient-boosted oblivious trees; needs crda-spec[catboost]."
    )
    iterations: int = Field(1000, ge=1, le=100_000, description="Boosting rounds at most.")
    learning_rate: float = Field(0.05, gt=0, le=1, description="Shrinkage of each round.")
    depth: int = Field(6, ge=1, le=16, description="Depth of the trees.")
    l2_leaf_reg: NonNegative = Field(3.0, description="L2 penalty on leaf values.")
    early_stopping: EarlyStopping | None = Field(EarlyStopping(), description="When to stop early; null: never.")
    monotone: bool = Field(default=False, description=MONOTONE)
    objective: Objective = Field("mean", description=OBJECTIVE)
    quantile: Fraction | None = Field(None, description=QUANTILE)

    def train(self, design: Design, *, seed: int) -> Any:  # noqa: ANN401 - CatBoost has no types
        """Boosts until the early-stopping rows stop improving; writes nothing to disk."""
        regressor = load_catboost()
        if np.all(design.x == design.x[0]):
            # CatBoost refuses features that tell no row from another. The weighted mean (or quantile) of y for every
            # row, written as a network without slopes so that it can be saved.
            level = np.array([_center(design, self.quantile_level)])
            return Network((np.zeros((design.x.shape[1], 1)),), (level,))
        model = regressor(
            **self.model_dump(exclude={"kind", "early_stopping", *_OURS}),
            **self._quantile_parameters(),
            monotone_constraints=None if design.signs is None else list(design.signs),
            random_seed=seed,
            thread_count=1,
            allow_const_label=True,
            allow_writing_files=False,
        )
        watch: Any = None if design.validation_x is None else (design.validation_x, design.validation_y)
        if watch is not None and design.validation_weight is not None:  # a pair of arrays has no place for weights
            from catboost import Pool

            watch = Pool(*watch, weight=design.validation_weight)
        rounds = self.early_stopping.rounds if self.early_stopping is not None and watch is not None else None
        return model.fit(
            design.x, design.y, sample_weight=design.weight, eval_set=watch, early_stopping_rounds=rounds, verbose=False
        )

    def _quantile_parameters(self) -> dict[str, Any]:
        """None for the mean. CatBoost's exact leaves, its default for a quantile, would ignore the rows' weights."""
        if self.quantile_level is None:
            return {}
        leaves = {"leaf_estimation_method": "Gradient", "leaf_estimation_iterations": 10}
        return {"loss_function": f"Quantile:alpha={self.quantile_level!r}", **leaves}

    def refit(self, stopped: Any, design: Design, *, seed: int) -> Any:  # noqa: ANN401 - CatBoost has no types
        """As many rounds as `stopped` kept; one where its rows told nothing apart."""
        rounds = 1 if isinstance(stopped, Network) else stopped.tree_count_
        return self.model_copy(update={"iterations": rounds, "early_stopping": None}).train(design, seed=seed)


def _center(design: Design, level: float | None) -> float:
    """The number that errs least for all rows alike."""
    if level is None:
        return float(np.average(design.y, weights=design.weight))
    order = np.argsort(design.y, kind="stable")
    share = np.cumsum(np.ones(len(order)) if design.weight is None else design.weight[order])
    return float(design.y[order][np.searchsorted(share, level * share[-1])])


def load_catboost() -> Any:  # noqa: ANN401 - CatBoost has no types
    """The optional package, or an error that says how to get it."""
    try:
        from catboost import CatBoostRegressor
    except ImportError as error:
        what = "the regressor 'catboost' needs the package catboost"
        hint = 'install it with: pip install "crda-spec[catboost]"'
        raise MissingExtraError(Complaint(code="missing-extra", path="regressor.kind", what=what, hint=hint)) from error
    return CatBoostRegressor
