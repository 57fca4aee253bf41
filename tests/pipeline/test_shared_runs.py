"""Whole runs in which teacher and gate share models: same bytes for any number of workers, and an honest count."""

import json

import numpy as np
import pytest
from pipeline_parts import Notes, run_spec

from crda_spec.audit.canonical import canonical_json
from crda_spec.audit.models import model_files
from crda_spec.audit.record import make_record
from crda_spec.audit.tables import augmented_parquet
from crda_spec.pipeline import estimate
from crda_spec.report.words.run import fits_words
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

SPEC = """
version: 1
name: shared
seed: 4
recipe: distilled
dataset: {source: {kind: synthetic, world: home_energy, rows: 150}, target: energy, split: {kind: fraction, test: 0.2}}
causal: {graph: {kind: edges, edges: ["{FEATURES} -> energy"]}}
falsify: {on_falsified: ignore}
regressor: {kind: REGRESSOR}
counterfactual: {factor: 2, teacher: TEACHER}
gate: {kind: wilcoxon, folds: 5, stop: never, restarts: 1}
execution: {jobs: 1}
"""


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    """The world's own columns."""
    folder = tmp_path_factory.mktemp("columns")
    (folder / "spec.yaml").write_text(SPEC[: SPEC.index("causal:")])
    split, _ = build_plan(*load_spec(folder / "spec.yaml")).load()
    return " ".join(split.train.names)


@pytest.fixture
def run(tmp_path, features):
    def run(*overrides, regressor="ridge", teacher="{kind: crossfit}", notes=None):
        text = SPEC.replace("FEATURES", features).replace("REGRESSOR", regressor).replace("TEACHER", teacher)
        return run_spec(tmp_path, text, *overrides, notes=notes)

    return run


def everything(result):
    """All bytes that a run would leave, the teacher's members among them."""
    record = make_record(result, spec={"name": "shared"}, spec_yaml="", origins={}, seed=4, graph={})
    models = [model_files(one) for one in (result.model, *result.teacher.members)]
    return canonical_json(record), augmented_parquet(result), models


FAMILIES = (
    "{kind: committee, members: [{kind: student}, {kind: mlp, max_iter: 5}, {kind: xgboost, n_estimators: 8}, "
    "{kind: svr}, {kind: knn}]}"
)


@pytest.mark.parametrize(
    ("regressor", "teacher"),
    [
        pytest.param("xgboost, n_estimators: 20", "{kind: crossfit, repeats: 2}", id="xgboost-twice"),
        pytest.param("random_forest, n_estimators: 5", FAMILIES, id="families"),
    ],
)
def test_one_worker_and_two_leave_the_same_bytes(run, regressor, teacher):
    one, two = (run(f"execution.jobs={jobs}", regressor=regressor, teacher=teacher) for jobs in (1, 2))
    assert everything(one) == everything(two)
    assert one.verdict.folds == two.verdict.folds
    assert any(fold.perturbed for fold in one.verdict.folds)


def test_a_shared_run_from_top_to_bottom(run):
    notes = Notes()
    result = run(notes=notes)
    assert notes.stages == [
        ("read the data", None),
        ("test the graph", None),
        ("fit the fold models", 6),
        ("abduct, partition, act, predict", None),
        ("gate", 10 + 5),
        ("refit and score", None),
        ("calibrate intervals", None),
    ]
    assert notes.steps == 6 + 15
    assert [fold.perturbed != () for fold in result.verdict.folds] == [True] * 5
    # 1 plain and 1 augmented on all rows; per fold 1 plain, which is the teacher's too, and 1 augmented; 10 pairs
    assert (result.cost.fits, result.cost.reused) == (2 + 10 + 10, 5 + 10)
    assert fits_words(result.cost) == "22 fits instead of 37"
    assert (result.verdict.fits, result.verdict.reused_fits) == (5 + 10 + 5, 10)
    assert 0 < result.cost.seconds < sum(result.timings.values())
    teacher = result.teacher
    assert teacher.names == tuple(f"ridge without fold {number}" for number in range(1, 6))
    train = result.split.train
    for number, member in enumerate(teacher.members, start=1):
        held = result.gate_fold == number
        assert teacher.out_of_fold[held].tobytes() == member.predict(train.x[held]).tobytes()
        plain = float(np.mean((train.y[held] - member.predict(train.x[held])) ** 2))
        assert plain == result.verdict.folds[number - 1].plain  # it is the gate's plain model of that fold


@pytest.mark.parametrize(
    ("overrides", "regressor", "teacher", "fits", "unshared"),
    [
        pytest.param(["gate.folds=10"], "ridge", "{kind: crossfit}", 67, 122, id="distilled"),
        pytest.param(["gate.folds=10", "gate.restarts=2"], "ridge", "{kind: crossfit}", 87, 142, id="two-starts"),
        pytest.param(["gate.folds=10"], "ridge", "{kind: crossfit, folds: 5}", 77, 77, id="own-folds"),
        pytest.param(["recipe=paper", "gate.folds=10"], "ridge", "{kind: single}", 22, 22, id="paper"),
        pytest.param([], "ridge", "{kind: bagged, members: 3}", 30, 30, id="bagged"),
        pytest.param(
            [], "ridge", "{kind: committee, members: [{kind: student}, {kind: knn}, {kind: svr}]}", 52, 87, id="three"
        ),
        pytest.param([], "ridge", "{kind: committee, members: [{kind: knn}, {kind: svr}]}", 42, 62, id="no-student"),
        pytest.param(
            [], "ridge", "{kind: committee, members: [{kind: ridge}, {kind: svr}]}", 37, 62, id="student-written-out"
        ),
        pytest.param(["tune={kind: randomized, trials: 2, folds: 2}"], "ridge", "{kind: crossfit}", 61, 61, id="tuned"),
        pytest.param(
            ["tune={kind: randomized, trials: 2, folds: 2}", "gate.restarts=3"],
            "ridge",
            "{kind: crossfit}",
            61 + 20,
            61 + 20,
            id="tuned, three starts",
        ),
        pytest.param(
            ["recipe=paper", "partition.residuals=out_of_fold"], "ridge", "{kind: single}", 22, 37, id="screened"
        ),
    ],
)
def test_the_plan_foresees_the_fits(run, tmp_path, overrides, regressor, teacher, fits, unshared):
    result = run(*overrides, regressor=regressor, teacher=teacher)
    cost = estimate(build_plan(*load_spec(tmp_path / "spec.yaml", overrides=overrides)))
    idle = sum(not fold.perturbed for fold in result.verdict.folds)
    assert (cost.fits_at_most, cost.fits_unshared) == (fits, unshared)
    assert (result.cost.fits, result.cost.fits + result.cost.reused) == (fits - idle, unshared - idle)


def test_an_abstaining_run_fits_no_pair(run, features):
    notes = Notes()
    result = run(f"partition.keep=[{', '.join(features.split())}]", notes=notes)
    assert result.verdict.decision == "abstained"
    assert (result.cost.fits, result.cost.reused, result.verdict.fits) == (1 + 5, 0, 0)
    assert "gate" not in dict(notes.stages)
    assert set(result.gate_fold.tolist()) == {0}


def test_the_committees_weights_are_in_the_record(run):
    result = run(teacher="{kind: committee, members: [{kind: student}, {kind: knn}]}")
    teacher = json.loads(everything(result)[0])["teacher"]
    assert teacher["kind"] == "committee"
    assert [family["name"] for family in teacher["families"]] == ["ridge", "knn"]
    assert [family["fitted"] for family in teacher["families"]] == [5, 5]
    assert sum(family["weight"] for family in teacher["families"]) == pytest.approx(1.0)
    assert all(family["error"] > 0 for family in teacher["families"])
    assert len(teacher["members"]) == len(teacher["weights"]) == len(result.teacher.members)
    assert sum(teacher["weights"]) == pytest.approx(1.0)


def test_a_student_takes_the_seat_of_the_member_with_its_settings(tmp_path):
    """The network of the default committee averages its weights and the student's does not: they are not one."""
    for regressor, kinds in (
        ("xgboost", ["student", "mlp", "gaussian_process"]),
        ("gaussian_process", ["xgboost", "mlp", "student"]),
        ("knn", ["xgboost", "mlp", "gaussian_process"]),
        ("mlp", ["xgboost", "mlp", "gaussian_process"]),
    ):
        text = SPEC.replace("REGRESSOR", regressor).replace("TEACHER", "{kind: committee}")
        (tmp_path / "spec.yaml").write_text(text[: text.index("causal:")] + text[text.index("regressor:") :])
        rule = build_plan(*load_spec(tmp_path / "spec.yaml")).procedure.teacher
        assert [one.kind for one in rule.members] == kinds


def test_watching_synthetic_rows_is_told_and_changes_the_augmented_model_alone(run):
    regressor = "xgboost, n_estimators: 40, early_stopping: {rounds: 2, refit: false}"
    real, made = (run(f"counterfactual.watch={watch}", regressor=regressor) for watch in ("real", "synthetic"))
    assert (real.watch, made.watch) == ("real", "synthetic")
    assert real.watched.tolist() == made.watched.tolist()
    assert len(real.watched) == 12
    assert real.score.plain == made.score.plain
    assert real.score.augmented != made.score.augmented
    assert [fold.plain for fold in real.verdict.folds] == [fold.plain for fold in made.verdict.folds]
    assert [fold.augmented for fold in real.verdict.folds] != [fold.augmented for fold in made.verdict.folds]
    assert run("counterfactual.watch=synthetic").watch == "real"  # ridge does not stop early
