"""Runs without test rows, from the spec to what others make of their folders."""

import io
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import tampering as by
from audit_runs import Nobody, ran, record_of, rows_of
from test_ledger_recomputed import houses

import crda_spec
from crda_spec.audit.held_run import MadeRun
from crda_spec.audit.open_run import open_run, reopen
from crda_spec.audit.schemas import record_trouble
from crda_spec.pipeline import estimate
from crda_spec.pipeline import run as run_plan
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

SPEC = """
version: 1
recipe: paper
name: houses
seed: 5
dataset: {{source: {{kind: csv, path: houses.csv}}, target: price, split: {split}{dataset}}}
causal: {{graph: {{kind: edges, edges: ["{{area rooms garage}} -> price", "age <- care -> price"], latent: [care]}}}}
counterfactual: {{retention: 0.5}}
regressor: {regressor}
gate: {{kind: wilcoxon, folds: 5{gate}}}
execution: {{jobs: 1}}
output: {{plots: false{output}}}
"""
RIDGE = "{kind: ridge}"
TREES = "{kind: xgboost, n_estimators: 8, early_stopping: {rounds: 3, validation: 0.2}}"


def written(folder, *, split="{kind: none}", dataset="", regressor=RIDGE, gate="", output=""):
    table = houses(100)
    table["day"], table["estate"] = np.arange(100), np.arange(100) // 2
    unused = [name for name in ("day", "estate") if name not in dataset]
    table.drop(columns=unused).to_csv(folder / "houses.csv", index=False)
    return SPEC.format(split=split, dataset=dataset, regressor=regressor, gate=gate, output=output)


def make(folder, **settings):
    return ran(folder, written(folder, **settings))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return make(tmp_path_factory.mktemp("untested"))


@pytest.fixture(scope="module")
def tested(tmp_path_factory):
    return make(tmp_path_factory.mktemp("tested"), split="{kind: fraction, test: 0.2}")


def test_the_result_has_no_test_and_no_stand_in_for_one(kept):
    result = kept.result
    assert len(result.verdict.folds) == 5
    assert (result.split.test, result.score, result.test_losses, result.test_errors) == (None, None, None, None)
    assert (result.controls, result.intervals.scores, result.interval_rows) == (None, (), ())
    assert result.band is not None
    assert (result.diagnostics is not None, result.diagnostics.errors) == (True, None)
    assert len(result.gate_fold) == 100
    assert set(result.gate_fold.tolist()) == {1, 2, 3, 4, 5}


def test_the_folder_names_no_test_row(kept):
    record, rows = record_of(kept), rows_of(kept)
    assert (record["test"], record["controls"], record["diagnostics"]["errors"]) == (None, None, None)
    assert {name: record["data"][name] for name in ("train_rows", "test_rows", "test_row_ids_sha256")} == {
        "train_rows": 100,
        "test_rows": 0,
        "test_row_ids_sha256": None,
    }
    assert record["intervals"]["scores"] == []
    assert set(rows["part"]) == {"train"}
    assert rows["plain_loss"].notna().all()
    assert (kept.folder / "intervals.json").is_file()
    assert not (kept.folder / "intervals.csv").exists()
    assert record_trouble(record) == []
    again = reopen(open_run(kept.folder)).result
    assert (again.split.test, again.score) == (None, None)


@pytest.mark.parametrize("depth", ["rows", "full"])
def test_the_folder_is_verified(kept, verify, depth):
    code, said = verify(kept.folder, "--depth", depth)
    assert code == 0, said
    assert "  ok       score: no test score, as the spec says\n" in said
    assert "the saved model on" not in said
    model = "  - the saved models, but for the teacher: no test row says what they predict\n"
    assert (model in said) == (depth == "rows")


def test_new_rows_are_predicted_with_intervals(kept, start, tmp_path):
    new = tmp_path / "new.csv"
    houses(20).drop(columns="price").to_csv(new, index=False)
    code, out, err = start("predict", kept.folder, new, "--interval", 0.8)
    found = pd.read_csv(io.StringIO(out))
    assert (code, err, list(found.columns)) == (0, "", ["row", "prediction", "low", "high"])
    assert ((found["low"] < found["prediction"]) & (found["prediction"] < found["high"])).all()


def test_what_ifs_and_effects_are_answered(kept, start):
    code, out, err = start("whatif", kept.folder, "area=+10", "--row", 100, "--refits", 0, "--json")
    assert (code, err) == (0, "")
    assert [one["row"] for one in json.loads(out)["answers"]] == [100]
    assert start("effects", kept.folder)[0] == 0


def test_the_page_and_the_comparison_with_a_tested_run(kept, tested, start, tmp_path):
    page = tmp_path / "page.html"
    assert start("report", kept.folder, "--out", page)[0] == 0
    assert page.read_bytes() == (kept.folder / "report.html").read_bytes()
    both = tmp_path / "both.html"
    assert start("report", kept.folder, tested.folder, "--out", both)[0] == 0
    assert "Run A held no rows back for a test" in both.read_text()
    code, out, _ = start("diff", kept.folder, tested.folder)
    assert code == 0
    assert "  dataset.split.kind: 'none' -> 'fraction'\n" in out
    assert "test\n  metric: absent -> 'mse'\n  rows: absent -> 20\n" in out


def test_the_list_of_runs_has_no_change_to_tell(kept, start):
    code, out, _ = start("runs", kept.folder.parent)
    assert code == 0
    decision = kept.result.verdict.decision
    assert re.search(rf"houses +{decision} +- +", out)
    listed = json.loads(start("runs", kept.folder.parent, "--json")[1])["runs"][0]
    assert (listed["metric"], listed["change_percent"]) == ("mse", None)


def test_python_has_no_score_either(kept):
    spec, draft = load_spec(kept.folder.parent / "spec.yaml")
    run = crda_spec.Run(MadeRun(spec=spec, draft=draft, result=kept.result))
    assert run.score is None
    assert run.verdict.decision == kept.result.verdict.decision
    assert "No test rows were held back" in run._repr_html_()


WAYS = {
    "ungated": {"gate": ", enabled: false"},
    "time": {"dataset": ", time: day", "gate": ", alpha: 0.1"},
    "groups": {"dataset": ", groups: estate"},
    "tuned": {"output": "}\ntune: {kind: randomized, trials: 2, folds: 2, on: {kind: split, fraction: 0.2}"},
    "cv_plus": {"output": ", intervals: {form: cv_plus}"},
    "ensemble": {"regressor": TREES, "output": ", ensemble: 3"},
    "crps": {"gate": ", metric: crps"},
    "repeats": {"gate": ", repeats: 2, alpha: 0.1"},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_run_can_do_without(way, verify, tmp_path):
    finished = make(tmp_path, **WAYS[way])
    record = record_of(finished)
    assert (record["test"], record["data"]["test_rows"]) == (None, 0)
    assert record["data"]["train_rows"] + record["data"]["tuning_rows"] == 100
    code, said = verify(finished.folder)
    assert code == 0, said
    if way == "ungated":
        assert (record["verdict"]["decision"], record["intervals"], record["final_model"]) == (
            "ungated",
            None,
            "augmented",
        )
        assert "the gate is off: nothing judged the model." in (finished.folder / "report.html").read_text()
    if way == "time":
        assert record["time"]["test"] is None
    if way == "ensemble":
        told = record["ensemble"]
        assert (told["models"], told["fits"], told["scores"]) == (3, 2, [])
        assert len(finished.result.members) == 3


def test_the_estimate_counts_what_is_fitted(tmp_path):
    (tmp_path / "spec.yaml").write_text(written(tmp_path, **WAYS["ensemble"]))
    plan = build_plan(*load_spec(tmp_path / "spec.yaml"))
    cost = estimate(plan)
    assert (cost.train_rows, cost.test_rows, cost.fits_of_ensemble, cost.fits_of_controls) == (100, 0, 2, 0)
    assert run_plan(plan, progress=Nobody()).cost.fits == cost.fits_at_most


def test_the_plan_names_no_test_rows(start, tmp_path):
    (tmp_path / "spec.yaml").write_text(written(tmp_path, **WAYS["ensemble"]))
    code, out, _ = start("plan", tmp_path / "spec.yaml")
    assert code == 0
    assert "  rows: 100 to train, none to test, " in out
    assert "  ensemble: the mean of 3 models is handed over; 2 of the fits below\n" in out


def test_a_test_part_of_no_test_rows_is_a_complaint(start, tmp_path):
    (tmp_path / "spec.yaml").write_text(written(tmp_path, split="{kind: none, test: 0.2}"))
    code, _, err = start("validate", tmp_path / "spec.yaml")
    assert code == 2
    what = "unknown key 'test'; kind none has no such key; it belongs to kind fraction and column"
    assert f"dataset.split.test: {what}" in err


def forget_the_test(run):
    record = by.read(run)
    by.write(run, {**record, "test": None, "controls": None})


@pytest.mark.parametrize(
    ("which", "tamper", "said"),
    [
        ("tested", forget_the_test, "record.json, test: is missing, but the spec holds rows back"),
        ("kept", by.told("test", value={}), "test"),
        ("kept", by.told("data", "test_rows", value=20), "data.test_rows: says 20, should be 0"),
        ("kept", by.told("data", "test_row_ids_sha256", value="0" * 64), "data.test_row_ids_sha256"),
        ("kept", by.told("diagnostics", "errors", value={"distance": 0.1}), "diagnostics.errors"),
    ],
)
def test_a_changed_test_is_found(which, tamper, said, request, verify, tmp_path):
    finished = request.getfixturevalue(which)
    for name in ("spec.yaml", "houses.csv"):
        shutil.copy(finished.folder.parent / name, tmp_path)
    run = tmp_path / "run"
    shutil.copytree(finished.folder, run)
    tamper(run)
    code, out = verify(run)
    assert code in (2, 4)
    assert said in out


def test_a_test_score_that_nobody_measured_is_found(kept, tested, verify, tmp_path):
    shutil.copytree(kept.folder, tmp_path / "run")
    shutil.copy(kept.folder.parent / "houses.csv", tmp_path)
    by.told("test", value=record_of(tested)["test"])(tmp_path / "run")
    code, out = verify(tmp_path / "run")
    assert code == 4
    assert "record.json, test: tells of test rows, but the spec holds none back" in out


def test_test_rows_that_the_record_does_not_know_are_found(kept, verify, tmp_path):
    shutil.copytree(kept.folder, tmp_path / "run")
    shutil.copy(kept.folder.parent / "houses.csv", tmp_path)
    rows = tmp_path / "run" / "rows.csv"
    rows.write_text(rows.read_text() + "houses.csv,101,test,,,1.0,1.0,1.0,1.0\n")
    by.reseal(tmp_path / "run")
    code, out = verify(tmp_path / "run")
    assert code == 4
    assert "rows.csv: lists test rows, but the record has no test score" in out
