"""`goal`: what it fills in, who is said to have written it, and what it cannot go together with."""

import pytest
import yaml

from crda_spec.spec.build import build_plan
from crda_spec.spec.load import leaves
from crda_spec.spec.recipes import goal_preset, whole_preset_of
from crda_spec.spec.render import render, value_origins
from crda_spec.spec.yaml_tree import dotted

GRAPH = "causal: {graph: {kind: edges, edges: ['{area rooms age garage station_distance neighbourhood} -> price']}}\n"
QUANTILES = f"{GRAPH}goal: quantiles\nregressor: {{kind: xgboost, quantile: 0.9}}\n"
STUDENT = "regressor: {kind: xgboost, objective: quantile, quantile: 0.9}\n"


def flat(spec):
    return {dotted(path): value for path, value in leaves(spec.model_dump(mode="json"))}


def test_without_a_goal_nothing_changes(load):
    spec, draft = load(GRAPH)
    assert spec.goal == "mean"
    assert spec == load(f"{GRAPH}goal: mean\n")[0]
    assert "goal" not in set(draft.origins.values())


@pytest.mark.parametrize("more", [QUANTILES, QUANTILES.replace(GRAPH, ""), f"{QUANTILES}gate: {{kind: corrected_t}}\n"])
def test_quantiles_carry_noise_on_certified_moves_and_are_judged_by_their_own_loss(load, more):
    spec, draft = load(more)
    preset = goal_preset("quantiles", "xgboost", 0.9)
    filled = {dotted(path): value for path, value in leaves(preset)}
    assert {name: flat(spec)[name] for name in filled} == filled
    assert {name for name, origin in draft.origins.items() if origin == "goal"} == set(filled)
    labels = spec.counterfactual
    assert (spec.partition.basis, spec.perturbation.blocked, labels.retention, labels.watch) == (
        "certificate",
        None,
        1.0,
        "real",
    )
    assert (spec.gate.metric, spec.gate.quantile, spec.regressor.objective) == ("pinball", 0.9, "quantile")
    assert labels.teacher.kind == "committee"  # of the mean: the recipe's own
    assert all(member.quantile_level is None for member in labels.teacher.members)
    assert build_plan(spec, draft).procedure.teacher.learners  # none of which is the student
    assert not any(learner.is_students for learner in build_plan(spec, draft).procedure.teacher.learners)


def test_a_student_of_a_quantile_is_goal_enough(load):
    spec, draft = load(GRAPH + STUDENT)
    assert spec == load(QUANTILES)[0]
    assert (draft.origins["regressor.objective"], draft.origins["gate.metric"]) == ("user", "goal")


def test_what_the_user_writes_wins_over_the_goal(load):
    spec, draft = load(f"{QUANTILES}counterfactual: {{retention: 0}}\n")
    assert (spec.counterfactual.retention, draft.origins["counterfactual.retention"]) == (0.0, "user")
    assert spec.counterfactual.residual_draw == "own"  # no noise, so none to match
    spec, _ = load(f"{GRAPH}goal: simulate\ncounterfactual: {{noise: {{kind: additive}}}}\n")
    assert (spec.counterfactual.noise.kind, spec.counterfactual.retention) == ("additive", 1.0)


def test_rows_to_simulate_carry_noise_of_the_size_that_their_place_has(load):
    spec, draft = load(f"{GRAPH}goal: simulate\nregressor: {{kind: mlp}}\n")
    assert (spec.counterfactual.retention, spec.counterfactual.noise.kind) == (1.0, "location_scale")
    assert (spec.perturbation.blocked, spec.gate.metric) == (None, "mse")
    assert draft.origins["counterfactual.noise.kind"] == "goal"
    # Without noise its size means nothing, so the goal leaves it alone.
    assert load(f"{GRAPH}goal: simulate\ncounterfactual: {{retention: 0}}\n")[0].counterfactual.noise.kind == "additive"


@pytest.mark.parametrize("goal", ["quantiles", "simulate"])
def test_a_rendered_spec_says_all_and_loads_to_the_same(load, write, goal):
    more = QUANTILES if goal == "quantiles" else f"{GRAPH}goal: simulate\n"
    spec, draft = load(more)
    text = render(spec, draft)
    assert yaml.safe_load(text)["goal"] == goal
    assert load(text, head="")[0] == spec
    assert value_origins(yaml.safe_load(text), draft)["counterfactual.retention"] == "goal"


def test_a_candidate_of_another_recipe_keeps_the_goal():
    preset = whole_preset_of("distilled", "xgboost", "quantiles")
    assert (preset["counterfactual"]["retention"], preset["partition"]["basis"]) == (1.0, "certificate")
    assert whole_preset_of("distilled", "xgboost")["counterfactual"]["retention"] == 0.0


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param(
            "goal: medians\n",
            "spec.yaml:6:7: goal: unknown value 'medians'; did you mean 'mean'?",
            id="unknown",
        ),
        pytest.param(
            "goal: quantiles\nregressor: {kind: mlp}\n",
            "spec.yaml:7:19: regressor.kind: goal: quantiles needs a regressor that predicts quantiles, and 'mlp' does "
            "not; use xgboost, hist_gradient_boosting or catboost",
            id="mlp",
        ),
        pytest.param(
            "regressor: {kind: svr, objective: quantile}\n",
            "spec.yaml:6:24: regressor.objective: unknown key 'objective'; kind svr has no such key; it "
            "belongs to kind "
            "xgboost and hist_gradient_boosting and catboost",
            id="svr",
        ),
        pytest.param(
            "goal: quantiles\nregressor: {kind: xgboost}\n",
            "spec.yaml:7:12: regressor: a quantile is to be predicted, and nothing says which; add for example "
            "quantile: 0.9",
            id="which",
        ),
        pytest.param(
            "regressor: {kind: xgboost, quantile: 0.9}\n",
            "spec.yaml:6:38: regressor.quantile: the objective is the mean, so there is no quantile 0.9 to "
            "predict; add "
            "objective: quantile, or remove it",
            id="quantile-of-the-mean",
        ),
        pytest.param(
            "regressor: {kind: xgboost, objective: quantile, quantile: 1}\n",
            "spec.yaml:6:59: regressor.quantile: must be less than 1, got 1",
            id="out-of-range",
        ),
        pytest.param(
            f"goal: mean\n{STUDENT}",
            "spec.yaml:6:7: goal: goal: mean has no use for a student that predicts a quantile; write goal: quantiles, "
            "or objective: mean",
            id="mean",
        ),
        pytest.param(
            f"recipe: paper\n{STUDENT}",
            "spec.yaml: goal: recipe: paper is Algorithm 1, and goal: quantiles would change it; leave out one of them",
            id="paper",
        ),
        pytest.param(
            "goal: simulate\nrecipe: paper\n",
            "spec.yaml:6:7: goal: recipe: paper is Algorithm 1, and goal: simulate would change it; leave "
            "out one of them",
            id="simulate-paper",
        ),
        pytest.param(
            f"{STUDENT}gate: {{metric: mae, kind: wilcoxon}}\n",
            "spec.yaml:7:16: gate.metric: the models predict the 0.9-quantile, but are judged by mae; use metric: "
            "pinball, quantile: 0.9, or leave both out",
            id="judged-by-another-loss",
        ),
        pytest.param(
            f"{STUDENT}gate: {{quantile: 0.5, kind: wilcoxon}}\n",
            "spec.yaml:7:18: gate.quantile: the models predict the 0.9-quantile, but are judged by the pinball loss of "
            "the 0.5-quantile; use metric: pinball, quantile: 0.9, or leave both out",
            id="judged-by-another-quantile",
        ),
        pytest.param(
            f"{STUDENT}counterfactual: {{watch: synthetic}}\n",
            "spec.yaml:7:25: counterfactual.watch: synthetic rows are watched without their noise, and then have no "
            "quantiles; use watch: real",
            id="watch",
        ),
        pytest.param(
            f"{STUDENT}counterfactual: {{teacher: {{kind: crossfit}}}}\n",
            "spec.yaml:7:34: counterfactual.teacher.kind: a crossfit teacher is of the regressor's own "
            "kind: it predicts "
            "a quantile, and noise is what the mean leaves over; use teacher: {kind: committee}",
            id="teacher",
        ),
        pytest.param(
            f"{STUDENT}counterfactual: {{teacher: {{kind: committee, members: [{{kind: student}}, {{kind: "
            "ridge}]}}\n",
            "spec.yaml:7:55: counterfactual.teacher.members.0: the member 'student' predicts a quantile, and noise is "
            "what the mean leaves over; seat models of the mean only",
            id="member",
        ),
        pytest.param(
            "causal: {monotone: {area: increasing}, discovery: {kind: pc}}\n"
            "regressor: {kind: xgboost, objective: quantile, quantile: 0.9, monotone: true}\n",
            "spec.yaml:7:74: regressor.monotone: trees of a quantile set their leaves anew after they have grown, and "
            "then hold no signs; leave monotone out, or use objective: mean",
            id="signs",
        ),
        pytest.param(
            f"{STUDENT}tune: {{kind: none, augmentation: {{kind: tpe, trials: 2, knobs: {{teacher: [{{kind: "
            "committee}, {kind: bagged}]}}}\n",
            "spec.yaml:7:101: tune.augmentation.knobs.teacher.1.kind: a bagged teacher is of the regressor's own kind: "
            "it "
            "predicts a quantile, and noise is what the mean leaves over; use teacher: {kind: committee}",
            id="searched-teacher",
        ),
    ],
)
def test_contradictions_are_named_with_their_place(complaint, more, expected):
    told = complaint(more).splitlines()
    assert told[0] == expected
    assert not any(line.endswith("problems") for line in told)
