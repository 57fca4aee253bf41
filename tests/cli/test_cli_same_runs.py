"""Two runs of one spec, in other folders, at other worker counts, on other days: the same but for what is volatile."""

import datetime as dt
import json
import shutil
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile import FORMULA, LONG, MARKUP, TARGET, TURNED, hostile_table

from crda_spec.audit import files

SPEC = """version: 1
recipe: paper
name: tiny
seed: 4
dataset:
  source: {{kind: csv, path: "{path}"}}
  target: y
causal:
  graph: {{kind: dagitty, path: "{graph}"}}
regressor: {{kind: xgboost, n_estimators: 8, early_stopping: {{rounds: 3, validation: 0.2}}}}
counterfactual: {{teacher: {{kind: crossfit, folds: 3}}}}
gate: {{kind: wilcoxon, folds: 5}}
output: {{dir: "{out}"}}
"""


def write_table(folder: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x1": rng.normal(size=70).round(3), "x2": rng.normal(size=70).round(3)})
    frame["y"] = (frame["x1"] + rng.normal(size=70)).round(3)
    frame.to_csv(folder / "rows.csv", index=False)
    (folder / "graph.dag").write_text("dag { x1 -> y; x2 -> y }")


class Tomorrow(dt.datetime):
    """A clock that goes a day and a bit before the real one."""

    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + dt.timedelta(days=1, hours=5)


def contents(run: Path) -> dict[str, bytes]:
    return {str(file.relative_to(run)): file.read_bytes() for file in sorted(run.rglob("*")) if file.is_file()}


def test_another_folder_another_worker_count_another_day(command, tmp_path, monkeypatch):
    one, two = tmp_path / "ada" / "here", tmp_path / "bob" / "there"
    for folder in (one, two):
        folder.mkdir(parents=True)
        write_table(folder)
    # The first names its files from where it is, the second by absolute paths; one's output goes elsewhere.
    (one / "spec.yaml").write_text(SPEC.format(path="rows.csv", graph="graph.dag", out="runs"))
    (two / "spec.yaml").write_text(SPEC.format(path=two / "rows.csv", graph=two / "graph.dag", out=two / "deep"))
    monkeypatch.chdir(one)
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "1").code == 0
    monkeypatch.setattr(files, "datetime", Tomorrow)
    monkeypatch.setattr(time, "time", lambda was=time.time: was() + 105_000)
    monkeypatch.chdir(two)
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "2").code == 0
    (first,), (second,) = (one / "runs" / "tiny").iterdir(), (two / "deep" / "tiny").iterdir()
    found, again = contents(first), contents(second)
    records = [json.loads(files.pop("record.json")) for files in (found, again)]
    assert list(found) == list(again)
    crates = [json.loads(files.pop("ro-crate-metadata.json")) for files in (found, again)]
    days = [next(part for part in crate["@graph"] if part["@id"] == "./").pop("datePublished") for crate in crates]
    assert days == [record["volatile"]["created"][:10] for record in records]  # all that an archive's file may change
    assert crates[0] == crates[1]
    for name in found:
        assert found[name] == again[name], name
    volatile = [record.pop("volatile") for record in records]
    assert records[0] == records[1]
    assert {len(part) for part in volatile} == {4}
    assert volatile[0]["created"][:10] < volatile[1]["created"][:10]
    assert [part["jobs"] for part in volatile] == [1, 2]


def test_no_file_of_a_run_names_a_folder_or_a_user_of_the_machine(command, tmp_path, monkeypatch):
    home = tmp_path / "home" / "ada-lovelace"
    home.mkdir(parents=True)
    write_table(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USER", "ada-lovelace")
    monkeypatch.chdir(home)
    Path("spec.yaml").write_text(SPEC.format(path=home / "rows.csv", graph=home / "graph.dag", out=home / "runs"))
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "1").code == 0
    (run,) = (home / "runs" / "tiny").iterdir()
    for name, data in contents(run).items():
        assert b"ada-lovelace" not in data, name
        assert str(tmp_path).encode() not in data, name
    resolved = json.loads((run / "record.json").read_text())["spec"]["resolved"]
    assert resolved["dataset"]["source"]["path"] == "rows.csv"
    assert resolved["causal"]["graph"]["path"] == "graph.dag"
    shutil.move(run, tmp_path / "moved")
    assert command("crda-spec", "verify", tmp_path / "moved").code == 0


def test_every_value_says_who_wrote_it(command, tmp_path, monkeypatch):
    write_table(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOLDS", "6")
    text = SPEC.format(path="rows.csv", graph="graph.dag", out="runs").replace(
        "gate: {kind: wilcoxon, folds: 5}", "gate:\n  kind: wilcoxon\n  folds: ${FOLDS}"
    )
    Path("spec.yaml").write_text(text)
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "1", "--seed", "9", "--out", "run").code == 0
    origins = json.loads(Path("run/record.json").read_text())["spec"]["origins"]
    assert {name: origins[name] for name in ("name", "seed", "gate.folds", "gate.alpha", "counterfactual.factor")} == {
        "name": "user",
        "seed": "--set",
        "gate.folds": "environment",
        "gate.alpha": "default",
        "counterfactual.factor": "recipe",
    }


@pytest.fixture
def hostile_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile_table().to_csv("=rows.csv", index=False)
    names = [FORMULA, MARKUP, TURNED, LONG, "no"]
    edges = json.dumps([f"{json.dumps(name, ensure_ascii=False)} -> {json.dumps(TARGET)}" for name in names])
    Path("spec.yaml").write_text(
        "version: 1\nrecipe: paper\nname: hostile\ndataset:\n  source: {kind: csv, path: '=rows.csv'}\n"
        f"  target: {json.dumps(TARGET)}\ncausal: {{graph: {{kind: edges, edges: {edges}}}}}\n"
        f"partition: {{perturb: {json.dumps(names)}, max_features: null}}\n"
        "perturbation: {default: {kind: resample}}\nregressor: {kind: ridge}\ngate: {kind: wilcoxon, folds: 5}\n"
    )
    outcome = command("crda-run", "spec.yaml", "-q", "--jobs", "1", "--out", "run")
    assert outcome.code == 0, outcome.err
    return Path("run")


def test_hostile_names_survive_a_run_unharmed_and_do_no_harm(command, hostile_run):
    record = json.loads((hostile_run / "record.json").read_text())
    assert record["counterfactuals"]["moved"] == [FORMULA, MARKUP, TURNED, LONG, "no"]
    for file in hostile_run.glob("*.csv"):
        for line in pd.read_csv(file, header=None, dtype=str, keep_default_na=False).to_numpy():
            for cell in line:
                number = cell.lstrip("-").replace(".", "").replace("e", "").replace("-", "").isdigit()
                assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), (file.name, cell)
    rows = pd.read_csv(hostile_run / "rows.csv")
    assert set(rows["source"]) == {"'=rows.csv"}
    again = pd.read_parquet(hostile_run / "augmented.parquet")
    assert list(again.columns[:15]) == list(hostile_table().columns)
    assert set(again["no"]) <= set(hostile_table()["no"])
    outcome = command("crda-spec", "verify", "run", "--depth", "full")
    assert outcome.code == 0, outcome.out
    new = hostile_table(20).drop(columns=TARGET)
    new.to_csv("new.csv", index=False)
    assert command("crda-spec", "predict", "run", "new.csv").code == 0
    page = (hostile_run / "report.html").read_text()
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
