"""What changed between two specs or two runs, and how the verdict changed."""

import json
from pathlib import Path

import pytest

SPEC = """version: 1
recipe: paper
name: tiny
dataset:
  source: {kind: synthetic, world: paper_synthetic, rows: 60}
  target: y
causal:
  graph: {kind: edges, edges: ["{x1 x2 x3} -> y"]}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 6}
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(SPEC)
    return tmp_path


def run(command, name, text):
    Path(f"{name}.yaml").write_text(text)
    assert command("crda-run", f"{name}.yaml", "-q", "--jobs", "1", "--out", f"run-{name}").code == 0


def test_comments_order_and_defaults_do_not_count(command):
    lines = SPEC.splitlines(keepends=True)
    Path("b.yaml").write_text("# the same\n" + "".join(lines[8:] + lines[:8]) + "seed: 0\nexecution: {jobs: 3}\n")
    outcome = command("crda-spec", "diff", "a.yaml", "b.yaml")
    assert (outcome.code, outcome.out, outcome.err) == (0, "no difference\n", "")
    assert json.loads(command("crda-spec", "diff", "a.yaml", "b.yaml", "--json").out)["same"] is True


def test_two_specs_value_by_value(command):
    Path("b.yaml").write_text(SPEC.replace("folds: 6", "folds: 7").replace("ridge}", "ridge, alpha: 2.5}"))
    outcome = command("crda-spec", "diff", "a.yaml", "b.yaml")
    assert outcome.out == "spec\n  regressor.alpha: 1 -> 2.5\n  gate.folds: 6 -> 7\n"
    told = json.loads(command("crda-spec", "diff", "a.yaml", "b.yaml", "--json").out)
    assert told["changes"]["spec"][1] == {"path": "gate.folds", "a": {"value": 6}, "b": {"value": 7}}
    assert told["verdict"] is None


def test_a_key_that_one_of_them_lacks(command):
    Path("b.yaml").write_text(SPEC.replace("{kind: ridge}", "{kind: knn}"))
    lines = command("crda-spec", "diff", "a.yaml", "b.yaml").out.splitlines()
    assert "  regressor.kind: 'ridge' -> 'knn'" in lines
    assert "  regressor.alpha: 1 -> absent" in lines


def test_two_runs_and_how_the_verdict_changed(command):
    run(command, "a", SPEC)
    run(command, "b", SPEC.replace("->", "<->").replace("rows: 60", "rows: 50"))
    outcome = command("crda-spec", "diff", "run-a", "run-b")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    before = json.loads(Path("run-a/record.json").read_text())["verdict"]["decision"]
    assert before in ("rejected", "inconclusive")
    for line in (
        "  dataset.source.rows: 60 -> 50",
        "  rows_read: 60 -> 50",
        "certificate",
        f"  decision: '{before}' -> 'abstained'",
    ):
        assert line in lines
    assert lines[-1].startswith(f"The verdict changed from {before} (")
    assert lines[-1].endswith(" to abstained (no_perturbable_features, nothing to test).")
    told = json.loads(command("crda-spec", "diff", "run-a", "run-b", "--json").out)
    assert told["verdict"] == lines[-1]
    assert set(told["changes"]) >= {"spec", "data", "graph", "certificate", "verdict", "test"}


def test_a_run_and_its_spec_do_not_differ(command):
    run(command, "a", SPEC)
    assert command("crda-spec", "diff", "a.yaml", "run-a").out == "no difference\n"
    assert command("crda-spec", "diff", "run-a", "run-a").out.splitlines()[0] == "no difference"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.yaml", "c.yaml"], "c.yaml: there is no such file: 'c.yaml'"),
        (["a.yaml", "."], "'.' is not the folder of a finished run; name the folder that crda-run wrote"),
        (["a.yaml", "old.yaml"], "version"),
    ],
)
def test_what_cannot_be_compared(command, arguments, message):
    Path("old.yaml").write_text(SPEC.replace("version: 1", "version: 7"))
    outcome = command("crda-spec", "diff", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_a_spec_of_another_version_is_refused_in_plain_words(command):
    Path("old.yaml").write_text(SPEC.replace("version: 1", "version: 2") + "frob: 1\n")
    outcome = command("crda-spec", "validate", "old.yaml")
    assert outcome.code == 2
    assert outcome.err == (
        "old.yaml:1:10: version: this spec is of version 2, but this crda-spec reads version 1; "
        "use the crda-spec that it was written for, or rewrite it as version 1\n"
        "    1 | version: 2\n      |          ^\n"
    )
