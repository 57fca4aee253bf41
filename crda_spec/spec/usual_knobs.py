"""What is searched when `tune.augmentation` names no knobs: around each recipe's values, which are always among them.

The paper's table of CRDA knobs, value by value; and ours, which leave more open and differ as the recipe does between
trees and other regressors (`docs/recipes.md` has the trials behind them).
"""

from __future__ import annotations

from crda_spec.spec.policies import InterpolatePolicy, QuantilePolicy, ResamplePolicy
from crda_spec.spec.recipes import TREES
from crda_spec.spec.teacher import CommitteeTeacher, CrossfitTeacher
from crda_spec.spec.tune import Knobs

_TENTHS = tuple(round(0.1 * step, 1) for step in range(1, 11))
_PAPER = Knobs(max_features=(1, 2, 3, 4, 5), factor=(0.5, 0.75, 1.0, 1.25, 1.5), reach=_TENTHS)

# No max_features: the recipe lets any feature move, and a number from 1 up cannot say that.
_DISTILLED = Knobs(
    retention=(0.0, 0.25, 0.5, 0.75, 1.0),
    teacher=(CommitteeTeacher(kind="committee", folds="blocks"), CrossfitTeacher(kind="crossfit", folds="blocks")),
)
# Jitter is left out on purpose: where columns hang together it makes rows such as never occur.
_FOR_TREES = Knobs(
    factor=(2.0, 5.0, 10.0, 20.0),
    weight=(0.1, 0.3, 0.6, 1.0),
    policy=(
        InterpolatePolicy(kind="interpolate"),
        InterpolatePolicy(kind="interpolate", reach=0.25),
        InterpolatePolicy(kind="interpolate", partner="near"),
    ),
)
_FOR_OTHERS = Knobs(
    factor=(2.0, 4.0, 8.0, 15.0),
    weight=(0.25, 0.5, 0.75, 1.0),
    policy=(
        ResamplePolicy(kind="resample"),
        ResamplePolicy(kind="resample", weights="neighbour"),
        QuantilePolicy(kind="quantile"),
        InterpolatePolicy(kind="interpolate"),
    ),
)

# What makes a recipe what it is: searching it would be another recipe under the same name.
PINNED_KNOBS: dict[str, dict[str, str]] = {
    "paper": {
        "retention": "Algorithm 1 keeps all of a row's noise",
        "teacher": "in Algorithm 1 the fitted regressor itself labels the new rows",
        "policy": "Algorithm 1 scales features",
    },
}


def usual_knobs(recipe: str, regressor: str) -> Knobs:
    """The knobs of this recipe for a regressor of this kind."""
    if recipe == "paper":
        return _PAPER
    own = _FOR_TREES if regressor in TREES else _FOR_OTHERS
    return _DISTILLED.model_copy(update={"factor": own.factor, "weight": own.weight, "policy": own.policy})
