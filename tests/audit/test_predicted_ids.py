"""Ids beside predictions, in every kind of file: as they are written, and never obeyed."""

import json

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audit_runs import ran
from test_ledger_recomputed import SPEC, TEACHER, houses

from crda_spec.audit.predicted import check_size, csv_lines, predicted_table, write_table
from crda_spec.errors import OutputError

IDS = ["007", "=1+1", "NA", "", "a, b", " x ", "#N/A", "12345678901234567890"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run whose rows belong to wards, two of which name a row together with its number."""
    folder = tmp_path_factory.mktemp("named")
    frame = houses(70)
    frame.insert(0, "number", [f"h{number:03}" for number in range(70)])
    frame["ward"] = [f"w{number % 9}" for number in range(70)]
    frame.to_csv(folder / "houses.csv", index=False)
    text = SPEC.replace(
        "  target: price", "  target: price\n  id: [number, ward]\n  groups: ward\n  missing: {{kind: drop}}"
    )
    return ran(folder, text.format(regressor="{kind: ridge}", teacher=TEACHER["single"]))


def named(rows=8):
    frame = houses(rows).drop(columns="price").astype(object)
    frame["ward"], frame["number"] = "w", IDS[:rows]
    frame.loc[1, "area"] = None
    return frame


def test_ids_are_no_features_and_stay_out_of_the_run_folder(finished):
    record = json.loads((finished.folder / "record.json").read_text())
    assert [one["name"] for one in record["data"]["features"]] == ["area", "rooms", "age", "garage"]
    assert record["spec"]["resolved"]["dataset"]["id"] == ["number", "ward"]
    assert all(b"h001" not in path.read_bytes() for path in finished.folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_every_kind_of_file_keeps_text_ids_as_they_are_written(finished, start, tmp_path, ending):
    named().to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / f"said.{ending}"
    code, _, err = start("predict", finished.folder, tmp_path / "new.csv", "--out", out)
    assert (code, err) == (0, "1 rows with missing cells have no prediction.\n")
    if ending == "csv":
        table = pd.read_csv(out, dtype=str, keep_default_na=False)
    elif ending == "parquet":
        table = pq.read_table(out).to_pandas()
    else:
        cells = list(openpyxl.load_workbook(out).active.iter_rows())
        assert {cell.data_type for row in cells[1:] for cell in row[:2] if cell.value is not None} == {"s"}
        values = [[cell.value for cell in row] for row in cells]
        table = pd.DataFrame(values[1:], columns=values[0]).fillna({"number": ""})
    assert list(table.columns) == ["number", "ward", "prediction"]
    assert table["number"].tolist() == IDS
    assert table["ward"].tolist() == ["w"] * len(IDS)
    x = houses(len(IDS)).assign(garage=houses(len(IDS))["garage"].map(["carport", "double", "none"].index))
    expected = finished.result.model.predict(x[["area", "rooms", "age", "garage"]].to_numpy(np.float64))
    predicted = pd.to_numeric(table["prediction"]).to_numpy()
    assert np.isnan(predicted[1])  # its id stays
    np.testing.assert_allclose(np.delete(predicted, 1), np.delete(expected, 1), rtol=1e-12)


@pytest.mark.parametrize("ending", ["xlsx", "parquet"])
def test_ids_that_are_numbers_stay_numbers(finished, start, tmp_path, ending):
    new = houses(3).assign(number=[7, 8, 2**60], ward="w")
    new.to_parquet(tmp_path / "new.parquet")
    out = tmp_path / f"said.{ending}"
    assert start("predict", finished.folder, tmp_path / "new.parquet", "--out", out)[0] == 0
    if ending == "parquet":
        assert pq.read_table(out).schema.field("number").type == pa.int64()
        assert pq.read_table(out)["number"].to_pylist() == [7, 8, 2**60]
    else:  # which keeps fifteen digits of a number
        rows = list(openpyxl.load_workbook(out).active.iter_rows(values_only=True))
        assert [row[0] for row in rows] == ["number", 7, 8, str(2**60)]


def test_a_sheets_own_numbers_come_back_as_numbers(finished, start, tmp_path):
    new = houses(3).assign(number=pd.Series([7, "8b", None], dtype=object), ward=[1, 2, 3])
    new.to_excel(tmp_path / "new.xlsx", index=False)
    assert start("predict", finished.folder, tmp_path / "new.xlsx", "--out", tmp_path / "said.xlsx")[0] == 0
    rows = list(openpyxl.load_workbook(tmp_path / "said.xlsx").active.iter_rows(values_only=True))
    assert [row[:2] for row in rows[1:]] == [("7", 1), ("8b", 2), (None, 3)]  # mixed cells are text


def test_the_screen_and_json_show_the_ids_too(finished, start, tmp_path):
    named(3).to_csv(tmp_path / "new.csv", index=False)
    _, out, _ = start("predict", finished.folder, tmp_path / "new.csv")
    lines = out.splitlines()
    assert (lines[0], lines[1].startswith("007,w,"), lines[2]) == ("number,ward,prediction", True, "=1+1,w,")
    told = json.loads(start("predict", finished.folder, tmp_path / "new.csv", "--json")[1])
    assert (told["ids"], told["predictions"][1]) == ({"number": IDS[:3], "ward": ["w"] * 3}, None)


def test_an_id_that_the_new_rows_lack_is_left_out_with_a_note(finished, start, tmp_path):
    new = houses(3).assign(Number=["a", "b", "c"], ward="w")
    new.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = start("predict", finished.folder, tmp_path / "new.csv")
    assert (code, out.splitlines()[0]) == (0, "ward,prediction")
    assert err == "new.csv: there is no column 'number': it is left out; did you mean 'Number'?\n"
    houses(3).to_csv(tmp_path / "bare.csv", index=False)
    code, out, err = start("predict", finished.folder, tmp_path / "bare.csv")
    assert (code, out.splitlines()[0], len(err.splitlines())) == (0, "row,prediction", 2)


def test_an_ending_that_names_no_table_is_refused_before_anything_is_read(finished, start, tmp_path):
    code, out, err = start("predict", finished.folder, tmp_path / "absent.csv", "--out", tmp_path / "said.xls")
    assert (code, out) == (2, "")
    what = "the ending of 'said.xls' tells no kind of table"
    assert err == f"--out: {what}; end it in .csv, .xlsx (Excel) or .parquet\n"


def test_more_rows_than_a_sheet_has_are_refused(tmp_path):
    check_size(tmp_path / "said.xlsx", 1_048_575)
    check_size(tmp_path / "said.csv", 2_000_000)
    with pytest.raises(OutputError, match="at most 1,048,575 rows below its header, and there are 1,048,576"):
        check_size(tmp_path / "said.xlsx", 1_048_576)


@pytest.mark.parametrize(
    ("cell", "why"),
    [("a\x07b", "holds a control character"), ("x" * 40_000, "40,000 characters")],
    ids=["control", "long"],
)
def test_what_a_sheet_cannot_hold_is_said_and_nothing_is_left(tmp_path, cell, why):
    table = predicted_table(pa.table({"who": [cell]}), {"prediction": np.array([1.0])})
    with pytest.raises(OutputError, match=why):
        write_table(table, tmp_path / "said.xlsx")
    assert not list(tmp_path.iterdir())
    write_table(table, tmp_path / "said.csv")


def test_a_workbook_has_the_same_bytes_each_time_and_more_columns_of_numbers_follow(tmp_path):
    numbers = {"prediction": np.array([1.5, np.nan]), "low": np.array([1.0, np.nan]), "high": np.array([2.0, np.nan])}
    table = predicted_table(pa.table({"who": ["a", "b"]}), numbers)
    for name in ("one.xlsx", "two.xlsx"):
        write_table(table, tmp_path / name)
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two.xlsx").read_bytes()
    rows = list(openpyxl.load_workbook(tmp_path / "one.xlsx").active.iter_rows(values_only=True))
    assert rows == [("who", "prediction", "low", "high"), ("a", 1.5, 1.0, 2.0), ("b", None, None, None)]
    assert "".join(csv_lines(table)) == "who,prediction,low,high\na,1.5,1.0,2.0\nb,,,\n"
