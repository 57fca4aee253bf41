"""What a run leaves: whole, listed with its hashes, and the same bytes however it was run."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest


def line_of(row: int) -> str:
    """One line of a table that is neither random nor regular."""
    first, second, noise = row * 37 % 101 / 10, row * 53 % 89 / 10, row * 71 % 13 / 9
    return f"{first},{second},{'abc'[row % 3]},{2 * first + second / 2 + noise}\n"


CSV = "x1,x2,kind,y\n" + "".join(line_of(row) for row in range(80))
SPEC = """version: 1
recipe: paper
name: tiny
seed: 4
dataset:
  source: {{kind: csv, path: data/rows.csv}}
  target: y
causal:
  graph: {{kind: edges, edges: ["{{x1 x2 kind}} -> y"]}}
regressor: {regressor}
gate: {{kind: wilcoxon, folds: 5}}
"""
RIDGE = "{kind: ridge}"
XGBOOST = "{kind: xgboost, n_estimators: 15, early_stopping: null}"
TELLING = ("record.json", "report.html", "ro-crate-metadata.json")  # who wrote each value; the crate by its hashes
FILES = [
    "augmented.csv",
    "augmented.parquet",
    "certificate.json",
    "croissant.json",
    "diagnostics.json",
    "figures",
    "folds.csv",
    "graph.svg",
    "intervals.csv",
    "intervals.json",
    "ledger.parquet",
    "record.json",
    "report.html",
]
FILES += ["ro-crate-metadata.json", "rows.csv", "spec.yaml"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small table and a place for specs."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text(CSV)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_spec(folder: Path, regressor: str) -> Path:
    file = folder / "spec.yaml"
    file.write_text(SPEC.format(regressor=regressor), encoding="utf-8")
    return file


def contents(run: Path) -> dict[str, bytes]:
    """The bytes of every file, those of record.json without its volatile part, those of the crate without its day."""
    found = {str(file.relative_to(run)): file.read_bytes() for file in sorted(run.rglob("*")) if file.is_file()}
    record = json.loads(found["record.json"])
    day = record.pop("volatile")["created"][:10]
    crate = found["ro-crate-metadata.json"].replace(f'"datePublished": "{day}"'.encode(), b"")
    return {**found, "record.json": json.dumps(record, sort_keys=True).encode(), "ro-crate-metadata.json": crate}


def test_the_record_lists_every_other_file_with_its_hash(command, place):
    write_spec(place, RIDGE)
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "1", "--out", "run").code == 0
    run = place / "run"
    written = {str(file.relative_to(run)) for file in run.rglob("*") if file.is_file()}
    assert sorted(name for name in written if "/" not in name) == [name for name in FILES if name != "figures"]
    assert {name.rpartition("/")[0] for name in written if "/" in name} == {"figures", "model", "teacher/1"}
    listed = json.loads((run / "record.json").read_text())["files"]
    assert set(listed) == written - {"record.json", "ro-crate-metadata.json"}  # the crate is made from the record
    for name, digest in listed.items():
        assert hashlib.sha256((run / name).read_bytes()).hexdigest() == digest


def test_the_model_and_the_plots_are_left_out_on_request(command, place):
    write_spec(place, RIDGE)
    without = ("--set", "output.model=false", "--set", "output.plots=false")
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "1", "--out", "run", *without).code == 0
    assert sorted(file.name for file in (place / "run").iterdir()) == [name for name in FILES if name != "figures"]
    assert "<svg" in (place / "run" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("regressor", [RIDGE, XGBOOST], ids=["ridge", "xgboost"])
def test_one_worker_or_two_here_or_elsewhere_the_bytes_are_the_same(command, place, regressor, monkeypatch):
    write_spec(place, regressor)
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "1", "--out", "one").code == 0
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "2", "--out", "two").code == 0
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert command("crda-run", "../spec.yaml", "-q", "--jobs", "1", "--out", "three").code == 0
    one = contents(place / "one")
    assert contents(place / "two") == one
    assert contents(elsewhere / "three") == one


def test_a_rendered_spec_of_a_run_gives_the_run_again(command, place):
    write_spec(place, RIDGE)
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "1", "--seed", "6", "--out", "first").code == 0
    shutil.copy(place / "first" / "spec.yaml", place / "again.yaml")
    assert command("crda-run", "again.yaml", "-q", "--jobs", "1", "--out", "second").code == 0
    first, second = contents(place / "first"), contents(place / "second")
    same = [name for name in first if name not in TELLING]
    assert {name: second[name] for name in same} == {name: first[name] for name in same}


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_in_the_middle_of_a_networks_fit_leaves_nothing(place, script):
    """Nothing but the signal ends the first fit: it has a million epochs, and as much patience."""
    stopping = "early_stopping: {rounds: 1000000}"
    write_spec(place, f"{{kind: mlp, hidden_layer_sizes: [600, 600], max_iter: 1000000, {stopping}}}")
    line = [script("crda-run"), "spec.yaml", "--jobs", "1", "--out", "run"]
    before = sorted(path.name for path in place.iterdir())
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stderr is not None
        heard = running.stderr.readline()
        assert heard.startswith("read the data: ")
        time.sleep(1.5)
        assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        lines = running.stderr.read().splitlines()
        code = running.wait(timeout=30)
    assert code == 130
    assert lines[0].startswith("test the graph: ")
    assert re.fullmatch(r"abduct, partition, act, predict: stopped, \d+\.\d s", lines[1])
    assert lines[2:] == ["interrupted; nothing half-written was left behind"]
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_run_leaves_nothing(place, script, jobs):
    write_spec(place, XGBOOST)
    line = [script("crda-run"), "spec.yaml", "--jobs", jobs, "--out", "run"]
    line += ["--set", "gate.folds=60", "--set", "regressor.n_estimators=2000"]
    before = sorted(path.name for path in place.iterdir())
    # A session of its own, so that the signal reaches the workers too, as Ctrl-C at a terminal does.
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stderr is not None
        heard = ""
        for told in running.stderr:
            heard += told
            if told.startswith("abduct, partition, act, predict: "):
                break
        time.sleep(0.5 if jobs == "1" else 4)
        assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        heard += running.stderr.read()
        code = running.wait(timeout=30)
    assert code == 130
    lines = heard.splitlines()
    assert [line.split(",")[0] for line in lines if line.startswith("gate: ")] == ["gate: stopped"]
    assert lines.count("interrupted; nothing half-written was left behind") == 1
    assert sorted(path.name for path in place.iterdir()) == before
