"""Attacks on a run under way: a signal at any moment, and a standard output that takes nothing.

What must hold: no folder that looks finished, no process left behind, and the next run works.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crda_spec.audit.open_run import open_run

SPEC = """
version: 1
recipe: paper
name: attacked
dataset: {source: {kind: synthetic, world: home_energy, rows: 120}, target: energy}
causal:
  graph: {kind: edges, edges: ["outside_temperature -> energy", "floor_area -> energy", "setpoint -> energy"]}
regressor: {kind: xgboost, n_estimators: 250, early_stopping: null}
gate: {folds: 20}
"""
SCRIPT = "from crda_spec.cli.app import run_main; run_main()"
QUICK = ["--set", "regressor.n_estimators=5", "--set", "gate.folds=5", "--set", "output.plots=false"]
GONE = 5.0  # seconds within which every process of a run has ended


@pytest.fixture
def place(tmp_path, interruptible):
    """A folder with a spec."""
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


def start(place, *more, **how):
    """`crda-run` in a session of its own, so that its processes can be found."""
    line = [sys.executable, "-c", SCRIPT, "spec.yaml", "--out", "run", *more]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
    return subprocess.Popen(line, cwd=place, start_new_session=True, **how)


def alive(session):
    """The processes of a session that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = entry.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # ended while we looked
            continue
        if int(own) == session and state != "Z":
            found.append(entry.parent.name)
    return found


def wait_until_gone(session):
    end = time.monotonic() + GONE
    while alive(session) and time.monotonic() < end:
        time.sleep(0.1)
    return alive(session)


def workers_of(running):
    """How many processes a run has beside its own."""
    return len(alive(running.pid)) - 1


def attack(place, *, how, moment, jobs):
    """One run, one signal to the run alone after so many seconds; its exit code and what it said."""
    running = start(place, "--jobs", jobs)
    time.sleep(moment)
    if how == "ctrl-c":  # a terminal sends it to the workers too
        os.killpg(running.pid, signal.SIGINT)
    else:
        running.send_signal(how)
    _, said = running.communicate(timeout=30)
    left = wait_until_gone(running.pid)
    for process in left:
        os.kill(int(process), signal.SIGKILL)
    assert left == [], f"left behind after {moment:.2f} s: {left}"
    if (place / "run").exists():  # it was over before the signal came, or as good as over
        assert json.loads((place / "run" / "record.json").read_text())["name"] == "attacked"
    return running.returncode, said


def runs_again(place):
    """The next run works, and sweeps away what a killed one could not."""
    done = start(place, *QUICK, "--jobs", "1")
    _, said = done.communicate(timeout=120)
    assert done.returncode == 0, said
    assert not list(place.glob(".partial-*"))


SIGNALS = [signal.SIGKILL, signal.SIGTERM, "ctrl-c"]


@pytest.mark.parametrize("how", SIGNALS, ids=["kill -9", "SIGTERM", "Ctrl-C"])
@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_a_run_that_is_struck_while_it_fits_leaves_no_folder_and_no_process(place, how, jobs):
    running = start(place, "--jobs", jobs)
    for line in running.stderr:
        if line.startswith("abduct"):  # the folds come next
            break
    end = time.monotonic() + 60
    while jobs == "2" and workers_of(running) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    assert running.poll() is None
    os.killpg(running.pid, signal.SIGINT) if how == "ctrl-c" else running.send_signal(how)
    _, said = running.communicate(timeout=30)
    left = wait_until_gone(running.pid)
    for process in left:
        os.kill(int(process), signal.SIGKILL)
    assert left == []
    assert sorted(path.name for path in place.iterdir()) == ["spec.yaml"]
    told = {
        signal.SIGKILL: (-9, None),
        signal.SIGTERM: (143, "terminated; nothing half-written was left behind"),
        "ctrl-c": (130, "interrupted; nothing half-written was left behind"),
    }
    assert (running.returncode, said.splitlines()[-1] if said and how != signal.SIGKILL else None) == told[how]
    if (how, jobs) != ("ctrl-c", "2"):  # a worker that Ctrl-C meets while it starts shows Python's own message
        assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("how", SIGNALS, ids=["kill -9", "SIGTERM", "Ctrl-C"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_struck_at_twenty_random_moments_never_looks_finished_and_the_next_one_works(place, how, jobs):
    draw = random.Random(f"{how}{jobs}")  # noqa: S311 - moments, no secrets
    for _ in range(20):
        code, said = attack(place, how=how, moment=draw.uniform(0.0, 5.0), jobs=jobs)
        assert code in (0, 130, 143, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT), said
        assert (place / "run").exists() or code != 0
        if (place / "run").exists():  # a signal may come when all is written, and then the run is whole
            open_run(place / "run")
            (place / "run").rename(place / f"finished-{draw.random()}")
    runs_again(place)


FULL = "standard output: no space left on device; the run itself is whole: run"


def test_a_full_standard_output_is_an_error_after_the_run_was_written(place):
    with Path("/dev/full").open("w") as full:
        running = start(place, *QUICK, "--jobs", "1", stdout=full)
        _, said = running.communicate(timeout=120)
    assert (running.returncode, said.splitlines()[-1]) == (2, FULL)
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert (place / "run" / "record.json").is_file()


@pytest.mark.parametrize(
    "more",
    [[], pytest.param(["--json"], marks=pytest.mark.slow), pytest.param(["--quiet"], marks=pytest.mark.slow)],
    ids=["summary", "json", "quiet"],
)
def test_a_standard_output_that_was_closed_is_an_error_after_the_run_was_written(place, more):
    ours, theirs = os.pipe()
    os.close(ours)  # nobody will read, as after `| head -1`
    running = start(place, *QUICK, "--jobs", "1", *more, stdout=theirs)
    os.close(theirs)
    _, said = running.communicate(timeout=120)
    assert (running.returncode, said.splitlines()[-1]) == (2, FULL.replace("no space left on device", "broken pipe"))
    assert "Traceback" not in said
    assert (place / "run" / "record.json").is_file()


def test_a_run_without_any_standard_output_says_nothing_and_works(place):
    line = [sys.executable, "-c", SCRIPT, "spec.yaml", "--out", "run", *QUICK, "--jobs", "1"]
    closed = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *line], cwd=place, capture_output=True, text=True, check=False
    )
    assert (closed.returncode, "Traceback" in closed.stderr) == (0, False)
    assert (place / "run" / "record.json").is_file()


def test_another_command_with_a_full_standard_output_is_an_error_too(place):
    line = [sys.executable, "-c", "from crda_spec.cli.app import main; main()", "render", "spec.yaml"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(line, cwd=place, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "standard output: no space left on device\n")
