"""`crda-spec` and `crda-run`: the doors. Nothing that computes is imported before it computes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from crda_spec.cli.bench import bench
from crda_spec.cli.diff import diff
from crda_spec.cli.discover import discover
from crda_spec.cli.effects import effects
from crda_spec.cli.export import export
from crda_spec.cli.generate import generate
from crda_spec.cli.graph import graph
from crda_spec.cli.init import init
from crda_spec.cli.options import ShowVersion, printing, unprinted
from crda_spec.cli.plan import plan
from crda_spec.cli.predict import predict
from crda_spec.cli.report import report
from crda_spec.cli.run import run
from crda_spec.cli.runs import runs
from crda_spec.cli.signals import INTERRUPTED, TERMINATED, check_stopped, stoppable
from crda_spec.cli.spec import lock, render, schema, validate
from crda_spec.cli.verify import verify
from crda_spec.cli.whatif import whatif
from crda_spec.errors import CrdaError, printable, show

_STOPPED: dict[object, str] = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    name="crda-spec",
    help="Counterfactual residual data augmentation for tabular regression: declared, certified, gated, audited.",
    no_args_is_help=True,
    add_completion=False,
    context_settings=_SETTINGS,
    pretty_exceptions_enable=False,
)
run_app = typer.Typer(name="crda-run", add_completion=False, context_settings=_SETTINGS, pretty_exceptions_enable=False)

# In the order in which `--help` lists them.
_COMMANDS: tuple[Callable[..., None], ...] = (
    *(run, init, validate, graph, discover, plan, generate, report, lock),
    *(verify, predict, export, whatif, effects, runs, diff, bench, render, schema),
)
for _command in _COMMANDS:
    app.command(_command.__name__)(_command)
run_app.command()(run)


@app.callback()
def _root(version: ShowVersion = False) -> None:
    """Counterfactual residual data augmentation for tabular regression: declared, certified, gated, audited."""


def main() -> None:
    """`crda-spec`."""
    guarded(app)


def run_main() -> None:
    """`crda-run`, the same as `crda-spec run`."""
    guarded(run_app)


def guarded(command: Callable[[], None]) -> None:
    """Turns what can go wrong into a message on stderr and an exit code: 2 bad input, 130 or 143 a signal."""
    if sys.stdout is None:  # closed by whoever started us: nobody wants to read
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until we end
    try:
        with stoppable():
            _run(command)
    except CrdaError as error:
        sys.stderr.write(f"{error.render()}\n")
        raise SystemExit(error.exit_code) from None
    except OSError as error:  # no room, no permission, no such name: the machine's answer, not a fault of the program
        what = f"{show(str(error.filename))} cannot be read or written"
        sys.stderr.write(f"{what}: {printable((error.strerror or str(error)).lower())}; nothing half-written is left\n")
        raise SystemExit(CrdaError.exit_code) from None


def _called(command: Callable[[], None]) -> None:
    try:
        command()
    except RuntimeError:
        check_stopped()  # Python 3.11 turns what a signal raises while a class is made into a RuntimeError
        raise


def _run(command: Callable[[], None]) -> None:
    try:
        _called(command)
    except OSError as error:
        if error.filename is not None:  # no stream
            raise
        raise unprinted(error) from None
    except (KeyboardInterrupt, SystemExit) as stopped:
        # typer turns Ctrl-C into its own exit with code 130, and says nothing
        code = stopped.code if isinstance(stopped, SystemExit) else INTERRUPTED
        if code in _STOPPED:
            sys.stderr.write(f"{_STOPPED[code]}; nothing half-written was left behind\n")
            raise SystemExit(code) from None
        with printing():
            raise
