"""Whole runs: every ending has a reason, and the number of workers changes no byte."""

import hashlib
import json
import os
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from pipeline_parts import Notes, run_spec

from crda_spec.audit.canonical import canonical_json
from crda_spec.audit.models import model_files
from crda_spec.audit.record import make_record
from crda_spec.audit.tables import augmented_parquet
from crda_spec.counterfactual.partition import Partitioner
from crda_spec.errors import SpecError
from crda_spec.pipeline import run
from crda_spec.records import Table
from crda_spec.regressors.metrics import MSE
from crda_spec.report.words.causal import movement_sentence, reason_sentence
from crda_spec.report.words.gate import verdict_sentence
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

BIDDING = """
version: 1
recipe: paper
name: small
seed: 4
dataset:
  source: {kind: synthetic, world: bidding_war, rows: 120}
  target: price
  split: {kind: fraction, test: 0.25}
causal:
  graph:
    kind: edges
    edges:
      - neighbourhood -> {area age buyer_urgency}
      - area -> rooms
      - "{neighbourhood area rooms age garage station_distance buyer_urgency} -> price"
    latent: [buyer_urgency]
regressor: {kind: REGRESSOR}
counterfactual: {factor: 1.5, weight: 0.5}
gate: {kind: wilcoxon, folds: 6}
"""


def bidding(regressor):
    return BIDDING.replace("REGRESSOR", regressor)


def everything(result):
    """All bytes that a run would leave, but for its clock."""
    record = make_record(result, spec={"name": "small"}, spec_yaml="", origins={}, seed=4, graph={})
    return canonical_json(record), augmented_parquet(result), model_files(result.model)


@pytest.mark.parametrize(
    "regressor",
    [
        "xgboost, n_estimators: 60",
        "mlp, max_iter: 10",
        "hist_gradient_boosting, max_iter: 20",
        "random_forest, n_estimators: 10",
    ],
)
def test_one_worker_and_two_leave_the_same_bytes(tmp_path, regressor):
    one, two, auto = (run_spec(tmp_path, bidding(regressor), f"execution.jobs={jobs}") for jobs in (1, 2, "auto"))
    assert everything(one) == everything(two) == everything(auto)
    assert one.verdict == two.verdict == auto.verdict
    assert one.cost.fits == 2 + 2 * 6


def test_a_run_from_top_to_bottom(tmp_path):
    notes = Notes()
    result = run_spec(tmp_path, bidding("ridge"), "execution.jobs=1", notes=notes)
    assert notes.stages == [
        ("read the data", None),
        ("test the graph", None),
        ("abduct, partition, act, predict", None),
        ("gate", 6),
        ("refit and score", None),
        ("calibrate intervals", None),
    ]
    assert notes.steps == 6
    assert list(result.timings) == [name for name, _ in notes.stages]
    assert len(result.split.train) == 90
    assert len(result.split.test) == 30
    assert result.certificate.perturbed == ("area", "rooms")  # two at most, as in the paper
    assert len(result.counterfactuals) == 135
    assert result.counterfactuals.weight == 0.5
    assert [fold.fold for fold in result.verdict.folds] == [1, 2, 3, 4, 5, 6]
    assert sum(fold.held_out_rows for fold in result.verdict.folds) == 90
    assert {fold.synthetic_rows for fold in result.verdict.folds} == {112}
    assert result.gate_fold.min() == 1
    assert np.bincount(result.gate_fold)[1:].tolist() == [fold.held_out_rows for fold in result.verdict.folds]
    assert (result.teacher.kind, result.watched.tolist()) == ("single", [])  # ridge does not stop early
    assert (result.data.test_source, result.data.test_sha256) == (None, None)
    assert result.verdict.fits == 12
    assert result.cost.fits == 14
    assert 0 < result.cost.seconds < sum(result.timings.values())
    assert result.score.rows == 30
    assert result.settings == {"kind": "ridge", "alpha": 1.0}


def test_the_gate_chooses_the_model(tmp_path):
    """Whatever the gate says, both models are scored, and the final one is the one it chose."""
    for seed in range(4):
        result = run_spec(tmp_path, bidding("ridge"), f"seed={seed}", "execution.jobs=1")
        found = MSE.loss(result.split.test.errors(result.model), spread=1.0)
        assert found == (result.score.augmented if result.verdict.accepted else result.score.plain)
        assert result.score.plain != result.score.augmented


def test_a_graph_that_blocks_everything_ends_in_abstention(tmp_path):
    everything_confounded = '"{neighbourhood area rooms age garage station_distance} <-> price"'
    text = bidding("ridge").replace("- area -> rooms", f"- area -> rooms\n      - {everything_confounded}")
    notes = Notes()
    result = run_spec(tmp_path, text, notes=notes)
    verdict = result.verdict
    assert (verdict.decision, verdict.reason, verdict.accepted) == ("abstained", "no_perturbable_features", False)
    assert (verdict.fits, verdict.folds, result.cost.fits) == (0, (), 1)
    assert result.counterfactuals is None
    assert result.certificate.perturbed == ()
    assert (result.score.augmented, result.score.interval_percent) == (None, None)
    assert MSE.loss(result.split.test.errors(result.model), spread=1.0) == result.score.plain
    assert "gate" not in dict(notes.stages)
    record = everything(result)[0]
    assert '"final_model": "plain"' in record
    assert '"counterfactuals": null' in record


def test_when_the_support_guard_drops_every_row_the_verdict_says_so(tmp_path):
    far = "perturbation={default: {kind: shift, amount: 1000000}, support: {kind: mahalanobis}}"
    result = run_spec(tmp_path, bidding("ridge"), far, "dataset.source.rows=60", "falsify.on_falsified=ignore")
    assert (result.verdict.decision, result.verdict.reason) == ("abstained", "off_support")
    assert verdict_sentence(result.verdict).startswith(
        "Every new row lay off the data or broke a rule, so none was left"
    )
    assert result.counterfactuals is None
    assert "stays: no row was made" in {movement_sentence(movement) for movement in result.movements}


def test_without_noise_the_record_names_what_moved_uncertified(tmp_path):
    nothing = (
        "counterfactual.retention=0",
        "partition={basis: support, perturb: [area, station_distance], joint: null}",
    )
    hidden = bidding("ridge").replace("- area -> rooms", '- area -> rooms\n      - "area <-> price"')
    result = run_spec(tmp_path, hidden, *nothing, "dataset.source.rows=60", "falsify.on_falsified=ignore")
    made = json.loads(everything(result)[0])
    assert made["counterfactuals"]["basis"] == "support"
    assert made["counterfactuals"]["moved"] == ["area", "station_distance"]
    assert made["counterfactuals"]["uncertified"] == ["area"]
    (area,) = [one for one in made["movements"] if one["name"] == "area"]
    assert (area["moves"], area["basis"], area["certified"]) == ("moves", "support", False)


def assert_abstains_for_want_of_anything_to_screen(result):
    verdict = result.verdict
    assert (verdict.decision, verdict.reason, verdict.folds) == ("abstained", "no_perturbable_features", ())
    assert verdict_sentence(verdict) == "No feature may be perturbed, so nothing was augmented: use the plain model."
    assert {(one.status, reason_sentence(one.reason)) for one in result.certificate.features} == {
        (
            "blocked",
            "a linear fit leaves residuals uncorrelated with every feature by construction: there is nothing to screen",
        )
    }
    evidence = [value for verdict in result.certificate.features for value in verdict.evidence.values()]
    assert np.isfinite(evidence).all()
    assert (result.cost.fits, result.counterfactuals, result.score.augmented) == (1, None, None)
    assert result.gate_fold.tolist() == [0] * len(result.split.train)


def test_linear_without_a_graph_abstains_with_a_reason(tmp_path):
    """In-sample residuals of least squares are orthogonal to every feature; published code breaks on the matrix."""
    text = bidding("linear")
    start, end = text.index("causal:"), text.index("regressor:")
    for changes in ([], ["partition.max_features=6"], ["dataset.source.rows=24", "gate.folds=5"]):
        result = run_spec(tmp_path, text[:start] + text[end:], *changes, "execution.jobs=1")
        assert result.certificate.basis == "discovered"
        assert_abstains_for_want_of_anything_to_screen(result)


def test_linear_with_a_graph_has_something_to_go_by(tmp_path):
    result = run_spec(tmp_path, bidding("linear"), "execution.jobs=1")
    assert result.certificate.perturbed == ("area", "rooms")
    assert result.verdict.decision in ("accepted", "rejected", "inconclusive")


@pytest.mark.skipif("CRDA_DATA_DIR" not in os.environ, reason="needs the benchmark tables in CRDA_DATA_DIR")
def test_linear_without_a_graph_abstains_with_a_reason_on_concrete_strength(tmp_path):
    text = """
version: 1
recipe: paper
name: concrete
dataset:
  source: {kind: benchmark, name: concrete_strength}
  target: Concrete compressive strength
  duplicates: {kind: keep}
regressor: {kind: linear}
"""
    assert_abstains_for_want_of_anything_to_screen(run_spec(tmp_path, text, "execution.jobs=1"))


def test_so_few_new_rows_that_there_are_none(tmp_path):
    with pytest.raises(SpecError) as caught:
        run_spec(tmp_path, bidding("ridge"), "counterfactual.factor=0.001", "execution.jobs=1")
    assert [(one.code, one.path) for one in caught.value.complaints] == [("no-new-rows", "counterfactual.factor")]


@dataclass(frozen=True)
class Remembering:
    """A partitioner that remembers the rows of every fold it was asked about."""

    real: Partitioner
    asked: list[Table] = field(default_factory=list)

    def on(self, train, known=None):
        return self

    def partition(self, train, residuals, *, seed, index):
        self.asked.append(train)
        return self.real.partition(train, residuals, seed=seed, index=index)

    def boundary(self, features):
        return self.real.boundary(features)


GROUPED = """
version: 1
recipe: paper
name: groups
dataset: {source: {kind: csv, path: rows.csv}, target: y, groups: patient}
causal: {graph: {kind: edges, edges: ["{a b} -> y"]}}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 6}
execution: {jobs: 1}
"""


def test_groups_never_straddle(tmp_path):
    """Patients with one to eight rows each: neither the test set nor a fold tears one apart."""
    rng = np.random.default_rng(0)
    patients = rng.permutation(np.repeat(np.arange(24), rng.integers(1, 9, 24)))
    values = rng.normal(size=(len(patients), 2))
    rows = [f"p{patient},{a},{b},{a + b}" for patient, (a, b) in zip(patients, values, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["patient,a,b,y", *rows]) + "\n")
    (tmp_path / "spec.yaml").write_text(GROUPED)
    plan = build_plan(*load_spec(tmp_path / "spec.yaml"))
    remembering = Remembering(plan.procedure.partitioner)
    result = run(replace(plan, procedure=replace(plan.procedure, partitioner=remembering)), progress=Notes())
    train = result.split.train
    assert not set(train.groups) & set(result.split.test.groups)
    whole, *folds = remembering.asked
    assert whole.row_ids.tolist() == train.row_ids.tolist()
    held_out = []
    for fold in folds:
        held = ~np.isin(train.row_ids, fold.row_ids)
        assert not set(train.groups[held]) & set(fold.groups)
        held_out += train.row_ids[held].tolist()
    assert len(folds) == 6
    assert sorted(held_out) == train.row_ids.tolist()


def test_a_second_source_is_reported_with_its_bytes(tmp_path):
    rng = np.random.default_rng(0)
    for name, rows in (("rows.csv", 60), ("later.csv", 25)):
        values = rng.normal(size=(rows, 2))
        lines = ["a,b,y", *(f"{a},{b},{a + b + rng.normal()}" for a, b in values)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    text = GROUPED.replace(", groups: patient", ", split: {kind: source, source: {kind: csv, path: later.csv}}")
    result = run_spec(tmp_path, text)
    assert (result.data.source, result.data.test_source) == ("rows.csv", "later.csv")
    for digest, name in ((result.data.sha256, "rows.csv"), (result.data.test_sha256, "later.csv")):
        assert digest == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert (len(result.split.train), len(result.split.test)) == (60, 25)


def test_the_rows_that_early_stopping_watches_are_told(tmp_path):
    result = run_spec(tmp_path, bidding("mlp, max_iter: 3, early_stopping: {validation: 0.2}"), "execution.jobs=1")
    assert len(result.watched) == 18
    assert not result.watched.flags.writeable
    assert sorted(set(result.watched.tolist())) == result.watched.tolist()


def test_another_seed_is_another_run(tmp_path):
    one, two = (run_spec(tmp_path, bidding("ridge"), f"seed={seed}", "execution.jobs=1") for seed in (1, 2))
    assert one.split.train.row_ids.tolist() != two.split.train.row_ids.tolist()
    assert one.verdict.p_value is not None
    assert [fold.plain for fold in one.verdict.folds] != [fold.plain for fold in two.verdict.folds]
