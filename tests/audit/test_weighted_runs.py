"""Whole runs on weighted rows: what they write, what `verify` makes of it, and that equal weights change nothing."""

import csv
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import tampering as by
from audit_runs import ledger_of, ran, record_of, rows_of

from crda_spec.audit.open_run import open_run, reopen
from crda_spec.report.words.run import data_sentence, rows_sentence, score_sentences

SPEC = """
version: 1
recipe: paper
name: clinic
seed: 4
dataset: {{source: {{kind: csv, path: clinic.csv}}, target: recovery{more}}}
causal: {{graph: {{kind: edges, edges: [age -> recovery, dose -> recovery]}}}}
regressor: {regressor}
counterfactual: {{weight: 0.5, factor: 1}}
gate: {gate}
output: {{ensemble: {ensemble}}}
"""
TREES = "{kind: xgboost, n_estimators: 12, early_stopping: {rounds: 3, validation: 0.2}}"
RIDGE = "{kind: ridge}"


def clinic(n=110):
    rng = np.random.default_rng(8)
    age, dose = rng.normal(size=(2, n))
    return pd.DataFrame(
        {
            "age": age,
            "dose": dose,
            "w": rng.gamma(1.0, size=n) + 0.1,
            "recovery": age + np.sin(2 * dose) + 0.4 * rng.normal(size=n),
        }
    )


def run_of(folder, *, regressor=RIDGE, gate="{kind: bootstrap, folds: 5}", weights="w", frame=None, ensemble=1):
    folder.mkdir(exist_ok=True)
    table = clinic() if frame is None else frame
    table.to_csv(folder / "clinic.csv", index=False)
    more = f", weights: {weights}" if weights else ", features: [age, dose]"
    return ran(folder, SPEC.format(regressor=regressor, gate=gate, more=more, ensemble=ensemble))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("kept") / "one")


def test_rows_and_ledger_tell_the_weights(kept):
    rows, ledger, data = rows_of(kept), ledger_of(kept), clinic()
    assert rows["weight"].to_numpy() == pytest.approx(data["w"].to_numpy()[rows["row"] - 1], rel=0, abs=0)
    source = data["w"].to_numpy()[ledger["_crda_source_row"] - 1]
    expected = np.where(ledger["_crda_synthetic"], 0.5 * source, source)
    assert (ledger["_crda_weight"] == expected).all()
    record = record_of(kept)
    assert record["data"]["weights"] == "w"
    assert [one["name"] for one in record["data"]["features"]] == ["age", "dose"]
    assert record["counterfactuals"]["weight"] == 0.5


def test_the_losses_of_the_record_are_weighted_means(kept):
    rows, record = rows_of(kept), record_of(kept)
    for fold in record["verdict"]["folds"]:
        held = rows[rows["gate_fold"] == fold["fold"]]
        assert fold["plain"] == pytest.approx(np.average(held["plain_loss"], weights=held["weight"]))
        assert fold["plain"] != pytest.approx(held["plain_loss"].mean())
    test = rows[rows["part"] == "test"]
    assert record["test"]["augmented"] == pytest.approx(np.average(test["augmented_loss"], weights=test["weight"]))


GATES = {
    "bootstrap of the rows": ("{kind: bootstrap, folds: 5}", RIDGE, 1),
    "wilcoxon, r2": ("{kind: wilcoxon, folds: 6, metric: r2}", RIDGE, 1),
    "clustered, pinball": ("{kind: clustered, folds: 4, metric: pinball, quantile: 0.8}", TREES, 2),
    "repeats, rmse": ("{kind: wilcoxon, folds: 6, repeats: 2, metric: rmse}", RIDGE, 1),
}


@pytest.mark.parametrize(("gate", "regressor", "ensemble"), GATES.values(), ids=GATES)
def test_a_weighted_run_is_verified_and_equals_itself_again(tmp_path, command, gate, regressor, ensemble):
    run = run_of(tmp_path / "one", gate=gate, regressor=regressor, ensemble=ensemble).folder
    code, said = command("verify", run, "--depth", "full")
    assert code == 0, said
    assert "Verified: the run is as it was written (depth full).\n" in said
    assert "skipped" not in said


def weight_changed(part, change):
    """Another weight for the first row of a part, every hash mended."""

    def changed(head, lines):
        line = next(line for line in lines if line[head.index("part")] == part)
        at = head.index("weight")
        line[at] = change(line[at])

    return by.rows_changed(changed)


@by.rows_changed
def scaled(head, lines):
    """All weights twice as large: no loss and no interval changes."""
    at = head.index("weight")
    for line in lines:
        line[at] = repr(2.0 * float(line[at]))


@by.rows_changed
def forgotten(head, lines):
    for line in [head, *lines]:
        line.pop()


TAMPERED = {
    "a training row's weight": (
        weight_changed("train", lambda cell: repr(1.001 * float(cell))),
        ("losses", "verdict", "data"),
        "rows.csv, line 2, 'weight': says ",
    ),
    "a test row's weight": (
        weight_changed("test", lambda cell: repr(1.001 * float(cell))),
        ("losses", "data"),
        "record.json, test.plain: says ",
    ),
    "no weight": (weight_changed("test", lambda _: ""), ("losses", "data"), "has the weight ''"),
    "a negative weight": (
        weight_changed("train", lambda cell: f"-{cell}"),
        ("losses", "verdict", "data"),
        "has the weight '-",
    ),
    "another unit": (scaled, ("losses", "data"), "rows.csv, line 2, 'weight': says "),
    "no column": (forgotten, ("losses", "verdict", "data"), "rows.csv: lacks the rows' weights"),
    "a real row of the table": (
        by.cell("_crda_weight", 0, lambda value: 2 * value),
        ("losses", "data"),
        "augmented.parquet says ",
    ),
    "a synthetic row of the table": (
        by.cell("_crda_weight", -1, by.nearly),
        ("labels",),
        "'_crda_weight'",
    ),
    "another column in the record": (by.told("data", "weights", value=None), ("data", "losses"), "data.weights: says"),
}


@pytest.mark.parametrize(("change", "checks", "named"), TAMPERED.values(), ids=TAMPERED)
def test_a_changed_weight_is_found(kept, command, tmp_path, change, checks, named):
    shutil.copy(kept.folder.parent / "clinic.csv", tmp_path)
    copy = by.copy_of(kept.folder, tmp_path)
    change(copy)
    code, said = command("verify", copy)
    failed = next(line for line in said.splitlines() if line.startswith("NOT VERIFIED: "))
    assert code == 4
    assert named in said
    for check in checks:
        assert f" {check}" in failed, said


def test_without_the_data_a_changed_weight_is_found_too(kept, command, tmp_path):
    copy = by.copy_of(kept.folder, tmp_path)
    weight_changed("test", lambda cell: repr(2 * float(cell)))(copy)
    code, said = command("verify", copy, "--base", tmp_path)
    assert code == 4
    assert "record.json, test.plain: says " in said


ALIKE = ("rows.csv", "folds.csv", "model/model.json", "certificate.json", "ledger.parquet", "diagnostics.json")


@pytest.mark.parametrize("regressor", [RIDGE, TREES])
@pytest.mark.parametrize("constant", [1.0, 2.7])
def test_equal_weights_give_what_none_give(tmp_path, regressor, constant):
    frame = clinic()
    none = run_of(tmp_path / "none", regressor=regressor, weights=None, frame=frame)
    even = run_of(tmp_path / "even", regressor=regressor, frame=frame.assign(w=constant))
    one, two = record_of(none), record_of(even)
    for part in ("verdict", "test", "abduction", "teacher", "movements", "certificate", "regressor", "sensitivity"):
        assert one[part] == two[part], part
    with (even.folder / "rows.csv").open() as file:
        assert [line[:-1] for line in csv.reader(file)] == [
            line.split(",") for line in (none.folder / "rows.csv").read_text().splitlines()
        ]
    for name in ALIKE[1:]:
        assert (none.folder / name).read_bytes() == (even.folder / name).read_bytes(), name


def test_without_weights_no_file_speaks_of_them(tmp_path):
    run = run_of(tmp_path / "none", weights=None)
    assert list(rows_of(run).columns) == [
        "source",
        "row",
        "part",
        "gate_fold",
        "group",
        "plain_loss",
        "augmented_loss",
        "plain_error",
        "augmented_error",
    ]
    ledger = ledger_of(run)
    assert (ledger["_crda_weight"] == np.where(ledger["_crda_synthetic"], 0.5, 1.0)).all()
    assert record_of(run)["data"]["weights"] is None
    assert "weighted" not in (run.folder / "report.html").read_text()


def test_the_page_and_the_terminal_say_so(kept):
    result = reopen(open_run(kept.folder)).result
    assert "22 to test, rows weighted by 'w'; nothing dropped." in data_sentence(result)
    assert "weighs 0.5 times as much as its source." in rows_sentence(result.counterfactuals, 88, weighted=True)
    assert any("on 22 weighted test rows: MSE" in text for text in score_sentences(result))
    assert result.split.train.weights.tolist() == clinic()["w"].to_numpy()[result.split.train.row_ids].tolist()


def test_prediction_needs_no_weights_and_generation_does(kept, command, tmp_path):
    fresh = clinic(30)
    fresh[["age", "dose"]].to_csv(tmp_path / "new.csv", index=False)
    assert command("predict", kept.folder, tmp_path / "new.csv", "--out", tmp_path / "said.csv")[0] == 0
    fresh.drop(columns="w").to_csv(tmp_path / "light.csv", index=False)
    code, said = command("generate", kept.folder, tmp_path / "light.csv", "--out", tmp_path / "a.parquet", "--quiet")
    assert (code, said) == (2, "light.csv: there is no column 'w'; its columns are: age, dose, recovery\n")
    fresh.to_csv(tmp_path / "rows.csv", index=False)
    assert command("generate", kept.folder, tmp_path / "rows.csv", "--out", tmp_path / "b.parquet", "--quiet")[0] == 0
    made = pq.read_table(tmp_path / "b.parquet").to_pandas()
    assert (made["_crda_weight"] == 0.5 * fresh["w"].to_numpy()[made["_crda_source_row"] - 1]).all()
    for cell, what in ((-1.0, "is below the minimum 1e-100: row 3: -1"), (None, "is missing in row 3")):
        fresh.assign(w=fresh["w"].where(fresh.index != 2, cell)).to_csv(tmp_path / "bad.csv", index=False)
        code, said = command("generate", kept.folder, tmp_path / "bad.csv", "--out", tmp_path / "c.parquet", "--quiet")
        assert code == 2
        assert "'w'" in said
        assert what in said


def test_a_plan_names_the_column(kept, command):
    spec = kept.folder.parent / "spec.yaml"
    assert "  weights: each row counts as 'w' says, in fits and scores\n" in command("plan", spec)[1]
    assert json.loads(command("plan", spec, "--json")[1])["weights"] == "w"


def test_two_runs_differ_by_their_weights(kept, command, tmp_path):
    other = run_of(tmp_path / "other", weights=None)
    code, said = command("diff", other.folder, kept.folder)
    assert code == 0
    assert "  dataset.weights: None -> 'w'" in said
    assert "  weights: None -> 'w'" in said
