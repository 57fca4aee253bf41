"""Rebuilds what the command line says in docs/causal-graph.md and docs/discovery.md.

Pictures, certificates, searches, runs of the worked examples:

    python docs/build_traps.py            write the pictures and the blocks anew
    python docs/build_traps.py --check    change nothing; say what is stale, and exit with 1 if anything is
    ... --no-runs                         leave the runs of the worked examples alone: half a minute less

A block stands between two comments; the first one is the command that made it:

    <!-- made by: crda-spec plan docs/traps/collider.yaml -->
    <!-- made by: the certificate of docs/traps/collider.yaml -->   (the same, without what every plan says)
    <!-- made by: the graph of docs/traps/collider.yaml -->         (the `causal` section, as it stands there)
    <!-- end -->

A picture `pictures/NAME.svg` is what `crda-spec graph` draws for docs/traps/NAME.yaml or examples/NAME/spec.yaml.
The data of the worked examples come out of the package `causaldata`; without it their blocks stay as they are.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from crda_spec.cli.app import main as spec_main
from crda_spec.cli.app import run_main

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "causal-graph.md"
DISCOVERY = ROOT / "docs" / "discovery.md"
PICTURES = ROOT / "docs" / "pictures"
HAVE_EXAMPLE_DATA = find_spec("causaldata") is not None

_BLOCK = re.compile(r"(<!-- made by: (?P<command>.+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
_PICTURE = re.compile(r"\(pictures/(\w+)\.svg\)")
_GRAPH_OF = "the graph of "
_CERTIFICATE_OF = "the certificate of "
_CUT = "  [...]\n"
_EVERY_PLAN_SAYS = "  this holds only if:\n"  # from here on a plan tells of assumptions and costs, alike for every trap
_COMMANDS = {"crda-spec": spec_main, "crda-run": run_main}


@dataclass(frozen=True, slots=True)
class Block:
    """One generated part of the page: the command that made it, and what stands there now."""

    command: str
    body: str

    @property
    def needs_example_data(self) -> bool:
        """Whether the command reads a table that comes out of `causaldata`."""
        named = re.search(r"examples/\w+", self.command)
        taken = named is not None and (ROOT / named[0] / "get_data.py").exists()
        return taken and not self.command.startswith(_GRAPH_OF)

    @property
    def is_run(self) -> bool:
        """Whether models are fitted: seconds, and numbers that move with the versions of the libraries."""
        return self.command.startswith("crda-run")

    def fresh(self) -> str:
        """What should stand there."""
        if self.command.startswith(_GRAPH_OF):
            return f"```yaml\n{causal_section(ROOT / self.command.removeprefix(_GRAPH_OF))}```\n"
        if self.command.startswith(_CERTIFICATE_OF):
            command = f"crda-spec plan {self.command.removeprefix(_CERTIFICATE_OF)}"
            certificate, _, rest = printed(command).partition(_EVERY_PLAN_SAYS)
            return f"```text\n$ {command}\n{certificate}{_CUT if rest else ''}```\n"
        return f"```text\n$ {self.command}\n{printed(self.command)}```\n"


def blocks(page: str) -> list[Block]:
    """The generated blocks of a page, from the top."""
    return [Block(match["command"], match["body"]) for match in _BLOCK.finditer(page)]


def pictures(page: str) -> dict[Path, Path]:
    """Each picture's file that the page shows, and the spec that it is drawn from."""
    found = {}
    for name in dict.fromkeys(_PICTURE.findall(page)):
        trap = ROOT / "docs" / "traps" / f"{name}.yaml"
        found[PICTURES / f"{name}.svg"] = trap if trap.exists() else ROOT / "examples" / name / "spec.yaml"
    return found


def causal_section(spec: Path) -> str:
    """The lines of a spec from `causal:` up to the next section."""
    lines = spec.read_text().splitlines()
    start = lines.index("causal:")
    others = (number for number, line in enumerate(lines) if number > start and re.match(r"\w", line))
    return "\n".join(lines[start : next(others, len(lines))]).rstrip() + "\n"


def printed(command: str) -> str:
    """What a command prints, run from the project's folder; of a run without its folder and its clock time."""
    program, *arguments = command.split()
    with tempfile.TemporaryDirectory() as folder:
        where = f"{folder}/run"
        more = ["--jobs", "1", "--out", where] if program == "crda-run" else []
        with _started_as(program, *arguments, *more) as (out, errors), redirect_stdout(out), redirect_stderr(errors):
            try:
                _COMMANDS[program]()
            except SystemExit as ended:
                failed = ended.code not in (None, 0)
            else:
                failed = False
    text = errors.getvalue() if failed else out.getvalue()
    kept = [line for line in text.splitlines() if where not in line]
    return re.sub(r"\((\d+ fits), [^)]*\)", r"(\1)", "\n".join(kept)) + "\n"


@contextmanager
def _started_as(*line: str) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """The command line, the working folder and two empty streams, as the shell would hand them over."""
    before = sys.argv
    sys.argv = [*line]
    try:
        with chdir(ROOT):
            yield io.StringIO(), io.StringIO()
    finally:
        sys.argv = before


def get_example_data() -> None:
    """Takes the tables of the worked examples out of their package, where they are not there yet.

    Each is written elsewhere and moved into place whole, since parallel tests may read while another one writes.
    """
    for script in sorted((ROOT / "examples").glob("*/get_data.py")):
        if not any(script.parent.glob("*.csv")):
            example = runpy.run_path(str(script))
            if find_spec(example.get("PACKAGE", "causaldata")) is None:
                continue
            with tempfile.TemporaryDirectory(dir=script.parent) as folder:
                example["write"](Path(folder))
                for written in Path(folder).glob("*.csv"):
                    written.replace(script.parent / written.name)


def stale(page: str, *, runs: bool = True) -> list[str]:
    """The commands whose output has changed, and the pictures that have."""
    found = [
        block.command
        for block in blocks(page)
        if (HAVE_EXAMPLE_DATA or not block.needs_example_data)
        and (runs or not block.is_run)
        and block.body != block.fresh()
    ]
    for file, spec in _drawable(page).items():
        if not file.exists() or file.read_text() != drawing(spec):
            found.append(str(file.relative_to(ROOT)))
    return found


def drawing(spec: Path) -> str:
    """The picture of a spec's graph."""
    return printed(f"crda-spec graph {spec.relative_to(ROOT)}")


def rebuilt(page: str, *, runs: bool = True) -> str:
    """The page with every block made anew."""

    def again(match: re.Match[str]) -> str:
        block = Block(match["command"], match["body"])
        known = (HAVE_EXAMPLE_DATA or not block.needs_example_data) and (runs or not block.is_run)
        return f"{match[1]}{block.fresh() if known else block.body}{match[4]}"

    return _BLOCK.sub(again, page)


def _drawable(page: str) -> dict[Path, Path]:
    """The pictures whose specs can be read here: those of the examples need the examples' data."""
    every = pictures(page)
    return {file: spec for file, spec in every.items() if HAVE_EXAMPLE_DATA or "examples" not in spec.parts}


def main() -> None:
    """Rebuilds, or only looks."""
    os.environ["NO_COLOR"] = "1"
    page, searches, runs = PAGE.read_text(), DISCOVERY.read_text(), "--no-runs" not in sys.argv[1:]
    if HAVE_EXAMPLE_DATA:
        get_example_data()
    else:
        print("the blocks of the worked examples stay as they are: the package causaldata is not installed")
    if "--check" in sys.argv[1:]:
        found = [*stale(page, runs=runs), *stale(searches, runs=runs)]
        print("\n".join(f"stale: {what}" for what in found) or "nothing is stale")
        raise SystemExit(1 if found else 0)
    PICTURES.mkdir(exist_ok=True)
    for file, spec in _drawable(page).items():
        file.write_text(drawing(spec))
    PAGE.write_text(rebuilt(page, runs=runs))
    DISCOVERY.write_text(rebuilt(searches, runs=runs))
    print(f"{PAGE.relative_to(ROOT)}: {len(blocks(page))} blocks, {len(pictures(page))} pictures")
    print(f"{DISCOVERY.relative_to(ROOT)}: {len(blocks(searches))} blocks")


if __name__ == "__main__":
    main()
