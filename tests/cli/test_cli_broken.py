"""What users get wrong, as files: each folder of `broken/` holds a spec, its data, and the whole message.

A table of `tables/` that the spec names need not lie in the folder. Data of the same name in the folder go first.
`args.txt`, where there is one, holds the command's arguments, one a line; else they are `spec.yaml`.
`CRDA_UPDATE_GOLDEN=1 pytest tests/cli/test_cli_broken.py` rewrites the messages; read every one that changed and ask
whether it names the place, the value and the next thing to try.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

BROKEN = Path(__file__).parent / "broken"
TABLES = sorted((Path(__file__).parent / "tables").iterdir())
CASES = sorted(folder.name for folder in BROKEN.iterdir())
OWN_PROCESS = ("data_contract", "malicious_tag", "many_problems")
UPDATE = os.environ.get("CRDA_UPDATE_GOLDEN") == "1"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and an environment that knows no benchmark tables and no variables of ours."""
    monkeypatch.delenv("CRDA_DATA_DIR", raising=False)
    monkeypatch.delenv("CRDA_TEST_FOLDER", raising=False)
    monkeypatch.setenv("EMPTY_VARIABLE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arrange(name: str, place: Path) -> list[str]:
    """Copies the case to `place` and returns the command's arguments."""
    spec = (BROKEN / name / "spec.yaml").read_bytes()
    for table in TABLES:
        if table.name.encode() in spec:
            shutil.copy(table, place)
    shutil.copytree(BROKEN / name, place, dirs_exist_ok=True)
    (place / "message.txt").unlink(missing_ok=True)
    arguments = place / "args.txt"
    return arguments.read_text().splitlines() if arguments.exists() else ["spec.yaml"]


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below `folder`, the files with their bytes."""
    found = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in found}


def without_clock(printed: str) -> str:
    """The message, with the seconds of the progress lines set to zero."""
    return re.sub(r"\b\d+\.\d s$", "0.0 s", printed, flags=re.MULTILINE)


def expected(name: str, printed: str) -> str:
    file = BROKEN / name / "message.txt"
    if UPDATE:
        file.write_text(printed, encoding="utf-8")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_a_broken_spec_or_table_ends_with_its_whole_message(name, place, command):
    arguments = arrange(name, place)
    before = contents(place)
    outcome = command("crda-run", *arguments)
    message = without_clock(outcome.err)
    assert message == expected(name, message)
    assert outcome.out == ""
    assert outcome.code == 2
    assert contents(place) == before


@pytest.mark.parametrize("name", OWN_PROCESS)
def test_the_installed_command_says_the_same(name, place, process):
    arguments = arrange(name, place)
    before = contents(place)
    outcome = process("crda-run", *arguments, cwd=place)
    assert without_clock(outcome.err) == (BROKEN / name / "message.txt").read_text(encoding="utf-8")
    assert (outcome.code, outcome.out) == (2, "")
    assert contents(place) == before
