"""docs/design/house.md: its picture is drawn from the code as it is, and its three changes apply and work."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = re.findall(r"```diff\n(.*?)```", (ROOT / "docs/design/house.md").read_text(), flags=re.DOTALL)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git applies the changes")


def called(*command, cwd=ROOT, text=None):
    return subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_the_picture_shows_the_rooms_and_a_run_as_they_are():
    done = called(sys.executable, "docs/draw_house.py", "--check")
    assert (done.stdout, done.returncode) == ("docs/design/house.svg is as the code is\n", 0), done.stderr


@pytest.mark.parametrize("change", CHANGES, ids=["knob", "regressor", "policy"])
def test_a_change_touches_at_most_three_files(change):
    assert 1 <= len(re.findall(r"^diff --git", change, flags=re.MULTILINE)) <= 3


@needs_git
@pytest.mark.slow
def test_the_three_changes_apply_and_pass_their_families_suites(tmp_path):
    for name in ("crda_spec", "tests", "pyproject.toml", "README.md"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    for change in CHANGES:
        done = called("git", "apply", "-", cwd=tmp_path, text=change)
        assert done.returncode == 0, done.stderr
    for suite, words in (
        ("counterfactual/test_policies.py", "ognormal or truncate or family"),
        ("regressors/test_regressor_conformance.py", "elastic_net"),
    ):
        line = ("-c", "import sys, pytest; sys.path.insert(0, '.'); sys.exit(pytest.main(sys.argv[1:]))")
        done = called(sys.executable, *line, "-q", "-n0", f"tests/{suite}", "-k", words, cwd=tmp_path)
        assert done.returncode == 0, done.stdout
        assert " passed" in done.stdout or "100%" in done.stdout
