"""The recipes and goals: what is filled in where the user leaves something out, and nothing else.

All run through the same code and face the same gate. `docs/evidence/recipe-choices.md` says how `distilled` and
`certified` were found.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from crda_spec.counterfactual.augmenters import AUGMENTERS
from crda_spec.regressors import REGRESSORS
from crda_spec.regressors.boosting import STUDENTS_STEP
from crda_spec.regressors.estimator import grows_trees

RecipeName = Literal["paper", "distilled", "certified", "augmenter"]
GoalName = Literal["mean", "quantiles", "simulate"]

Preset = dict[str, Any]

# Algorithm 1 with the modal best knobs of the paper's Table of CRDA knobs (2 features, factor 1.25, reach 0.7).
_PAPER: Preset = {
    "partition": {
        "max_features": 2,
        "residuals": "in_sample",
        "joint": {"alpha": 0.05, "folds": 5, "on_failure": "warn"},
    },
    "counterfactual": {
        "teacher": {"kind": "single"},
        "residuals": "in_sample",
        "retention": 1.0,
        "factor": 1.25,
        "weight": 1.0,
    },
    "perturbation": {"default": {"kind": "scale", "reach": 0.7, "around": "mean", "share": "row"}},
    "gate": {"kind": "wilcoxon"},
}

# Another method makes the rows. Its plain model, gate and stopping are those of our own recipes.
_AUGMENTER: Preset = {
    "partition": {"residuals": "in_sample", "joint": None},  # the screens are evidence beside the run, no more
    "counterfactual": {
        "teacher": {"kind": "single"},
        "residuals": "in_sample",
        "retention": 0.0,
        "weight": 1.0,
        "watch": "real",
    },
    "gate": {"kind": "wilcoxon"},
}

# A committee labels rows in which any feature may have moved, and no noise is carried.
_DISTILLED: Preset = {
    "partition": {
        "basis": "support",
        "residuals": "out_of_fold",
        "joint": {"alpha": 0.05, "folds": 5, "on_failure": "prune"},
    },
    "counterfactual": {
        "teacher": {"kind": "committee", "folds": "blocks"},
        "residuals": "out_of_fold",
        "retention": 0.0,
        "watch": "synthetic",
    },
    "gate": {"kind": "wilcoxon"},
}

# Trees need many rows to draw a smooth teacher, and light ones, so that the real rows still place the cuts. The more
# real rows there are, the fewer new ones each of them needs.
_FOR_TREES: Preset = {
    "counterfactual": {"factor": 10.0, "max_rows": 8000, "weight": 0.5},
    "perturbation": {"default": {"kind": "interpolate", "partner": "any", "reach": 0.5}},
}

# Smooth students learn most from rows that differ from a real one in a single value, which occurs in its column. Their
# gate trains both models of a fold twice: they differ by luck, and beside their teachers a second pair costs little.
# Kernels cost the square or the cube of their rows, so few real rows get many new ones, and many get few.
_FOR_OTHERS: Preset = {
    "gate": {"restarts": 2},
    "counterfactual": {"factor": 10.0, "max_rows": 3000, "weight": 1.0},
    "perturbation": {"default": {"kind": "resample", "weights": "empirical"}, "features_per_row": 1},
}

# A network of the paper's step size wanders at the end of its training; the more it is told, the less it strays.
# It keeps most of what it is told where data are: four rows in ten stay put, and none of the others leaves the data.
_FOR_NETWORKS: Preset = {
    "gate": _FOR_OTHERS["gate"],
    "counterfactual": {"factor": 15.0, "weight": 1.0},
    "perturbation": {
        **_FOR_OTHERS["perturbation"],
        "copy_fraction": 0.4,
        "support": {"kind": "neighbours", "on_outside": "redraw"},
    },
}

# Only what the graph certifies moves; the features that it calls irrelevant move freely and never touch a label, as
# long as the rows bear the graph out; half of the committee knows the graph.
_CERTIFIED: Preset = {
    "partition": {**_DISTILLED["partition"], "basis": "certificate"},
    "counterfactual": {
        **_DISTILLED["counterfactual"],
        "teacher": {"kind": "committee", "folds": "blocks", "hedge": True},
        "invariance": "trusted",
    },
    "gate": _DISTILLED["gate"],
}
# In half of the rows each cause takes any value that its column has, whatever the others do: trees then see it by
# itself. Where causes depend on each other such rows are no data, so the other half stays among them.
_CERTIFIED_TREES: Preset = {
    "counterfactual": {"factor": 20.0, "weight": 0.3},
    "perturbation": {
        "default": {"kind": "interpolate", "partner": "any", "reach": 0.5, "apart": 0.5},
        "features_per_row": "all",
    },
}
_CERTIFIED_NETWORKS: Preset = {"counterfactual": {"factor": 25.0}}
_CERTIFIED_OTHERS: Preset = {"counterfactual": {"factor": 20.0}}

# The defaults of what some recipe sets and another does not.
_UNSET: Preset = {
    "partition": {"max_features": None, "basis": "certificate"},
    "counterfactual": {"watch": "real", "invariance": "off", "max_rows": None},
    "perturbation": {"features_per_row": "all", "copy_fraction": 0.0, "support": {"kind": "none"}, "blocked": None},
    "gate": {"restarts": 1},
}

# Rows that carry all of their noise: only what is certified moves, also where that is nothing.
_WITH_NOISE: Preset = {
    "partition": {"basis": "certificate"},
    "counterfactual": {"retention": 1.0},
    "perturbation": {"blocked": None},
}

TREES = frozenset(kind for kind, member in REGRESSORS.items() if member.grows_trees)
QUANTILES = tuple(kind for kind, member in REGRESSORS.items() if member.learns_quantiles)
STOPS = frozenset(kind for kind, member in REGRESSORS.items() if "early_stopping" in member.model_fields)


def default_recipe(causal: object, augmenter: object = None) -> RecipeName:
    """The recipe of a spec that names none. causal, augmenter: these sections as they were written."""
    if augmenter is not None:
        return "augmenter"
    return "certified" if isinstance(causal, dict) and causal.get("graph") is not None else "distilled"


def default_goal(regressor: object) -> GoalName:
    """The goal of a spec that names none. regressor: that section as it was written."""
    return "quantiles" if isinstance(regressor, dict) and regressor.get("objective") == "quantile" else "mean"


def goal_preset(goal: str, regressor: str, quantile: object = None) -> Preset:
    """What the goal fills in before the recipe does. quantile: as the regressor's section writes it, if it does."""
    if goal == "quantiles":
        objective: Preset = {"regressor": {"objective": "quantile"}} if regressor in QUANTILES else {}
        # Rows that repeat their source's noise would let trees learn it by heart (docs/evidence/labels.md). Synthetic
        # rows are watched without noise, and then have no quantiles.
        labels: Preset = {"counterfactual": {"residual_draw": "matched", "watch": "real"}}
        known = isinstance(quantile, float) and 0 < quantile < 1
        gate: Preset = {"gate": {"metric": "pinball", "quantile": quantile}} if known else {}
        return _joined(_joined(_joined(_WITH_NOISE, labels), objective), gate)
    if goal == "simulate":
        return _joined(_WITH_NOISE, {"counterfactual": {"noise": {"kind": "location_scale"}}})
    return {}


def is_of_trees(regressor: object) -> bool:
    """Whether the student's predictions are steps. regressor: that section of the spec as it was written."""
    kind = regressor.get("kind") if isinstance(regressor, dict) else None
    return (isinstance(kind, str) and kind in TREES) or grows_trees(regressor)


def preset_of(recipe: str, regressor: str, *, trees: bool | None = None, augmenter: str | None = None) -> Preset | None:
    """What the recipe fills in for a regressor of this kind; None when there is no such recipe.

    trees: whether its predictions are steps; None: as those of the kind are.  augmenter: its kind, where there is one.
    """
    if recipe not in get_args(RecipeName):
        return None
    # But in `paper`, synthetic rows stop the augmented model, which trains on all real rows; so does the plain one.
    stopping: Preset = {"regressor": {"early_stopping": {"refit": recipe != "paper"}}} if regressor in STOPS else {}
    if regressor == "xgboost" and recipe != "paper":
        stopping = _joined(stopping, {"regressor": {"learning_rate": STUDENTS_STEP}})
    if recipe == "paper":
        return _joined(_PAPER, stopping)
    trees, networks = regressor in TREES if trees is None else trees, regressor == "mlp"
    students_own = _FOR_TREES if trees else _FOR_NETWORKS if networks else _FOR_OTHERS
    if recipe == "augmenter":
        member = AUGMENTERS.get(augmenter or "")
        own: Preset = {"gate": students_own.get("gate", {}), "counterfactual": {} if member is None else member.preset}
        if member is not None and member.asks_partition:
            own["partition"] = _PAPER["partition"]
        return _joined(_joined(_AUGMENTER, own), stopping)
    if recipe == "distilled":
        return _joined(_joined(_DISTILLED, students_own), stopping)
    more = _CERTIFIED_TREES if trees else _CERTIFIED_NETWORKS if networks else _CERTIFIED_OTHERS
    # Where no cause may move, copies of the real places teach trees nothing: they move as in `distilled`.
    fallback: Preset = {"perturbation": {"blocked": students_own["perturbation"]["default"]}}
    return _joined(_joined(_CERTIFIED, _joined(_joined(students_own, more), fallback)), stopping)


def whole_preset_of(
    recipe: RecipeName, regressor: str, goal: GoalName = "mean", *, trees: bool | None = None
) -> Preset:
    """The same with what only other recipes set, at its default: for a spec that another recipe has already filled.

    goal: what it fills in goes before the recipe's.
    """
    preset = preset_of(recipe, regressor, trees=trees)
    assert preset is not None  # noqa: S101 - the name is one of ours
    return _joined(_joined(_UNSET, preset), goal_preset(goal, regressor))


def _joined(first: Preset, second: Preset) -> Preset:
    """Both presets, section by section; the second one wins."""
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in (*first, *(second.keys() - first.keys()))}
