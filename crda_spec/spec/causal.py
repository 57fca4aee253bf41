"""`causal`: the graph an expert knows, or the method that looks for one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crda_spec.spec.base import ColumnName, Fraction, Strict

EdgeText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000),
    Field(description="a -> b, a <-> b (hidden common cause), chains a -> b -> c, fan-out {a b} -> c."),
]


class EdgesGraph(Strict):
    """A graph written as arrows."""

    kind: Literal["edges"] = Field(description="The graph is written here, as arrows between columns.")
    edges: tuple[EdgeText, ...] = Field(
        min_length=1, description="The arrows: a -> b, a <-> b, a -> b -> c, {a b} -> c."
    )
    latent: tuple[ColumnName, ...] = Field(
        (), description="Nodes of the graph that are not columns: nobody measured them."
    )
    noise: tuple[ColumnName, ...] = Field(
        (), description="Features that the size of the target's noise depends on (heteroscedastic noise)."
    )


Graph = EdgesGraph


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
