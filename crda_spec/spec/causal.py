"""`causal` and `falsify`: the graph an expert knows, or the method that looks for one, and the test of the graph."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crda_spec.strict import ColumnName, FilePath, Fraction, Strict

EdgeText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000),
    Field(description="a -> b, a <-> b (hidden common cause), chains a -> b -> c, fan-out {a b} -> c."),
]


class Knowledge(Strict):
    """What the expert knows before the search. All of it is enforced while searching."""

    tiers: tuple[tuple[ColumnName, ...], ...] = Field(
        (), description="Groups of columns in causal order, the earliest first: nothing causes an earlier group."
    )
    required: tuple[EdgeText, ...] = Field((), description="Edges that are there, whatever the tests say: a -> b.")
    forbidden: tuple[EdgeText, ...] = Field(
        (), description="Edges that are not there: a -> b forbids this direction, list b -> a as well to forbid both."
    )
    roots: tuple[ColumnName, ...] = Field((), description="Nothing among the columns causes these.")
    leaves: tuple[ColumnName, ...] = Field((), description="These cause nothing among the columns.")


class Stability(Strict):
    """Would other rows give the same links?"""

    resamples: int = Field(100, ge=2, le=10_000, description="How many resamples are searched.")
    scheme: Literal["bootstrap", "half"] = Field(
        "half", description="bootstrap: n rows with replacement. half: n / 2 rows without, which adds no copies."
    )
    threshold: float = Field(
        0.3, gt=0, le=1, description="A feature tied to the noise in this share of the resamples stays fixed."
    )


class _TestedSearch(Strict):
    """What the searches by conditional tests share."""

    alpha: Fraction = Field(0.05, description="A link stays unless a test with a p-value above this cuts it.")
    max_depth: int = Field(3, ge=0, le=5, description="The largest set of columns that a test conditions on.")
    dependence: Literal["linear", "nonlinear"] = Field(
        "linear",
        description=(
            "What the tests look for. linear: partial correlations, of blocks where a column is a category or boolean. "
            "nonlinear: the generalised covariance measure, slower, for a few dozen columns at most."
        ),
    )
    colliders: Literal["plain", "conservative", "majority"] = Field(
        "plain", description="How unshielded triples are oriented; conservative and majority ask every separating set."
    )
    budget: int | None = Field(
        None, ge=1, description="Tests that may be spent; when they run out, the links that are left stay. null: ours."
    )
    knowledge: Knowledge = Field(Knowledge(), description="What the expert knows, enforced during the search.")
    stability: Stability | None = Field(None, description="Repeat the search on resamples; null: do not.")


class PcDiscovery(_TestedSearch):
    """The PC algorithm: no hidden common causes among the columns."""

    kind: Literal["pc"] = Field(description="PC (order-independent); assumes that no hidden cause ties two columns.")


class FciDiscovery(_TestedSearch):
    """FCI: hidden common causes are allowed."""

    kind: Literal["fci"] = Field(
        description="FCI; a feature that may share a hidden cause with the target stays fixed as well."
    )


class GesDiscovery(Strict):
    """Greedy equivalence search."""

    kind: Literal["ges"] = Field(description="Greedy equivalence search by score (pgmpy); takes no knowledge.")
    stability: Stability | None = Field(None, description="Repeat the search on resamples; null: do not.")


OneDiscovery = Annotated[PcDiscovery | FciDiscovery | GesDiscovery, Field(discriminator="kind")]


class ConsensusDiscovery(Strict):
    """Several methods, and what most of them agree on."""

    kind: Literal["consensus"] = Field(description="A link counts when more than half of the methods find it.")
    methods: tuple[OneDiscovery, ...] = Field(
        (PcDiscovery(kind="pc"), FciDiscovery(kind="fci"), GesDiscovery(kind="ges")),
        min_length=2,
        max_length=9,
        description="The methods that vote.",
    )


Discovery = Annotated[
    PcDiscovery | FciDiscovery | GesDiscovery | ConsensusDiscovery,
    Field(discriminator="kind"),
]


class Falsify(Strict):
    """The test of a declared graph: the conditional independencies that it implies, on the training rows."""

    on_falsified: Literal["abstain", "warn", "ignore"] = Field(
        "abstain",
        description=(
            "What a refuted graph leads to. abstain: nothing is augmented. warn: the run goes on and says so. "
            "ignore: the run goes on, and only the record says so."
        ),
    )
    alpha: Fraction = Field(
        0.05, description="The chance of refuting a right graph, over all its statements together (Holm)."
    )
    permutations: int = Field(
        100, ge=0, le=10_000, description="Graphs with permuted nodes that the declared one is compared with; 0: none."
    )


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
