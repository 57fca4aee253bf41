"""A causal graph in whatever form Python has it: text of any language, edges in a list, another library's object."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from crda_spec.errors import Complaint, GraphError
from crda_spec.scm.formats import read_graph
from crda_spec.scm.formats._protocol import ReadGraph, described
from crda_spec.scm.formats.edges import parse_edges, quoted
from crda_spec.scm.formats.objects import read_networkx, read_pgmpy
from crda_spec.scm.graph import CausalGraph

_COMMENTS = re.compile(r"(?:\s|#[^\n]*\n|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_BEGINNINGS = (
    ("dagitty", re.compile(r"(dag|mag|pag|pdag|graph|digraph)?\s*\w*\s*\{[^}]*\[\s*(outcome|exposure|latent|pos)")),
    ("dagitty", re.compile(r"(dag|mag|pag|pdag)\b[^{>]*\{", re.IGNORECASE)),
    ("dot", re.compile(r"(strict\s+)?(di)?graph\b[^\[>]*\{", re.IGNORECASE)),
    ("gml", re.compile(r"(Creator\b[^\n]*\n\s*|Version\b[^\n]*\n\s*)*graph\s*\[", re.IGNORECASE)),
    ("graphml", re.compile(r"<")),
)


def language_of(text: str) -> str:
    """`edges`, or the format of `scm.formats` that the text begins like."""
    start = _COMMENTS.match(text)
    at = 0 if start is None else start.end()
    return next((language for language, beginning in _BEGINNINGS if beginning.match(text, at)), "edges")


def edge_lines(graph: str | Iterable[Any]) -> list[str]:
    """Edges one by one: of text with one a line (or `;` between them), or a list of texts and pairs."""
    if isinstance(graph, str):
        lines = (line.strip() for part in graph.splitlines() for line in part.split(";"))
        return [line for line in lines if line and not line.startswith("#")]
    return [edge if isinstance(edge, str) else _pair(edge) for edge in graph]


def _pair(edge: Any) -> str:  # noqa: ANN401 - whatever stands in the list
    if not isinstance(edge, tuple | list) or len(edge) != 2 or not all(isinstance(name, str) for name in edge):
        what = f"{edge!r} is no edge"
        raise GraphError(Complaint(code="bad-edge", what=what, hint="write 'a -> b', or the pair ('a', 'b')"))
    return f"{quoted(edge[0])} -> {quoted(edge[1])}"


def read_any(graph: object) -> ReadGraph:
    """What it says, with complaints about it, which `ReadGraph.graph` raises."""
    if isinstance(graph, CausalGraph):
        return described(graph)
    if isinstance(graph, str) and (language := language_of(graph)) != "edges":
        return read_graph(graph, language, file="graph")
    if any(kind.__module__.startswith("pgmpy.") for kind in type(graph).__mro__):
        return read_pgmpy(graph)
    if hasattr(graph, "is_directed"):
        return read_networkx(graph)  # type: ignore[arg-type] # by duck type: networkx need not be imported
    if isinstance(graph, str | list | tuple):
        edges, complaints = parse_edges(edge_lines(graph), path="edges")
        nodes = dict.fromkeys(name for edge in edges for name in (edge.tail, edge.head))  # in the order of the text
        return ReadGraph(file="", nodes=nodes, edges=edges, complaints=complaints)
    what = f"{type(graph).__name__} is no causal graph"
    hint = "give a CausalGraph, edges, DAGitty, DOT or GML text, a networkx DiGraph, or a pgmpy DAG or ADMG"
    raise GraphError(Complaint(code="no-graph", what=what, hint=hint))
