"""`perturbation`: what is done to a feature that may move."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crda_spec.spec.base import Positive, Strict


class ScalePolicy(Strict):
    """The paper's action: multiply by 1 + delta."""

    kind: Literal["scale"] = Field(description="Multiply by 1 + delta, delta uniform on [-reach, reach].")
    reach: Positive = Field(0.7, le=10, description="The largest relative change; 0.7 means up to 70 percent.")
    around: Literal["mean", "zero"] = Field(
        "mean",
        description="Scale the distance from the feature's mean (the paper: standardised values), or the value.",
    )
    share: Literal["row", "cell"] = Field(
        "row", description="One delta for all scaled features of a row (the paper), or one for each cell."
    )


class JitterPolicy(Strict):
    """Add Gaussian noise."""

    kind: Literal["jitter"] = Field(description="Add Gaussian noise.")
    sd: Positive = Field(0.3, le=100, description="The noise's size, in standard deviations of the feature.")


class ResamplePolicy(Strict):
    """Draw another value of the same column."""

    kind: Literal["resample"] = Field(description="Draw another value of the feature's own column, for any type.")
    weights: Literal["empirical", "uniform"] = Field(
        "empirical", description="As often as it occurs among the training rows, or every distinct value alike."
    )


Policy = Annotated[ScalePolicy | JitterPolicy | ResamplePolicy, Field(discriminator="kind")]


class Perturbation(Strict):
    """The action: a policy for every feature, and others for some."""

    default: Policy = Field(
        ScalePolicy(kind="scale"),
        description="What is done to a number; categories and booleans are resampled unless `features` says otherwise.",
    )
    features: dict[str, Policy] = Field(default_factory=dict, description="Policies of single features, by name.")
