"""`causal`: the graph an expert knows, or the method that looks for one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crda_spec.spec.base import ColumnName, FilePath, Fraction, Strict

EdgeText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000),
    Field(description="a -> b, a <-> b (hidden common cause), chains a -> b -> c, fan-out {a b} -> c."),
]


class _AnyGraph(Strict):
    """What every way to write a graph shares."""

    latent: tuple[ColumnName, ...] = Field(
        (), description="Nodes of the graph that are not columns: nobody measured them."
    )
    noise: tuple[ColumnName, ...] = Field(
        (), description="Features that the size of the target's noise depends on (heteroscedastic noise)."
    )


class EdgesGraph(_AnyGraph):
    """A graph written as arrows."""

    kind: Literal["edges"] = Field(description="The graph is written here, as arrows between columns.")
    edges: tuple[EdgeText, ...] = Field(
        min_length=1, description="The arrows: a -> b, a <-> b, a -> b -> c, {a b} -> c."
    )


class _WrittenGraph(_AnyGraph):
    """A graph in another tool's language, in a file or right here."""

    path: FilePath | None = Field(None, description="The graph's file; give either this or text.")
    text: str | None = Field(
        None, min_length=1, description="The graph itself, as a block of text (`text: |`); give either this or path."
    )


class DagittyGraph(_WrittenGraph):
    """A DAGitty model."""

    kind: Literal["dagitty"] = Field(description="DAGitty text, as dagitty.net shows it: dag { a -> b; u [latent] }.")


class DotGraph(_WrittenGraph):
    """A Graphviz digraph."""

    kind: Literal["dot"] = Field(description="A Graphviz digraph; dashed nodes are latent, dir=both is a <-> b.")


class GmlGraph(_WrittenGraph):
    """A GML graph."""

    kind: Literal["gml"] = Field(description="GML, as networkx and yEd write it; a node's latent 1 is unmeasured.")


class GraphmlGraph(_WrittenGraph):
    """A GraphML graph."""

    kind: Literal["graphml"] = Field(description="GraphML; a node's data key `latent` says that nobody measured it.")


Graph = Annotated[
    EdgesGraph | DagittyGraph | DotGraph | GmlGraph | GraphmlGraph,
    Field(discriminator="kind"),
]


class PcDiscovery(Strict):
    """The PC algorithm's search for the neighbours of the target's noise."""

    kind: Literal["pc"] = Field(description="PC (Fisher-z, order-independent) looks for what is tied to the noise.")
    alpha: Fraction = Field(0.05, description="A link stays unless a test with a p-value above this cuts it.")
    max_depth: int = Field(3, ge=0, le=5, description="The largest set of features that a test conditions on.")


Discovery = PcDiscovery


class Causal(Strict):
    """Either a declared graph or a discovery method."""

    graph: Graph | None = Field(
        None, description="The causal graph as the expert knows it; give either this or discovery."
    )
    discovery: Discovery | None = Field(
        None, description="How to look for structure when no graph is known; give either this or graph."
    )
