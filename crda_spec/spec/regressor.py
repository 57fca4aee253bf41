"""`regressor`: the base regressor g. Defaults of xgboost and mlp: the modal best values of the paper's appendix."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from crda_spec.strict import NonNegative, Positive, Strict


class EarlyStopping(Strict):
    """Stop when rows that training does not see stop improving; the same real rows in both arms of a comparison."""

    rounds: int = Field(20, ge=1, description="Stop after this many rounds (or epochs) without improvement.")
    validation: float = Field(
        0.1, gt=0, le=0.5, description="The part of the real training rows that training does not see."
    )


class XgboostRegressor(Strict):
    """Gradient-boosted trees (XGBoost)."""

    kind: Literal["xgboost"] = Field(description="Gradient-boosted trees (XGBoost, histogram method).")
    n_estimators: int = Field(1000, ge=1, le=100_000, description="Boosting rounds at most.")
    learning_rate: float = Field(0.02154, gt=0, le=1, description="Shrinkage of each round.")
    max_depth: int = Field(6, ge=1, le=30, description="Depth of a tree at most.")
    min_child_weight: NonNegative = Field(5.0, description="Weight of the rows in a leaf at least.")
    subsample: float = Field(0.7, gt=0, le=1, description="Part of the rows that a round sees.")
    colsample_bytree: float = Field(0.7, gt=0, le=1, description="Part of the features that a tree sees.")
    reg_lambda: NonNegative = Field(0.03981, description="L2 penalty on leaf values.")
    reg_alpha: NonNegative = Field(0.0, description="L1 penalty on leaf values.")
    early_stopping: EarlyStopping | None = Field(EarlyStopping(), description="When to stop early; null: never.")


class MlpRegressor(Strict):
    """A multi-layer perceptron (scikit-learn)."""

    kind: Literal["mlp"] = Field(description="A multi-layer perceptron (ReLU, Adam).")
    hidden_layer_sizes: tuple[Annotated[int, Field(ge=1, le=10_000)], ...] = Field(
        (128, 64, 32), min_length=1, max_length=10, description="Units of each hidden layer."
    )
    alpha: NonNegative = Field(0.0004, description="L2 penalty on the weights.")
    learning_rate_init: Positive = Field(0.00942, description="Adam's step size.")
    tol: NonNegative = Field(0.00009, description="The least improvement that counts as one.")
    batch_size: int = Field(32, ge=1, description="Rows of a gradient step.")
    max_iter: int = Field(1000, ge=1, description="Epochs at most.")
    averaging: float | None = Field(
        None,
        gt=0,
        lt=1,
        description=(
            "The model is a running mean of the weights over the steps, with this decay; 0.99 looks back about 100 "
            "steps. null: the weights as the last step left them, as in the paper."
        ),
    )
    early_stopping: EarlyStopping | None = Field(EarlyStopping(), description="When to stop early; null: never.")


class LinearRegressor(Strict):
    """Ordinary least squares."""

    kind: Literal["linear"] = Field(description="Ordinary least squares.")


class RidgeRegressor(Strict):
    """Least squares with an L2 penalty."""

    kind: Literal["ridge"] = Field(description="Least squares with an L2 penalty.")
    alpha: Positive = Field(1.0, description="The penalty, on standardised features.")


class KernelRidgeRegressor(Strict):
    """Ridge regression in the space of a Gaussian kernel."""

    kind: Literal["kernel_ridge"] = Field(description="Ridge regression with a Gaussian kernel.")
    alpha: Positive = Field(0.1, description="The penalty.")
    gamma: Positive | None = Field(None, description="The kernel's inverse width; null: 1 / number of features.")


class GaussianProcessRegressor(Strict):
    """A smooth function with a length scale for each feature, and a linear one: strong on small tables."""

    kind: Literal["gaussian_process"] = Field(
        description="A Gaussian process that settles a length scale for each feature by maximum evidence."
    )
    kernel: Literal["rational_quadratic", "matern", "rbf"] = Field(
        "rational_quadratic", description="How smooth: rbf most, matern (of order 5/2) least."
    )
    evidence_rows: int = Field(
        400, ge=10, le=5000, description="Scales are settled on at most this many rows; cost grows with the cube."
    )
    steps: int = Field(60, ge=1, le=10_000, description="Steps of the search for the scales at most.")
    points: int = Field(
        1000,
        ge=10,
        le=10_000,
        description="Exact up to this many rows; with more, so many of them carry the function and all weigh it.",
    )


class RandomForestRegressor(Strict):
    """Averaged randomised trees."""

    kind: Literal["random_forest"] = Field(description="Averaged randomised trees.")
    n_estimators: int = Field(200, ge=1, le=10_000, description="Number of trees.")
    max_depth: int | None = Field(None, ge=1, description="Depth of a tree at most; null: no limit.")
    min_samples_leaf: int = Field(1, ge=1, description="Rows of a leaf at least.")
    max_features: float = Field(1.0, gt=0, le=1, description="Part of the features that a split considers.")


class HistGradientBoostingRegressor(Strict):
    """Gradient-boosted trees (scikit-learn)."""

    kind: Literal["hist_gradient_boosting"] = Field(description="Gradient-boosted trees (scikit-learn).")
    max_iter: int = Field(300, ge=1, le=100_000, description="Boosting rounds.")
    learning_rate: float = Field(0.05, gt=0, le=1, description="Shrinkage of each round.")
    max_leaf_nodes: int = Field(31, ge=2, description="Leaves of a tree at most.")
    min_samples_leaf: int = Field(20, ge=1, description="Rows of a leaf at least.")
    l2_regularization: NonNegative = Field(0.0, description="L2 penalty on leaf values.")


class SvrRegressor(Strict):
    """Support vector regression with a Gaussian kernel."""

    kind: Literal["svr"] = Field(description="Support vector regression with a Gaussian kernel.")
    C: Positive = Field(10.0, description="Weight of the errors against the penalty.")
    epsilon: NonNegative = Field(0.05, description="Errors up to this many target standard deviations are free.")
    gamma: Positive | None = Field(None, description="The kernel's inverse width; null: 1 / number of features.")


class KnnRegressor(Strict):
    """The mean of the nearest rows."""

    kind: Literal["knn"] = Field(description="The mean of the nearest training rows.")
    n_neighbors: int = Field(5, ge=1, description="How many neighbours.")
    weights: Literal["uniform", "distance"] = Field("distance", description="Whether nearer neighbours count more.")


class CatboostRegressor(Strict):
    """Gradient-boosted oblivious trees (CatBoost); needs the extra `crda-spec[catboost]`."""

    kind: Literal["catboost"] = Field(description="Gradient-boosted oblivious trees; needs crda-spec[catboost].")
    iterations: int = Field(1000, ge=1, le=100_000, description="Boosting rounds at most.")
    learning_rate: float = Field(0.05, gt=0, le=1, description="Shrinkage of each round.")
    depth: int = Field(6, ge=1, le=16, description="Depth of the trees.")
    l2_leaf_reg: NonNegative = Field(3.0, description="L2 penalty on leaf values.")
    early_stopping: EarlyStopping | None = Field(EarlyStopping(), description="When to stop early; null: never.")


class PluginRegressor(Strict):
    """A regressor of another package, found by its entry point in the group `crda_spec.regressors`."""

    kind: Literal["plugin"] = Field(
        description="A regressor of another package (entry-point group crda_spec.regressors)."
    )
    name: str = Field(min_length=1, description="The entry point's name.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Keyword arguments for the plugin's class; the plugin checks them."
    )


Regressor = Annotated[
    XgboostRegressor
    | MlpRegressor
    | LinearRegressor
    | RidgeRegressor
    | KernelRidgeRegressor
    | GaussianProcessRegressor
    | RandomForestRegressor
    | HistGradientBoostingRegressor
    | SvrRegressor
    | KnnRegressor
    | CatboostRegressor
    | PluginRegressor,
    Field(discriminator="kind"),
]
