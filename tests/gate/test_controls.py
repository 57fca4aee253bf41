"""Where the gain comes from: each control computed again by hand, no teacher fitted for it, no test row seen before."""

import json
from dataclasses import replace

import numpy as np
import pytest

from crda_spec.audit.files import finish_run
from crda_spec.audit.open_run import open_run, reopen
from crda_spec.counterfactual.policies import Interpolate, Jitter
from crda_spec.gate.controls import compare_controls
from crda_spec.pipeline import estimate, run
from crda_spec.records import Column, Control, HeldOut, Table
from crda_spec.regressors import Fitter, KernelRidge
from crda_spec.regressors.fit import student_seed
from crda_spec.report.progress import Silent
from crda_spec.seeds import stream
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

WORLD = """
version: 1
name: controls
seed: 5
dataset:
  source:
    kind: synthetic
    rows: 140
    equations:
      c1: normal(0, 1)
      c2: normal(0, 1)
      e1: c1 + normal(0, 0.5)
      e2: c2 + normal(0, 0.5)
      j: normal(0, 1)
      y: 2 * sin(c1) + c2 + normal(0, 1)
  target: y
  split: {kind: fraction, test: 0.4}
regressor: {kind: kernel_ridge, alpha: 0.1}
execution: {jobs: 1}
"""
GRAPH = """
causal:
  graph: {kind: edges, edges: [c1 -> e1, c2 -> e2, c1 -> y, c2 -> y], unrelated: [j]}
"""
MEMBERS = "members: [{kind: student}, {kind: knn}]"
CERTIFIED = f"counterfactual: {{teacher: {{kind: committee, folds: blocks, hedge: true, {MEMBERS}}}}}\n"
DISTILLED = CERTIFIED.replace("hedge: true", "hedge: false")
STUDENT = KernelRidge(alpha=0.1)
UNGATED = "gate: {kind: wilcoxon, enabled: false}\n"
SPEC = WORLD + GRAPH + "recipe: certified\n" + CERTIFIED


def planned(folder, text, **changes):
    folder.mkdir(exist_ok=True)
    (folder / "spec.yaml").write_text(text)
    return replace(build_plan(*load_spec(folder / "spec.yaml")), **changes)


def ran(folder, text, **changes):
    return run(planned(folder, text, **changes), progress=Silent())


def mse(split, model, x=None):
    """Of a model on the test rows: a test may look at them."""
    rows = split.test._rows
    return float(np.mean((rows.y - model.predict(rows.x if x is None else x)) ** 2))


def loss_of(result, kind):
    return next(one.loss for one in result.controls.models if one.kind == kind)


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("certified"), SPEC + UNGATED)


def test_there_are_three_and_their_changes_are_against_the_plain_model(certified):
    controls, score = certified.controls, certified.score
    assert [one.kind for one in controls.models] == ["boundary", "relabelled", "without_graph"]
    for one in controls.models:
        assert one.change_percent == pytest.approx(100 * (one.loss / score.plain - 1))
    assert controls.graph_points == pytest.approx(
        100 * (score.augmented - loss_of(certified, "without_graph")) / score.plain
    )
    assert len({score.plain, score.augmented, *(one.loss for one in controls.models)}) == 5


def test_the_plain_model_on_the_boundary_never_sees_another_column(certified):
    split, columns = certified.split, [0, 1]
    narrow = replace(split.train, features=split.train.features[:2], x=split.train.x[:, columns].copy())
    fitter = Fitter(STUDENT)
    model = fitter.fit(narrow, seed=student_seed(5, (0,)))
    assert loss_of(certified, "boundary") == mse(split, model, split.test._rows.x[:, columns])


def test_relabelled_rows_are_the_training_rows_with_the_teachers_labels(certified):
    split = certified.split
    told = replace(split.train, y=certified.teacher.predict(split.train.x))
    model = Fitter(STUDENT).fit(told, seed=student_seed(5, (0,)))
    assert loss_of(certified, "relabelled") == mse(split, model)


def test_without_the_graph_the_recipe_is_distilled_to_the_last_bit(certified, tmp_path):
    distilled = ran(tmp_path, WORLD + GRAPH + "recipe: distilled\n" + DISTILLED + UNGATED)
    assert loss_of(certified, "without_graph") == distilled.score.augmented
    assert certified.score.augmented != distilled.score.augmented
    assert [one.kind for one in distilled.controls.models] == ["boundary", "relabelled"]
    assert distilled.controls.graph_points is None


def test_the_shift_score_is_of_both_models_on_shuffled_rows(certified):
    rows, shift = certified.split.test._rows, certified.controls.shift
    assert shift.features == ("e1", "e2", "j")
    x, rng = rows.x.copy(), stream(5, "shift")
    for column in (2, 3, 4):
        x[:, column] = rng.permutation(x[:, column])
    assert shift.augmented == mse(certified.split, certified.model, x)
    plain = Fitter(STUDENT).fit(certified.split.train, seed=student_seed(5, (0,)))
    assert shift.plain == mse(certified.split, plain, x)
    assert shift.change_percent == pytest.approx(100 * (shift.augmented / shift.plain - 1))


def test_shuffled_rows_stay_closed_and_keep_every_column():
    rng = np.random.default_rng(0)
    columns = tuple(Column(name=name, type="continuous") for name in "ab")
    rows = Table(
        features=columns,
        target=Column(name="y", type="continuous"),
        row_ids=np.arange(30),
        x=rng.normal(size=(30, 2)),
        y=rng.normal(size=30),
        weights=rng.uniform(1, 2, 30),
    )
    test = HeldOut(rows)
    other = test.shuffled(["b"], rng=np.random.default_rng(1))
    assert isinstance(other, HeldOut)
    assert (len(other), other.spread) == (30, test.spread)
    assert other.weights is rows.weights
    x = other._rows.x
    assert x[:, 0].tobytes() == rows.x[:, 0].tobytes()
    assert (x[:, 1] != rows.x[:, 1]).any()
    assert sorted(x[:, 1]) == sorted(rows.x[:, 1])
    assert not x.flags.writeable


def test_they_cost_three_students_and_no_teacher_and_the_plan_knew(tmp_path, monkeypatch):
    """The gate's verdict is known before the first of them is fitted, and nothing else changes by them."""
    plan, asked = planned(tmp_path, SPEC), []
    bare = run(replace(plan, inspect=False), progress=Silent())
    assert bare.controls is None
    fit = Fitter.fit

    def watched(self, train, extra=None, **options):
        asked.append((None if extra is None else len(extra), options.get("regressor"), options.get("columns")))
        return fit(self, train, extra, **options)

    monkeypatch.setattr(Fitter, "fit", watched)
    result = run(plan, progress=Silent())
    without = round(10.0 * len(result.split.train))  # distilled's factor for this regressor
    assert asked[-3:] == [(None, None, (0, 1)), (None, None, None), (without, None, None)]
    assert len(asked) == result.cost.fits + 3
    assert result.controls.fits == estimate(plan).fits_of_controls == 3
    assert estimate(replace(plan, inspect=False)).fits_of_controls == 0
    assert (result.cost.fits, result.score, result.verdict) == (bare.cost.fits, bare.score, bare.verdict)


@pytest.mark.parametrize("teacher", ["folds: 4", "folds: gate"])
def test_members_are_reused_whoever_fitted_them(tmp_path, teacher):
    """Folds of the teacher's own are nobody else's models; the control has them all the same."""
    text = SPEC.replace("folds: blocks", teacher) + UNGATED
    result = ran(tmp_path, text)
    other = ran(tmp_path, text.replace("recipe: certified", "recipe: distilled").replace("hedge: true", "hedge: false"))
    assert result.controls.fits == 3
    assert loss_of(result, "without_graph") == other.score.augmented


def test_a_run_without_a_graph_has_the_relabelled_rows_alone(tmp_path):
    plan = planned(tmp_path, WORLD + DISTILLED + UNGATED)
    result = run(plan, progress=Silent())
    assert [one.kind for one in result.controls.models] == ["relabelled"]
    assert (result.controls.graph_points, result.controls.shift, result.controls.fits) == (None, None, 1)
    assert (plan.without_graph, estimate(plan).fits_of_controls) == (None, 1)


def test_a_run_that_makes_no_rows_has_none(tmp_path):
    result = ran(tmp_path, WORLD + GRAPH + "recipe: paper\npartition: {keep: [c1, c2, e1, e2, j]}\n" + UNGATED)
    assert result.score.augmented is None
    assert result.controls is None


@pytest.mark.parametrize("jobs", [1, 2])
def test_any_number_of_workers_gives_the_same_numbers(tmp_path, jobs, certified):
    gated = ran(tmp_path, SPEC, jobs=jobs)
    assert replace(gated.controls, fits=0) == replace(certified.controls, fits=0)


class TestWhoseKnobs:
    """What the same recipe without the graph means when the user wrote some of it."""

    def test_the_recipes_own_become_distilleds(self, tmp_path):
        plan = planned(tmp_path, WORLD.replace("kernel_ridge, alpha: 0.1", "xgboost") + GRAPH)
        free, whole = plan.without_graph, plan.procedure
        assert (whole.factor, whole.weight, whole.perturbation.default) == (20.0, 0.3, Interpolate(apart=0.5))
        assert (free.factor, free.weight, free.perturbation.default) == (10.0, 0.5, Interpolate())
        assert (free.choice.basis, free.invariance, free.perturbation.blocked) == ("support", "off", None)

    def test_the_users_stay(self, tmp_path):
        mine = (
            "counterfactual: {factor: 3}\nperturbation: {default: {kind: jitter, sd: 0.2}}\npartition: {keep: [c1]}\n"
        )
        free = planned(tmp_path, WORLD.replace("kernel_ridge, alpha: 0.1", "xgboost") + GRAPH + mine).without_graph
        assert (free.factor, free.weight) == (3.0, 0.5)
        assert free.perturbation.default == Jitter(sd=0.2)
        assert free.choice.keep == ("c1",)

    def test_effects_do_not_follow_without_the_graph_that_says_which(self, tmp_path):
        free = planned(tmp_path, WORLD + GRAPH + "perturbation: {propagate: true}\n").without_graph
        assert (free.propagation, free.perturbation.propagate) == (None, False)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("recipe: distilled\n", id="any-feature-moves-anyway"),
            pytest.param("recipe: paper\n", id="noise-needs-the-certificate"),
            pytest.param("tune: {kind: none, augmentation: {kind: tpe, trials: 2}}\n", id="a-search-would-be-repeated"),
        ],
    )
    def test_there_is_none_where_the_graph_changes_nothing_or_a_search_does(self, tmp_path, text):
        assert planned(tmp_path, WORLD + GRAPH + text).without_graph is None

    def test_paper_without_noise_only_loses_the_graph(self, tmp_path):
        text = WORLD + GRAPH + "recipe: paper\ncounterfactual: {retention: 0}\n"
        free = planned(tmp_path, text).without_graph
        assert (free.factor, free.perturbation.default.kind, free.choice.basis) == (1.25, "scale", "support")


def test_the_folder_tells_them_and_its_own_spec_gives_them_again(tmp_path, certified):
    (tmp_path / "spec.yaml").write_text(SPEC + UNGATED)
    spec, draft = load_spec(tmp_path / "spec.yaml")
    folder = finish_run(certified, spec=spec, draft=draft, folder=tmp_path / "run").folder
    told = json.loads((folder / "record.json").read_text())["controls"]
    assert [one["kind"] for one in told["models"]] == ["boundary", "relabelled", "without_graph"]
    assert told["graph_points"] == certified.controls.graph_points
    assert reopen(open_run(folder)).result.controls == certified.controls
    assert (folder / "figures" / "gain.svg").is_file()
    assert "Where the gain comes from" in (folder / "report.html").read_text()
    again = run(build_plan(*load_spec(folder / "spec.yaml")), progress=Silent())
    assert again.controls == certified.controls


def test_a_control_that_ran_away_is_left_out(certified):
    losses = {"relabelled": 2.0, "without_graph": float("inf")}
    found = compare_controls(certified.score, losses, ["j"], (1.0, float("nan")), fits=2)
    assert found.models == (
        Control(
            kind="relabelled", loss=2.0, change_percent=100 * (2.0 - certified.score.plain) / certified.score.plain
        ),
    )
    assert (found.graph_points, found.shift) == (None, None)
