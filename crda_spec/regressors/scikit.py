"""The regressors that are one estimator of scikit-learn: our settings have the names of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, Literal

from pydantic import Field

from crda_spec.regressors._protocol import (
    MONOTONE,
    OBJECTIVE,
    QUANTILE,
    BaseRegressor,
    Choice,
    Design,
    Estimator,
    LogUniform,
    Objective,
    Space,
)
from crda_spec.strict import Fraction, NonNegative, Positive


class ScikitRegressor(BaseRegressor):
    """What all of them share."""

    estimator: ClassVar[tuple[str, str]]  # the module and the class
    fixed: ClassVar[Mapping[str, Any]] = {}  # parameters that are no settings of ours
    takes_seed: ClassVar[bool] = False

    def parameters(self, *, rows: int) -> dict[str, Any]:
        """What the estimator is made with. rows: how many it will see."""
        goal = {} if self.quantile_level is None else {"loss": "quantile", "quantile": self.quantile_level}
        return {**self.model_dump(exclude={"kind", "monotone", "objective", "quantile"}), **self.fixed, **goal}

    def train(self, design: Design, *, seed: int) -> Estimator:
        """Fits the estimator on one thread: the gate's folds are what runs in parallel."""
        module, name = self.estimator
        state: dict[str, Any] = {"random_state": seed} if self.takes_seed else {}
        state |= {"monotonic_cst": list(design.signs)} if self.holds_signs and design.signs is not None else {}
        weights = {"sample_weight": design.weight} if self.takes_weights else {}
        model = getattr(import_module(module), name)(**self.parameters(rows=len(design.y)), **state)
        fitted: Estimator = model.fit(design.x, design.y, **weights)
        return fitted


class Linear(ScikitRegressor):
    """Ordinary least squares; collinear columns share their coefficient (minimum norm)."""

    estimator: ClassVar[tuple[str, str]] = ("sklearn.linear_model", "LinearRegression")
    seedless: ClassVar[bool] = True

    kind: Literal["linear"] = Field("linear", description="Ordinary least squares.")


class Ridge(ScikitRegressor):
    """Ridge regression on standardised features."""

    estimator: ClassVar[tuple[str, str]] = ("sklearn.linear_model", "Ridge")
    space: ClassVar[Space] = {"alpha": LogUniform(1e-3, 1e3)}
    seedless: ClassVar[bool] = True

    kind: Literal["ridge"] = Field("ridge", description="Least squares with an L2 penalty.")
    alpha: Positive = Field(1.0, description="The penalty, on standardised features.")


class KernelRidge(ScikitRegressor):
    """Gaussian-kernel ridge; cost grows with the cube of the rows."""

    estimator: ClassVar[tuple[str, str]] = ("sklearn.kernel_ridge", "KernelRidge")
    fixed: ClassVar[Mapping[str, Any]] = {"kernel": "rbf"}
    space: ClassVar[Space] = {"alpha": LogUniform(1e-3, 1e1), "gamma": LogUniform(1e-3, 1e0)}
    seedless: ClassVar[bool] = True

    kind: Literal["kernel_ridge"] = Field("kernel_ridge", description="Ridge regression with a Gaussian kernel.")
    alpha: Positive = Field(0.1, description="The penalty.")
    gamma: Positive | None = Field(None, description="The kernel's inverse width; null: 1 / number of features.")


class Knn(ScikitRegressor):
    """Nearest neighbours in standardised features; scikit-learn's take no row weights."""

    estimator: ClassVar[tuple[str, str]] = ("sklearn.neighbors", "KNeighborsRegressor")
    space: ClassVar[Space] = {"n_neighbors": Choice((2, 3, 5, 8, 13, 21)), "weights": Choice(("uniform", "distance"))}
    seedless: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = False
    saved_types: ClassVar[tuple[str, ...]] = (
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
    )

    kind: Literal["knn"] = Field("knn", description="The mean of the nearest training rows.")
    n_neighbors: int = Field(5, ge=1, description="How many neighbours.")
    weights: Literal["uniform", "distance"] = Field("distance", description="Whether nearer neighbours count more.")

    def parameters(self, *, rows: int) -> dict[str, Any]:
        """With fewer rows than neighbours, all of them are neighbours."""
        return {"n_neighbors": min(self.n_neighbors, rows), "weights": self.weights}


class Svr(ScikitRegressor):
    """Epsilon-SVR; epsilon is in standard deviations of the target."""

    estimator: ClassVar[tuple[str, str]] = ("sklearn.svm", "SVR")
    space: ClassVar[Space] = {
        "C": LogUniform(1e-1, 1e3),
        "epsilon": LogUniform(1e-3, 3e-1),
        "gamma": LogUniform(1e-3, 1e0),
    }
    seedless: ClassVar[bool] = True

    kind: Literal["svr"] = Field("svr", description="Support vector regression with a Gaussian kernel.")
    C: Positive = Field(10.0, description="Weight of the errors against the penalty.")
    epsilon: NonNegative = Field(0.05, description="Errors up to this many target standard deviations are free.")
    gamma: Positive | None = Field(None, description="The kernel's inverse width; null: 1 / number of features.")

    def parameters(self, *, rows: int) -> dict[str, Any]:
        """What we write as null, scikit-learn calls auto."""
        return {"C": self.C, "epsilon": self.epsilon, "gamma": "auto" if self.gamma is None else self.gamma}


class RandomForest(ScikitRegressor):
    """A random forest."""

    estimator: ClassVar[tuple[str, str]] = ("sklearn.ensemble", "RandomForestRegressor")
    fixed: ClassVar[Mapping[str, Any]] = {"n_jobs": 1}
    takes_seed: ClassVar[bool] = True
    space: ClassVar[Space] = {"min_samples_leaf": Choice((1, 2, 5, 10)), "max_features": Choice((0.33, 0.67, 1.0))}
    grows_trees: ClassVar[bool] = True
    saved_types: ClassVar[tuple[str, ...]] = ("sklearn.tree._tree.Tree",)

    kind: Literal["random_forest"] = Field("random_forest", description="Averaged randomised trees.")
    n_estimators: int = Field(200, ge=1, le=10_000, description="Number of trees.")
    max_depth: int | None = Field(None, ge=1, description="Depth of a tree at most; null: no limit.")
    min_samples_leaf: int = Field(1, ge=1, description="Rows of a leaf at least.")
    max_features: float = Field(1.0, gt=0, le=1, description="Part of the features that a split considers.")


class HistGradientBoosting(ScikitRegressor):
    """scikit-learn's histogram boosting, for a fixed number of rounds."""

    estimator: ClassVar[tuple[str, str]] = ("sklearn.ensemble", "HistGradientBoostingRegressor")
    fixed: ClassVar[Mapping[str, Any]] = {"early_stopping": False}  # its own would watch synthetic rows
    takes_seed: ClassVar[bool] = True
    space: ClassVar[Space] = {
        "learning_rate": LogUniform(1e-2, 3e-1),
        "max_leaf_nodes": Choice((7, 15, 31)),
        "min_samples_leaf": Choice((5, 10, 20)),
        "l2_regularization": LogUniform(1e-3, 1e1),
    }
    seedless: ClassVar[bool] = True
    grows_trees: ClassVar[bool] = True
    holds_signs: ClassVar[bool] = True
    learns_quantiles: ClassVar[bool] = True
    saved_types: ClassVar[tuple[str, ...]] = (
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn._loss.loss.HalfSquaredError",
        "sklearn._loss.link.IdentityLink",
        "sklearn._loss.link.Interval",
        "sklearn._loss._loss.CyHalfSquaredError",
        "sklearn._loss.loss.PinballLoss",
        "sklearn._loss._loss.CyPinballLoss",
    )

    kind: Literal["hist_gradient_boosting"] = Field(
        "hist_gradient_boosting", description="Gradient-boosted trees (scikit-learn)."
    )
    max_iter: int = Field(300, ge=1, le=100_000, description="Boosting rounds.")
    learning_rate: float = Field(0.05, gt=0, le=1, description="Shrinkage of each round.")
    max_leaf_nodes: int = Field(31, ge=2, description="Leaves of a tree at most.")
    min_samples_leaf: int = Field(20, ge=1, description="Rows of a leaf at least.")
    l2_regularization: NonNegative = Field(0.0, description="L2 penalty on leaf values.")
    monotone: bool = Field(default=False, description=MONOTONE)
    objective: Objective = Field("mean", description=OBJECTIVE)
    quantile: Fraction | None = Field(None, description=QUANTILE)
