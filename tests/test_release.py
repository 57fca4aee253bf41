"""What is released: the version is told once everywhere, and the wheel alone is enough in a fresh environment."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import crda_spec

ROOT = Path(__file__).parents[1]
SPEC = """\
version: 1
name: fields
seed: 1
dataset:
  source: {kind: synthetic, world: crop_yield, rows: 60}
  target: grain_yield
regressor: {kind: ridge}
gate: {kind: wilcoxon, folds: 5}
counterfactual: {teacher: {kind: crossfit, folds: 3}}
"""


def test_the_version_is_the_same_everywhere_and_the_changelog_begins_with_it():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert crda_spec.__version__ == declared == newest[1]


def test_the_changelog_says_one_thing_a_line():
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    changes = [line for line in lines if line.startswith("- ")]
    assert len(changes) >= 40
    assert [line for line in lines if line and not line.startswith(("#", "- ", "What changes for you"))] == []
    assert [line for line in changes if len(line) > 200 or not line.endswith(".")] == []


def run(*line, cwd, seconds=900):
    """A command of another environment: nothing of this one is seen there."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        list(map(str, line)), cwd=cwd, env=clean, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def environment(folder):
    """A fresh virtual environment, and the folder of its commands."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    return folder / ("Scripts" if os.name == "nt" else "bin")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with wheel and sdist, as `python -m build` writes them."""
    place = tmp_path_factory.mktemp("release")
    tools = environment(place / "tools")
    line = [tools / "python", "-m", "pip", "install", "-q", "--retries", "1", "build"]
    tried = subprocess.run(list(map(str, line)), cwd=place, capture_output=True, text=True, timeout=300, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no package registry can be reached: {tried.stderr.strip().splitlines()[-1][:200]}")
    run(tools / "python", "-m", "build", "--outdir", place / "dist", ROOT, cwd=place)
    return place / "dist"


@pytest.mark.slow
def test_what_is_in_the_packages(built):
    version = crda_spec.__version__
    assert sorted(file.name for file in built.iterdir()) == [
        f"crda_spec-{version}-py3-none-any.whl",
        f"crda_spec-{version}.tar.gz",
    ]
    with zipfile.ZipFile(built / f"crda_spec-{version}-py3-none-any.whl") as wheel:
        inside = wheel.namelist()
    modules = {
        f"crda_spec/{file.relative_to(ROOT / 'crda_spec').as_posix()}" for file in ROOT.glob("crda_spec/**/*.py")
    }
    assert modules <= set(inside)
    assert {name.split("/")[0] for name in inside} == {"crda_spec", f"crda_spec-{version}.dist-info"}
    assert [name for name in inside if "__pycache__" in name] == []
    with tarfile.open(built / f"crda_spec-{version}.tar.gz") as sdist:
        names = sdist.getnames()
    assert {f"crda_spec-{version}/{name}" for name in ("README.md", "LICENSE", "pyproject.toml")} <= set(names)


@pytest.mark.slow
def test_the_wheel_alone_runs_in_a_fresh_environment(built, tmp_path):
    commands = environment(tmp_path / "user")
    wheel = next(built.glob("*.whl"))
    run(commands / "python", "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    home = run(commands / "python", "-c", "import crda_spec; print(crda_spec.__file__)", cwd=tmp_path).strip()
    assert Path(home).is_relative_to(tmp_path / "user")
    assert run(commands / "crda-spec", "--version", cwd=tmp_path) == f"crda-spec {crda_spec.__version__}\n"
    (tmp_path / "spec.yaml").write_text(SPEC)
    told = run(commands / "crda-run", "spec.yaml", "-q", "--jobs", "1", "--out", "run", cwd=tmp_path)
    assert f"crda-spec {crda_spec.__version__}" in told
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000
    assert "Verified" in run(commands / "crda-spec", "verify", "run", cwd=tmp_path)
    run(commands / "crda-spec", "init", "run/augmented.csv", "--target", "grain_yield", "--out", "s.yaml", cwd=tmp_path)
