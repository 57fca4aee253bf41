"""Runs with declared signs: who holds them, what record and reader are told, and that a stranger can check it."""

from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import pytest
import tampering as by
from audit_runs import Nobody, ran, record_of, teachers_of

from crda_spec.audit.files import finish_run
from crda_spec.gate.cost import FitCounts
from crda_spec.pipeline import run
from crda_spec.report.words.numbers import number, p_value
from crda_spec.report.words.run import sign_sentences, sign_warnings
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

SPEC = """
version: 1
name: signed
recipe: RECIPE
dataset:
  source:
    kind: synthetic
    rows: 120
    equations:
      cause: normal(0, 1)
      other: normal(0, 1)
      echo: cause + normal(0, 0.5)
      y: 2 * (cause > 0) - other + normal(0, 1)
  target: y
causal: {CAUSALmonotone: {cause: increasing, other: OTHER}}
regressor: {kind: hist_gradient_boosting, max_iter: 30, monotone: MONOTONE}
counterfactual:
  teacher:
    {kind: committee, folds: blocks, HEDGEmembers: [{kind: ridge}, {kind: hist_gradient_boosting, min_samples_leaf: 5}]}
  factor: 2
gate: {kind: wilcoxon, folds: 8, restarts: 1}
output: {plots: false, diagnostics: false}
execution: {jobs: 1}
"""
TREES = "hist_gradient_boosting"
GRAPH = 'graph: {kind: edges, edges: ["cause -> {y echo}", "other -> y"]}, '


def text_of(*, recipe="certified", other="decreasing", monotone="false"):
    graph, hedge = (GRAPH, "hedge: true, ") if recipe == "certified" else ("", "")
    words = {"RECIPE": recipe, "CAUSAL": graph, "HEDGE": hedge, "OTHER": other, "MONOTONE": monotone}
    text = SPEC
    for word, value in words.items():
        text = text.replace(word, value)
    return text


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("right"), text_of())


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """Without a graph, with one wrong sign that both arms hold."""
    return ran(tmp_path_factory.mktemp("wrong"), text_of(recipe="distilled", other="increasing", monotone="true"))


def steps(model, x, position):
    """(rows, points) how predictions change along one feature, all else held fixed."""
    grid = np.linspace(-3, 3, 50)
    rows = np.repeat(x[:30], len(grid), axis=0)
    rows[:, position] = np.tile(grid, 30)
    return np.diff(model.predict(rows).reshape(30, -1), axis=1)


def test_the_record_keeps_the_signs_and_what_they_did(right):
    record = record_of(right)
    assert record["spec"]["resolved"]["causal"]["monotone"] == {"cause": "increasing", "other": "decreasing"}
    assert [(one["name"], one["sign"], one["contradicted"]) for one in record["signs"]] == [
        ("cause", "increasing", False),
        ("other", "decreasing", False),
    ]
    signs = record["teacher"]["signs"]
    weights = {family["name"]: family["weight"] for family in record["teacher"]["families"]}
    assert signs["passed"]
    assert signs["weight"] == weights["hist_gradient_boosting on the boundary with signs"] > 0
    free = next(one for one in record["teacher"]["families"] if one["name"] == "hist_gradient_boosting on the boundary")
    assert signs["free"] == pytest.approx(free["error"])


def test_its_saved_members_obey_them(right):
    members = dict(zip(record_of(right)["teacher"]["members"], teachers_of(right), strict=True))
    held = [member for name, member in members.items() if " with signs " in name]
    free = [member for name, member in members.items() if name.startswith("hist") and " with signs " not in name]
    x = right.result.split.train.x
    for member in held:
        assert (steps(member, x, 0) >= 0).all()
        assert (steps(member, x, 1) <= 0).all()
    assert held
    assert not all((steps(member, x, 1) <= 0).all() for member in free)


def test_both_arms_hold_them_alike(tmp_path):
    plan = replace(build_plan(*loaded(tmp_path, text_of(monotone="true"))), inspect=False)
    plan = replace(plan, gate=plan.gate.model_copy(update={"enabled": False}))
    augmented = run(plan, progress=Nobody())
    plain = run(replace(plan, procedure=replace(plan.procedure, factor=1e-9)), progress=Nobody())
    assert plain.counterfactuals is None
    for result in (augmented, plain):
        assert result.settings["monotone"]
        assert (steps(result.model, result.split.train.x, 0) >= 0).all()
        assert (steps(result.model, result.split.train.x, 1) <= 0).all()


def loaded(folder, text):
    (folder / "spec.yaml").write_text(text)
    return load_spec(folder / "spec.yaml")


@pytest.mark.parametrize("which", ["right", "wrong"])
def test_such_a_run_is_verified_and_its_models_are_of_use(which, request, tmp_path, verify, command):
    finished = request.getfixturevalue(which)
    code, said = verify(finished.folder)
    assert code == 0, said
    train = finished.result.split.train
    pd.DataFrame(train.x, columns=train.names).assign(y=train.y).to_csv(tmp_path / "rows.csv", index=False)
    for verb in ("predict", "generate"):
        code, said = command(verb, finished.folder, tmp_path / "rows.csv", "--out", tmp_path / f"{verb}.csv")
        assert code == 0, said


def test_a_changed_sign_in_the_record_is_found(right, tmp_path, verify):
    copy = by.copy_of(right.folder, tmp_path)
    by.told("signs", 0, "statistic", value=0.5)(copy)
    code, said = verify(copy)
    assert code == 4
    assert "signs.0.statistic" in said


def test_the_plan_knew_every_fit(right, tmp_path):
    plan = build_plan(*loaded(tmp_path, text_of()))
    counts = FitCounts(procedure=plan.procedure.on(right.result.split.train), gate=plan.gate)
    assert right.result.cost.fits == counts.shared
    # Of each of the five learners one a fold and one a block of folds; the plain models; the augmented ones.
    assert counts.shared == 5 * (8 + 10) + (8 + 1) + (8 + 1)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, f"the committee has {TREES} once more, holding them; left alone, since they cannot hold signs: ridge"),
        ({"recipe": "paper", "monotone": "true"}, "both the plain and the augmented model hold them"),
        ({"recipe": "paper"}, "no model holds them, they are only checked against the training rows"),
    ],
)
def test_the_plan_says_who_will_hold_them(tmp_path, command, changes, line):
    (tmp_path / "spec.yaml").write_text(text_of(**changes))
    single = ("--set", "counterfactual.teacher={kind: single}") if "recipe" in changes else ()
    code, said = command("plan", tmp_path / "spec.yaml", *single)
    assert code == 0
    assert f" signs: cause increasing, other decreasing; {line} " in " ".join(said.split())


def test_the_number_of_workers_changes_no_byte(right, tmp_path):
    spec, draft = loaded(tmp_path, text_of())
    result = run(replace(build_plan(spec, draft), jobs=2), progress=Nobody())
    again = finish_run(result, spec=spec, draft=draft, folder=tmp_path / "run")
    assert record_of(again)["files"] == record_of(right)["files"]


def test_the_reader_is_told_who_holds_them_and_what_the_rows_say(right, wrong):
    signs = right.result.teacher.signs
    seen, held = sign_sentences(right.result)
    assert seen == (
        "Declared signs: cause increasing, other decreasing; on rows that they have not seen, members that hold them "
        f"have an MSE of {number(signs.signed)}, the same kinds without signs {number(signs.free)} (difference's "
        f"standard error {number(signs.standard_error)})."
    )
    assert held == (
        f"Members with signs have {round(100 * signs.weight)} % of the committee's weight. Left alone, since they "
        "cannot hold signs: ridge."
    )
    assert sign_warnings(right.result) == ()
    assert sign_sentences(wrong.result)[-1] == "Both the plain and the augmented model hold them."
    named, left = sign_warnings(wrong.result)
    assert named == (
        "The training rows contradict the sign of other (increasing): among rows alike in the other features, y falls "
        f"as other grows ({p_value(wrong.result.signs[1].adjusted)}). Check the sign."
    )
    assert left == (
        "The rows do not bear out the declared signs: members that hold them err more than the same kinds without, by "
        "over 1 standard error. So the committee does without them."
    )
    assert escape(named) in (wrong.folder / "report.html").read_text()
    assert wrong.result.teacher.signs.weight == 0
    assert not any("with signs" in name for name in wrong.result.teacher.names)


def test_the_reader_is_told_where_no_member_or_no_single_feature_is_to_blame(right, wrong):
    (alone,) = sign_sentences(replace(right.result, teacher=replace(right.result.teacher, signs=None)))
    assert alone == (
        "Declared signs: cause increasing, other decreasing. No member of the teacher holds them beside one that does "
        "not."
    )
    (bent,) = sign_warnings(replace(wrong.result, signs=right.result.signs))
    assert bent.endswith("So the committee does without them. A feature may go both ways: check the signs.")
