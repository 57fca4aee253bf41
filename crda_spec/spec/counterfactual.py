"""`counterfactual`: who labels the new rows, which noise they carry, and how many there are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from crda_spec.spec.regressor import (
    CatboostRegressor,
    GaussianProcessRegressor,
    HistGradientBoostingRegressor,
    KernelRidgeRegressor,
    KnnRegressor,
    LinearRegressor,
    MlpRegressor,
    PluginRegressor,
    RandomForestRegressor,
    RidgeRegressor,
    SvrRegressor,
    XgboostRegressor,
)
from crda_spec.strict import Fraction, Positive, Strict

Folds = int | Literal["gate", "blocks"]
_FOLDS = (
    "How many folds. gate: as many as the gate has, and the same ones, so that a fitted model serves both. blocks: the "
    "same on all training rows, but inside the gate a model leaves out several folds at once and serves all of them: "
    "far fewer are fitted. A number from 2 to 50: folds of the teacher's own, whose models serve nobody else."
)


class SingleTeacher(Strict):
    """The paper's g: one model fitted on all training rows."""

    kind: Literal["single"] = Field(description="One model fitted on all training rows, as in the paper.")


class CrossfitTeacher(Strict):
    """The mean of one model per fold."""

    kind: Literal["crossfit"] = Field(
        description="The mean of one model per fold; it also gives predictions for rows that a member has not seen."
    )
    folds: Folds = Field("gate", description=_FOLDS)
    repeats: int = Field(
        1,
        ge=1,
        le=20,
        description=(
            "How many models for each fold, from different seeds; with a number of folds, each repeat draws new folds."
        ),
    )


class BaggedTeacher(Strict):
    """The mean of models on bootstrap samples."""

    kind: Literal["bagged"] = Field(
        description=(
            "The mean of models that each train on rows drawn with repetition (whole groups, where rows are grouped); "
            "a row's out-of-fold prediction comes from the members that did not draw it."
        )
    )
    members: int = Field(10, ge=2, le=200, description="How many models.")


class StudentMember(Strict):
    """The run's own regressor as a member of the committee."""

    kind: Literal["student"] = Field(description="The regressor of this spec, with its settings (tuned, if they are).")


CommitteeMember = Annotated[
    StudentMember
    | XgboostRegressor
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

# Cheap, different from each other, and at home with many rows as well as few (docs/teachers.md). A student with the
# settings of one of them takes its seat.
DEFAULT_COMMITTEE: tuple[CommitteeMember, ...] = (
    XgboostRegressor(kind="xgboost"),
    # Two wide layers: where a table has hardly any noise they follow it better than three narrow ones.
    MlpRegressor(kind="mlp", averaging=0.99, hidden_layer_sizes=(256, 128)),
    # Smooth and linear at once, with a length scale for each feature.
    GaussianProcessRegressor(kind="gaussian_process"),
)


class CommitteeTeacher(Strict):
    """Several kinds of models, weighed by how well they predict rows they have not seen."""

    kind: Literal["committee"] = Field(
        description=(
            "Models of several kinds, one of each kind for each fold, weighed by non-negative least squares on their "
            "predictions for rows they have not seen."
        )
    )
    members: tuple[CommitteeMember, ...] = Field(
        DEFAULT_COMMITTEE,
        description=(
            "The kinds, 2 to 20, with their settings; left out: xgboost, an mlp of two wide layers with averaged "
            "weights, and a gaussian_process."
        ),
    )
    folds: Folds = Field("gate", description=_FOLDS)


Teacher = Annotated[SingleTeacher | CrossfitTeacher | BaggedTeacher | CommitteeTeacher, Field(discriminator="kind")]


class AdditiveNoise(Strict):
    """The paper's noise: added, of one size."""

    kind: Literal["additive"] = Field(description="y = g(x) + noise, as in the paper.")


class LocationScaleNoise(Strict):
    """Noise whose size depends on the features."""

    kind: Literal["location_scale"] = Field(
        description=(
            "y = g(x) + s(x) * noise: the size s of the noise is fitted to residuals of rows that the teacher's "
            "members have not seen, and a moved row carries its noise at the size that is usual at its new place."
        )
    )
    quantiles: tuple[Fraction, Fraction] = Field(
        (0.01, 0.99),
        description=(
            "The fitted size is held between these two quantiles of its values at the training rows; how many rows "
            "that changed is recorded."
        ),
    )


Noise = Annotated[AdditiveNoise | LocationScaleNoise, Field(discriminator="kind")]


# `tune` is written out before the models see it, but an editor should not underline it.
_Retention = Annotated[
    float, WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"const": "tune"}]})
]


class Counterfactual(Strict):
    """Abduction and prediction: y' = teacher(x') + retention * noise."""

    teacher: Teacher = Field(SingleTeacher(kind="single"), description="What predicts the outcome of a changed row.")
    residuals: Literal["in_sample", "out_of_fold"] = Field(
        "in_sample",
        description="Which residual is a row's noise: of the fitted teacher, or of members that have not seen the row.",
    )
    noise: Noise = Field(AdditiveNoise(kind="additive"), description="How noise enters the outcome.")
    retention: _Retention = Field(
        1.0,
        ge=0,
        le=1,
        description=(
            "How much noise a new row carries: 1 all of it (the paper), 0 none. Above 0 only certified features may "
            "move; at 0 the new row is the teacher's word alone, and any feature may. tune: found inside the folds, "
            "from 0, 0.25, 0.5, 0.75 and 1 (short for a search under tune.augmentation)."
        ),
    )
    residual_draw: Literal["own", "none", "matched"] = Field(
        "own",
        description=(
            "Whose noise a new row carries: its own source row's (the paper), nobody's (with retention: 0), or that of "
            "a training row with similar kept features (for simulation)."
        ),
    )
    factor: float = Field(1.25, gt=0, le=1000, description="New rows per training row.")
    weight: Positive = Field(1.0, le=1000, description="The weight of a new row in training; a real row weighs 1.")
    watch: Literal["real", "synthetic"] = Field(
        "real",
        description=(
            "What the augmented model's early stopping looks at. real: the rows that the plain model watches too, and "
            "neither trains on. synthetic: the new rows made from these, labelled by the teacher alone, so that every "
            "real row is trained on."
        ),
    )
