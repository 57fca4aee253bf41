"""A tuned run as a user sees it: its plan, its files, its page, and the same bytes however it was run."""

import csv
import json

import pytest

from crda_spec.audit.record import read_studies

SPEC = """version: 1
name: tuned
seed: 4
recipe: RECIPE
dataset:
  source: {kind: csv, path: rows.csv}
  target: y
causal:
  graph: {kind: edges, edges: ["{x1 x2 kind} -> y"]}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 5}
tune:
  kind: randomized
  trials: 2
  augmentation: {kind: tpe, trials: 6, folds: 2KNOBS}
"""
PAPER = SPEC.replace("RECIPE", "paper").replace("KNOBS", "")


def line_of(row: int) -> str:
    first, second, noise = row * 37 % 101 / 10, row * 53 % 89 / 10, row * 71 % 13 / 9
    return f"{first},{second},{'abc'[row % 3]},{2 * first + second / 2 + noise}\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text("x1,x2,kind,y\n" + "".join(line_of(row) for row in range(80)))
    (tmp_path / "spec.yaml").write_text(PAPER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(run):
    found = {str(file.relative_to(run)): file.read_bytes() for file in sorted(run.rglob("*")) if file.is_file()}
    record = json.loads(found["record.json"])
    del record["volatile"]
    return {**found, "record.json": json.dumps(record, sort_keys=True).encode()}


def test_the_searches_are_planned_recorded_saved_and_drawn(command, place):
    planned = json.loads(command("crda-spec", "plan", "spec.yaml", "--json").out)
    done = command("crda-run", "spec.yaml", "--out", "one", "--jobs", "1", "--verbose")
    assert done.code == 0, done.err
    record = json.loads((place / "one" / "record.json").read_text())
    studies = read_studies(place / "one")
    assert [(study.what, study.fold) for study in studies] == [
        (what, fold) for fold in range(6) for what in ("regressor", "augmentation")
    ]
    assert planned["tuning"]["augmentation"]["searched"] == ["factor", "max_features", "reach"]
    # 2 x 3 of the regressor; in each of 2 inner folds as many, a plain model and 6 trials; then both final models.
    assert planned["fits"]["per_fold"] == 6 + 2 * (6 + 1 + 6) + 2
    assert record["fits"] <= planned["fits"]["at_most"] == 6 * planned["fits"]["per_fold"]
    told = record["tuning"]
    assert (told["searches"], told["trials"], told["repeatable"], told["stopped_by_time"]) == (12, 48, True, 0)
    assert told["fits"] == sum(study.fits for study in studies) < record["fits"]
    assert told["chosen"]["augmentation"] == studies[1].chosen.values
    assert record["counterfactuals"]["rows"] == round(studies[1].chosen.values["factor"] * 64)
    assert "optuna" in record["versions"]
    with (place / "one" / "trials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 48
    assert sum(row["chosen"] == "yes" for row in rows) == 12
    assert rows[2]["origin"] == "declared"
    assert "Tuning\n  The regressor's settings, for both models: alpha " in done.out
    page = (place / "one" / "report.html").read_text()
    assert (place / "one" / "tuning.svg").read_text() in page


@pytest.mark.slow
def test_one_worker_or_two_the_bytes_are_the_same_and_the_page_can_be_made_again(command, place):
    command("crda-run", "spec.yaml", "--out", "one", "--jobs", "1", "-q")
    command("crda-run", "spec.yaml", "--out", "two", "--jobs", "2", "-q")
    assert contents(place / "one") == contents(place / "two")
    assert command("crda-spec", "report", "one", "--out", "again.html").code == 0
    assert (place / "again.html").read_bytes() == (place / "one" / "report.html").read_bytes()


def test_rows_set_aside_are_searched_once_and_never_used_again(command, place):
    text = PAPER + "  on: {kind: split, fraction: 0.25}\n"
    (place / "spec.yaml").write_text(text)
    planned = json.loads(command("crda-spec", "plan", "spec.yaml", "--json").out)
    assert planned["rows"] == {"train": 48, "test": 16, "tuning": 16, "synthetic": 60}
    assert planned["fits"]["to_tune"] == 6 + 2 * (6 + 1 + 6)
    done = command("crda-run", "spec.yaml", "--out", "one", "--verbose")
    assert "80 used: 48 to train, 16 to test, 16 spent on tuning" in done.out
    record = json.loads((place / "one" / "record.json").read_text())
    assert record["fits"] <= planned["fits"]["at_most"]
    with (place / "one" / "rows.csv").open(newline="") as file:
        parts = {row["row"]: row["part"] for row in csv.DictReader(file)}
    assert sorted(parts, key=int) == [str(row) for row in range(1, 81)]  # every row has one part
    studies = read_studies(place / "one")
    assert [(study.what, study.fold, study.rows, study.set_aside) for study in studies] == [
        ("regressor", 0, 16, True),
        ("augmentation", 0, 16, True),
    ]
    command("crda-spec", "report", "one", "--out", "again.html")
    assert (place / "again.html").read_bytes() == (place / "one" / "report.html").read_bytes()
    # Poison in the rows that are only tuned on changes what is found there, and nothing else: the same settings
    # declared give the same models.
    chosen = {study.what: study.chosen.values for study in studies}
    knobs = chosen["augmentation"]
    lines = (place / "rows.csv").read_text().splitlines()
    for row, part in parts.items():
        if part == "tuning":
            lines[int(row)] = f"-{row}99,{row}88,b,1e6"
    (place / "rows.csv").write_text("\n".join(lines) + "\n")
    # One search is left, whose only trial is what is declared: the weight stays 1.
    left = "{kind: tpe, trials: 1, knobs: {weight: [1, 2]}}"
    pinned = [
        f"regressor.alpha={chosen['regressor']['alpha']!r}",
        f"counterfactual.factor={knobs['factor']!r}",
        f"partition.max_features={knobs['max_features']}",
        f"perturbation.default.reach={knobs['reach']!r}",
        f"tune={{kind: none, on: {{kind: split, fraction: 0.25}}, augmentation: {left}}}",
    ]
    again = command("crda-run", "spec.yaml", "--out", "two", *(part for one in pinned for part in ("--set", one)))
    assert again.code == 0, again.err
    assert (place / "two" / "folds.csv").read_bytes() == (place / "one" / "folds.csv").read_bytes()


def test_the_usual_knobs_of_our_recipe_leave_out_what_is_written(command, place):
    text = SPEC.replace("RECIPE", "distilled").replace("KNOBS", "")
    (place / "spec.yaml").write_text(text)

    def searched(*overrides):
        settings = [part for one in overrides for part in ("--set", one)]
        done = command("crda-spec", "plan", "spec.yaml", "--json", *settings)
        assert done.code == 0, done.err
        return json.loads(done.out)["tuning"]["augmentation"]["searched"]

    every = ["factor", "policy", "retention", "teacher", "weight"]
    assert searched() == every
    assert searched("counterfactual.weight=1") == [name for name in every if name != "weight"]
    assert searched("perturbation.default={kind: jitter}") == [name for name in every if name != "policy"]
    assert "weight" not in searched("regressor={kind: knn}")
    assert "retention" not in searched("counterfactual.noise={kind: location_scale}", "counterfactual.retention=0.5")


def test_the_clock_is_named_in_the_plan_and_in_the_record(command, place):
    seconds = ("--set", "tune.augmentation.seconds=1e-9")
    assert "a search ends after 1e-09 s: such a run cannot be repeated" in command(
        "crda-spec", "plan", "spec.yaml", *seconds
    ).out.replace("\n    ", " ")
    done = command("crda-run", "spec.yaml", "--out", "one", "--verbose", *seconds)
    told = json.loads((place / "one" / "record.json").read_text())["tuning"]
    assert (told["stopped_by_time"], told["repeatable"]) == (6, False)
    assert "The clock ended 6 of the 12 searches" in done.out


@pytest.mark.parametrize("recipe", ["paper", "distilled"])
def test_a_rendered_spec_searches_the_same_again(command, place, recipe):
    """What is searched is left out: written, it would be the user's."""
    (place / "spec.yaml").write_text(SPEC.replace("RECIPE", recipe).replace("KNOBS", ""))
    (place / "again.yaml").write_text(command("crda-spec", "render", "spec.yaml").out)
    first, again = (
        json.loads(command("crda-spec", "plan", f"{name}.yaml", "--json").out) for name in ("spec", "again")
    )
    assert first["tuning"] == again["tuning"]
    assert first["fits"] == again["fits"]
