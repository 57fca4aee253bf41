"""Ways to write a causal graph down. Each format reads text into pieces and writes a graph back, one file each."""

from crda_spec.scm.formats.edges import from_edges, parse_edges, to_edges

__all__ = ["from_edges", "parse_edges", "to_edges"]
