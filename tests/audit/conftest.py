"""One thread for all, and a command in this process."""

import sys

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from crda_spec.cli.app import main

settings.register_profile("house", deadline=None)  # a busy machine is no failure
settings.load_profile("house")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def start(monkeypatch, capsys):
    """Runs `crda-spec`: its exit code, and what it printed."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["crda-spec", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return stopped.value.code or 0, printed.out, printed.err

    return command


@pytest.fixture
def command(start):
    """The same, with all that was printed in one."""

    def joined(*arguments):
        code, out, err = start(*arguments)
        return code, out + err

    return joined


@pytest.fixture
def verify(command):
    """`crda-spec verify`."""
    return lambda *arguments: command("verify", *arguments)
