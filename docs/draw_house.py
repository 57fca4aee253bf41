"""Draws docs/design/house.svg: the rooms, and one run through them.

    python docs/draw_house.py            write the picture anew
    python docs/draw_house.py --check    change nothing; exit with 1 when the picture is stale

The rooms stand in the order of their imports, which are read off the files. The run is a real one: a small spec is run,
and each call from one of the `CALLERS` into another module is one line of the picture, in the order of first calls.
"""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import tempfile
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any

import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "design" / "house.svg"
HOUSE = ROOT / "crda_spec"
GROUND = ("errors", "seeds", "strict", "execution", "plugins", "records")  # what every room stands on; left out
CALLERS = {  # from the command down to the paper's Algorithm 1 and its augmentation
    "crda_spec.cli.run": ("run", "_execute", "_report"),
    "crda_spec.pipeline": None,
    "crda_spec.counterfactual.procedure": ("augment", "act_and_predict"),
}
DEEPER = ("graph_certificate", "make_record", "render_html", "write_run")  # in rooms that these do not call themselves
METHODS = ("teach", "partition", "test")
SPEC = """
version: 1
name: walk
dataset: {source: {kind: synthetic, world: bidding_war, rows: 60}, target: price}
causal: {graph: {kind: edges, edges: ["{area, rooms, age, garage, station_distance, neighbourhood} -> price"]}}
regressor: {kind: ridge}
counterfactual: {teacher: {kind: crossfit}}
gate: {kind: wilcoxon, folds: 5}
falsify: {on_falsified: ignore}
execution: {jobs: 1}
output: {plots: false}
"""
WIDE, HIGH, LEFT, TOP = 104, 24, 40, 62


def rooms() -> list[str]:
    """The rooms from the top down, as their imports run."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for file in sorted(HOUSE.rglob("*.py")):
        here = file.relative_to(HOUSE).with_suffix("").parts[0]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crda_spec."):
                there = str(node.module).split(".")[1]
                if there != here and not {here, there} & {*GROUND, "__main__", "__init__"}:
                    graph.add_edge(here, there)
    return list(nx.lexicographical_topological_sort(graph))


def walk() -> list[tuple[str, str]]:
    """(room, function) of every call from a caller into another module, in the order of the first calls."""
    calls: dict[tuple[str, str], None] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:  # noqa: ANN401 - as sys.setprofile has it
        caller = frame.f_back
        while caller is not None and caller.f_globals.get("__name__") in ("crda_spec.execution", "contextlib"):
            caller = caller.f_back  # a stage is timed by a wrapper
        if event != "call" or caller is None:
            return
        there, here = str(frame.f_globals.get("__name__")), str(caller.f_globals.get("__name__"))
        name, known = frame.f_code.co_qualname, CALLERS.get(here, ())
        room = there.partition(".")[2].partition(".")[0]
        if not there.startswith("crda_spec.") or room in GROUND:
            return
        called = (here != there or room == "pipeline") and (known is None or caller.f_code.co_name in known)
        public = name[0].islower() and "<" not in name  # neither private, nor a class, nor a comprehension
        if (called and (public or name.rpartition(".")[2] in METHODS)) or name in DEEPER:
            calls.setdefault((room, name))

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "walk.yaml"
        file.write_text(SPEC, encoding="utf-8")
        from crda_spec.cli.app import run_main  # the modules themselves are loaded by the run

        sys.argv = ["crda-run", str(file), "--out", str(Path(folder) / "run")]
        sys.setprofile(watch)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                run_main()
        except SystemExit as ended:
            if ended.code:
                raise
        finally:
            sys.setprofile(None)
    return list(calls)


def picture(order: list[str], calls: list[tuple[str, str]]) -> str:
    """A column a room, a line a call."""
    at = {room: LEFT + WIDE * column + WIDE // 2 for column, room in enumerate(order)}
    width, height = 2 * LEFT + WIDE * len(order) + 60, TOP + HIGH * len(calls) + 16
    style = (
        "text{fill:#1f2933;stroke:#fff;stroke-width:3;paint-order:stroke}.room{font-weight:600}.lane{stroke:#d5dbe1}"
        ".way{stroke:#2a6f97;fill:none}.stop{fill:#2a6f97}.paper{fill:#b5532a}"
    )
    words = (
        "Imports run from left to right, never back. Read a run from top to bottom; "
        "the red stops are the paper's Algorithm 1, in pipeline.py."
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<title>The rooms of crda_spec, and one run through them</title>",
        f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>',
        f'<g font-family="system-ui, sans-serif" font-size="12"><text x="{LEFT}" y="18">{escape(words)}</text>',
    ]
    for room in order:
        parts.append(f'<text class="room" x="{at[room]}" y="{TOP - 16}" text-anchor="middle">{escape(room)}</text>')
        parts.append(f'<line class="lane" x1="{at[room]}" y1="{TOP - 8}" x2="{at[room]}" y2="{height - 8}"/>')
    places = [(at[room], TOP + HIGH * line) for line, (room, _) in enumerate(calls)]
    parts.append(f'<polyline class="way" points="{" ".join(f"{x},{y}" for x, y in places)}"/>')
    for (x, y), (room, name) in zip(places, calls, strict=True):
        kind = "paper" if room == "pipeline" else "stop"
        parts.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="4"/>')
        parts.append(f'<text x="{x + 8}" y="{y - 5}">{escape(name)}</text>')
    return "\n".join([*parts, "</g></svg>", ""])


def main() -> int:
    """Writes the picture, or says whether it is stale."""
    checking = "--check" in sys.argv[1:]
    made = picture(rooms(), walk())
    if checking:
        stale = not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != made
        sys.stdout.write(f"{PICTURE.relative_to(ROOT)} is {'stale' if stale else 'as the code is'}\n")
        return int(stale)
    PICTURE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
