"""Whole runs of rows in the order of time: what comes later changes nothing that was found before, and costs add up."""

import datetime as dt

import numpy as np
import pytest
from pipeline_parts import run_spec

from crda_spec.errors import CrdaError
from crda_spec.pipeline import estimate
from crda_spec.records import Span
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

DAYS = 80
FOLDS = 5
SPEC = """
version: 1
recipe: paper
name: days
seed: 3
dataset:
  source: {kind: csv, path: rows.csv}
  target: y
  time: day
causal: {graph: {kind: edges, edges: ["{a b} -> y"]}}
falsify: {on_falsified: ignore}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 5}
execution: {jobs: 1}
"""


def day(number):
    return (dt.date(2023, 1, 1) + dt.timedelta(days=int(number))).isoformat()


def written(wild_from=None):
    """Two rows a day, the days shuffled; from `wild_from` on, features and targets are wild."""
    rng = np.random.default_rng(0)
    lines = ["a,day,b,y"]
    for number in rng.permutation(np.repeat(np.arange(DAYS), 2)).tolist():
        a, b, noise = rng.normal(size=3).round(5).tolist()
        y = round(a - b + 0.4 * noise, 5)
        if wild_from is not None and number >= wild_from:
            a, b, y = 1e4 * b, 1e5 * a, 1e6 * noise
        lines.append(f"{a},{day(number)},{b},{y}")
    return "\n".join(lines) + "\n"


def outcome(folder, *overrides, table=None):
    (folder / "rows.csv").write_text(written() if table is None else table)
    return run_spec(folder, SPEC, *overrides)


every_way = pytest.mark.parametrize(
    "overrides",
    [
        pytest.param((), id="paper"),
        pytest.param(("recipe=distilled", "regressor={kind: xgboost, n_estimators: 20}"), id="distilled"),
        pytest.param(("recipe=distilled", "regressor={kind: mlp, max_iter: 5, hidden_layer_sizes: [8]}"), id="mlp"),
        pytest.param(("counterfactual.teacher={kind: crossfit, folds: gate}",), id="crossfit-gate"),
        pytest.param(("counterfactual.teacher={kind: bagged, members: 4}",), id="bagged"),
        pytest.param(("tune={kind: randomized, trials: 2, folds: 2}",), id="tuned"),
        pytest.param(
            ("tune={kind: none, augmentation: {kind: tpe, trials: 3, folds: 2}}", "recipe=distilled"), id="searched"
        ),
        pytest.param(
            ("tune={kind: none, augmentation: {kind: candidates, candidates: {ours: {recipe: distilled}}, folds: 2}}",),
            id="candidates",
        ),
    ],
)


@pytest.mark.slow
@every_way
def test_later_rows_change_nothing_that_earlier_folds_found(tmp_path, overrides):
    clean = outcome(tmp_path, *overrides)
    last = clean.time.folds[-1].held_out
    start = (dt.date.fromisoformat(last.first) - dt.date(2023, 1, 1)).days
    dirty = outcome(tmp_path, *overrides, table=written(start))
    assert clean.time == dirty.time
    before, after = ([fold for fold in result.verdict.folds if fold.fold < FOLDS] for result in (clean, dirty))
    assert before == after
    assert len(before) == FOLDS - 1
    assert clean.verdict.folds[-1].plain != dirty.verdict.folds[-1].plain  # the edit is real
    for one, two in zip(clean.studies, dirty.studies, strict=True):
        assert (
            one == two or one.fold == 0
        )  # what all training rows are searched for may differ; folds' searches may not


@pytest.mark.slow
@every_way
def test_a_run_costs_what_the_plan_foresees(tmp_path, overrides):
    result = outcome(tmp_path, *overrides)
    cost = estimate(build_plan(*load_spec(tmp_path / "spec.yaml", overrides=overrides)))
    assert cost.time == result.time
    assert result.cost.reused >= 0
    if "candidates" in str(overrides) or "augmentation" in str(overrides):
        assert (
            result.cost.fits <= cost.fits_at_most
        )  # the dearest candidate was known_before_fitting, and trials share models
    else:
        assert result.cost.fits == cost.fits_at_most == cost.fits_unshared
        assert result.cost.reused == 0


def test_the_spans_of_a_run(tmp_path):
    result = outcome(tmp_path)
    order = result.time
    assert (order.column, order.tuning) == ("day", None)
    assert (order.train, order.test) == (Span(first=day(0), last=day(63)), Span(first=day(64), last=day(79)))
    assert [(fold.trained.last, fold.held_out.first, fold.held_out.last) for fold in order.folds] == [
        (day(10), day(11), day(20)),
        (day(20), day(21), day(31)),
        (day(31), day(32), day(42)),
        (day(42), day(43), day(52)),
        (day(52), day(53), day(63)),
    ]
    times = result.split.train.times
    first = result.gate_fold == 0
    assert times[first].max() == 10
    assert np.isnan(result.gate_losses.plain).tolist() == first.tolist()
    assert result.split.train.names == ("a", "b")


def test_without_folds_there_are_no_fold_spans(tmp_path):
    assert outcome(tmp_path, "gate.enabled=false").time.folds == ()
    assert outcome(tmp_path, "partition.keep=[a, b]").time.folds == ()


def test_early_stopping_watches_the_latest_training_rows(tmp_path):
    result = outcome(tmp_path, "regressor={kind: xgboost, n_estimators: 20, early_stopping: {rounds: 3}}")
    times = result.split.train.times
    watched = np.isin(np.arange(len(times)), result.watched)
    assert watched.any()
    assert times[~watched].max() < times[watched].min()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["paper", "distilled"])
def test_one_worker_and_two_find_the_same(tmp_path, recipe):
    one, two = (outcome(tmp_path, f"recipe={recipe}", f"execution.jobs={jobs}") for jobs in (1, 2))
    assert one.verdict == two.verdict
    assert one.cost.fits == two.cost.fits
    assert one.model.predict(one.split.train.x).tobytes() == two.model.predict(two.split.train.x).tobytes()


def test_rows_for_tuning_come_before_all_others(tmp_path):
    search = "tune={kind: randomized, trials: 2, folds: 3, on: {kind: split, fraction: 0.25}}"
    result = outcome(tmp_path, search)
    assert result.time.tuning == Span(first=day(0), last=day(15))
    assert (result.time.train.first, result.time.test.first) == (day(16), day(64))


def test_a_marked_split_stays_as_it_is_and_a_note_says_what_it_tests_on(tmp_path):
    lines = written().splitlines()
    marks = ["part", *("test" if row % 5 == 0 else "train" for row in range(len(lines) - 1))]
    text = "\n".join(f"{line},{mark}" for line, mark in zip(lines, marks, strict=True)) + "\n"
    result = outcome(tmp_path, "dataset.split={kind: column, column: part, test: [test]}", table=text)
    assert len(result.split.test) == 32
    (note,) = result.data.notes
    assert note == "32 of 32 test rows are not later than every training row"


def test_a_second_source_needs_no_time(tmp_path):
    (tmp_path / "later.csv").write_text("a,b,y\n1,2,3\n2,3,5\n0.5,1,7\n")
    result = outcome(tmp_path, "dataset.split={kind: source, source: {kind: csv, path: later.csv}}")
    assert result.time.test is None
    assert result.time.train == Span(first=day(0), last=day(79))
    assert len(result.verdict.folds) == FOLDS


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        pytest.param(
            ("gate.folds=70",),
            "gate.folds: 70 folds that run forward in time need 71 different times, "
            "but the training rows have 64 times; use at most 63 folds",
            id="gate",
        ),
        pytest.param(
            ("gate.folds=40", "tune={kind: randomized, trials: 2, folds: 3}"),
            "tune.folds: 3 inner folds that run forward in time need 4 different times, "
            "but the first gate fold trains on 2 times; use fewer gate folds",
            id="search",
        ),
        pytest.param(
            (
                "gate.folds=12",
                "tune={kind: randomized, trials: 2, folds: 3, augmentation: {kind: tpe, trials: 2, folds: 3}}",
            ),
            "tune.folds: 3 inner folds that run forward in time need 4 different times, "
            "but the first fold of tune.augmentation.folds trains on 1 time; use fewer gate folds",
            id="search-in-a-search",
        ),
        pytest.param(
            ("gate.folds=63", "recipe=distilled"),
            "counterfactual.teacher.folds: a committee teacher, which leaves out 2 blocks of time or more in turn, "
            "needs 2 different times, but the first gate fold trains on 1 time; use fewer gate folds",
            id="teacher",
        ),
        pytest.param(
            ("gate.folds=12", "counterfactual.teacher={kind: crossfit, folds: 6}"),
            "counterfactual.teacher.folds: a crossfit teacher, which leaves out 6 blocks of time in turn, "
            "needs 6 different times, but the first gate fold trains on 5 times; "
            "use fewer gate folds, or at most 5 teacher folds",
            id="teacher-of-its-own",
        ),
        pytest.param(
            ("gate.folds=63", "partition.residuals=out_of_fold"),
            "partition.residuals: a screen of out_of_fold residuals, which leaves out 2 blocks of time or more "
            "in turn, needs 2 different times, but the first gate fold trains on 1 time; use fewer gate folds",
            id="screen",
        ),
        pytest.param(
            (
                "gate.folds=30",
                "tune={kind: none, augmentation: {kind: candidates, candidates: {ours: {recipe: distilled}}}}",
            ),
            "tune.augmentation.folds: 3 inner folds that run forward in time need 4 different times, "
            "but the first gate fold trains on 2 times; use fewer gate folds",
            id="candidates",
        ),
        pytest.param(
            ("counterfactual.teacher={kind: crossfit, folds: 4, repeats: 2}",),
            "counterfactual.teacher.repeats: 2 repeats on the same folds give the same models: 'ridge' draws nothing; "
            "use repeats: 1",
            id="repeats-of-blocks",
        ),
        pytest.param(
            ("output.ensemble=3", "regressor={kind: xgboost, subsample: 1, colsample_bytree: 1}"),
            "output.ensemble: 3 models on the same rows would be the same model: with subsample 1, colsample_bytree 1 "
            "'xgboost' draws nothing, and of rows in the order of time it watches the latest; leave it at 1, or use a "
            "regressor that draws: catboost, mlp, random_forest, xgboost with subsample < 1",
            id="ensemble",
        ),
    ],
)
def test_too_few_times_are_counted_before_anything_is_fitted(tmp_path, overrides, expected):
    with pytest.raises(CrdaError) as caught:
        outcome(tmp_path, *overrides)
    (complaint,) = caught.value.complaints
    assert f"{complaint.path}: {complaint.what}; {complaint.hint}" == expected
