"""Four tables of public packages, as they come, from `init` to an opened report; nothing is edited but the graph."""

import importlib.util
import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.datasets import load_diabetes

FAST = ["--set", "regressor={kind: ridge}", "--set", "gate={kind: wilcoxon, folds: 5}", "-q", "--jobs", "1"]
ONE_TEACHER = ["--set", "counterfactual.teacher={kind: crossfit, folds: 3}", "--set", "counterfactual.invariance=off"]
NEXT = "read it, then: crda-spec plan spec.yaml, crda-run spec.yaml"


def folder_of(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(found.origin).parent


def penguins() -> pd.DataFrame:
    return pd.read_csv(folder_of("palmerpenguins") / "data" / "penguins-raw.csv", dtype=str, keep_default_na=False)


def cars() -> pd.DataFrame:
    return pd.DataFrame(json.loads((folder_of("vega_datasets") / "_data" / "cars.json").read_text()))


def nhefs() -> pd.DataFrame:
    """A cohort of smokers, with the cells that a spreadsheet of it would have."""
    columns = ["qsmk", "age", "sex", "education", "wt71", "smokeintensity", "smokeyrs", "exercise", "cholesterol"]
    table = pd.read_stata(folder_of("causaldata") / "nhefs" / "nhefs.dta")[[*columns, "wt82_71"]].head(500)
    table["sex"] = np.where(table["sex"].astype(int) == 1, "female", "male")
    table.loc[[4, 9], "sex"] = ["Male ", "FEMALE"]
    table["cholesterol"] = [f"{value:.0f} mg/dl" for value in table["cholesterol"].fillna(200)]
    table.loc[[3, 5, 8], "cholesterol"] = ["n/a", "n/a", "1,020 mg/dl"]
    table["age"] = table["age"].astype(int)
    table.loc[17, "age"] = 430
    table["wt71"] = table["wt71"].map("{:.2f}".format)
    table.loc[[2, 30], "wt71"] = "<45"
    return table


def diabetes() -> pd.DataFrame:
    frame: pd.DataFrame = load_diabetes(as_frame=True, scaled=False).frame
    return frame


TABLES = {
    "penguins": (
        penguins,
        "Body Mass (g)",
        ['"Culmen Length (mm)" -> "Body Mass (g)"', '"Flipper Length (mm)" -> "Body Mass (g)" <- Sex'],
        """
spec.yaml: 15 features, Individual ID as id, 3 left out, 342 rows
  2 of 344 rows are left out: no Body Mass (g)
  32 missing cells of 3 columns will be filled in the model; to drop instead costs 18 rows
  Region: left out: it is constant: 'Anvers' in every row
  Stage: left out: it is constant: 'Adult, 1 Egg Stage' in every row
  Individual ID: no feature, but beside every prediction: column 'Individual ID' looks like an identifier: 190 labels \
in 344 rows, more than 172
  Comments: left out: it is empty in 290 of 344 rows: to drop them costs 290 rows, to fill them invents most cells
  Date Egg: a date, used as year, day_of_year, weekday, elapsed_days
""",
    ),
    "cars": (
        cars,
        "Miles_per_Gallon",
        ["{Cylinders Displacement Horsepower Weight_in_lbs Acceleration Year.year Origin} -> Miles_per_Gallon"],
        """
spec.yaml: 7 features, Name as id, 398 rows
  8 of 406 rows are left out: no Miles_per_Gallon
  6 missing cells of 1 column will be filled in the model; to drop instead costs 6 rows
  Name: no feature, but beside every prediction: column 'Name' looks like an identifier: 311 labels in 406 rows, \
more than 203
  Year: a date, used as year
""",
    ),
    "nhefs": (
        nhefs,
        "wt82_71",
        ["{qsmk age sex education wt71 smokeintensity smokeyrs exercise cholesterol} -> wt82_71", "age -> smokeyrs"],
        """
spec.yaml: 9 features, 474 rows
  26 of 500 rows are left out: no wt82_71
  2 missing cells of 1 column will be filled in the model; to drop instead costs 2 rows
  age: 1 value lies far from the rest, which go from 25 to 74 (row 18 (line 19): 430), and is kept; if that is an \
error, cells: {'430': missing} leaves it out
  sex: 'Male ' in 1 row is read as 'male'
  sex: 'FEMALE' in 1 row is read as 'female'
  wt71: '<45' in 2 rows is read as 45, its limit
  cholesterol: 498 cells written with the unit mg/dl, which is read off
  cholesterol: 1 cell with a mark between thousands: 1,020 mg/dl is read as 1020
  cholesterol: 'n/a' in 2 rows is read as a missing value
  cholesterol: 1 value lies far from the rest, which go from 78 to 416 (row 9 (line 10): 1020), and is kept; if that \
is an error, cells: {'1020': missing} leaves it out
""",
    ),
    "diabetes": (
        diabetes,
        "target",
        ["{age sex bmi bp s1 s2 s3 s4 s5 s6} -> target"],
        """
spec.yaml: 10 features, 442 rows
""",
    ),
}


class Texts(HTMLParser):
    """The words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def begun(name, command) -> tuple[pd.DataFrame, str]:
    """The rows, and what `init` says of them."""
    table, target, edges, _ = TABLES[name]
    rows = table()
    rows.to_csv("table.csv", index=False)
    Path("graph.txt").write_text("\n".join(edges))
    outcome = command("crda-spec", "init", "table.csv", "--target", target, "--graph", "graph.txt")
    assert (outcome.code, outcome.err) == (0, "")
    return rows, outcome.out


@pytest.mark.parametrize("name", TABLES)
def test_init_says_what_becomes_of_every_row_and_column(name, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, told = begun(name, command)
    expected = TABLES[name][3].lstrip("\n")
    assert told == f"{expected}read it, then: crda-spec plan spec.yaml, crda-run spec.yaml\n"
    spec = yaml.safe_load(Path("spec.yaml").read_text())["dataset"]
    # Every column is used, stands beside the predictions, or is named in a line of its own.
    lost = [column for column in rows.columns if column not in spec["columns"] and column != spec.get("id")]
    assert all(f"\n  {column}: left out: " in told for column in lost)
    assert command("crda-spec", "validate", "spec.yaml").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_from_init_to_an_opened_report(name, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (rows, _), target = begun(name, command), TABLES[name][1]
    outcome = command("crda-run", "spec.yaml", *FAST, *ONE_TEACHER, "--out", "run")
    assert outcome.code == 0, outcome.err
    record = json.loads(Path("run/record.json").read_text())
    columns = set(yaml.safe_load(Path("spec.yaml").read_text())["dataset"]["columns"])
    assert record["data"]["rows_used"] == len(rows) - record["data"]["dropped_missing"]
    assert {one["name"].partition(".")[0] for one in record["data"]["features"]} == columns - {target}
    page = " ".join(Texts(Path("run/report.html").read_text(encoding="utf-8")).words)
    assert target in page
    assert record["verdict"]["sentence"].split(":")[0] in page
    assert len(command("crda-spec", "predict", "run", "table.csv").out.splitlines()) == len(rows) + 1
    assert command("crda-spec", "generate", "run", "table.csv", "--out", "more.parquet", "--rows", "50").code == 0
    assert command("crda-spec", "verify", "run").code == 0
