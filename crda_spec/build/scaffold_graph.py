"""Which nodes of a graph are no columns of the table, so that a first spec can call them unmeasured."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from crda_spec.errors import GraphError
from crda_spec.scm.formats import parse_edges, read_graph


def graph_nodes(
    text: str | Sequence[str], language: str, *, file: str, columns: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nodes that are no columns, and those of them that the text itself does not call latent.

    text: the file's text, or the list of edges when the language is `edges`.
    """
    if language == "edges":
        edges, complaints = parse_edges([text] if isinstance(text, str) else text)
        nodes = tuple(dict.fromkeys(name for edge in edges for name in (edge.tail, edge.head)))
        latents: tuple[str, ...] = ()
    else:
        read = read_graph(text if isinstance(text, str) else "\n".join(text), language, file=file)
        nodes, latents, complaints = tuple(read.nodes), read.latents, read.complaints
    if complaints:
        raise GraphError(complaints)
    unknown = tuple(name for name in nodes if name not in columns)
    return unknown, tuple(name for name in unknown if name not in latents)
