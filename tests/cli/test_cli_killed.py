"""A run that is killed outright leaves nothing that looks finished, and the next run leaves nothing at all of it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

LINES = "".join(f"{row * 37 % 101},{row * 53 % 89},{row * 71 % 13 + row % 7}\n" for row in range(60))
SPEC = """version: 1
recipe: paper
name: tiny
dataset:
  source: {kind: csv, path: rows.csv}
  target: y
causal:
  graph: {kind: edges, edges: ["{x1 x2} -> y"]}
regressor: {kind: kernel_ridge}
gate: {kind: wilcoxon, folds: 5}
"""
# One process that has run once, so that everything is imported; each further run is a fork of it, and costs no more
# than it computes.
# A line of input starts one; the answer is its process number, and the parent of this test does the killing.
STARTER = """
import os, sys
from crda_spec.cli.app import run_main
sys.argv = ["crda-run", "spec.yaml", "-q", "--jobs", "1", "--out", "first"]
out, sys.stdout = sys.stdout, sys.stderr
try:
    run_main()
except SystemExit as done:
    assert not done.code
sys.stdout = out
while line := sys.stdin.readline():
    child = os.fork()
    if not child:
        devnull = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(devnull, stream)
        sys.argv = ["crda-run", *line.split()]
        run_main()
    print(child, flush=True)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # its number stays its own until the killer is done
    print(child, flush=True)
    sys.stdin.readline()
    print(os.waitpid(child, 0)[1], flush=True)
"""


def start(starter: subprocess.Popen[str], *arguments: str, killed_after: float | None = None) -> tuple[int, float]:
    """The wait status of one run, and how long it took."""
    assert starter.stdin is not None
    assert starter.stdout is not None
    starter.stdin.write(" ".join(arguments) + "\n")
    starter.stdin.flush()
    child, started = int(starter.stdout.readline()), time.perf_counter()
    if killed_after is not None:
        time.sleep(killed_after)
        os.kill(child, signal.SIGKILL)
    assert int(starter.stdout.readline()) == child
    seconds = time.perf_counter() - started
    starter.stdin.write("reap it\n")
    starter.stdin.flush()
    return int(starter.stdout.readline()), seconds


def finished(folder: Path) -> list[Path]:
    """Folders that look like a finished run."""
    return [record.parent for record in folder.rglob("record.json") if ".partial-" not in str(record)]


@pytest.mark.slow
def test_killed_at_ten_moments_a_run_leaves_nothing_that_looks_finished(tmp_path):
    (tmp_path / "rows.csv").write_text("x1,x2,y\n" + LINES)
    (tmp_path / "spec.yaml").write_text(SPEC)
    line = [sys.executable, "-c", STARTER]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, text=True) as starter:
        status, usual = start(starter, "spec.yaml", "--jobs", "1", "--out", "second")
        assert status == 0
        whole = (tmp_path / "second" / "augmented.parquet").read_bytes()
        killed = 0
        for part in np.random.default_rng(5).uniform(0.02, 1.0, 10):
            status, _ = start(starter, "spec.yaml", "--jobs", "1", killed_after=float(part) * usual)
            killed += status == signal.SIGKILL
            for run in finished(tmp_path / "runs"):  # one that was quicker than its killer
                record = json.loads((run / "record.json").read_text())
                assert all((run / name).is_file() for name in record["files"])
                assert (run / "augmented.parquet").read_bytes() == whole
        assert killed >= 5
        before = len(finished(tmp_path / "runs"))
        assert start(starter, "spec.yaml", "--jobs", "1")[0] == 0
        assert len(finished(tmp_path / "runs")) == before + 1
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(".")] == []


WRITE = """
import os, signal, sys
from pathlib import Path
from crda_spec.audit.runfolder import write_run

class Files(dict):
    def items(self):
        yield "first", b"1"
        if sys.argv[2] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if sys.argv[2] == "wait":
            print("writing", flush=True)
            sys.stdin.readline()
        yield "second", b"2"

write_run(Path(sys.argv[1]), Files())
"""


def test_killed_in_the_middle_of_writing_its_remains_are_swept_by_the_next_run(tmp_path):
    def write(name, how, **more):
        return subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path / name), how], text=True, **more)

    assert write("killed", "die").wait(timeout=60) == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".partial-killed-")
    with write("slow", "wait", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as slow:
        assert slow.stdout.readline() == "writing\n"
        assert write("quick", "go").wait(timeout=60) == 0
        names = sorted(path.name for path in tmp_path.iterdir())
        assert [name.split("-")[1] for name in names if name.startswith(".partial-")] == ["slow"]  # still being written
        slow.stdin.write("\n")
    assert slow.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["quick", "slow"]
    assert sorted(path.name for path in (tmp_path / "slow").iterdir()) == ["first", "second"]
