"""`counterfactual`: who labels the new rows, which noise they carry, and how many there are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from crda_spec.counterfactual.noise import Additive, NoiseModel
from crda_spec.regressors.teachers import AnyTeacher, SingleTeacher
from crda_spec.strict import Positive, Strict

# `tune` is written out before the models see it, but an editor should not underline it.
_Retention = Annotated[
    float, WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"const": "tune"}]})
]


class Counterfactual(Strict):
    """Abduction and prediction: y' = teacher(x') + retention * noise."""

    teacher: AnyTeacher = Field(SingleTeacher(), description="What predicts the outcome of a changed row.")
    residuals: Literal["in_sample", "out_of_fold"] = Field(
        "in_sample",
        description="Which residual is a row's noise: of the fitted teacher, or of members that have not seen the row.",
    )
    noise: NoiseModel = Field(Additive(), description="How noise enters the outcome.")
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
