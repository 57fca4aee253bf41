"""Writes what the documentation does not say in its own words: outputs, certificates, tables, pictures, the reference.

    python docs/build.py            write anew what is quick: all but runs
    python docs/build.py --runs     the runs too (minutes)
    python docs/build.py --check    change nothing; say what is stale, and exit with 1 if anything is

A block stands between two comments; the first one says what makes it:

    <!-- made by: crda-spec plan docs/traps/collider.yaml -->
    <!-- made by: the certificate of docs/traps/collider.yaml -->   the same, without what every plan says
    <!-- made by: the graph of docs/traps/collider.yaml -->         the `causal` section of the spec
    <!-- made by: the links of examples/discovery_loop/before.yaml -->   what a search finds, without the rest
    <!-- made by: the table recipes_mlp -->                         a table of tables.py
    <!-- end -->

A ```console block is a transcript, and a ```text block right below a ```python block is what that prints: all of a page
run one after the other in a copy of examples/clinic. A line `[...]` stands for what is left out.

A picture `pictures/NAME.svg` is what `crda-spec graph` draws for docs/traps/NAME.yaml or examples/NAME/spec.yaml. The
tables of two examples come out of packages; without them their blocks stay as they are.
"""

from __future__ import annotations

import io
import math
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_pages import PAGES as REFERENCE
from tables import TABLES

from crda_spec.cli.app import main as spec_main
from crda_spec.cli.app import run_main

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PICTURES = DOCS / "pictures"
HAVE_EXAMPLE_DATA = find_spec("causaldata") is not None

_BLOCK = re.compile(r"(<!-- made by: (?P<command>.+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
_TRANSCRIPT = re.compile(r"(```console\n)(.*?)(```)", re.DOTALL)
_CODE = re.compile(r"(```python\n(.*?)```\n)(\n```text\n.*?```)?", re.DOTALL)
_PICTURE = re.compile(r"\((?:\.\./)*pictures/(\w+)\.svg\)")
_GRAPH_OF = "the graph of "
_CERTIFICATE_OF = "the certificate of "
_LINKS_OF = "the links of "
_TABLE = "the table "
_CUT = "  [...]\n"
_EVERY_PLAN_SAYS = "  this holds only if:\n"  # from here on a plan tells of assumptions and costs, alike for every trap
_COMMANDS = {"crda-spec": spec_main, "crda-run": run_main}
DRAWN_ELSEWHERE = {"gate_calibration", "pipeline", "whatif"}  # by a benchmark, by hand, by `crda-spec whatif --plot`


def pages() -> list[Path]:
    """Every page that may hold a block."""
    return [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if page not in reference())]


def reference() -> dict[Path, str]:
    """The pages that are made from the program: file -> text."""
    return {DOCS / "reference" / f"{name}.md": made() for name, made in REFERENCE.items()}


@dataclass(frozen=True, slots=True)
class Block:
    """One generated part of a page: what makes it, and what stands there now."""

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

    @property
    def can_be_made(self) -> bool:
        """Whether what it needs is here."""
        return HAVE_EXAMPLE_DATA or not self.needs_example_data

    def fresh(self) -> str:
        """What should stand there."""
        if self.command.startswith(_TABLE):
            return TABLES[self.command.removeprefix(_TABLE)]()
        if self.command.startswith(_GRAPH_OF):
            return f"```yaml\n{causal_section(ROOT / self.command.removeprefix(_GRAPH_OF))}```\n"
        if self.command.startswith(_CERTIFICATE_OF):
            command = f"crda-spec plan {self.command.removeprefix(_CERTIFICATE_OF)}"
            certificate, _, rest = printed(command).partition(_EVERY_PLAN_SAYS)
            return f"```text\n$ {command}\n{certificate}{_CUT if rest else ''}```\n"
        if self.command.startswith(_LINKS_OF):
            command = f"crda-spec discover {self.command.removeprefix(_LINKS_OF)}"
            links = printed(command).partition("\nLinks\n")[2].partition("\n\n")[0]
            return f"```text\n$ {command}\n  [...]\n{links}\n  [...]\n```\n"
        return f"```text\n$ {self.command}\n{printed(self.command)}```\n"

    def is_stale(self) -> bool:
        """Whether it says something else today."""
        return not alike(self.body, self.fresh()) if self.is_run else self.body != self.fresh()


def alike(shown: str, fresh: str) -> bool:
    """Whether two outputs of a run say the same.

    Seconds, hashes and versions differ from machine to machine; so do the last digits of a model that stops at a
    tolerance.
    """
    (words, numbers), (words_again, numbers_again) = (_apart(text) for text in (shown, fresh))
    return words == words_again and all(
        math.isclose(one, other, rel_tol=0.02, abs_tol=0.02) for one, other in zip(numbers, numbers_again, strict=True)
    )


def _apart(text: str) -> tuple[list[str], list[float]]:
    """The words of a text, and its numbers."""
    text = re.sub(r"(record|sha256) [0-9a-f]{12}|'[0-9a-f]{32,}…", r"\1", text)
    text = re.sub(r"in [\d.]+ s\b|and \d+ other versions|\d+\.\d+\.\d+", "", text)
    found = re.findall(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", text)
    return re.findall(r"[A-Za-z_]+", text), [float(one.replace(",", "")) for one in found]


def blocks(page: str) -> list[Block]:
    """The generated blocks of a page, from the top."""
    return [Block(match["command"], match["body"]) for match in _BLOCK.finditer(page)]


def pictures(page: str) -> dict[Path, Path]:
    """Each picture's file that the page shows, and the spec that it is drawn from."""
    found = {}
    for name in dict.fromkeys(_PICTURE.findall(page)):
        if name not in DRAWN_ELSEWHERE:
            trap = DOCS / "traps" / f"{name}.yaml"
            found[PICTURES / f"{name}.svg"] = trap if trap.exists() else ROOT / "examples" / name / "spec.yaml"
    return found


def causal_section(spec: Path) -> str:
    """The lines of a spec from `causal:` up to the next section."""
    lines = spec.read_text().splitlines()
    start = lines.index("causal:")
    others = (number for number, line in enumerate(lines) if number > start and re.match(r"\w", line))
    return "\n".join(lines[start : next(others, len(lines))]).rstrip() + "\n"


def printed(command: str) -> str:
    """What a command prints, run from the project's folder; the folder of a run is called RUN."""
    program, *arguments = command.split()
    with tempfile.TemporaryDirectory() as folder:
        where = f"{folder}/run"
        more = ["--jobs", "1", "--out", where] if program == "crda-run" else []
        text = _said([program, *arguments, *more], ROOT)[0].replace(where, f"runs/{_name_of(arguments)}/RUN")
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _name_of(arguments: list[str]) -> str:
    """The name of the spec that a command runs."""
    spec = next((ROOT / one for one in arguments if one.endswith(".yaml")), None)
    named = spec and re.search(r"^name: (\S+)", spec.read_text(), re.MULTILINE)
    return named[1] if named else "NAME"


def _said(line: list[str], folder: Path) -> tuple[str, int]:
    """What a command prints where it is run, and its exit code; of one that fails also what it says of the failure."""
    before, out, errors = sys.argv, io.StringIO(), io.StringIO()
    sys.argv = line
    try:
        with chdir(folder), _plain_terminal(), redirect_stdout(out), redirect_stderr(errors):
            _COMMANDS[line[0]]()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = before
    return (errors.getvalue() if code in (2, 130, 143) else out.getvalue()), code


@contextmanager
def _plain_terminal() -> Iterator[None]:
    """A terminal of 100 columns without colours."""
    kept = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR")}
    os.environ.update(COLUMNS="100", NO_COLOR="1")
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def is_played(page: str) -> bool:
    """Whether a page has transcripts, or code and what it prints."""
    return _TRANSCRIPT.search(page) is not None or _CODE.search(page) is not None


def replayed(page: str) -> str:
    """The page with its transcripts and its code played again, one after the other, in a copy of the clinic."""
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        clinic = Path(folder) / "clinic"
        shutil.copytree(ROOT / "examples" / "clinic", clinic, ignore=shutil.ignore_patterns("run*"))

        def executed(match: re.Match[str]) -> str:
            shown = io.StringIO()
            with chdir(clinic), redirect_stdout(shown), warnings.catch_warnings():
                exec(match[2], names)  # noqa: S102 - our own pages
            said = "".join(f"{line.rstrip()}\n" for line in shown.getvalue().splitlines())
            return match[1] + (f"\n```text\n{said}```" if match[3] else "")

        page = _TRANSCRIPT.sub(lambda match: f"{match[1]}{_played_all(match[2], clinic)}{match[3]}", page)
        return _CODE.sub(executed, page)


def _played_all(transcript: str, folder: Path) -> str:
    return "".join(_played(part, folder) for part in _parts(transcript))


def _parts(transcript: str) -> list[str]:
    """Each command with what stands below it."""
    return re.findall(r"^\$ .*\n(?:(?!\$ ).*\n)*", transcript, re.MULTILINE)


def _played(part: str, folder: Path) -> str:
    command, *shown = part.splitlines()
    line = shlex.split(command[2:])
    if line[0] in _COMMANDS:
        text, code = _said(line, folder)
        fresh = [one.rstrip() for one in text.splitlines()] + ([f"(exit code {code})"] if code else [])
    else:
        done = subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603 - our pages
        fresh = done.stdout.splitlines()
    if "[...]" in shown:
        head, tail = shown.index("[...]"), len(shown) - shown.index("[...]") - 1
        fresh = [*fresh[:head], "[...]", *fresh[len(fresh) - tail :]]
    return "".join(f"{one}\n" for one in [command, *fresh])


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


def drawing(spec: Path) -> str:
    """The picture of a spec's graph."""
    return printed(f"crda-spec graph {spec.relative_to(ROOT)}")


def drawable(page: str) -> dict[Path, Path]:
    """The pictures whose specs can be read here: those of the examples need the examples' data."""
    every = pictures(page)
    return {file: spec for file, spec in every.items() if HAVE_EXAMPLE_DATA or "examples" not in spec.parts}


def stale(page: str, *, runs: bool = False) -> list[str]:
    """The blocks that say something else today."""
    asked = [block for block in blocks(page) if block.can_be_made and (runs or not block.is_run)]
    found = [block.command for block in asked if block.is_stale()]
    if runs and is_played(page) and not alike(page, replayed(page)):
        found.append("its transcripts")
    return found


def rebuilt(page: str, *, runs: bool = False) -> str:
    """The page with every block made anew; runs only where they are asked for."""

    def again(match: re.Match[str]) -> str:
        block = Block(match["command"], match["body"])
        kept = not block.can_be_made or (block.is_run and not runs)
        return f"{match[1]}{block.body if kept else block.fresh()}{match[4]}"

    page = _BLOCK.sub(again, page)
    return replayed(page) if runs and is_played(page) else page


def main() -> None:
    """Rebuilds, or only looks."""
    runs, checking = "--runs" in sys.argv[1:], "--check" in sys.argv[1:]
    only = [Path(one).resolve() for one in sys.argv[1:] if not one.startswith("--")]
    if HAVE_EXAMPLE_DATA:
        get_example_data()
    else:
        print("the blocks of two examples stay as they are: the package causaldata is not installed")
    found = []
    for file, text in reference().items():
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            found.append(str(file.relative_to(ROOT)))
            if not checking:
                file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8")
    for file in only or pages():
        page = file.read_text(encoding="utf-8")
        for picture, spec in drawable(page).items():
            if not picture.exists() or picture.read_text() != drawing(spec):
                found.append(str(picture.relative_to(ROOT)))
                if not checking:
                    picture.write_text(drawing(spec))
        if checking:
            found += [f"{file.relative_to(ROOT)}: {what}" for what in stale(page, runs=runs)]
        elif (again := rebuilt(page, runs=runs)) != page:
            found.append(str(file.relative_to(ROOT)))
            file.write_text(again, encoding="utf-8")
    said = "stale" if checking else "written"
    print("\n".join(f"{said}: {what}" for what in found) or "nothing is stale")
    raise SystemExit(1 if found and checking else 0)


if __name__ == "__main__":
    main()
