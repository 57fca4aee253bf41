"""The final model of a run on new rows: the same numbers, the same contract, and nothing that executes."""

import ast
import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tampering as by
from audit_runs import ran
from test_ledger_recomputed import SPEC, TEACHER, houses

import crda_spec
from crda_spec.audit.models import load_model


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    houses(70).to_csv(folder / "houses.csv", index=False)
    text = SPEC.replace("  target: price", "  target: price\n  columns: {{age: {{min: 0}}, price: {{unit: kEUR}}}}")
    return ran(folder, text.format(regressor="{kind: ridge}", teacher=TEACHER["single"]))


def read_text(text):
    """Python's own reading of numbers, which loses no bit."""
    frame = pd.read_csv(io.StringIO(text), dtype=str)
    return frame.assign(row=frame["row"].map(int), prediction=frame["prediction"].map(float))


def test_new_rows_are_predicted_as_the_model_in_memory_predicts_them(finished, start, tmp_path):
    file = tmp_path / "new.csv"
    new = houses(50).drop(columns="price").iloc[:, ::-1]  # another order of columns, and no outcome
    new.to_csv(file, index=False)
    code, out, err = start("predict", finished.folder, file)
    assert (code, err) == (0, "")
    table = read_text(out)
    assert table["row"].tolist() == list(range(1, 51))
    labels = ["carport", "double", "none"]
    x = houses(50).assign(garage=houses(50)["garage"].map(labels.index))[["area", "rooms", "age", "garage"]]
    assert table["prediction"].tolist() == finished.result.model.predict(x.to_numpy(np.float64)).tolist()


def test_a_sheet_and_standard_input_are_read_as_a_csv_file_is(finished, start, tmp_path, monkeypatch):
    new = houses(30).drop(columns="price")
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_excel(tmp_path / "new.xlsx", index=False)
    said = start("predict", finished.folder, tmp_path / "new.csv")
    assert said[0] == 0
    assert start("predict", finished.folder, tmp_path / "new.xlsx") == said
    with (tmp_path / "new.csv").open("rb") as given:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
        assert start("predict", finished.folder, "-") == said


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"age": "old"}, "new.xlsx: 1 value of 'age' is not a number: row 2: 'old'"),
        ({"garage": 7.0}, "new.xlsx: 1 value of 'garage' is not a label that the run has seen: row 2: 7;"),
        ({"rooms": None}, "new.xlsx: 'rooms' is missing in row 2; fill the cell"),
    ],
)
def test_a_cell_of_a_sheet_that_breaks_the_contract_is_named(finished, start, tmp_path, cells, message):
    new = houses(3).astype(object)
    for name, cell in cells.items():
        new.loc[1, name] = cell
    new.to_excel(tmp_path / "new.xlsx", index=False)
    code, _, err = start("predict", finished.folder, tmp_path / "new.xlsx")
    assert code == 2
    assert err.startswith(message)


def test_nothing_on_standard_input_is_said(finished, start, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    code, _, err = start("predict", finished.folder, "-")
    assert (code, err.startswith("stdin.csv: ")) == (2, True)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_of_predictions(finished, start, tmp_path, ending):
    houses(20).to_parquet(tmp_path / "new.parquet")
    target = tmp_path / f"said.{ending}"
    code, out, err = start("predict", finished.folder, tmp_path / "new.parquet", "--out", target)
    assert (code, out, err) == (0, f"20 predictions of price in kEUR by the plain model: {target}\n", "")
    again = read_text(target.read_text()) if ending == "csv" else pq.read_table(target).to_pandas()
    told = json.loads(start("predict", finished.folder, tmp_path / "new.parquet", "--json")[1])
    assert told["predictions"] == again["prediction"].tolist()
    assert (told["rows"], told["predicted"], told["model"]) == (20, 20, "plain")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.parquet", f"said.{ending}"]
    assert start("predict", finished.folder, tmp_path / "new.parquet", "--out", target)[0] == 2


def broken(row, column, value):
    frame = houses(12).astype(object)
    frame.loc[row, column] = value
    return frame


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (broken(3, "garage", "castle"), "1 value of 'garage' is not a label that the run has seen: row 4: 'castle'"),
        (broken(3, "age", -2), "1 value of 'age' is below the minimum 0: row 4: -2"),
        (broken(3, "area", "big"), "1 value of 'area' is not a number: row 4: 'big'"),
        (broken(3, "rooms", 2.5), "1 value of 'rooms' is not whole: row 4: 2.5"),
        (broken(3, "area", None), "'area' is missing in row 4; fill the cell, or leave the row out"),
        (houses(12).drop(columns="rooms"), "there is no column 'rooms'; its columns are: area, age, garage, price"),
    ],
    ids=["label", "bound", "text", "whole", "missing", "column"],
)
def test_a_cell_that_breaks_the_contract_is_named(finished, start, tmp_path, frame, message):
    frame.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = start("predict", finished.folder, tmp_path / "new.csv")
    assert (code, out) == (2, "")
    assert err.startswith(f"new.csv: {message}")


def test_rows_with_missing_cells_follow_the_runs_own_rule(start, tmp_path):
    houses(60).to_csv(tmp_path / "houses.csv", index=False)
    text = SPEC.format(regressor="{kind: ridge}", teacher=TEACHER["single"])
    run = ran(tmp_path, text.replace("  target: price", "  target: price\n  missing: {kind: drop}")).folder
    broken(3, "area", None).to_csv(tmp_path / "new.csv", index=False)
    code, out, err = start("predict", run, tmp_path / "new.csv")
    assert (code, err) == (0, "1 rows with missing cells have no prediction.\n")
    assert out.splitlines()[4] == "4,"


def test_a_model_that_was_changed_is_not_used(finished, start, tmp_path):
    run = by.copy_of(finished.folder, tmp_path)
    with (run / "model" / "estimator.skops").open("ab") as file:
        file.write(b"x")
    houses(5).to_csv(tmp_path / "new.csv", index=False)
    code, out, err = start("predict", run, tmp_path / "new.csv")
    assert (code, out) == (4, "")
    what = "model/estimator.skops: was changed after it was written: its hash differs"
    assert err == f"{run}: {what}; see what else differs: crda-spec verify {run}\n"


STRAYS = ("model/model.pkl", "model.joblib", "record.pkl", "augmented.pkl")


@pytest.fixture
def bombed(finished, tmp_path):
    """A run in which every file that could hold a pickle is one, every hash mended, and more lie about."""
    run = by.copy_of(finished.folder, tmp_path)
    bomb = by.planted_pickle(tmp_path / "marker")
    for name in ("model/estimator.skops", "teacher/1/estimator.skops"):
        (run / name).write_bytes(bomb)
    for name in STRAYS:
        (run / name).write_bytes(bomb)
    by.reseal(run)
    return run


def test_no_pickle_in_a_run_is_ever_read(bombed, start, tmp_path):
    """All commands that read a run folder; the marker would tell."""
    houses(5).to_csv(tmp_path / "new.csv", index=False)
    predict, generate = ("predict", bombed, tmp_path / "new.csv"), ("generate", bombed, tmp_path / "new.csv")
    generate = (*generate, "--out", tmp_path / "new.parquet")
    code, _, err = start(*predict)
    assert code == 4
    assert "model/model.pkl: was not written by the run" in err
    assert start(*generate)[0] == 4
    assert start("verify", bombed)[0] == 4
    for name in STRAYS:
        (bombed / name).unlink()
    code, _, err = start(*predict)
    assert (code, err) == (2, "model/estimator.skops is not the archive that a run writes; do not load this model\n")
    assert start(*generate)[0] == 2
    assert start("verify", bombed)[0] == 4
    assert not (tmp_path / "marker").exists()


def test_no_pickle_in_a_data_source_is_ever_read(finished, start, tmp_path):
    """Under any ending, and inside the metadata of a Parquet file, where pandas keeps notes of its own."""
    bomb = by.planted_pickle(tmp_path / "marker")
    for name in ("new.csv", "new.parquet", "new.pkl"):
        (tmp_path / name).write_bytes(bomb)
        assert start("predict", finished.folder, tmp_path / name)[0] == 2
        spec = tmp_path / "spec.yaml"
        kind = "parquet" if name.endswith("parquet") else "csv"
        spec.write_text(
            "version: 1\nrecipe: paper\nname: bomb\ndataset:\n"
            f"  source: {{kind: {kind}, path: {name}}}\n  target: price\n"
        )
        assert start("run", spec, "--out", tmp_path / "run")[0] == 2
    table = pa.Table.from_pandas(houses(20)).replace_schema_metadata({b"pandas": bomb, b"pickle": bomb})
    pq.write_table(table, tmp_path / "noted.parquet")
    assert start("predict", finished.folder, tmp_path / "noted.parquet")[0] == 0
    assert not (tmp_path / "marker").exists()


def test_only_memory_is_pickled():
    """Models that wait for a worker are packed in memory; no room that touches files knows pickle."""
    for file in Path(crda_spec.__file__).parent.rglob("*.py"):
        room = file.relative_to(Path(crda_spec.__file__).parent).parts[0]
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom) and room != "regressors":
                names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
                assert names.isdisjoint({"pickle", "cloudpickle", "dill", "marshal", "shelve"}), file
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("read_pickle", "to_pickle"), file
                assert ast.unparse(node) not in ("pickle.load", "pickle.dump", "joblib.load", "joblib.dump"), file
            if isinstance(node, ast.keyword):
                assert node.arg != "allow_pickle", file


def test_a_file_name_in_a_model_cannot_lead_elsewhere(finished, tmp_path):
    run = by.copy_of(finished.folder, tmp_path)
    head = json.loads((run / "model" / "model.json").read_text())
    head["estimator"] = "../../secret.skops"
    (run / "model" / "model.json").write_text(json.dumps(head))
    with pytest.raises(Exception, match=r"names the estimator's file '../../secret.skops'; do not load"):
        load_model(run / "model")


def test_a_plugins_model_is_refused_in_plain_words(finished, tmp_path):
    import skops.io
    from sklearn.preprocessing import FunctionTransformer

    run = by.copy_of(finished.folder, tmp_path)
    head = json.loads((run / "model" / "model.json").read_text())
    head["kind"] = "their_forest"
    (run / "model" / "model.json").write_text(json.dumps(head))
    (run / "model" / "estimator.skops").write_bytes(skops.io.dumps(FunctionTransformer(func=by.nearly)))
    with pytest.raises(Exception, match="model of the plugin 'their_forest'") as caught:
        load_model(run / "model")
    assert str(caught.value) == (
        "model/estimator.skops is a model of the plugin 'their_forest', whose types are not loaded: tampering.nearly; "
        "only models of built-in kinds can be read back; fit it again with crda-run"
    )
