"""docs/audit.md: every command that it shows is run on the clinic example, and prints what the page says."""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crda_spec.cli.app import main, run_main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "audit.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
DECIMAL = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.])")
UPDATE = bool(os.environ.get("CRDA_UPDATE_GOLDEN"))
# Runs that the page takes for granted where it shows something else.
BEFORE = {
    "$ crda-spec predict again": ["crda-run spec.yaml -q --out again"],
    "$ crda-spec diff again other": [
        "crda-run spec.yaml -q --out other --set gate.alternative=two-sided --set gate.folds=8"
    ],
}


def printed(line):
    """What a command prints, and on the last line its exit code when it is not 0."""
    name, *arguments = shlex.split(line)
    if name not in ("crda-run", "crda-spec"):
        subprocess.run([name, *arguments], check=True)
        return ""
    shown = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        patch.setattr(sys, "argv", [name, *arguments])
        patch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as stopped:
            {"crda-run": run_main, "crda-spec": main}[name]()
    code = stopped.value.code or 0
    return shown.getvalue() + (f"(exit code {code})\n" if code else "")


def apart(text):
    """The text with a mark in the place of each decimal number, and these numbers."""
    return DECIMAL.sub("#", text), [float(number) for number in DECIMAL.findall(text)]


@pytest.mark.slow
def test_the_page_shows_what_the_commands_print(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples" / "clinic", tmp_path / "clinic", ignore=shutil.ignore_patterns("run*"))
    monkeypatch.chdir(tmp_path / "clinic")
    page = PAGE.read_text(encoding="utf-8")

    def fresh(match):
        lines = []
        for line in match[1].splitlines():
            if line.startswith("$ "):
                for start, commands in BEFORE.items():
                    for command in commands if line.startswith(start) else ():
                        printed(command)
                lines.append(line)
                lines += printed(line[2:]).splitlines()
        return "```console\n" + "\n".join(lines) + "\n```"

    again = BLOCK.sub(fresh, page)
    # Versions and hashes of libraries are those of the machine.
    again = re.sub(r"and \d+ other versions", "and 9 other versions", again)
    if UPDATE:
        PAGE.write_text(again, encoding="utf-8")
    # A support vector machine stops at a tolerance, so another processor may end on other last digits.
    (words, numbers), (words_again, numbers_again) = (apart(text) for text in (PAGE.read_text(encoding="utf-8"), again))
    assert words == words_again, "the page is stale: CRDA_UPDATE_GOLDEN=1 pytest rewrites it"
    assert numbers == pytest.approx(numbers_again, rel=5e-3)
