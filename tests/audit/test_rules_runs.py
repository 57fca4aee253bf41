"""A run with rules: what it says of them, what `generate` makes by them, and that `verify` asks every row."""

import shutil

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import tampering as by
from audit_runs import ledger_of, ran, record_of

SPEC = """
version: 1
name: stays
dataset:
  source: {kind: csv, path: stays.csv}
  target: cost
partition: {basis: support}
regressor: {kind: ridge}
counterfactual: {teacher: {kind: crossfit, folds: 3}, retention: 0, factor: 1.25}
perturbation:
  default: {kind: jitter, sd: 0.5}
  support: {kind: none}
  rules:
    hold: [start <= end, "`body mass` < 45"]
    allowed: [[ward, pregnant]]
gate: {kind: wilcoxon, folds: 5}
output: {diagnostics: false, intervals: null, plots: false}
execution: {jobs: 1}
"""


def stays(rows, seed=0):
    rng = np.random.default_rng(seed)
    start, ward = rng.integers(0, 300, rows), rng.choice(["north", "south"], rows)
    frame = pd.DataFrame({"start": start, "end": start + rng.integers(0, 60, rows), "ward": ward})
    frame["body mass"] = rng.uniform(18, 40, rows).round(2)
    frame["pregnant"] = np.where((ward == "south") & (rng.random(rows) < 0.5), "yes", "no")
    frame["cost"] = (frame["end"] - frame["start"] + frame["body mass"] + rng.normal(0, 2, rows)).round(2)
    return frame


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stays")
    stays(80).to_csv(folder / "stays.csv", index=False)
    return ran(folder, SPEC)


def broken(rows):
    """Rows that break any of the three rules."""
    late, heavy = rows["start"] > rows["end"], rows["body mass"] >= 45
    return late | heavy | ((rows["ward"] == "north") & rows["pregnant"])


def test_every_row_keeps_the_rules_and_the_record_and_the_page_count(kept):
    made = record_of(kept)["counterfactuals"]
    assert not broken(ledger_of(kept)).any()
    assert made["rows"] + made["rule_dropped"] == 80
    assert made["rule_redrawn"] > 10
    assert made["redrawn"] == made["dropped"] == 0
    page = (kept.folder / "report.html").read_text()
    assert f"{made['rule_redrawn']} of them were drawn again because they broke a rule." in page


def test_generate_keeps_them_and_counts(kept, command, tmp_path):
    rows = stays(40, seed=5)
    rows.loc[:3, "end"] = rows.loc[:3, "start"] - 200  # no draw mends these
    rows.to_csv(tmp_path / "new.csv", index=False)
    code, said = command("generate", kept.folder, tmp_path / "new.csv", "--out", tmp_path / "made.parquet")
    assert code == 0, said
    made = pq.read_table(tmp_path / "made.parquet").to_pandas()
    assert not broken(made).any()
    assert " new rows were drawn again because they broke a rule.\n" in said
    assert " new rows broke a rule in every draw and were left out.\n" in said


def test_verify_asks_every_row(kept, verify, tmp_path):
    assert verify(kept.folder)[0] == 0
    shutil.copy(kept.folder.parent / "stays.csv", tmp_path / "stays.csv")
    run = by.copy_of(kept.folder, tmp_path)
    start = pq.read_table(run / by.TABLE)["start"].to_pylist()
    by.cell("end", -1, lambda _: min(start))(run)
    code, said = verify(run)
    assert code == 4
    assert f"augmented.parquet, row {len(start)}: breaks the rule 'start <= end'\n" in said


def test_a_rule_that_real_rows_break_stops_the_run_and_is_placed(command, tmp_path):
    rows = stays(80)
    rows["end"] = -1
    rows.to_csv(tmp_path / "stays.csv", index=False)
    (tmp_path / "spec.yaml").write_text(SPEC)
    code, said = command("run", tmp_path / "spec.yaml", "--out", tmp_path / "run")
    assert code == 2, said
    assert "spec.yaml:14:12" in said
    assert "64 training rows break the rule 'start <= end': rows " in said
    assert " and 59 more; repair these cells, or weaken the rule until every real row keeps it" in said
