"""Rows in the order of time through the commands: run, plan, report, and a verifier that finds what was changed."""

import csv
import json
import shutil
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from crda_spec.audit.schemas import published_schema

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
import tampering

SPEC = """
version: 1
recipe: paper
name: days
dataset:
  source: {kind: csv, path: rows.csv}
  target: y
  time: day
causal: {graph: {kind: edges, edges: ["{a b} -> y"]}}
falsify: {on_falsified: ignore}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 5}
execution: {jobs: 1}
"""
SPANS = [
    ("2024-01-01", "2024-01-09", "2024-01-10", "2024-01-17"),
    ("2024-01-01", "2024-01-17", "2024-01-18", "2024-01-26"),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    lines = ["a,b,day,y"]
    for number in rng.permutation(np.repeat(np.arange(65), 2)).tolist():
        a, b, noise = rng.normal(size=3).round(5).tolist()
        lines.append(f"{a},{b},{np.datetime64('2024-01-01') + number},{a - b + 0.4 * noise:.5f}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "spec.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_of(file):
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


RECIPES = {"paper": (), "distilled": ("--set", "recipe=distilled")}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_run_tells_its_times_and_is_verified(recipe, place, command):
    done = command("crda-run", "spec.yaml", "--out", "run", "--verbose", *RECIPES[recipe])
    assert done.code == 0
    printed = " ".join(done.out.split())
    assert (
        "Rows are in the order of day: trained on 2024-01-01 to 2024-02-21, tested on 2024-02-22 to 2024-03-05."
        in printed
    )
    assert (
        "The folds follow day: each is scored on rows later than all it was fitted on; rows of 2024-01-01 to "
        "2024-01-09 are the first to train on and are never held out." in printed
    )
    record = json.loads((place / "run" / "record.json").read_text())
    jsonschema.validate(record, published_schema("crda-record.v1.schema.json"))
    assert record["time"]["column"] == "day"
    assert record["time"]["test"] == {"first": "2024-02-22", "last": "2024-03-05"}
    told = [(*one["trained"].values(), *one["held_out"].values()) for one in record["time"]["folds"]]
    assert told[:2] == SPANS
    folds = lines_of(place / "run" / "folds.csv")
    columns = ("trained_from", "trained_to", "held_out_from", "held_out_to")
    assert [tuple(line[name] for name in columns) for line in folds] == told
    page = (place / "run" / "report.html").read_text()
    assert (
        '<th scope="row" class="number">1</th><td>2024-01-01 to 2024-01-09</td><td>2024-01-10 to 2024-01-17</td>'
        in page
    )
    for depth in ("rows", "full"):
        verified = command("crda-spec", "verify", "run", "--depth", depth)
        assert (verified.code, "failed" in verified.out) == (0, False)
    before = (place / "run" / "report.html").read_bytes()
    assert command("crda-spec", "report", "run", "--out", "again.html").code == 0
    assert (place / "again.html").read_bytes() == before


def test_rows_csv_says_when_each_row_was_and_the_earliest_are_never_held_out(place, command):
    command("crda-run", "spec.yaml", "--out", "run")
    lines = lines_of(place / "run" / "rows.csv")
    source = lines_of(place / "rows.csv")
    assert all(line["time"] == source[int(line["row"]) - 1]["day"] for line in lines)
    train = [line for line in lines if line["part"] == "train"]
    never = [line for line in train if not line["gate_fold"]]
    assert {line["plain_loss"] for line in never} == {""}
    assert max(line["time"] for line in never) < min(line["time"] for line in train if line["gate_fold"])
    assert max(line["time"] for line in train) < min(line["time"] for line in lines if line["part"] == "test")


def test_the_plan_tells_the_folds(place, command):
    done = command("crda-spec", "plan", "spec.yaml")
    assert done.out.splitlines()[2:6] == [
        "  time: rows in the order of day; 2024-01-01 to 2024-02-21 to train, 2024-02-22",
        "    to 2024-03-05 to test",
        "    fold 1: fitted up to 2024-01-09, scored on 2024-01-10 to 2024-01-17",
        "    fold 2: fitted up to 2024-01-17, scored on 2024-01-18 to 2024-01-26",
    ]
    told = json.loads(command("crda-spec", "plan", "spec.yaml", "--json").out)
    assert told["time"]["folds"][0]["held_out"] == {"first": "2024-01-10", "last": "2024-01-17"}
    distilled = json.loads(command("crda-spec", "plan", "spec.yaml", "--json", "--set", "recipe=distilled").out)
    assert distilled["fits"]["at_most"] == distilled["fits"]["unshared"]


def test_without_a_time_nothing_speaks_of_it(place, command):
    (place / "spec.yaml").write_text(SPEC.replace("  time: day\n", "  features: [a, b]\n"))
    command("crda-run", "spec.yaml", "--out", "run")
    record = json.loads((place / "run" / "record.json").read_text())
    assert "time" not in record
    assert "time" not in record["spec"]["resolved"]["dataset"]
    assert "time" not in (place / "run" / "rows.csv").read_text().splitlines()[0]
    assert "trained_from" not in (place / "run" / "folds.csv").read_text()
    assert "time" not in json.loads(command("crda-spec", "plan", "spec.yaml", "--json").out)
    assert "  time:" not in (place / "run" / "spec.yaml").read_text()


def failed(command, *arguments):
    """What a verifier finds that looks at the rows of a folder whose hashes and seal were mended after the change."""
    tampering.reseal(Path("run"))
    done = command("crda-spec", "verify", "run", "--json", *arguments)
    assert done.code == 4
    checks = [one for one in json.loads(done.out)["checks"] if one["state"] == "failed"]
    return {one["name"]: one["findings"] for one in checks if one["name"] not in ("record", "files")}


def test_a_row_in_another_fold_than_time_gives_it_is_found(place, command):
    command("crda-run", "spec.yaml", "--out", "run")
    file = place / "run" / "rows.csv"
    lines = file.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if ",train,2," in line)
    lines[at] = lines[at].replace(",train,2,", ",train,3,")
    file.write_text("\n".join(lines) + "\n")
    found = failed(command)
    what = f"holds 1 training rows out in another fold than time does, first that of line {at + 1}"
    assert {"where": "rows.csv", "what": what} in found["losses"]


def test_a_time_that_the_data_do_not_have_is_found(place, command):
    command("crda-run", "spec.yaml", "--out", "run")
    file = place / "run" / "rows.csv"
    lines = file.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if ",test," in line)
    was = lines[at].rpartition(",")[2]
    lines[at] = lines[at].replace(was, "2030-01-01")
    file.write_text("\n".join(lines) + "\n")
    found = failed(command)
    what = f"says '2030-01-01', the data say '{was}'"
    assert {"where": f"rows.csv, line {at + 1}, 'time'", "what": what} in found["data"]
    assert [one["where"] for one in found["losses"]] == ["record.json, time.test.last"]
    shutil.move(place / "rows.csv", place / "gone.csv")
    assert "losses" in failed(command)  # without the data the record's own spans tell


@pytest.mark.parametrize("part", ["train", "folds"])
def test_a_span_that_the_rows_do_not_have_is_found(part, place, command):
    command("crda-run", "spec.yaml", "--out", "run")
    file = place / "run" / "record.json"
    record = json.loads(file.read_text())
    span = record["time"]["train"] if part == "train" else record["time"]["folds"][1]["held_out"]
    span["first"] = "2020-01-01"
    file.write_text(json.dumps(record))
    (finding,) = failed(command)["losses"]
    where = {"train": "record.json, time.train.first", "folds": "record.json, time.folds.1.held_out.first"}[part]
    should = {"train": "2024-01-01", "folds": "2024-01-18"}[part]
    assert finding == {"where": where, "what": f"says '2020-01-01', should be '{should}'"}


def test_a_record_that_lost_its_times_is_found(place, command):
    command("crda-run", "spec.yaml", "--out", "run")
    file = place / "run" / "record.json"
    record = json.loads(file.read_text())
    del record["time"]
    file.write_text(json.dumps(record))
    what = "tells the rows' times, or does not, and the record does otherwise"
    assert {"where": "rows.csv", "what": what} in failed(command)["losses"]
