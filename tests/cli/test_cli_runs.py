"""A list of past runs: when, verdict, change, hash; for people and for programs."""

import json
import re
import shutil
from pathlib import Path

import pytest

from crda_spec.audit.canonical import seal

SPEC = """version: 1
recipe: paper
name: {name}
dataset:
  source: {{kind: synthetic, world: paper_synthetic, rows: 50}}
  target: y
causal:
  graph: {{kind: edges, edges: ["{{x1 x2 x3}} {arrow} y"]}}
regressor: {{kind: ridge}}
gate: {{kind: wilcoxon, folds: 5}}
execution: {{jobs: 1}}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command) -> Path:
    """Two runs of one spec and one of another, which moves nothing."""
    monkeypatch.chdir(tmp_path)
    for name, arrow in (("moved", "->"), ("stuck", "<->")):
        Path(f"{name}.yaml").write_text(SPEC.format(name=name, arrow=arrow))
    for name in ("moved", "moved", "stuck"):
        assert command("crda-run", f"{name}.yaml", "-q").code == 0
    return tmp_path


def test_a_table_of_runs(command, place):
    outcome = command("crda-spec", "runs")
    assert (outcome.code, outcome.err) == (0, "")
    head, *lines = outcome.out.splitlines()
    assert re.split(r"  +", head) == ["when (UTC)", "name", "verdict", "change on test", "hash", "folder"]
    cells = [re.split(r"  +", line) for line in lines]
    assert [line[1] for line in cells] == ["moved", "moved", "stuck"]
    first, second, third = cells
    assert first[4] == second[4] != third[4]  # equal runs have equal hashes
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", first[0])
    assert re.fullmatch(r"[+-]\d+\.\d % MSE", first[3])
    assert third[2:4] == ["abstained", "-"]
    assert all((Path(line[5]) / "record.json").is_file() for line in cells)


def test_the_same_for_programs_and_below_any_folder(command, place):
    told = json.loads(command("crda-spec", "runs", "--json").out)
    assert [run["name"] for run in told["runs"]] == ["moved", "moved", "stuck"]
    for run in told["runs"]:
        record = json.loads((Path(run["folder"]) / "record.json").read_text())
        assert (run["sha256"], run["change_percent"]) == (record["sha256"], record["test"]["change_percent"])
        assert "trouble" not in run
    (one,) = json.loads(command("crda-spec", "runs", "runs/stuck", "--json").out)["runs"]
    assert one["decision"] == "abstained"
    assert json.loads(command("crda-spec", "runs", one["folder"], "--json").out)["runs"] == [one]


def test_what_cannot_be_read_is_said_and_hides_nothing_else(command, place):
    for name, text in (("broken", "{"), ("other", "{}")):
        Path("runs", name).mkdir()
        Path("runs", name, "record.json").write_text(text)
    Path("runs", ".partial-x").mkdir()
    Path("runs", ".partial-x", ".crda-partial").touch()
    shutil.copy(next(Path("runs/stuck").iterdir()) / "record.json", Path("runs", ".partial-x"))
    outcome = command("crda-spec", "runs")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert len(lines) == 6
    assert [line.split()[2] for line in lines[-2:]] == ["unreadable"] * 2
    assert lines[-1].endswith("runs/other: the file is no run's record")


def test_a_name_cannot_write_on_the_terminal(command, tmp_path, place):
    run = next(Path("runs/stuck").iterdir())
    record = json.loads((run / "record.json").read_text())
    record["name"] = "\x1b[31mred\u202e"
    record["sha256"] = seal(record, "volatile")
    (run / "record.json").write_text(json.dumps(record))
    out = command("crda-spec", "runs", "runs/stuck").out
    assert "\\x1b[31mred\\u202e" in out
    assert "\x1b" not in out


def test_no_runs_and_no_folder(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = command("crda-spec", "runs")
    assert (outcome.code, outcome.err) == (
        2,
        "there is no folder 'runs'; name the folder of your runs, or run a spec first: crda-run SPEC\n",
    )
    Path("runs").mkdir()
    assert command("crda-spec", "runs").out == "no finished run below runs\n"
    assert json.loads(command("crda-spec", "runs", "--json").out) == {"folder": "runs", "runs": []}
