"""`gate`: the test that an augmentation has to pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from crda_spec.errors import Complaint
from crda_spec.strict import Fraction, Strict


class Candidate(Strict):
    """Another augmentation: what it changes in the spec."""

    recipe: Literal["paper", "distilled"] | None = Field(
        None, description="Take this recipe's presets for partition, counterfactual and perturbation."
    )
    partition: dict[str, Any] = Field(default_factory=dict, description="What it changes in `partition`.")
    counterfactual: dict[str, Any] = Field(default_factory=dict, description="What it changes in `counterfactual`.")
    perturbation: dict[str, Any] = Field(default_factory=dict, description="What it changes in `perturbation`.")


class _Gate(Strict):
    """What every gate has."""

    enabled: bool = Field(
        True,  # noqa: FBT003
        description="false: no test at all; the augmented model is used, and every output says UNGATED.",
    )
    folds: int = Field(10, ge=2, le=100, description="How many folds; the whole procedure is refitted in each.")
    starts: int = Field(
        1,
        ge=1,
        le=20,
        description=(
            "How often both models of a fold are trained, each time from another random state and with other new rows; "
            "a row counts with its mean loss. The luck of one training then decides less."
        ),
    )
    alpha: Fraction = Field(0.05, description="Accept only when the p-value is below this.")
    alternative: Literal["less", "two-sided"] = Field(
        "less",
        description="less: is the augmented loss smaller? two-sided: do they differ (and only better is accepted)?",
    )
    metric: Literal["mse", "rmse", "mae", "r2", "pinball"] = Field(
        "mse", description="The loss of a fold. r2 is compared as 1 - R2, pinball needs `quantile`."
    )
    quantile: Fraction | None = Field(None, description="The quantile that the pinball loss is for.")
    candidates: dict[str, Candidate] = Field(
        default_factory=dict,
        description=(
            "Other augmentations by name. Inside every fold an inner cross-validation chooses among them and the spec "
            "as it stands, and the choice is part of what is tested: one test, however many candidates."
        ),
    )
    candidate_folds: int = Field(3, ge=2, le=20, description="Folds of the inner cross-validation that chooses.")
    min_effect: float = Field(
        0.0, ge=0, lt=100, description="Accept only when the test shows a gain of more than this many percent."
    )


class _Curtailed(_Gate):
    """A test of which one can tell early that it will not pass."""

    stop: Literal["certain", "never"] = Field(
        "never",
        description=(
            "certain: run no more folds once no result of theirs could make the gate accept; it saves fits, and what "
            "is refused is less well measured. never: run all of them."
        ),
    )


class WilcoxonGate(_Curtailed):
    """The paper's gate, without its leaks: Wilcoxon's signed-rank test on paired fold losses."""

    kind: Literal["wilcoxon"] = Field(description="Wilcoxon's signed-rank test on the paired losses of the folds.")
    repeats: int = Field(
        1,
        ge=1,
        le=20,
        description="How often the rows are divided into folds anew; each row counts once, with its mean loss.",
    )


class ClusteredGate(_Gate):
    """Every held-out row speaks, and rows of a fold know that they share their models. Few folds, two repeats."""

    kind: Literal["clustered"] = Field(
        description="A t-test on the held-out rows' losses that allows for what the models of a fold have in common."
    )
    folds: int = Field(6, ge=2, le=100, description="How many folds; the whole procedure is refitted in each.")
    repeats: int = Field(2, ge=1, le=20, description="How often the rows are divided into folds anew.")


class SignGate(_Curtailed):
    """How many folds gained, whatever the size of the gain."""

    kind: Literal["sign"] = Field(description="The sign test: assumes least, and sees least.")


class CorrectedTGate(_Gate):
    """A t-test that knows that folds share their training rows."""

    kind: Literal["corrected_t"] = Field(description="The corrected resampled t-test of Nadeau and Bengio.")
    repeats: int = Field(1, ge=1, le=20, description="How often the rows are divided into folds anew.")


class BootstrapGate(_Gate):
    """Every held-out row speaks, not only every fold."""

    kind: Literal["bootstrap"] = Field(description="A studentised paired bootstrap of the held-out rows' losses.")
    resamples: int = Field(1999, ge=99, le=99_999, description="How many resamples.")
    repeats: int = Field(1, ge=1, le=20, description="How often the rows are divided into folds anew.")


class FiveByTwoGate(_Gate):
    """Two folds, five times over: models of half of the rows."""

    kind: Literal["five_by_two"] = Field(description="Dietterich's 5x2cv paired t-test.")
    folds: Literal[2] = Field(2, description="Always 2.")
    repeats: Literal[5] = Field(5, description="Always 5.")


Gate = Annotated[
    WilcoxonGate | ClusteredGate | CorrectedTGate | SignGate | BootstrapGate | FiveByTwoGate,
    Field(discriminator="kind"),
]


def smallest_p_value(folds: int, alternative: str) -> float:
    """The p-value when augmentation wins every fold: one sign pattern of 2^folds, two of them when two-sided."""
    return (2.0 if alternative == "two-sided" else 1.0) / 2.0**folds


def folds_needed(alpha: float, alternative: str) -> int:
    """The fewest folds with which the gate can accept at all."""
    folds = 2
    while smallest_p_value(folds, alternative) >= alpha:
        folds += 1
    return folds


def fewest_folds(gate: Any) -> int:  # noqa: ANN401 - the spec's union
    """The fewest folds that this gate can do with."""
    by_folds = isinstance(gate, _Curtailed) and gate.enabled
    return folds_needed(gate.alpha, gate.alternative) if by_folds else 2


def gate_complaints(gate: Any) -> Iterator[Complaint]:  # noqa: ANN401 - the spec's union
    """Gates that can never accept, and a quantile where none is asked for or none where one is."""
    if gate.metric == "pinball" and gate.quantile is None:
        what = "the pinball loss is for one quantile, and none is given"
        yield Complaint(code="inconsistent", path="gate.metric", what=what, hint="add for example quantile: 0.9")
    if gate.metric != "pinball" and gate.quantile is not None:
        what = f"only the pinball loss has a quantile, and the metric is {gate.metric}"
        hint = "remove it, or use metric: pinball"
        yield Complaint(code="inconsistent", path="gate.quantile", what=what, hint=hint)
    if not gate.enabled:
        return
    if isinstance(gate, WilcoxonGate) and gate.repeats > 1 and gate.stop == "certain":
        what = f"with {gate.repeats} repeats nothing is certain before the last one: it changes every row's mean loss"
        yield Complaint(code="inconsistent", path="gate.stop", what=what, hint="use stop: never, or repeats: 1")
    if isinstance(gate, _Curtailed):
        yield from _too_few_folds(gate)
    elif isinstance(gate, BootstrapGate):
        yield from _too_few_resamples(gate)


def _too_few_folds(gate: _Curtailed) -> Iterator[Complaint]:
    least = smallest_p_value(gate.folds, gate.alternative)
    if least < gate.alpha:
        return
    patterns, sides = ("2", "two-sided") if gate.alternative == "two-sided" else ("1", "one-sided")
    what = (
        f"this gate can never accept: with {gate.folds} folds the smallest {sides} p-value is "
        f"{patterns}/2^{gate.folds} = {least:g}, which is not below alpha = {gate.alpha:g}"
    )
    hint = f"use at least {folds_needed(gate.alpha, gate.alternative)} folds"
    if gate.alternative == "two-sided" and smallest_p_value(gate.folds, "less") < gate.alpha:
        hint += " or alternative: less"
    yield Complaint(code="gate-cannot-accept", path="gate.folds", what=what, hint=hint)


def _too_few_resamples(gate: BootstrapGate) -> Iterator[Complaint]:
    patterns, sides = (2, "two-sided") if gate.alternative == "two-sided" else (1, "one-sided")
    least = patterns / (gate.resamples + 1)
    if least < gate.alpha:
        return
    what = (
        f"this gate can never accept: with {gate.resamples} resamples the smallest {sides} p-value is "
        f"{patterns}/{gate.resamples + 1} = {least:g}, which is not below alpha = {gate.alpha:g}"
    )
    hint = f"use at least {int(patterns / gate.alpha) + 1} resamples"
    yield Complaint(code="gate-cannot-accept", path="gate.resamples", what=what, hint=hint)
