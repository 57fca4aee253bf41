"""The DAGitty graphs that pgmpy ships, read by us and, independently, line by line."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from crda_spec.scm.formats import read_graph, write_graph

_SPEC = importlib.util.find_spec("pgmpy")
_ROOT = Path(_SPEC.origin).parent if _SPEC is not None and _SPEC.origin is not None else Path("absent")
FILES = sorted((_ROOT / "utils" / "example_models").glob("*.txt"))
BUNDLED = [file for file in FILES if file.read_text(encoding="utf-8").startswith("dag")]

if not BUNDLED:
    pytest.skip("the installed pgmpy ships no DAGitty graphs", allow_module_level=True)


def line_by_line(text: str) -> tuple[set[str], set[tuple[str, str, str]], set[str]]:
    """Nodes, edges and latents of a file with one plain statement a line."""
    nodes, edges, latents = set(), set(), set()
    for line in text.splitlines()[1:-1]:
        name, *rest = line.split(" ")
        if line.startswith("bb="):
            continue
        nodes.add(name)
        if rest and rest[0] in ("->", "<->"):
            nodes.add(rest[1])
            edges.add((name, rest[1], rest[0]))
        elif re.search(r"\[latent\b", line):
            latents.add(name)
    return nodes, edges, latents


def test_pgmpy_ships_twelve():
    assert len(BUNDLED) == 12


@pytest.mark.parametrize("file", BUNDLED, ids=lambda file: file.stem)
def test_a_bundled_graph_is_read_whole(file):
    text = file.read_text(encoding="utf-8")
    read = read_graph(text, "dagitty", file=file.name)
    assert read.complaints == ()
    nodes, edges, latents = line_by_line(text)
    assert set(read.nodes) == nodes
    assert {(edge.tail, edge.head, edge.mark) for edge in read.edges} == edges
    assert len(read.edges) == len(edges)
    assert set(read.latents) == latents
    assert set(read.positions) == nodes
    assert len(read.outcomes) == len(read.having("exposure")) == 1
    again = read_graph(write_graph(read, "dagitty").text, "dagitty", file=file.name)
    assert (again.edges, again.roles, again.positions) == (read.edges, read.roles, read.positions)


@pytest.mark.parametrize("file", BUNDLED, ids=lambda file: file.stem)
def test_a_bundled_graph_is_a_causal_graph_also_where_rows_were_selected(file):
    read = read_graph(file.read_text(encoding="utf-8"), "dagitty", file=file.name)
    unused = [name for name in read.latents if not any(name in (edge.tail, edge.head) for edge in read.edges)]
    assert unused == []
    graph = read.graph()
    assert graph.target == read.outcomes[0]
    assert graph.selected == (("S",) if file.stem == "Didelez_2010" else ())
    assert len(graph.edges) == len(read.edges)
