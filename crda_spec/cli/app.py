"""`crda-spec` and `crda-run`: the doors. Nothing that computes is imported before it computes."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from crda_spec.cli.diff import diff
from crda_spec.cli.discover import discover
from crda_spec.cli.generate import generate
from crda_spec.cli.graph import graph
from crda_spec.cli.init import init
from crda_spec.cli.options import ShowVersion
from crda_spec.cli.plan import plan
from crda_spec.cli.predict import predict
from crda_spec.cli.report import report
from crda_spec.cli.run import run
from crda_spec.cli.runs import runs
from crda_spec.cli.spec import lock, render, schema, validate
from crda_spec.cli.verify import verify
from crda_spec.errors import CrdaError

_INTERRUPTED = 130
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
    *(verify, predict, runs, diff, render, schema),
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
    """Turns what can go wrong into a message on stderr and an exit code: 2 bad input, 130 interrupted."""
    try:
        command()
    except CrdaError as error:
        sys.stderr.write(f"{error.render()}\n")
        raise SystemExit(error.exit_code) from None
    except (KeyboardInterrupt, SystemExit) as stopped:
        # typer turns Ctrl-C into its own exit with code 130, and says nothing
        if isinstance(stopped, SystemExit) and stopped.code != _INTERRUPTED:
            raise
        sys.stderr.write("interrupted; nothing half-written was left behind\n")
        raise SystemExit(_INTERRUPTED) from None
