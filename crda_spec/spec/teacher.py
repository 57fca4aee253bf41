"""`counterfactual.teacher`: who labels the new rows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crda_spec.spec.base import Strict
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
