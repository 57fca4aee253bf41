"""The commands as a user or a program meets them: what they print, where, and with which exit code."""

import json
from pathlib import Path

import pytest

from crda_spec import __version__
from crda_spec.spec.schema import spec_schema_text

ROOT = Path(__file__).parents[2]
SPEC = """version: 1
recipe: paper
name: tiny
seed: 4
dataset:
  source: {kind: synthetic, world: paper_synthetic, rows: 60}
  target: y
causal:
  graph: {kind: edges, edges: ["{x1 x2 x3} -> y"]}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 6}
execution: {jobs: 1}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec that runs in a blink."""
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs" / "tiny").iterdir()
    return run


def test_the_help_of_crda_run_names_every_option_and_exit_code(command):
    outcome = command("crda-run", "--help")
    assert outcome.code == 0
    for word in ("SPEC", "--set", "--out", "--seed", "--jobs", "--require-accept", "--json", "--quiet", "-q", "-h"):
        assert word in outcome.out
    for code in ("0 done", "2 bad spec or data", "3 not accepted", "130 interrupted"):
        assert code in " ".join(outcome.out.split())


def test_the_help_of_crda_spec_names_every_command(command):
    outcome = command("crda-spec", "--help")
    assert outcome.code == 0
    for word in ("run", "validate", "render", "schema", "--version"):
        assert word in outcome.out


@pytest.mark.parametrize("name", ["run", "validate", "render", "schema"])
def test_every_command_has_a_help(command, name):
    outcome = command("crda-spec", name, "-h")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"crda-spec {name}" in outcome.out or f"{name} [OPTIONS]" in outcome.out


def test_the_version(command):
    assert command("crda-spec", "--version").out == f"crda-spec {__version__}\n"


@pytest.mark.parametrize("arguments", [("crda-run",), ("crda-run", "spec.yaml", "--frobnicate"), ("crda-spec", "frob")])
def test_a_wrong_command_line_ends_with_code_2(command, place, arguments):
    outcome = command(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Usage" in outcome.err


def test_the_schema_command_prints_the_published_schema(command):
    outcome = command("crda-spec", "schema")
    assert (outcome.code, outcome.out, outcome.err) == (0, spec_schema_text(), "")


def test_validate_says_how_to_go_on(command, place):
    then = "see what it would do with: crda-spec plan spec.yaml, run it with: crda-run spec.yaml"
    for option, rows in (((), "60 of 60 rows: 48 to train, 12 to test"), (("--no-data",), "rows not read")):
        outcome = command("crda-spec", "validate", "spec.yaml", *option)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out == f"spec.yaml: valid ({rows}); {then}\n"
    assert list(place.iterdir()) == [place / "spec.yaml"]


def test_validate_finds_in_the_rows_what_a_run_would_find(command, place):
    (place / "rows.csv").write_text("x,y\n" + "".join(f"{at},{at % 7}\n" for at in range(30)) + "soon,3\n")
    spec = {"version": 1, "name": "t", "dataset": {"source": {"kind": "csv", "path": "rows.csv"}, "target": "y"}}
    (place / "rows.yaml").write_text(json.dumps(spec))
    said = [command("crda-spec", one, "rows.yaml") for one in ("validate", "plan", "run")]
    assert [one.code for one in said] == [2, 2, 2]
    assert len({one.err.partition("rows.csv")[2] for one in said}) == 1
    assert said[0].err.startswith("rows.csv: dataset.columns.x: 1 value of 'x' is text in a number column")
    assert command("crda-spec", "validate", "rows.yaml", "--no-data").code == 0
    problems = json.loads(command("crda-spec", "validate", "rows.yaml", "--json").out)["problems"]
    assert [one["code"] for one in problems] == ["text-in-numbers"]


def test_validate_as_json(command, place):
    outcome = command("crda-spec", "validate", "spec.yaml", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) == {"valid": True, "name": "tiny", "problems": []}


def test_validate_as_json_lists_every_problem_with_its_place(command, place):
    outcome = command("crda-spec", "validate", "spec.yaml", "--json", "--set", "seed=-1", "--set", "gate.folds=4")
    assert (outcome.code, outcome.err) == (2, "")
    found = json.loads(outcome.out)
    assert found["valid"] is False
    assert [(one["code"], one["path"], one["file"]) for one in found["problems"]] == [
        ("gate-cannot-accept", "gate.folds", "--set gate.folds=4"),
        ("out-of-range", "seed", "--set seed=-1"),
    ]
    assert set(found["problems"][0]) == {"code", "file", "line", "col", "path", "what", "hint"}


def test_render_prints_a_spec_that_renders_to_itself(command, place):
    outcome = command("crda-spec", "render", "spec.yaml", "--set", "seed=9")
    assert (outcome.code, outcome.err) == (0, "")
    assert "seed: 9\n" in outcome.out
    assert "  max_features: 2\n" in outcome.out  # the recipe's
    (place / "rendered.yaml").write_text(outcome.out, encoding="utf-8")
    assert command("crda-spec", "render", "rendered.yaml").out == outcome.out


def test_render_as_json(command, place):
    outcome = command("crda-spec", "render", "spec.yaml", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert (found["name"], found["gate"]["folds"], found["counterfactual"]["factor"]) == ("tiny", 6, 1.25)


def test_a_run_prints_plain_text_when_nobody_watches(command, place):
    outcome = command("crda-run", "spec.yaml")
    assert outcome.code == 0
    assert "\x1b" not in outcome.out + outcome.err
    folder = only_run(place).relative_to(place)
    assert outcome.out.startswith("tiny · y (ridge) · recipe paper · seed 4 ")
    assert f"\nReport   {folder}/report.html\nCheck    crda-spec verify {folder}\n" in outcome.out
    assert len(outcome.out.splitlines()) <= 40


def test_verbose_prints_every_section_after_the_summary(command, place):
    outcome = command("crda-run", "spec.yaml", "--verbose")
    assert "\n\ncrda-spec run: tiny\n===================\n\nData\n" in outcome.out
    assert outcome.out.rstrip().endswith(f"Files: {only_run(place).relative_to(place)}")
    assert [line.split(":")[0] for line in outcome.err.splitlines()] == [
        "read the data",
        "test the graph",
        "abduct, partition, act, predict",
        "gate",
        "refit and score",
        "calibrate intervals",
    ]
    assert all(len(line) <= 100 for line in outcome.out.splitlines())


def test_a_quiet_run_prints_the_verdict_and_the_folder(command, place):
    outcome = command("crda-run", "spec.yaml", "--quiet", "--out", "here")
    assert (outcome.code, outcome.err) == (0, "")
    sentence, folder = outcome.out.splitlines()
    assert folder == "here"
    record = json.loads((place / "here" / "record.json").read_text())
    assert sentence == record["verdict"]["sentence"]


def test_a_run_as_json_prints_its_record_and_nothing_else(command, place):
    outcome = command("crda-run", "spec.yaml", "--json", "--out", "here")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (place / "here" / "record.json").read_text(encoding="utf-8")
    assert json.loads(outcome.out)["name"] == "tiny"


def test_options_of_the_command_line_win_and_are_recorded(command, place):
    outcome = command("crda-run", "spec.yaml", "--json", "--seed", "8", "--jobs", "1", "--set", "gate.folds=5")
    record = json.loads(outcome.out)
    assert record["seed"] == 8
    assert record["spec"]["resolved"]["gate"]["folds"] == 5
    assert len(record["verdict"]["folds"]) == 5
    assert record["spec"]["origins"]["seed"] == "--set"
    assert record["volatile"]["jobs"] == 1
    assert "execution.jobs" not in record["spec"]["origins"]


def test_the_spec_command_run_is_crda_run(command, place):
    assert command("crda-spec", "run", "spec.yaml", "-q", "--out", "a").code == 0
    assert command("crda-run", "spec.yaml", "-q", "--out", "b").code == 0
    assert (place / "a" / "augmented.parquet").read_bytes() == (place / "b" / "augmented.parquet").read_bytes()


def test_an_abstention_is_code_3_only_when_acceptance_is_required(command, place):
    abstains = ("spec.yaml", "--set", "partition.keep=[x1, x2, x3]")
    assert command("crda-run", *abstains, "--out", "a").code == 0
    outcome = command("crda-run", *abstains, "--out", "b", "--require-accept")
    assert outcome.code == 3
    record = json.loads((place / "b" / "record.json").read_text())
    assert record["verdict"]["accepted"] is False
    assert record["final_model"] == "plain"


def test_an_empty_folder_may_receive_the_run(command, place):
    (place / "here").mkdir()
    assert command("crda-run", "spec.yaml", "-q", "--out", "here").code == 0
    assert (place / "here" / "record.json").is_file()
