"""`perturbation.default` and `perturbation.features`: the policies, one class each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crda_spec.spec.base import Positive, Strict

_SHARE = "One draw for all features of a row that are moved this way, or one for each cell."
_NEIGHBOURS = "Among how many of the nearest rows"


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


class ShiftPolicy(Strict):
    """Add a random amount."""

    kind: Literal["shift"] = Field(description="Add a random amount, up or down.")
    amount: Positive = Field(
        0.5, le=1e9, description="The largest shift (uniform), or the shift's standard deviation (normal)."
    )
    measure: Literal["sd", "unit"] = Field(
        "sd", description="The amount counts in standard deviations of the feature, or in its own unit."
    )
    draw: Literal["uniform", "normal"] = Field("uniform", description="How the size of the shift is drawn.")
    share: Literal["row", "cell"] = Field("cell", description=_SHARE)


class JitterPolicy(Strict):
    """Add Gaussian noise."""

    kind: Literal["jitter"] = Field(description="Add Gaussian noise.")
    sd: Positive = Field(0.3, le=100, description="The noise's size, in standard deviations of the feature.")


class QuantilePolicy(Strict):
    """Move along the feature's own distribution."""

    kind: Literal["quantile"] = Field(
        description="Move to a training value of a nearby rank: the column keeps its distribution exactly."
    )
    reach: Positive = Field(0.2, le=1, description="The largest change of rank, as a share of the rows.")
    share: Literal["row", "cell"] = Field("cell", description=_SHARE)


class ResamplePolicy(Strict):
    """Draw another value of the same column."""

    kind: Literal["resample"] = Field(description="Draw another value of the feature's own column, for any type.")
    weights: Literal["empirical", "uniform", "neighbour"] = Field(
        "empirical",
        description=(
            "As often as it occurs among the training rows, every distinct value alike, or the value of a row that is "
            "similar in all other features."
        ),
    )
    neighbours: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=f"{_NEIGHBOURS} in all other features; only with weights: neighbour, where null means 10.",
    )


class FlipPolicy(Strict):
    """Turn a boolean round."""

    kind: Literal["flip"] = Field(description="Turn true into false and false into true; booleans only.")
    probability: Positive = Field(0.5, le=1, description="How often it is turned round.")


class InterpolatePolicy(Strict):
    """Move towards another training row."""

    kind: Literal["interpolate"] = Field(
        description="Move towards another row, the same one for all features of a row: linear ties among them stay."
    )
    partner: Literal["any", "near"] = Field("any", description="Any other row, or one of the nearest.")
    neighbours: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=f"{_NEIGHBOURS} in all features; only with partner: near, where null means 10.",
    )
    reach: Positive = Field(0.5, le=1, description="The largest share of the way; a label changes as often as that.")


class GridPolicy(Strict):
    """Draw one of the declared values."""

    kind: Literal["grid"] = Field(description="Draw one of the declared values, each alike.")
    values: tuple[bool | int | float | str, ...] = Field(
        min_length=1, description="The values: numbers, labels, or true and false, as the column holds."
    )


class ConditionalPolicy(Strict):
    """Draw from the feature's distribution given the fixed features."""

    kind: Literal["conditional"] = Field(
        description="Draw from the feature's distribution given the features that stay fixed: collinear ones stay tied."
    )
    neighbours: int = Field(10, ge=1, le=1000, description=f"{_NEIGHBOURS} in the fixed features the donor is drawn.")
    share: Literal["row", "cell"] = Field("row", description="One donor row for all such features of a row, or each.")


# A grid of values and a flip suit a feature of a known type, so they are no defaults.
DefaultPolicy = Annotated[
    ScalePolicy | ShiftPolicy | JitterPolicy | QuantilePolicy | ResamplePolicy | InterpolatePolicy | ConditionalPolicy,
    Field(discriminator="kind"),
]
Policy = Annotated[
    ScalePolicy
    | ShiftPolicy
    | JitterPolicy
    | QuantilePolicy
    | ResamplePolicy
    | FlipPolicy
    | InterpolatePolicy
    | GridPolicy
    | ConditionalPolicy,
    Field(discriminator="kind"),
]
