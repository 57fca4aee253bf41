"""The declared graph inside a run: refuted graphs, effects that follow, and how much a hidden cause could spoil."""

from dataclasses import replace

import numpy as np
import pytest
from pipeline_parts import Notes, run_spec

from crda_spec.gate.cross_validate import divisions, run_fold
from crda_spec.pipeline import run
from crda_spec.records import ClassChange, Followed, Repair
from crda_spec.report.words.causal import (
    assumption_sentence,
    held_sentence,
    movement_sentence,
    reason_sentence,
    repair_sentence,
)
from crda_spec.report.words.gate import turning_sentences, verdict_sentence
from crda_spec.scm.falsify import Correction, Falsify
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

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
    result = run_spec(tmp_path, WRONG, "falsify.on_falsified=abstain")
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
    assert result.certificate.repair is None


def test_a_refuted_graph_is_certified_again_and_the_run_goes_on_where_no_cause_is_lost(tmp_path):
    result = run_spec(tmp_path, WRONG)
    found, repair = result.falsification, result.certificate.repair
    assert (found.outcome, found.on_falsified, found.forbids) == ("falsified", "recertify", False)
    assert repair == Repair(edges=("age -> blood",), explained=True, changed=(), lost=(), stops=False)
    assert ("age", "blood", "->") in result.certificate.graph.edges
    assert len(result.counterfactuals) == 400
    assert len(result.verdict.folds) == 6
    right = run_spec(tmp_path, RIGHT)
    assert result.verdict.folds == right.verdict.folds  # the very run of the graph that has the arrow
    assert repair_sentence(repair) == (
        "Certified again with `age -> blood` added: no feature changes its class. The run went on by these classes: "
        "read its numbers with care, and correct the graph."
    )


# The hidden cause of w and y reaches dose only if dose acts on w, which the graph denies and the rows show.
COLLIDER = """
version: 1
recipe: paper
name: collider
seed: 3
dataset:
  source:
    kind: synthetic
    rows: 300
    equations:
      u: normal(0, 1)
      dose: normal(10, 3)
      w: dose + 2 * u + normal(0, 1)
      y: 2 * dose + 3 * u + normal(0, 1)
  target: y
  features: [dose, w]
causal:
  graph: {kind: edges, edges: [dose -> y, w <-> y]}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 6}
execution: {jobs: 1}
"""


def test_a_cause_that_would_carry_noise_and_loses_its_class_ends_the_run(tmp_path):
    result = run_spec(tmp_path, COLLIDER)
    assert (result.verdict.reason, result.verdict.folds, result.counterfactuals) == ("graph_falsified", (), None)
    lost = ClassChange(name="dose", before="cause", after="blocked", by=("dose -> w",))
    repair = result.certificate.repair
    assert repair == Repair(edges=("dose -> w",), explained=True, changed=(lost,), lost=("dose",), stops=True)
    assert repair_sentence(repair) == (
        "Certified again with `dose -> w` added: dose is blocked instead of cause (by `dose -> w`). New rows were to "
        "carry noise and dose would have moved with the noise, which the graph no longer allows: nothing was augmented."
    )
    assert turning_sentences(result)[-1] == (
        "Or rows that carry no noise (counterfactual.retention: 0), which the contradiction does not stop."
    )


def test_a_lost_cause_that_carries_no_noise_stays_and_frees_no_other_feature(tmp_path):
    quiet = ("counterfactual={retention: 0, teacher: {kind: crossfit}}",)
    result = run_spec(tmp_path, COLLIDER, *quiet)
    assert (result.verdict.reason, result.certificate.stops) == ("no_perturbable_features", False)
    on_support = run_spec(tmp_path, COLLIDER, *quiet, "perturbation.blocked={kind: interpolate}")
    moves = {one.name: (one.moves, one.basis) for one in on_support.movements}
    assert moves == {"dose": ("moves", "support"), "w": ("stays", None)}  # the graph never let w move
    assert (
        movement_sentence(on_support.movements[1]) == "stays: it is not certified, and new rows keep to the certificate"
    )


def test_what_the_edges_do_not_explain_stops_only_rows_that_carry_noise(tmp_path, monkeypatch):
    correct = Falsify.correct
    monkeypatch.setattr(Falsify, "correct", lambda *a, **k: replace(correct(*a, **k), explained=False))
    result = run_spec(tmp_path, WRONG)
    assert (result.verdict.reason, result.counterfactuals) == ("graph_falsified", None)
    assert repair_sentence(result.certificate.repair).endswith(
        "New rows were to carry noise and these edges do not explain all that the data contradict: "
        "nothing was augmented."
    )
    without = run_spec(tmp_path, WRONG, "counterfactual={retention: 0, teacher: {kind: crossfit}}")
    assert len(without.verdict.folds) == 6
    assert not without.certificate.stops


# Of c's effects e is called irrelevant, and it acts on y.
HEDGED = """
version: 1
recipe: certified
name: hedged
seed: 5
dataset:
  source:
    kind: synthetic
    rows: 200
    equations:
      c: normal(0, 1)
      e: c + normal(0, 1)
      f: c + normal(0, 1)
      y: 2 * c + 2 * e + normal(0, 1)
  target: y
causal: {graph: {kind: edges, edges: ["c -> {e f y}"]}}
regressor: {kind: ridge}
counterfactual:
  teacher: {kind: committee, folds: gate, hedge: true, members: [{kind: ridge, alpha: 2}, {kind: linear}]}
  factor: 2
gate: {kind: wilcoxon, folds: 6, restarts: 1}
execution: {jobs: 1}
"""


def test_an_irrelevant_feature_that_the_rows_tie_to_the_target_joins_the_boundary(tmp_path):
    result = run_spec(tmp_path, HEDGED)
    assert result.certificate.irrelevant == ("f",)
    assert [(one.name, one.after) for one in result.certificate.repair.changed] == [("e", "cause")]
    assert {member.columns for member in result.teacher.members} <= {None, (0, 1)}
    assert result.teacher.trust.passed
    assert result.counterfactuals.action.moved == ("c", "e", "f")


def test_every_fold_asks_its_own_rows_and_no_other(tmp_path, monkeypatch):
    asked, correct = [], Falsify.correct

    def noted(self, graph, train, **more):
        asked.append(tuple(train.row_ids))
        return correct(self, graph, train, **more)

    monkeypatch.setattr(Falsify, "correct", noted)
    result = run_spec(tmp_path, HEDGED)
    train, fold = result.split.train, result.gate_fold
    inside = [tuple(train.row_ids[fold != number]) for number in range(1, 7)]
    assert asked == [tuple(train.row_ids), *inside]  # each once


@pytest.mark.parametrize("whole", [True, False])
def test_a_fold_whose_rows_name_another_boundary_shares_no_model_of_it(tmp_path, monkeypatch, whole):
    """Its numbers are those of a fold that is handed no model at all."""
    correct = Falsify.correct

    def other(self, graph, train, **more):
        return correct(self, graph, train, **more) if (len(train) == 160) == whole else Correction((), explained=True)

    monkeypatch.setattr(Falsify, "correct", other)
    (tmp_path / "spec.yaml").write_text(HEDGED)
    plan = build_plan(*load_spec(tmp_path / "spec.yaml"))
    result = run(plan, progress=Notes())
    train = result.split.train
    assert len(train) == 160
    (division,) = divisions(plan.gate, train, seed=plan.seed)
    for seen in result.verdict.folds:
        assert run_fold(plan.procedure, train, division, seen.fold, metric=plan.gate.loss).result == seen


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


def test_certified_without_a_graph_takes_what_the_filters_let_through_for_causes(tmp_path):
    """And no feature for irrelevant: not to find a tie is no proof that there is none."""
    start, end = HEDGED.index("causal:"), HEDGED.index("regressor:")
    result = run_spec(tmp_path, HEDGED[:start] + HEDGED[end:])
    certificate = result.certificate
    assert (certificate.basis, certificate.irrelevant, certificate.repair) == ("discovered", (), None)
    assert {one.status for one in certificate.features if one.perturbable} == {"cause"}
    assert (result.teacher.trust, result.counterfactuals.action.moved) == (None, certificate.perturbed)
    assert {one.basis for one in result.movements if one.moves == "moves"} == {"certificate"}
