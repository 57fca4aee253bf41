"""`crda-spec generate`: rows of any number from a finished run, with messages for what cannot be done."""

import json

import pandas as pd
import pytest

SPEC = """
version: 1
recipe: paper
name: small
dataset:
  source: {kind: synthetic, world: paper_synthetic, rows: 80}
  target: y
causal:
  graph: {kind: edges, edges: ["{x1 x2 x3} -> y"]}
partition: {basis: support, residuals: in_sample, joint: null}
regressor: {kind: ridge}
counterfactual: {retention: RETENTION, factor: 2}
gate: {kind: wilcoxon, folds: 5}
"""


@pytest.fixture
def place(tmp_path, monkeypatch, command):
    """A folder with a finished run and data to make rows from."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text(SPEC.replace("RETENTION", "1.0"))
    assert command("crda-run", "spec.yaml", "--out", "run", "--quiet").code == 0
    pd.DataFrame({"x1": [0.5, -1.0, 0.1], "x2": [1.0, 0.0, 2.0], "x3": [0.0, 0.3, 1.0], "y": [1.0, 2.0, 0.0]}).to_csv(
        "rows.csv", index=False
    )
    return tmp_path


def test_it_writes_the_rows_and_says_what_they_stand_on(place, command):
    told = command("crda-spec", "generate", "run", "rows.csv", "--out", "new.parquet", "--quiet")
    assert (told.code, told.out, told.err) == (0, "new.parquet\n", "")
    made = pd.read_parquet("new.parquet")
    assert made["_crda_source_row"].tolist() == [1, 1, 2, 2, 3, 3]
    full = command("crda-spec", "generate", "run", "rows.csv", "--out", "more.parquet", "--rows", "7")
    first, basis, gate = full.out.splitlines()
    assert first == "7 new rows from 3 rows of data: more.parquet"
    assert basis == ("Basis: certificate. Each row carries noise, and only features that the certificate frees moved.")
    assert gate.startswith("Note: the gate did not accept this augmentation (inconclusive). ")
    assert full.err.startswith("generate: 1 of 1, ")


def test_machines_get_one_object(place, command):
    told = json.loads(
        command("crda-spec", "generate", "run", "rows.csv", "--out", "new.parquet", "--factor", "0.4", "--json").out
    )
    assert set(told.pop("clipped")) == {"x1", "x2"}
    assert len(told.pop("sha256")) == 64
    assert told == {
        "file": "new.parquet",
        "rows": 1,
        "source_rows": 3,
        "left_out": 0,
        "basis": "certificate",
        "scale_clipped": 0,
        "dropped": 0,
        "redrawn": 0,
        "rule_dropped": 0,
        "rule_redrawn": 0,
        "astray": 0,
        "gate": "inconclusive",
    }


def test_without_noise_the_outcome_may_be_absent(place, command):
    (place / "spec.yaml").write_text(SPEC.replace("RETENTION", "0.0"))
    assert command("crda-run", "spec.yaml", "--out", "silent", "--quiet").code == 0
    pd.read_csv("rows.csv").drop(columns="y").to_csv("unlabelled.csv", index=False)
    told = command("crda-spec", "generate", "silent", "unlabelled.csv", "--out", "new.parquet")
    assert told.out.splitlines()[1] == ("Basis: support. The teacher alone labels each row; no row's noise is reused.")
    refused = command("crda-spec", "generate", "run", "unlabelled.csv", "--out", "other.parquet")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "unlabelled.csv: there is no column 'y'; its columns are: x1, x2, x3\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--rows", "0", "--batch", "0"),
            "--rows: must be at least 1, got 0\n--batch: must be at least 1, got 0\n2 problems\n",
        ),
        (("--factor", "0"), "--factor: must be above 0 and at most 1000, got 0\n"),
        (("--factor", "1e9"), "--factor: must be above 0 and at most 1000, got 1e+09\n"),
        (("--factor", "nan"), "--factor: must be above 0 and at most 1000, got nan\n"),
        (("--factor", "2", "--rows", "3"), "both --rows and --factor are given; keep one of them\n"),
        (("--out", "rows.csv"), "--out: 'rows.csv' already exists; choose another file\n"),
        (("--out", "nowhere/new.parquet"), "--out: there is no folder 'nowhere'; make it, or choose another file\n"),
    ],
)
def test_numbers_and_files_that_cannot_be(place, command, arguments, message):
    out = () if "--out" in arguments else ("--out", "new.parquet")
    told = command("crda-spec", "generate", "run", "rows.csv", *out, *arguments)
    assert (told.code, told.out, told.err) == (2, "", message)
    assert not (place / "new.parquet").exists()
