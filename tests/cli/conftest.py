"""How the command tests start a command: in this process for speed, in a process of its own where that matters."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from crda_spec.cli.app import main, run_main

Environment = dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `crda-run` or `crda-spec` through its real entry point, in this process."""

    def start(name: str, *arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            {"crda-run": run_main, "crda-spec": main}[name]()
        printed = capsys.readouterr()
        code = stopped.value.code
        return Outcome(code=code if isinstance(code, int) else 0, out=printed.out, err=printed.err)

    return start


@pytest.fixture
def script() -> Callable[[str], str]:
    """Where an installed command is: beside this interpreter."""
    return lambda name: str(Path(sys.executable).parent / name)


@pytest.fixture
def process(script: Callable[[str], str]) -> Command:
    """Runs an installed command in a process of its own, as a user does."""

    def start(name: str, *arguments: str | Path, cwd: Path, env: Environment | None = None) -> Outcome:
        line = [script(name), *map(str, arguments)]
        done = subprocess.run(
            line, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=120, check=False
        )
        return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)

    return start
