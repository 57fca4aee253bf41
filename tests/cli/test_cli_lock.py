"""A locked spec runs only on what it was locked for; what differs is named, value by value."""

import json
from pathlib import Path

import pytest

CSV = "x1,x2,y\n" + "".join(f"{row * 37 % 101},{row * 53 % 89},{row * 71 % 13 + row % 7}\n" for row in range(40))
SPEC = """version: 1
recipe: paper
name: tiny
dataset:
  source: {kind: csv, path: rows.csv}
  target: y
causal:
  graph: {kind: dagitty, path: graph.dag}
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 5}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command) -> Path:
    """A spec, its data and its graph, locked."""
    (tmp_path / "rows.csv").write_text(CSV)
    (tmp_path / "graph.dag").write_text("dag { x1 -> y; x2 -> y }")
    (tmp_path / "spec.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    outcome = command("crda-spec", "lock", "spec.yaml")
    assert outcome.code == 0
    assert outcome.out.startswith("spec.lock: rows.csv (40 rows, sha256 ")
    assert outcome.out.endswith("run it with: crda-run spec.yaml --locked\n")
    return tmp_path


def change(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new, 1))


def test_a_locked_spec_runs_as_it_was_locked_and_however_it_is_spread(command, place):
    assert command("crda-run", "spec.yaml", "--locked", "-q", "--jobs", "1", "--out", "elsewhere").code == 0
    record, lock = (json.loads(Path(name).read_text()) for name in ("elsewhere/record.json", "spec.lock"))
    assert {name: record[name] for name in ("data", "graph", "versions", "platform")} == {
        name: lock[name] for name in ("data", "graph", "versions", "platform")
    }
    assert record["spec"]["resolved"] == lock["spec"]
    assert (lock["graph"]["source"], lock["graph"]["language"]) == ("graph.dag", "dagitty")


AGAIN = "undo the change, or lock anew: crda-spec lock spec.yaml"
CHANGED = {
    "spec": (
        lambda: change("spec.yaml", "folds: 5", "folds: 6"),
        ["spec.yaml:10:31: gate.folds: 5 when locked, 6 now; " + AGAIN],
    ),
    "data": (
        lambda: change("rows.csv", "\n37,", "\n38,"),
        ["spec.lock: data sha256: '"],
    ),
    "rows": (
        lambda: change("rows.csv", CSV.splitlines()[-1] + "\n", ""),
        ["spec.lock: data rows_read: 40 when locked, 39 now", "spec.lock: data sha256: '"],
    ),
    "graph": (
        lambda: change("graph.dag", "x2 -> y", "x2 <-> y"),
        ["spec.lock: graph file_sha256: '", "spec.lock: graph sha256: '"],
    ),
    "version": (
        lambda: change("spec.lock", '"numpy": "', '"numpy": "0.'),
        ["spec.lock: versions numpy: '0."],
    ),
}


@pytest.mark.parametrize(("alter", "said"), CHANGED.values(), ids=CHANGED)
def test_whatever_differs_from_the_lock_is_refused_and_named(command, place, alter, said):
    alter()
    outcome = command("crda-run", "spec.yaml", "--locked", "-q", "--jobs", "1", "--out", "run")
    assert (outcome.code, outcome.out) == (2, "")
    for line in said:
        assert line in outcome.err
    assert not Path("run").exists()


def test_an_override_counts_as_a_change(command, place):
    outcome = command("crda-run", "spec.yaml", "--locked", "-q", "--seed", "7", "--out", "run")
    assert outcome.code == 2
    assert "seed: 0 when locked, 7 now" in outcome.err


def test_without_a_lock_and_with_rubbish_in_its_place(command, place):
    Path("spec.lock").write_text("[]")
    outcome = command("crda-run", "spec.yaml", "--locked", "-q", "--out", "run")
    assert (outcome.code, outcome.err) == (
        2,
        "spec.lock: not a lock of version 1; write it again: crda-spec lock spec.yaml\n",
    )
    Path("spec.lock").unlink()
    outcome = command("crda-run", "spec.yaml", "--locked", "-q", "--out", "run")
    assert (outcome.code, outcome.err) == (
        2,
        "spec.lock: there is no such lock; write it: crda-spec lock spec.yaml\n",
    )


def test_a_lock_is_the_same_bytes_every_time(command, place):
    first = Path("spec.lock").read_bytes()
    told = json.loads(command("crda-spec", "lock", "spec.yaml", "--json").out)
    assert Path("spec.lock").read_bytes() == first
    assert told["lock"] == json.loads(first)
    assert str(place) not in first.decode()
