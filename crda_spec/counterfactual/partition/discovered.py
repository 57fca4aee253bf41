"""Without a graph: what a search ties to the residual, then what the screen and the joint check see, stays fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crda_spec.counterfactual.partition.choice import Partition, checked_jointly, choose
from crda_spec.counterfactual.partition.evidence import Evidence, blind, screened
from crda_spec.discovery import DiscoveredGraph, Discovery, Ties
from crda_spec.discovery._protocol import noise_name
from crda_spec.records import (
    Array,
    Assumption,
    Certificate,
    DrawnEdge,
    DrawnGraph,
    EdgeMark,
    FeatureStatus,
    FeatureVerdict,
    Inquiry,
    SearchTie,
    Stated,
    Table,
)
from crda_spec.seeds import integer_seed


def drawn_graph(train: Table, ties: Ties, *, whole: bool, discovery: Discovery, seed: int) -> DrawnGraph:
    """The picture: what the search finds among the columns (for all training rows only), and what is tied to Z."""
    noise, target = noise_name(train), train.target.name
    edges: list[DrawnEdge] = [
        (noise, target, "->"),
        *((noise, name, "--") for name in train.names if name in ties.tied),
    ]
    if whole and not ties.untested:
        x = np.column_stack([train.x, train.y])
        found = discovery.graph(x, (*train.features, train.target), seed=integer_seed(seed, "picture"))
        edges += [(edge.first, edge.second, _mark(found, edge.mark)) for edge in found.edges]
    return DrawnGraph(
        nodes=(*((name, "feature") for name in train.names), (target, "target"), (noise, "noise")),
        edges=tuple(edges),
    )


def _mark(graph: DiscoveredGraph, mark: str) -> EdgeMark:
    """As found; a conflict of a CPDAG is a link whose direction nobody knows."""
    return "--" if graph.kind == "cpdag" and mark == "<->" else mark  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredPartitioner:
    """The paper's filters, with any search and any screen: what either ties to the residual stays fixed."""

    discovery: Discovery
    choice: Partition

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """Nothing: the filters need residuals."""
        del features
        return ()

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """Filters each feature, then chooses, then asks about the chosen ones together."""
        ties = self.discovery.ties(train, residuals, seed=seed, index=index)
        evidence = screened(train, residuals, self.choice.screen, seed=seed, index=index)
        nothing = ties.untested or (Stated(code="blind_screen") if blind(evidence) else None)
        verdicts = [
            FeatureVerdict(name=name, status="blocked", reason=nothing, evidence=found.numbers)
            if nothing
            else _verdict(name, found, ties.tied.get(name))
            for name, found in zip(train.names, evidence, strict=True)
        ]
        chosen, together = choose(verdicts, self.choice), None
        if self.choice.joint is not None:
            chosen, together = checked_jointly(train, residuals, chosen, self.choice.joint, seed=seed, index=index)
        return Certificate(
            basis="discovered",
            graph=drawn_graph(train, ties, whole=index == (0,), discovery=self.discovery, seed=seed),
            features=chosen,
            joint=together,
            notes=ties.notes,
            method=Inquiry(searches=self.discovery.used, screen=self.choice.screen_used),
            assumes=(
                Assumption(code="tests_see_links"),
                Assumption(code=self.discovery.hidden_causes),
                Assumption(code="regressor_accurate"),
            ),
        )


def _verdict(name: str, found: Evidence, tie: SearchTie | None) -> FeatureVerdict:
    """What either the search or the screen ties to the residual stays."""
    status: FeatureStatus = "blocked" if tie is not None or found.fails else "screened"
    return FeatureVerdict(name=name, status=status, reason=replace(found.seen, tie=tie), evidence=found.numbers)
