"""`causal.discovery`: how to look for structure when no graph is known, and what the expert does know."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crda_spec.spec.base import ColumnName, Fraction, Strict
from crda_spec.spec.edge_text import EdgeText


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
