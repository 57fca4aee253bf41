"""`perturbation`: what is done to a feature that may move, from which rows, and how far it may lead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from crda_spec.errors import Complaint, show
from crda_spec.spec.base import ColumnName, Strict
from crda_spec.spec.policies import (
    ConditionalPolicy,
    DefaultPolicy,
    FlipPolicy,
    GridPolicy,
    InterpolatePolicy,
    JitterPolicy,
    Policy,
    QuantilePolicy,
    ResamplePolicy,
    ScalePolicy,
    ShiftPolicy,
)

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
