"""Ways to write a causal graph down. Each format reads text into pieces and writes a graph back, one file each.

Graphs of networkx and pgmpy are converted in `networkx_graph` and `pgmpy_graph`, which are not imported here: checking
a spec must not load them.
"""

from crda_spec.scm.formats._protocol import ReadGraph, Written
from crda_spec.scm.formats.edges import from_edges, parse_edges, to_edges
from crda_spec.scm.formats.registry import FORMATS, read_graph, write_graph

__all__ = ["FORMATS", "ReadGraph", "Written", "from_edges", "parse_edges", "read_graph", "to_edges", "write_graph"]
