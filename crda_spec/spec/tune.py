"""`tune`: how the base regressor's settings and the augmentation's knobs are found, and on which rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from crda_spec.counterfactual.policies import DefaultPolicy, Interpolate, Quantile, Resample
from crda_spec.counterfactual.tuning import CountRange, NumberRange
from crda_spec.regressors.teachers import AnyTeacher, CommitteeTeacher, CrossfitTeacher
from crda_spec.regressors.tune import RandomSearch
from crda_spec.spec.recipes import TREES, RecipeName
from crda_spec.strict import LIST, RANGE, Finite, Positive, Strict


def _form(value: object) -> str:
    """Whether values are listed or a range is given; models pass through when a spec is rendered."""
    return RANGE if isinstance(value, dict | NumberRange | CountRange) else LIST


_Numbers = Annotated[
    Annotated[tuple[Finite, ...], Tag(LIST)] | Annotated[NumberRange, Tag(RANGE)], Discriminator(_form)
]
_Counts = Annotated[Annotated[tuple[int, ...], Tag(LIST)] | Annotated[CountRange, Tag(RANGE)], Discriminator(_form)]


class Knobs(Strict):
    """What is searched; a knob that is left out keeps the value that the spec and its recipe declare."""

    max_features: _Counts | None = Field(
        None, description="Priors of partition.max_features: a list, or {low, high}; the paper tries 1 to 5."
    )
    factor: _Numbers | None = Field(
        None,
        description=(
            "Priors of counterfactual.factor: a list of numbers, or {low, high, log}; the paper tries 0.5, 0.75, 1, "
            "1.25 and 1.5."
        ),
    )
    reach: _Numbers | None = Field(
        None,
        description=(
            "Priors of how far perturbation.default moves: its reach, amount (shift) or sd (jitter). The paper tries "
            "0.1, 0.2, ... 1."
        ),
    )
    retention: _Numbers | None = Field(
        None, description="Priors of counterfactual.retention, within [0, 1]. Recipe paper keeps all of the noise."
    )
    weight: _Numbers | None = Field(None, description="Priors of counterfactual.weight, the weight of a new row.")
    teacher: tuple[AnyTeacher, ...] | None = Field(
        None, description="The teachers to choose from, each as under counterfactual.teacher."
    )
    policy: tuple[DefaultPolicy, ...] | None = Field(
        None, description="The policies to choose from, each as under perturbation.default; excludes reach."
    )


class TpeTuning(Strict):
    """The paper's search of the augmentation's knobs: Optuna's tree-structured Parzen estimator."""

    kind: Literal["tpe"] = Field(
        description=(
            "Optuna's tree-structured Parzen estimator. A trial is scored by inner cross-validation in which all "
            "is refitted: the augmented model's loss on real rows that nothing in that fold has seen."
        )
    )
    trials: int = Field(30, ge=1, le=10_000, description="How many settings to try; the paper tries up to 30.")
    folds: int = Field(3, ge=2, le=20, description="Folds of the inner cross-validation.")
    prune: Literal["median", "none"] = Field(
        "median",
        description=(
            "median: a trial ends early when its loss so far is worse than the median of earlier trials at that fold "
            "(after 5 whole trials). none: every trial runs through all folds."
        ),
    )
    seconds: Positive | None = Field(
        None,
        description=(
            "No trial of a search starts after this many seconds; null: no limit. A search that ends by the clock is "
            "not repeatable to the byte, and its record says so."
        ),
    )
    warm_start: bool = Field(
        default=True,
        description=(
            "Whether the first trial is what the spec and its recipe declare. Nothing that another fold found is ever "
            "used: it was found on rows that this fold holds out."
        ),
    )
    knobs: Knobs | None = Field(
        None,
        description=(
            "What is searched, each knob with its values. null: the usual ones (the paper's three with recipe paper, "
            "ours with recipe distilled) without those that the spec writes."
        ),
    )


class Candidate(Strict):
    """Another augmentation: what it changes in the spec."""

    recipe: RecipeName | None = Field(
        None, description="Take this recipe's presets for partition, counterfactual and perturbation."
    )
    partition: dict[str, Any] = Field(default_factory=dict, description="What it changes in `partition`.")
    counterfactual: dict[str, Any] = Field(default_factory=dict, description="What it changes in `counterfactual`.")
    perturbation: dict[str, Any] = Field(default_factory=dict, description="What it changes in `perturbation`.")
    augmenter: dict[str, Any] = Field(
        default_factory=dict, description="What it changes in `augmenter`, in a spec that has one."
    )


class CandidateTuning(Strict):
    """A choice among augmentations that are written out."""

    kind: Literal["candidates"] = Field(
        description=(
            "An inner cross-validation chooses among the spec as it stands and the candidates, by the gate's metric. "
            "The choice is part of what the gate tests: one test, however many candidates."
        )
    )
    candidates: dict[str, Candidate] = Field(min_length=1, description="Other augmentations by name.")
    folds: int = Field(3, ge=2, le=20, description="Folds of the inner cross-validation.")


AugmentationTuning = Annotated[TpeTuning | CandidateTuning, Field(discriminator="kind")]


class TuneInFolds(Strict):
    """Everything is tuned anew from the training rows of each gate fold."""

    kind: Literal["folds"] = Field(
        description="Searches are repeated inside every gate fold, on its training rows, and once on all training rows."
    )


class TuneOnSplit(Strict):
    """Some training rows are spent on tuning, and on nothing else."""

    kind: Literal["split"] = Field(
        description=(
            "One search, on training rows set aside for it. The gate and the final model never see these rows, so "
            "settings are as good as declared, and fold models can be shared."
        )
    )
    fraction: float = Field(0.3, gt=0, lt=1, description="The part of the training rows that is spent.")


TuneOn = Annotated[TuneInFolds | TuneOnSplit, Field(discriminator="kind")]


class _AnyTuning(Strict):
    """What both kinds share."""

    augmentation: AugmentationTuning | None = Field(
        None, description="How the augmentation is chosen; null: it is used as declared."
    )
    on: TuneOn = Field(TuneInFolds(kind="folds"), description="The rows that searches may see.")


class NoTuning(_AnyTuning):
    """The regressor's settings are used as they are declared."""

    kind: Literal["none"] = Field(description="The regressor's settings are used as declared.")


class RandomizedTuning(RandomSearch, _AnyTuning):
    """The regressor's settings are searched."""


Tune = Annotated[NoTuning | RandomizedTuning, Field(discriminator="kind")]


_TENTHS = tuple(round(0.1 * step, 1) for step in range(1, 11))
_PAPER = Knobs(max_features=(1, 2, 3, 4, 5), factor=(0.5, 0.75, 1.0, 1.25, 1.5), reach=_TENTHS)

# No max_features: the recipe lets any feature move, and a number from 1 up cannot say that.
_DISTILLED = Knobs(
    retention=(0.0, 0.25, 0.5, 0.75, 1.0), teacher=(CommitteeTeacher(folds="blocks"), CrossfitTeacher(folds="blocks"))
)
# Jitter is left out on purpose: where columns depend on each other it makes rows that never occur.
_FOR_TREES = Knobs(
    factor=(2.0, 5.0, 10.0, 20.0),
    weight=(0.1, 0.3, 0.5, 1.0),
    policy=(Interpolate(), Interpolate(reach=0.25), Interpolate(partner="near")),
)
_FOR_OTHERS = Knobs(
    factor=(2.0, 5.0, 10.0, 15.0),
    weight=(0.25, 0.5, 0.75, 1.0),
    policy=(Resample(), Resample(weights="neighbour"), Quantile(), Interpolate()),
)

# What makes a recipe what it is: searching it would be another recipe under the same name.
PINNED_KNOBS: dict[str, dict[str, str]] = {
    "augmenter": dict.fromkeys(
        ("max_features", "reach", "retention", "teacher", "policy"), "the augmenter makes the rows in its own way"
    ),
    "paper": {
        "retention": "Algorithm 1 keeps all of a row's noise",
        "teacher": "in Algorithm 1 the fitted regressor itself labels the new rows",
        "policy": "Algorithm 1 scales features",
    },
}


def usual_knobs(recipe: str, regressor: str, *, trees: bool | None = None) -> Knobs:
    """The knobs of this recipe for a regressor of this kind. trees: as for `preset_of`."""
    trees = regressor in TREES if trees is None else trees
    if recipe == "paper":
        return _PAPER
    if recipe == "augmenter":
        return Knobs(factor=(0.5, 1.0, 2.0, 5.0), weight=(0.25, 0.5, 0.75, 1.0))
    own = _FOR_TREES if trees else _FOR_OTHERS
    knobs = _DISTILLED.model_copy(update={"factor": own.factor, "weight": own.weight, "policy": own.policy})
    if recipe == "distilled":
        return knobs
    # The teacher stays: only a hedged committee tells whether the rows bear the graph out.
    trees_own = (Interpolate(apart=0.5), Resample(), *(own.policy or ()))
    more = {"policy": trees_own} if trees else {"factor": (5.0, 10.0, 20.0, 25.0)}
    return knobs.model_copy(update={"teacher": None, **more})
