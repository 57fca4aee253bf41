"""`perturbation`: what is done to a feature that may move, from which rows, and how far it may lead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from crda_spec.errors import Complaint, show
from crda_spec.strict import ColumnName, Positive, Strict

__all__ = [
    "ConditionalPolicy",
    "DefaultPolicy",
    "FlipPolicy",
    "GridPolicy",
    "InterpolatePolicy",
    "JitterPolicy",
    "MahalanobisSupport",
    "NeighbourSupport",
    "NoSupport",
    "Perturbation",
    "Policy",
    "QuantilePolicy",
    "ResamplePolicy",
    "ScalePolicy",
    "ShiftPolicy",
    "Sources",
    "Support",
    "perturbation_complaints",
]


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


_QUANTILE = "The limit: this share of the training rows, each measured against the others, is inside it."
_OUTSIDE = "Leave a row outside out, or draw it again (up to 10 times, then leave it out)."


class Sources(Strict):
    """How source rows are drawn."""

    kind: Literal["every", "uniform", "leverage", "residual"] = Field(
        description=(
            "every: each row as often as the factor says, the remainder at random. uniform: drawn with repetition. "
            "leverage, residual: half of the draws even, half by how far the row stands out among the features, or by "
            "the size of its residual."
        )
    )


class NoSupport(Strict):
    """No guard."""

    kind: Literal["none"] = Field(description="Every new row is kept, wherever it lies.")


class NeighbourSupport(Strict):
    """By the nearest training row and the linear ties among the numbers."""

    kind: Literal["neighbours"] = Field(
        description=(
            "A row is off the data when the nearest training row (but its source) is too far, or a linear tie among "
            "the numbers is broken too much."
        )
    )
    quantile: float = Field(0.95, ge=0.5, lt=1, description=_QUANTILE)
    on_outside: Literal["drop", "redraw"] = Field("drop", description=_OUTSIDE)


class MahalanobisSupport(Strict):
    """By the distance from the centre, in the data's own ellipse."""

    kind: Literal["mahalanobis"] = Field(
        description="A row is off the data when its Mahalanobis distance from the centre is too large; no search."
    )
    quantile: float = Field(0.95, ge=0.5, lt=1, description=_QUANTILE)
    on_outside: Literal["drop", "redraw"] = Field("drop", description=_OUTSIDE)


Support = Annotated[NoSupport | NeighbourSupport | MahalanobisSupport, Field(discriminator="kind")]


class Perturbation(Strict):
    """The action: a policy for every feature, and others for some."""

    default: DefaultPolicy = Field(
        ScalePolicy(kind="scale"),
        description=(
            "What is done to a feature that `features` does not name. What it cannot move (mostly categories and "
            "booleans) is resampled."
        ),
    )
    features: dict[str, Policy] = Field(default_factory=dict, description="Policies of single features, by name.")
    together: tuple[tuple[ColumnName, ...], ...] = Field(
        (),
        description=(
            "Sets of features that move as one, by the same draw of the same kind of policy; when one of a set may not "
            "move, none of it does."
        ),
    )
    features_per_row: int | Literal["all"] = Field(
        "all",
        description=(
            "How many of the features that may move each new row moves, chosen at random; a set that moves together "
            "counts as one."
        ),
    )
    unmoved: float = Field(
        0.0,
        ge=0,
        lt=1,
        description=(
            "The share of new rows that keep every value of their source, so that the teacher's word there is learnt "
            "too; chosen at random."
        ),
    )
    on_violation: Literal["clip", "redraw", "error"] = Field(
        "clip",
        description=(
            "When a value would break its column's contract: take the nearest allowed one, draw the row again (up to "
            "10 times, then clip), or stop."
        ),
    )
    sources: Sources = Field(Sources(kind="every"), description="Which training rows new ones are made from.")
    support: Support = Field(NoSupport(kind="none"), description="What becomes of new rows that lie off the data.")
    propagate: bool = Field(
        default=False,
        description=(
            "Let the features that a moved one causes follow it, through equations fitted to the declared graph; "
            "false holds them fixed."
        ),
    )


def perturbation_complaints(perturbation: Perturbation) -> Iterator[Complaint]:
    """What no single field can know, without looking at any data."""
    written: list[tuple[str, Strict]] = [("perturbation.default", perturbation.default)]
    written += [(f"perturbation.features.{name}", policy) for name, policy in perturbation.features.items()]
    for path, policy in written:
        yield from _policy(path, policy, perturbation.features_per_row)
    count = perturbation.features_per_row
    if count != "all" and count < 1:
        yield _bad("perturbation.features_per_row", f"must be at least 1, got {count}", "or write all")
    yield from _together(perturbation)


def _policy(path: str, policy: Any, per_row: int | str) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    unread = {"resample": ("weights", "neighbour"), "interpolate": ("partner", "near")}
    if policy.kind in unread and policy.neighbours is not None:
        key, needed = unread[policy.kind]
        if getattr(policy, key) != needed:
            what = f"neighbours is read only with {key}: {needed}"
            yield _bad(f"{path}.neighbours", what, f"remove the key, or use {key}: {needed}")
    if policy.kind == "grid":
        # By type as well: to Python 1, 1.0 and true are one value.
        times = Counter((type(value), value) for value in policy.values)
        for (_, value), count in times.items():
            if count > 1:
                yield _bad(f"{path}.values", f"{show(value)} is listed {count} times", "list it once")
    if policy.kind == "conditional" and isinstance(per_row, int) and per_row > 1:
        what = f"a conditional draw has to know what stays fixed, which changes with any {per_row} features of a row"
        yield _bad("perturbation.features_per_row", what, "use all or 1, or another policy")


def _together(perturbation: Perturbation) -> Iterator[Complaint]:
    seen: dict[str, str] = {}
    for number, names in enumerate(perturbation.together):
        path = f"perturbation.together.{number}"
        if len(names) < 2:
            yield _bad(path, f"a set that moves together has at least 2 features, got {len(names)}", "name another")
        for position, name in enumerate(names):
            if name in seen:
                where = f"{path}.{position}"
                yield _bad(where, f"{show(name)} already moves together with others ({seen[name]})", "name it once")
            seen.setdefault(name, path)


def _bad(path: str, what: str, hint: str) -> Complaint:
    return Complaint(code="inconsistent", path=path, what=what, hint=hint)
