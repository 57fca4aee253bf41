"""Rows that people can open: augmented.csv beside the Parquet, and `generate` by the ending of its file."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audit_runs import ran, record_of

from crda_spec.audit import tables
from crda_spec.audit.tables import csv_files
from crda_spec.spec.check import load_spec

SPEC = """
version: 1
name: rows
dataset:
  source: {kind: csv, path: doses.csv}
  target: score
partition: {basis: support}
regressor: {kind: ridge}
counterfactual: {teacher: {kind: crossfit, folds: 3}, retention: 0}
gate: {kind: wilcoxon, folds: 5}
output: {diagnostics: false, intervals: null, plots: false}
execution: {jobs: 1}
"""


def doses(rows, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"dose": rng.normal(20, 5, rows).round(2), "visits": rng.integers(1, 9, rows)})
    frame["ward"] = rng.choice(["north", "=south", 'a "b", c'], rows)
    frame["smoker"] = rng.choice(["yes", "no"], rows)
    frame["score"] = (frame["dose"] + rng.normal(0, 2, rows)).round(2)
    frame.loc[3, "ward"] = "north"
    return frame


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doses")
    doses(60).to_csv(folder / "doses.csv", index=False)
    return ran(folder, SPEC)


def test_the_csv_has_the_rows_of_the_parquet_to_the_last_bit(kept):
    table = pq.read_table(kept.folder / "augmented.parquet").to_pandas()
    text = pd.read_csv(kept.folder / "augmented.csv")
    assert list(text.columns) == list(table.columns)
    assert text["ward"].str.removeprefix("'").tolist() == table["ward"].tolist()
    assert "'=south" in set(text["ward"])
    for name in table.columns.drop(["ward", "_crda_basis"]):
        assert text[name].astype(float).tolist() == pytest.approx(
            table[name].astype(float).tolist(), abs=0, nan_ok=True
        )
    assert "augmented.csv" in record_of(kept)["files"]


@pytest.mark.parametrize(("written", "csv"), [("null", True), ("[parquet]", False), ("[parquet, csv]", True)])
def test_which_files_are_written(kept, tmp_path, written, csv):
    del kept
    doses(60).to_csv(tmp_path / "doses.csv", index=False)
    run = ran(tmp_path, SPEC.replace("output: {", f"output: {{format: {written}, ")).folder
    assert (run / "augmented.parquet").is_file()
    assert (run / "augmented.csv").is_file() is csv


def test_a_csv_that_nobody_can_open_is_written_only_on_request(monkeypatch):
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1.5, None], "b": ["x", "+y"]}), sink)
    small = {"augmented.csv": b"a,b\n1.5,x\n,'+y\n"}
    assert csv_files(sink.getvalue(), always=None) == csv_files(sink.getvalue(), always=True) == small
    monkeypatch.setattr(tables, "MOST_CSV", 10)
    assert csv_files(sink.getvalue(), always=None) == csv_files(sink.getvalue(), always=False) == {}
    assert csv_files(sink.getvalue(), always=True) == small


def test_rows_are_always_written_as_parquet(command, tmp_path):
    doses(60).to_csv(tmp_path / "doses.csv", index=False)
    (tmp_path / "spec.yaml").write_text(SPEC.replace("output: {", "output: {format: [csv, csv], "))
    code, said = command("validate", tmp_path / "spec.yaml")
    assert code == 2
    assert "output.format: 'csv' is listed 2 times; list it once" in said
    assert "output.format: the rows are always written as Parquet, which verify and generate read; add parquet" in said
    assert load_spec(tmp_path / "spec.yaml", overrides=["output.format=[parquet, csv]"])[0].output.writes_csv is True


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".parquet", ".CSV", ".pq"])
def test_generate_writes_what_the_ending_says(kept, command, tmp_path, ending):
    doses(30, seed=4).drop(columns="score").to_csv(tmp_path / "new.csv", index=False)
    written = []
    for name in ("one", "two"):
        out = tmp_path / f"{name}{ending}"
        code, said = command("generate", kept.folder, tmp_path / "new.csv", "--rows", 45, "--out", out)
        assert code == 0, said
        written.append(out.read_bytes())
    assert written[0] == written[1]
    read = {".csv": pd.read_csv, ".xlsx": pd.read_excel}.get(ending.lower(), pd.read_parquet)
    rows = read(tmp_path / f"one{ending}")
    assert len(rows) == 45
    assert list(rows.columns[:5]) == ["dose", "visits", "ward", "smoker", "score"]
    assert rows["_crda_source_row"].between(1, 30).all()
    assert set(rows["ward"]) <= {"north", "=south", 'a "b", c'}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "new.json"], "the ending of 'new.json' tells no kind of table; end it in .csv, .xlsx (Excel) or "),
        (
            ["--rows", "2000000", "--out", "new.xlsx"],
            "an Excel sheet has at most 1,048,575 rows below its header, and there are 2,000,000; write .csv or",
        ),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(
    kept, command, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    doses(30).to_csv(tmp_path / "rows.csv", index=False)
    code, said = command("generate", kept.folder, "rows.csv", *arguments)
    assert code == 2
    assert message in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv"]
