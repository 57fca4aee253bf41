"""Random graphs with hostile names, for the conformance of all formats."""

from __future__ import annotations

from hypothesis import strategies as st

from crda_spec.scm.graph import CausalGraph, Edge

SIGNS = st.text(st.sampled_from("abZ01_.-+<>{}[]()=,;:#/*&\"'\\ ~@%\n\t\réß体\u2028😀"), min_size=1, max_size=6)
WORDS = st.sampled_from(["dag", "node", "graph", "subgraph", "strict", "Edge", "pos", "()", "-1", "1e5", "NAN"])
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5)
TAME = st.text(st.sampled_from("abcxyz_ 0.é-'"), min_size=1, max_size=5)
HOSTILE = SIGNS | WORDS | ANY


@st.composite
def graphs(draw: st.DrawFn, names: st.SearchStrategy[str] = HOSTILE) -> CausalGraph:
    """A causal graph of three to seven nodes: isolated columns, latents, `->` beside `<->`, noise parents."""
    order = draw(st.lists(names, min_size=3, max_size=7, unique=True))
    bits = st.booleans()
    edges = []
    for i, a in enumerate(order):
        for b in order[i + 1 :]:
            if draw(bits):
                edges.append(Edge(a, b))
            if draw(st.integers(0, 3)) == 0:
                edges.append(Edge(b, a, "<->"))
    if not edges:
        edges.append(Edge(order[0], order[1]))
    named = [name for name in order if any(name in (edge.tail, edge.head) for edge in edges)]
    target = draw(st.sampled_from(named))
    latents = [name for name in named if name != target and draw(st.integers(0, 3)) == 0]
    before = [name for name in order[: order.index(target)] if name not in latents]
    return CausalGraph.build(
        edges,
        columns=[name for name in order if name not in latents],
        target=target,
        latents=latents,
        noise_parents=[name for name in before if draw(st.integers(0, 3)) == 0],
    )
