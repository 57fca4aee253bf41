"""`tune`: how the base regressor's settings are found."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crda_spec.spec.base import Strict


class NoTuning(Strict):
    """The regressor's settings are used as they are declared."""

    kind: Literal["none"] = Field(description="The regressor's settings are used as declared.")


class RandomizedTuning(Strict):
    """The paper's search: random trials, scored by cross-validation on the training rows."""

    kind: Literal["randomized"] = Field(
        description=(
            "Random trials from the regressor's search space, scored by cross-validation inside the training rows; "
            "repeated inside every gate fold. Settings written in `regressor` are not searched."
        )
    )
    trials: int = Field(20, ge=1, le=1000, description="How many settings to try; the paper tries 20.")
    folds: int = Field(3, ge=2, le=20, description="Folds of the inner cross-validation; the paper uses 3.")


Tune = Annotated[NoTuning | RandomizedTuning, Field(discriminator="kind")]
