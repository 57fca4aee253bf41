"""The commands that only look answer at once: they import nothing that computes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = (
    *("pandas", "sklearn", "scipy", "xgboost", "networkx", "pgmpy", "matplotlib", "joblib", "pyarrow"),
    *("catboost", "skops", "openpyxl", "sqlalchemy", "jinja2", "threadpoolctl", "optuna"),
)
PROGRAM = """
import sys
from crda_spec.cli.app import main, run_main
sys.argv = sys.argv[1:]
try:
    (run_main if sys.argv[0] == "crda-run" else main)()
except SystemExit as stopped:
    assert stopped.code in (0, None), stopped.code
heavy = {name.split(".")[0] for name in sys.modules}
sys.stderr.write(" ".join(sorted(heavy)))
"""
CSV_SPEC = "version: 1\nrecipe: paper\nname: csv\ndataset:\n  source: {kind: csv, path: rows.csv}\n  target: y\n"


def imported(*arguments: str, cwd: Path) -> set[str]:
    line = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(line, cwd=cwd, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("crda-run", "--help"),
        ("crda-spec", "--help"),
        ("crda-spec", "--version"),
        ("crda-spec", "schema"),
        ("crda-spec", "validate", "--no-data", str(ROOT / "specs" / "bidding_war.yaml")),
        ("crda-spec", "validate", "--no-data", str(ROOT / "specs" / "own_equations.yaml")),
        ("crda-spec", "validate", "--no-data", "csv.yaml"),
        ("crda-spec", "render", "csv.yaml"),
    ],
    ids=lambda arguments: " ".join(Path(one).name for one in arguments),
)
def test_commands_that_only_look_import_nothing_that_computes(arguments, tmp_path):
    (tmp_path / "csv.yaml").write_text(CSV_SPEC)
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n")
    modules = imported(*arguments, cwd=tmp_path)
    assert "crda_spec" in modules
    assert modules.isdisjoint(HEAVY)


def test_help_imports_no_numpy_and_no_pydantic(tmp_path):
    assert imported("crda-run", "--help", cwd=tmp_path).isdisjoint({"numpy", "pydantic", "yaml"})


def test_python_m_is_the_command(tmp_path):
    def said(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "crda_spec", *arguments]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert said("--version").stdout.startswith("crda-spec ")
    missing = said("validate", "nowhere.yaml")
    assert missing.returncode == 2
    assert missing.stderr.startswith("nowhere.yaml: there is no such file")
