"""The causal sections of a spec -> partitioner, search, screens and the test of the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crda_spec.build.settings import settings_of
from crda_spec.check import known_edges
from crda_spec.counterfactual.partition import (
    Choice,
    ConsensusFinder,
    DeclaredPartitioner,
    DiscoveredPartitioner,
    Finder,
    Joint,
    MethodFinder,
    Partitioner,
    Resampling,
    Screening,
)
from crda_spec.counterfactual.propagate import Propagation
from crda_spec.records import Falsification, Table
from crda_spec.scm.discovery.columns import Search
from crda_spec.scm.discovery.methods import SearchSettings
from crda_spec.scm.falsify import falsify
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.independence import SCREENS, JointCheck, Screen
from crda_spec.seeds import stream
from crda_spec.spec.discovery import PcDiscovery
from crda_spec.spec.run import RunSpec


def build_falsifier(spec: RunSpec, graph: CausalGraph) -> Callable[[Table], Falsification]:
    """The test of the declared graph against training rows."""
    settings = settings_of(spec.falsify)

    def test(train: Table) -> Falsification:
        return falsify(graph, train, **settings, rng=stream(spec.seed, "falsify"))

    return test


def build_partitioner(spec: RunSpec, graph: CausalGraph | None, propagation: Propagation | None) -> Partitioner:
    """The declared graph, or the search and the screen, with what the user chose."""
    partition = spec.partition
    screening = replace(build_screening(partition.screen), residuals=partition.residuals)
    choice = build_choice(spec)
    joint = None
    if partition.joint is not None:
        check = JointCheck(folds=partition.joint.folds)
        joint = Joint(check=check, alpha=partition.joint.alpha, on_failure=partition.joint.on_failure)
    if graph is not None:
        return DeclaredPartitioner(
            graph=graph, screening=screening, choice=choice, joint=joint, propagation=propagation
        )
    finder = build_finder(spec.causal.discovery or PcDiscovery(kind="pc"))
    return DiscoveredPartitioner(finder=finder, screening=screening, choice=choice, joint=joint)


def build_choice(spec: RunSpec) -> Choice:
    """What the user wants of the features that may move."""
    partition = spec.partition
    return Choice(max_features=partition.max_features, perturb=partition.perturb, keep=partition.keep)


def build_screening(screen: Any) -> Screening:  # noqa: ANN401 - the spec's union
    """The screen of a spec, and when its evidence keeps a feature fixed."""
    settings = settings_of(screen, "alpha", "adjust", "threshold")
    if screen.kind in ("distance", "hsic"):
        settings["alpha"] = screen.alpha  # shuffles are spent where the p-value is near it
    member: Screen = SCREENS[screen.kind](**settings)
    return Screening(
        screen=member,
        threshold=getattr(screen, "threshold", None),
        alpha=screen.alpha,
        adjustment=screen.adjust,
    )


def build_finder(discovery: Any) -> Finder:  # noqa: ANN401 - the spec's union
    """The search of a spec."""
    if discovery.kind == "consensus":
        return ConsensusFinder(methods=tuple(_method(method) for method in discovery.methods))
    return _method(discovery)


def _method(method: Any) -> MethodFinder:  # noqa: ANN401 - the spec's union
    resampling = None if method.stability is None else Resampling(**settings_of(method.stability))
    if method.kind == "ges":
        return MethodFinder(search=Search(method="ges", names=(), types=()), resampling=resampling)
    settings = SearchSettings(
        alpha=method.alpha, max_depth=method.max_depth, budget=method.budget, colliders=method.colliders
    )
    search = Search(
        method=method.kind,
        names=(),
        types=(),
        shape=method.dependence,
        settings=settings,
        knowledge=known_edges(method.knowledge).knowledge,
    )
    return MethodFinder(search=search, resampling=resampling)
