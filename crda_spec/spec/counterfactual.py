"""`counterfactual`: who labels the new rows, which noise they carry, and how many there are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crda_spec.spec.base import Positive, Strict


class SingleTeacher(Strict):
    """The paper's g: one model fitted on all training rows."""

    kind: Literal["single"] = Field(description="One model fitted on all training rows, as in the paper.")


class CrossfitTeacher(Strict):
    """The mean of one model per fold."""

    kind: Literal["crossfit"] = Field(
        description="The mean of one model per fold; it also gives predictions for rows that a member has not seen."
    )
    folds: int = Field(5, ge=2, le=50, description="How many folds, and so how many members.")


Teacher = Annotated[SingleTeacher | CrossfitTeacher, Field(discriminator="kind")]


class Counterfactual(Strict):
    """Abduction and prediction: y' = teacher(x') + retention * noise."""

    teacher: Teacher = Field(SingleTeacher(kind="single"), description="What predicts the outcome of a changed row.")
    residuals: Literal["in_sample", "out_of_fold"] = Field(
        "in_sample",
        description="Which residual is a row's noise: of the fitted teacher, or of members that have not seen the row.",
    )
    retention: float = Field(
        1.0, ge=0, le=1, description="How much of its source row's noise a new row carries: 1 all (the paper), 0 none."
    )
    factor: float = Field(1.25, gt=0, le=1000, description="New rows per training row.")
    weight: Positive = Field(1.0, le=1000, description="The weight of a new row in training; a real row weighs 1.")
