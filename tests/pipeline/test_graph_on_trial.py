"""The declared graph inside a run: refuted graphs, effects that follow, and how much a hidden cause could spoil."""

import numpy as np
import pytest
from pipeline_parts import run_spec

from crda_spec.records import Followed
from crda_spec.report.words.causal import assumption_sentence, held_sentence, reason_sentence
from crda_spec.report.words.gate import verdict_sentence

CHAIN = """
version: 1
recipe: paper
name: chain
seed: 3
dataset:
  source:
    kind: synthetic
    rows: 400
    equations:
      age: normal(50, 10)
      dose: normal(10, 3)
      blood: 2 * dose + 0.2 * age + normal(0, 1)
      recovery: 3 * blood - dose + 0.5 * age + normal(0, 2)
  target: recovery
causal:
  graph:
    kind: edges
    edges: [dose -> blood, EXTRA "{dose blood age} -> recovery"]
partition: {perturb: [dose]}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 6}
"""
RIGHT = CHAIN.replace("EXTRA", "age -> blood,")
WRONG = CHAIN.replace("EXTRA", "")  # says that age and blood have nothing to do with each other


def test_a_graph_that_the_rows_refute_ends_the_run_before_anything_is_made(tmp_path):
    result = run_spec(tmp_path, WRONG)
    found, verdict = result.falsification, result.verdict
    assert (found.outcome, found.on_falsified, found.forbids) == ("falsified", "abstain", True)
    assert {(one.first, one.second) for one in found.statements if one.violated} == {("age", "blood")}
    assert found.suggested == ("age -> blood",)
    assert (verdict.decision, verdict.reason, verdict.folds) == ("abstained", "graph_falsified", ())
    assert verdict_sentence(verdict) == (
        "The data contradict the declared graph, so nothing it promises was used and nothing was augmented: "
        "use the plain model."
    )
    assert (result.counterfactuals, result.sensitivity, result.score.augmented) == (None, None, None)
    assert result.cost.fits == 1
    # the certificate is still what the graph says, so that a reader sees what was refused
    assert result.certificate.perturbed == ("dose",)


@pytest.mark.parametrize("rule", ["warn", "ignore"])
def test_the_spec_may_go_on_with_a_refuted_graph(tmp_path, rule):
    result = run_spec(tmp_path, WRONG, f"falsify.on_falsified={rule}")
    found = result.falsification
    assert (found.outcome, found.on_falsified, found.forbids) == ("falsified", rule, False)
    assert result.verdict.reason != "graph_falsified"
    assert len(result.counterfactuals) == 400


def test_a_right_graph_stands_and_no_graph_is_not_tested(tmp_path):
    assert run_spec(tmp_path, RIGHT).falsification.outcome == "not_falsified"
    lines = RIGHT.splitlines()
    start = lines.index("causal:")
    no_graph = "\n".join([*lines[:start], *lines[start + 4 :]])
    assert run_spec(tmp_path, no_graph).falsification is None


def test_the_test_of_the_graph_repeats_itself(tmp_path):
    assert run_spec(tmp_path, RIGHT).falsification == run_spec(tmp_path, RIGHT).falsification


def test_without_propagation_effects_stay(tmp_path):
    result = run_spec(tmp_path, RIGHT)
    action, names = result.counterfactuals.action, result.split.train.names
    changed = (action.x != result.split.train.x[action.source]).any(axis=0)
    assert [name for name, moved in zip(names, changed, strict=True) if moved] == ["dose"]
    assert (result.certificate.propagated, action.propagated) == ((), {})


def test_with_propagation_effects_follow_and_labels_hit_the_total_effect(tmp_path):
    result = run_spec(tmp_path, RIGHT, "perturbation.propagate=true")
    certificate, action, train = result.certificate, result.counterfactuals.action, result.split.train
    assert (certificate.perturbed, certificate.propagated, certificate.kept) == (("dose",), ("blood",), ("age",))
    assert {one.name: (one.status, held_sentence(one.held)) for one in certificate.features} == {
        "age": ("cause", "it may move, but partition.perturb does not name it"),
        "dose": ("cause", ""),
        "blood": ("cause", "a moved feature causes it, and it follows by its fitted equation"),
    }
    assert action.propagated == {"blood": Followed(kind="additive", parents=("age", "dose"))}
    before = train.x[action.source]
    dose, blood = (action.x - before)[:, train.positions(["dose", "blood"])].T
    np.testing.assert_allclose(blood, 2 * dose, atol=0.9)
    label = result.counterfactuals.y - train.y[action.source]
    slope = float(dose @ label / (dose @ dose))
    assert slope == pytest.approx(3 * 2 - 1, rel=0.05)  # through blood, and directly
    assert assumption_sentence(certificate.assumes[-1]).startswith(
        "each feature that follows is a function of its causes"
    )


def test_of_a_cause_and_its_effect_the_cause_moves_and_the_effect_follows(tmp_path):
    """Both would be ranked into X_P; an effect that ignored its cause would be no effect of it."""
    free = RIGHT.replace("perturb: [dose]", "max_features: 3")
    result = run_spec(tmp_path, free, "perturbation.propagate=true")
    assert (result.certificate.perturbed, result.certificate.propagated) == (("age", "dose"), ("blood",))
    both = run_spec(tmp_path, RIGHT.replace("perturb: [dose]", "perturb: [dose, blood]"), "perturbation.propagate=true")
    assert (both.certificate.perturbed, both.certificate.propagated) == (("dose", "blood"), ())


def test_what_propagation_forbids_is_chosen_around(tmp_path):
    """An effect that is held fixed cannot follow; where nothing was asked for by name, its causes just stay."""
    text = RIGHT.replace("perturb: [dose]", "max_features: 2")
    result = run_spec(tmp_path, text, "perturbation.propagate=true", "partition.keep=[blood]")
    status = {one.name: (one.status, reason_sentence(one.reason)) for one in result.certificate.features}
    assert status["dose"][0] == "blocked"
    assert "blood" in status["dose"][1]
    assert result.certificate.perturbed == ()  # age would move blood too, which the user holds fixed


def test_the_gain_has_a_sensitivity_and_no_gain_has_none(tmp_path):
    result = run_spec(tmp_path, RIGHT)
    gain = float(np.mean([fold.plain - fold.augmented for fold in result.verdict.folds]))
    assert gain > 0
    assert result.sensitivity.gain == gain
    assert [one.name for one in result.sensitivity.features] == ["dose"]
    assert 0 < result.sensitivity.features[0].robustness < 1
    other = run_spec(tmp_path, RIGHT, "gate.metric=mae")
    assert other.sensitivity is None  # a gain in another unit than the squared error
