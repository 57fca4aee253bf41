"""A first spec for a table: it says what was inferred, and it runs as it is."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hostile import TARGET, hostile_table

FAST = ["--set", "regressor={kind: ridge}", "-q", "--jobs", "1"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def houses(rows=60):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"area": rng.uniform(30, 150, rows).round(1), "age": rng.integers(0, 90, rows)})
    frame["heated"], frame["ward"] = rng.choice(["yes", "no"], rows), rng.choice(["north", "süd", "on"], rows)
    frame["balance"] = rng.normal(size=rows).round(2)
    frame["price"] = (3 * frame["area"] - frame["age"] + rng.normal(0, 20, rows)).round(2)
    return frame


def runs(command, *arguments, spec="spec.yaml"):
    """Whether the spec is valid and runs as it is, but for a quicker regressor."""
    assert command("crda-spec", "validate", spec).code == 0
    outcome = command("crda-run", spec, *FAST, "--out", f"{spec}.run", *arguments)
    assert outcome.code == 0, outcome.err
    return json.loads(Path(f"{spec}.run/record.json").read_text())


def test_a_clean_table(command):
    houses().to_csv("houses 2.csv", index=False)
    outcome = command("crda-spec", "init", "houses 2.csv", "--target", "price")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "spec.yaml: 5 features, 60 rows\nread it, then: crda-spec plan spec.yaml, crda-run spec.yaml\n"
    )
    text = Path("spec.yaml").read_text()
    assert text.splitlines()[:2] == [
        "# yaml-language-server: $schema=crda-spec.v1.schema.json",
        "# $schema: crda-spec.v1.schema.json",
    ]
    assert json.loads(Path("crda-spec.v1.schema.json").read_text())["title"]
    spec = yaml.safe_load(text)
    assert (spec["name"], spec["recipe"]) == ("houses_2", "distilled")
    assert spec["dataset"]["columns"] == {
        "area": {"type": "continuous", "min": 0},
        "age": {"type": "integer", "min": 0},
        "heated": {"type": "boolean"},
        "ward": {"type": "category", "values": ["north", "on", "süd"]},
        "balance": {"type": "continuous"},
        "price": {"type": "continuous", **({"min": 0} if houses()["price"].min() >= 0 else {})},
    }
    assert "    balance: {type: continuous}  # seen: -" in text
    record = runs(command)
    assert [column["inferred"] for column in record["data"]["features"]] == [False] * 5


def test_a_table_that_needs_rules_gets_them_with_a_comment(command):
    frame = houses()
    frame.insert(0, "patient", [f"p{number}" for number in range(len(frame))])
    frame.insert(1, "number", range(1, len(frame) + 1))
    frame["seen"] = "2024-03-01"
    frame["nothing"] = None
    frame.loc[[3, 9], "area"] = None
    frame = pd.concat([frame, frame.iloc[[5]].assign(patient="p5b", number=61)])
    frame.to_csv("houses.csv", index=False)
    outcome = command("crda-spec", "init", "houses.csv", "--target", "price", "--json")
    told = json.loads(outcome.out)
    assert told["features"] == ["area", "age", "heated", "ward", "balance"]
    assert (told["id"], set(told["left_out"])) == (["patient", "number"], {"seen", "nothing"})
    text = Path("spec.yaml").read_text()
    assert "beside every prediction: column 'patient' looks like an identifier: 61 labels in 61 rows" in text
    assert "  id: [patient, number]\n" in text
    assert "  missing: {kind: impute}\n" in text
    assert "  duplicates: {kind: keep}\n" in text
    runs(command)


def test_an_identifier_alone_becomes_the_id_and_the_features_need_no_list(command):
    frame = houses()
    frame.insert(0, "patient", [f"p{number}" for number in range(len(frame))])
    frame.to_csv("houses.csv", index=False)
    outcome = command("crda-spec", "init", "houses.csv", "--target", "price")
    assert outcome.out.startswith("spec.yaml: 5 features, patient as id, 60 rows\n")
    text = Path("spec.yaml").read_text()
    assert "  id: patient\n" in text
    assert "  features:" not in text
    assert command("crda-spec", "validate", "spec.yaml").code == 0


def test_rows_without_an_outcome_are_dropped_and_features_filled(command):
    frame = houses()
    frame.loc[[3, 9], "price"] = None
    frame.loc[[3, 4, 5], "area"] = None
    frame["remark"] = None
    frame.loc[[7], "remark"] = "asked twice"
    frame.to_csv("houses.csv", index=False)
    outcome = command("crda-spec", "init", "houses.csv", "--target", "price")
    assert outcome.out == (
        "spec.yaml: 5 features, 1 left out, 58 rows\n"
        "  2 of 60 rows are left out: no price\n"
        "  2 missing cells of 1 column will be filled in the model; to drop instead costs 2 rows\n"
        "  remark: left out: it is empty in 59 of 60 rows: to drop them costs 59 rows, to fill them invents most "
        "cells\n"
        "read it, then: crda-spec plan spec.yaml, crda-run spec.yaml\n"
    )
    text = Path("spec.yaml").read_text()
    assert (
        "  # missing cells: area 3, price 2\n"
        "  # impute fills features in the model; <- drop instead would leave out 2 of the 58 rows\n"
        "  # target: drop leaves out 2 of 60 rows, which have no price\n"
        "  missing: {kind: impute, target: drop}\n"
    ) in text
    assert command("crda-spec", "validate", "spec.yaml").code == 0


def dirty(rows=60):
    """What people's tables hold, told apart by column."""
    frame = houses(rows).drop(columns=["heated", "ward"]).astype({"area": object, "age": object})
    rng = np.random.default_rng(3)
    frame["area"] = [f"{value:,.1f} m2" for value in 40 * frame["area"].astype(float)]
    frame.loc[[2, 5, 7], "area"] = ["n/a", "<120", "?"]
    frame["dose"] = [f"{value} %" for value in rng.integers(1, 99, rows)]
    frame.loc[11, "age"] = 430
    frame["sex"] = rng.choice(["male", "female"], rows)
    frame.loc[[1, 2, 3], "sex"] = ["Male ", "Male ", "FEMALE"]
    frame["sold"] = pd.date_range("2021-03-01", periods=rows, freq="13D").strftime("%d.%m.%Y")
    frame["seen"] = "12/31/2020"
    frame["plan"] = "basic"
    frame["remark"] = [f"the buyer number {at} asked for a garden" for at in range(rows)]
    return frame


FAR = (
    "  age: 1 value lies far from the rest, which go from 0 to 88 (row 12 (line 13): 430), and is kept; "
    "if that is an error, cells: {'430': missing} leaves it out"
)


def test_dirty_cells_keep_their_columns_and_are_all_named(command):
    dirty().to_csv("houses.csv", index=False)
    outcome = command("crda-spec", "init", "houses.csv", "--target", "price")
    assert outcome.err == ""
    assert outcome.out.splitlines() == [
        "spec.yaml: 9 features, 3 left out, 60 rows",
        "  2 missing cells of 1 column will be filled in the model; to drop instead costs 2 rows",
        "  seen: left out: it is constant: one date",
        "  plan: left out: it is constant: 'basic' in every row",
        "  remark: left out: it is free text: 60 different texts of 8 words on average",
        "  area: 57 cells written with the unit m2, which is read off",
        "  area: 57 cells with a mark between thousands: 2,456.0 m2 is read as 2456.0",
        "  area: '<120' in 1 row is read as 120, its limit",
        "  area: 'n/a' in 1 row is read as a missing value",
        "  area: '?' in 1 row is read as a missing value",
        FAR,
        "  dose: 60 cells written with the unit %, which is read off",
        "  sex: 'FEMALE' in 1 row is read as 'female'",
        "  sex: 'Male ' in 2 rows is read as 'male'",
        "  sold: a date, used as year, day_of_year, weekday, elapsed_days",
        "read it, then: crda-spec plan spec.yaml, crda-run spec.yaml",
    ]
    text = Path("spec.yaml").read_text()
    spec = yaml.safe_load(text)["dataset"]
    assert spec["features"] == ["area", "age", "balance", "dose", "sex", "sold"]
    columns = spec["columns"]
    cells = {"n/a": "missing", "<120": 120, "?": "missing"}
    assert columns["area"] == {"type": "continuous", "unit": "m2", "cells": cells, "thousands": ",", "min": 0}
    assert columns["dose"] == {"type": "integer", "unit": "%", "min": 0}
    assert columns["sex"]["cells"] == {"Male ": "male", "FEMALE": "female"}
    assert columns["sex"]["values"] == ["female", "male"]
    parts = ["year", "day_of_year", "weekday", "elapsed_days"]
    assert columns["sold"] == {"type": "date", "as": parts, "format": "%d.%m.%Y"}
    assert "  # time: sold  # <- if you predict later rows from earlier ones\n" in text
    record = runs(command)
    assert [one["name"] for one in record["data"]["features"]][-4:] == [f"sold.{part}" for part in parts]
    told = Path("told.csv")
    dirty(20).drop(columns="price").to_csv(told, index=False)
    assert len(command("crda-spec", "predict", "spec.yaml.run", told).out.splitlines()) == 21
    assert command("crda-spec", "verify", "spec.yaml.run").code == 0


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        pytest.param(
            ["2024-01-02", "2024-02-03", "03/25/2024", "2024-05-06", "2024-06-07"],
            "it holds dates, most written as 2024-03-01, but 12 cells in another way (row 3 (line 4): '03/25/2024', "
            "row 8: '03/25/2024', row 13: '03/25/2024', row 18: '03/25/2024', row 23: '03/25/2024' and 7 more): "
            "write all in one form, and declare the column as type: date",
            id="mixed-dates",
        ),
        pytest.param(
            ["01/02/2024", "02/03/2024", "04/05/2024", "05/06/2024", "06/07/2024"],
            "its dates can be read in two ways ('01/02/2024'): "
            "declare type: date with format: '%d/%m/%Y' or format: '%m/%d/%Y'",
            id="day-or-month-first",
        ),
        pytest.param(
            ["1", "two", "3", "four", "5"],
            "24 values of 'odd' are text in a number column (36 of its 60 values are numbers): row 2 (line 3): 'two', "
            "row 4: 'four', row 7: 'two', row 9: 'four', row 12: 'two' and 19 more",
            id="words-among-numbers",
        ),
        pytest.param(
            ["5 kg", "6 kg", "300 g", "7 kg", "100 g"],
            "its numbers carry different units, kg and g: write all in one",
            id="two-units",
        ),
    ],
)
def test_a_column_that_cannot_be_read_in_one_way_is_left_out_and_named(command, cells, why):
    frame = houses()
    frame["odd"] = cells * 12
    frame.to_csv("houses.csv", index=False)
    outcome = command("crda-spec", "init", "houses.csv", "--target", "price")
    assert outcome.code == 0, outcome.err
    assert f"  odd: left out: {why}\n" in outcome.out


def test_discover_accepts_what_init_accepts(command):
    dirty().to_csv("houses.tsv", index=False, sep="\t")
    outcome = command("crda-spec", "discover", "houses.tsv", "--target", "price")
    assert outcome.code == 0, outcome.err
    assert "note: remark: left out: it is free text: 60 different texts of 8 words on average\n" in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "xlsx", "tsv", "csv"])
def test_other_ways_to_write_a_table(command, ending):
    Path("data").mkdir()
    Path("specs").mkdir()
    file = Path("data", f"houses.{ending}")
    if ending == "parquet":
        houses().to_parquet(file)
    elif ending == "xlsx":
        houses().to_excel(file, index=False)
    else:  # as a European spreadsheet writes it
        houses().to_csv(file, index=False, sep=";" if ending == "csv" else "\t", decimal=",", encoding="cp1252")
    outcome = command("crda-spec", "init", file, "--target", "price", "--out", "specs/first.yaml")
    assert outcome.code == 0, outcome.err
    spec = yaml.safe_load(Path("specs/first.yaml").read_text())
    assert spec["dataset"]["source"]["path"] == f"../data/houses.{ending}"
    assert "süd" in spec["dataset"]["columns"]["ward"]["values"]
    runs(command, spec="specs/first.yaml")


@pytest.mark.slow
def test_hostile_names_and_labels(command):
    hostile_table().to_csv("rows.csv", index=False)
    assert command("crda-spec", "init", "rows.csv", "--target", TARGET).code == 0
    text = Path("spec.yaml").read_text()
    assert "\u202e" not in text
    record = runs(command)
    assert [column["name"] for column in record["data"]["features"]] == list(hostile_table().columns[:-1])


GRAPH = "dag { hurry [latent]\n area -> price; age -> price; hurry -> area; hurry -> price; mood -> price }"


@pytest.mark.slow
def test_with_a_graph_the_certificate_stands_in_the_spec(command):
    houses().to_csv("houses.csv", index=False)
    Path("graph.dag").write_text(GRAPH)
    assert command("crda-spec", "init", "houses.csv", "--target", "price", "--graph", "graph.dag").code == 0
    text = Path("spec.yaml").read_text()
    assert yaml.safe_load(text)["causal"] == {"graph": {"kind": "dagitty", "path": "graph.dag", "latent": ["mood"]}}
    assert "# The certificate: 1 of 5 features may move: age." in text
    assert "# fixed: area: the unmeasured hurry drives both area and price" in text
    assert "a misspelt column would be here too" in text
    runs(command)


@pytest.mark.slow
def test_a_graph_as_a_list_of_edges(command):
    houses().to_csv("houses.csv", index=False)
    Path("graph.txt").write_text("# what I know\n{area age} -> price\n\narea <- mood -> price\n")
    assert command("crda-spec", "init", "houses.csv", "--target", "price", "--graph", "graph.txt").code == 0
    causal = yaml.safe_load(Path("spec.yaml").read_text())["causal"]
    assert causal["graph"]["edges"] == ["{area age} -> price", "area <- mood -> price"]
    assert causal["graph"]["latent"] == ["mood"]
    runs(command)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["houses.csv", "--target", "prize"],
            "houses.csv: dataset.target: there is no column 'prize'; did you mean 'price'?",
        ),
        (
            ["house.csv", "--target", "price"],
            "dataset.source.path: there is no file 'house.csv'; did you mean 'houses.csv'?",
        ),
        (["houses.json", "--target", "price"], "the ending of 'houses.json' tells no kind of table; use .csv, .tsv"),
        (["houses.csv", "--target", "ward"], "the target 'ward' is a category, but only numbers can be predicted"),
        (["few.csv", "--target", "price"], "few.csv: 5 rows that differ are too few: the gate needs 5 to train on"),
        (["houses.csv", "--target", "price", "--graph", "g.xyz"], "--graph: the ending of 'g.xyz' tells no language"),
        (["houses.csv", "--target", "price", "--graph", "g.dag"], "--graph: 'g.dag' cannot be read: "),
        (["houses.csv", "--target", "price", "--graph", "loop.txt"], "area"),
        (["houses.csv", "--target", "price", "--out", "old.yaml"], "--out: 'old.yaml' already exists; choose another"),
        (["houses.csv", "--target", "price", "--out", "no/x.yaml"], "--out: there is no folder 'no'; choose another"),
    ],
    ids=["target", "file", "ending", "words", "few", "language", "graph", "loop", "exists", "folder"],
)
def test_what_cannot_be_begun(command, arguments, message):
    houses().to_csv("houses.csv", index=False)
    houses(5).to_csv("few.csv", index=False)
    Path("loop.txt").write_text("area -> age -> area\narea -> price\n")
    Path("old.yaml").write_text("mine")
    outcome = command("crda-spec", "init", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not Path("spec.yaml").exists()
    assert Path("old.yaml").read_text() == "mine"


def test_a_table_in_place_of_a_spec_leads_here(command):
    houses().to_csv("houses.csv", index=False)
    outcome = command("crda-run", "houses.csv")
    said = "houses.csv: 'houses.csv' is a table; write a first spec for it: crda-spec init houses.csv --target COLUMN\n"
    assert (outcome.code, outcome.out, outcome.err) == (2, "", said)
