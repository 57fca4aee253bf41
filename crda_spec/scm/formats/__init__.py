"""Ways to write a causal graph down. Each format reads text into pieces and writes a graph back, one file each.

networkx (GML, GraphML) and pgmpy are loaded only when a graph needs them: checking a spec must stay light.
"""

from __future__ import annotations

from crda_spec.errors import Complaint, GraphError, did_you_mean, show
from crda_spec.scm.formats._protocol import Format, ReadGraph, Written, described
from crda_spec.scm.formats.dagitty import Dagitty
from crda_spec.scm.formats.dot import Dot
from crda_spec.scm.formats.edges import from_edges, parse_edges, to_edges
from crda_spec.scm.formats.gml import Gml
from crda_spec.scm.formats.graphml import GraphMl
from crda_spec.scm.graph import CausalGraph

FORMATS: dict[str, Format] = {one.name: one for one in (Dagitty(), Dot(), Gml(), GraphMl())}


def read_graph(text: str, kind: str, *, file: str) -> ReadGraph:
    """What the text says, with complaints about it, which `ReadGraph.graph` raises. file: for their places."""
    return _format(kind).read(text, file=file)


def write_graph(graph: CausalGraph | ReadGraph, kind: str) -> Written:
    """The graph as text, and what the format could not hold; GraphError for names that it cannot write."""
    chosen = _format(kind)
    content = described(graph) if isinstance(graph, CausalGraph) else graph
    if content.complaints:
        raise GraphError(content.complaints)
    lost = (
        f"{kind} has no word for the role {role}, which these nodes have: {', '.join(content.having(role))}"
        for role in sorted(chosen.loses)
        if content.having(role)
    )
    return Written(chosen.write(content), tuple(lost))


def _format(kind: str) -> Format:
    if kind not in FORMATS:
        hint = did_you_mean(kind, list(FORMATS), otherwise="the formats are")
        raise GraphError(Complaint(code="unknown-format", what=f"there is no graph format {show(kind)}", hint=hint))
    return FORMATS[kind]
