"""What is searched by default lies around the recipe's own values, whatever the regressor."""

import pytest

from crda_spec.regressors import REGRESSORS
from crda_spec.spec.build import build_plan
from crda_spec.spec.recipes import preset_of
from crda_spec.spec.tune import usual_knobs

SEARCH = "tune: {kind: none, augmentation: {kind: tpe, trials: 1, folds: 2}}\n"
KINDS = sorted(REGRESSORS)


@pytest.mark.parametrize("recipe", ["paper", "distilled", "certified"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_search_starts_from_the_recipe_itself(load, recipe, kind):
    plan = build_plan(*load(f"recipe: {recipe}\nregressor: {{kind: {kind}}}\n{SEARCH}"))
    space = plan.procedure.tuner.space
    declared = space.declared(plan.procedure)
    assert declared is not None, "one of the recipe's values is not among those searched"
    assert space.applied(plan.procedure, declared) == plan.procedure
    assert ("weight" in declared) == (recipe != "paper" and REGRESSORS[kind].takes_weights)


@pytest.mark.parametrize("recipe", ["distilled", "certified"])
@pytest.mark.parametrize("kind", [*KINDS, "plugin"])
def test_our_knobs_hold_the_values_of_our_recipe_and_a_choice(kind, recipe):
    knobs, preset = usual_knobs(recipe, kind), preset_of(recipe, kind)
    for name in ("factor", "weight", "retention"):
        values = getattr(knobs, name)
        assert preset["counterfactual"][name] in values
        assert list(values) == sorted(set(values))
        assert len(values) > 1
    for chosen, own in (
        (knobs.teacher, preset["counterfactual"]["teacher"]),
        (knobs.policy, preset["perturbation"]["default"]),
    ):
        if chosen is None:  # only a hedged committee tells whether the rows bear the graph out
            assert recipe == "certified"
            continue
        dumped = [one.model_dump() for one in chosen]
        assert any(own.items() <= one.items() for one in dumped)
        assert len(chosen) == len({one.model_dump_json() for one in chosen}) > 1
    assert knobs.max_features is None  # no number says "any feature"
    assert "max_features" not in preset["partition"]
