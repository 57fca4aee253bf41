"""`causal`: the graph an expert knows, or the method that looks for one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crda_spec.discovery import Discovery
from crda_spec.strict import ColumnName, EdgeText, FilePath, Strict


class _AnyGraph(Strict):
    """What every way to write a graph shares."""

    latent: tuple[ColumnName, ...] = Field(
        (), description="Nodes of the graph that are not columns: nobody measured them."
    )
    selected: tuple[ColumnName, ...] = Field(
        (),
        description="Nodes by which rows were chosen into the data: no certificate can be given then.",
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


class Causal(Strict):
    """Either a declared graph or a discovery method."""

    graph: Graph | None = Field(
        None, description="The causal graph as the expert knows it; give either this or discovery."
    )
    discovery: Discovery | None = Field(
        None, description="How to look for structure when no graph is known; give either this or graph."
    )
