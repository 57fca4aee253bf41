"""What comes from the environment may be a secret: no file that a run leaves, and nothing it prints, shows it."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

AGENT = "tiger-lily-4711"
SPEC = """version: 1
recipe: paper
name: discreet
description: sold by ${AGENT}
meta: {owner: "${AGENT}", team: [ada, "for ${AGENT}"]}
dataset:
  source:
    kind: sql
    url: sqlite:///${DATABASE}
    query: SELECT area, age, price FROM sales WHERE agent = '${AGENT}'
  target: price
causal:
  graph: {kind: edges, edges: ["{area age} -> price"]}
regressor:
  kind: ${KIND:-ridge}
  alpha: ${ALPHA:-2.5}
gate: {kind: wilcoxon, folds: 5}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database in which the rows can only be found by who knows the agent, and an environment that knows."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"area": rng.uniform(40, 99, 60), "age": rng.uniform(0, 50, 60), "agent": AGENT})
    frame["price"] = 3 * frame["area"] - frame["age"] + rng.normal(0, 9, 60)
    connection = sqlite3.connect(tmp_path / "sales.db")
    frame.to_sql("sales", connection, index=False)
    connection.close()
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    monkeypatch.setenv("AGENT", AGENT)
    monkeypatch.setenv("DATABASE", "sales.db")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("more", [[], ["--json"], ["--quiet"]], ids=["summary", "json", "quiet"])
def test_a_secret_from_the_environment_is_in_no_file_and_in_nothing_printed(command, place, more):
    outcome = command("crda-run", "spec.yaml", "--jobs", "1", "--out", "run", *more)
    assert outcome.code == 0
    assert AGENT not in outcome.out + outcome.err
    files = [file for file in (place / "run").rglob("*") if file.is_file()]
    assert len(files) > 8
    assert [file.name for file in files if AGENT.encode() in file.read_bytes()] == []


def test_the_run_records_text_as_it_was_written_and_numbers_as_they_were(command, place):
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "1", "--out", "run").code == 0
    resolved = json.loads((place / "run" / "record.json").read_text())["spec"]["resolved"]
    assert resolved["description"] == "sold by ${AGENT}"
    assert resolved["meta"] == {"owner": "${AGENT}", "team": ["ada", "for ${AGENT}"]}
    assert resolved["dataset"]["source"]["url"] == "sqlite:///${DATABASE}"
    assert resolved["dataset"]["source"]["query"].endswith("WHERE agent = '${AGENT}'")
    assert resolved["regressor"] == {"kind": "${KIND:-ridge}", "alpha": 2.5}
    assert "sold by ${AGENT}" in (place / "run" / "report.html").read_text()


def test_the_recorded_spec_gives_the_run_again_where_the_environment_is_set(command, place):
    assert command("crda-run", "spec.yaml", "-q", "--jobs", "1", "--out", "first").code == 0
    (place / "again.yaml").write_bytes((place / "first" / "spec.yaml").read_bytes())
    assert command("crda-run", "again.yaml", "-q", "--jobs", "1", "--out", "second").code == 0
    for name in ("spec.yaml", "augmented.parquet", "folds.csv", "rows.csv"):
        assert (place / "second" / name).read_bytes() == (place / "first" / name).read_bytes()


def test_render_shows_no_secret_either(command, place):
    outcome = command("crda-spec", "render", "spec.yaml")
    assert outcome.code == 0
    assert AGENT not in outcome.out
    assert "description: sold by ${AGENT}\n" in outcome.out


def test_a_spec_that_is_nothing_but_a_secret_is_refused_without_it(command, place):
    (place / "bare.yaml").write_text("${AGENT}\n", encoding="utf-8")
    outcome = command("crda-spec", "validate", "bare.yaml")
    assert outcome.code == 2
    assert "a spec is a mapping (key: value lines), got" in outcome.err
    assert AGENT not in outcome.out + outcome.err
