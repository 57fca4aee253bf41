"""Which features a search ties to the residual, method by method, and the picture of what it found.

The residual Z is searched beside the features and never beside the target: Z is a function of both, and the target
given the features *is* Z. What ties a feature to the target itself (a hidden common cause, by FCI) is asked in a search
of its own, beside the features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from crda_spec.counterfactual.partition.evidence import numbers
from crda_spec.records import Array, Column, ColumnType, DrawnEdge, DrawnGraph, EdgeMark, Table
from crda_spec.scm.discovery.columns import Search
from crda_spec.scm.discovery.confounding import possibly_confounded_with
from crda_spec.scm.discovery.consensus import consensus
from crda_spec.scm.discovery.found import DiscoveredGraph
from crda_spec.scm.discovery.knowledge import restricted
from crda_spec.scm.discovery.pc import neighbours
from crda_spec.scm.discovery.stability import Scheme, stability
from crda_spec.scm.independence import correlation_matrix
from crda_spec.seeds import integer_seed

_MOST_MIXED = 150  # columns; with more, categories are searched by their labels, which is fast


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """Which features are tied, and why, in words; or why nothing could be tested."""

    tied: Mapping[str, str] = field(default_factory=dict)
    untested: str = ""
    notes: tuple[str, ...] = ()


class Finder(Protocol):
    """A search method with its settings."""

    @property
    def words(self) -> str:
        """The method and its settings, as they begin a sentence."""
        ...

    @property
    def hidden_causes(self) -> str:
        """What it assumes about hidden causes, as a sentence without a full stop."""
        ...

    def ties(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Ties:
        """The features that must stay fixed."""
        ...

    def graph(self, x: Array, columns: Sequence[Column], *, seed: int) -> DiscoveredGraph:
        """The graph of some columns."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """Searches on resamples, and how often a link must appear in them to count."""

    resamples: int
    scheme: Scheme
    threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFinder:
    """One of the methods: pc, fci or ges."""

    search: Search  # its names and types are filled in for the columns at hand
    resampling: Resampling | None = None

    @property
    def words(self) -> str:
        """`PC (alpha 0.05, given up to 3 columns)`."""
        label, settings = self.search.method.upper(), self.search.settings
        said = [] if label == "GES" else [f"alpha {settings.alpha:g}", f"given up to {settings.max_depth} columns"]
        said += ["nonlinear ties too"] if self.search.shape == "nonlinear" else []
        said += ["bound by what the expert knows"] if self.search.knowledge else []
        said += [] if self.resampling is None else [f"on {self.resampling.resamples} resamples"]
        return f"{label} ({', '.join(said)})" if said else label

    @property
    def hidden_causes(self) -> str:
        """Only FCI looks for them."""
        if self.search.method == "fci":
            return "a hidden cause that ties a feature to the target leaves traces that the tests can see"
        return "there is no hidden common cause that these tests cannot see"

    def graph(self, x: Array, columns: Sequence[Column], *, seed: int) -> DiscoveredGraph:
        """The graph of some columns; with resamples, each edge carries its share."""
        search = self._search([column.name for column in columns], [column.type for column in columns])
        if self.resampling is None:
            return search(x)
        found = stability(
            search, x, resamples=self.resampling.resamples, seed=seed, scheme=self.resampling.scheme, workers=1
        )
        return found.graph

    def ties(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Ties:
        """What the method links to the residual; by FCI also what may share a hidden cause with the target."""
        noise = noise_name(train)
        found = self._linked(train, residuals, noise, seed=integer_seed(seed, "search", *index))
        if found.untested or self.search.method != "fci":
            return found
        pag = self.graph(
            np.column_stack([train.x, train.y]),
            (*train.features, train.target),
            seed=integer_seed(seed, "search-target", *index),
        )
        target = train.target.name
        reason = f"for all that FCI can tell, a hidden cause may tie it to {target}"
        hidden = dict.fromkeys(possibly_confounded_with(pag, target), reason)
        return Ties(tied=hidden | dict(found.tied), notes=(*found.notes, *pag.notes))

    def _linked(self, train: Table, residuals: Array, noise: str, *, seed: int) -> Ties:
        types = {column.type for column in train.features}
        plain = self.search.method != "ges" and self.search.shape == "linear" and not self.search.knowledge
        mixed = bool(types & {"category", "boolean"})
        if plain and self.resampling is None and (not mixed or len(train.features) > _MOST_MIXED):
            return self._locally(train, residuals)
        columns = (*train.features, Column(name=noise, type="continuous"))
        x = np.column_stack([train.x, residuals])
        rows = int(np.isfinite(x).all(axis=1).sum())
        if rows <= 3:
            return Ties(untested=_too_few(rows, train))
        search = self._search([column.name for column in columns], [column.type for column in columns], noise=noise)
        label = self.search.method.upper()
        if self.resampling is None:
            graph = search(x)
            linked = dict.fromkeys(graph.neighbours(noise), f"{label} finds it directly tied to the residual")
            return Ties(tied=linked, notes=graph.notes)
        found = stability(search, x, resamples=self.resampling.resamples, seed=seed, scheme=self.resampling.scheme)
        tied = dict.fromkeys(found.graph.neighbours(noise), f"{label} finds it directly tied to the residual")
        for pair in found.stable(self.resampling.threshold):
            if noise in pair:
                other = pair[0] if pair[1] == noise else pair[1]
                share = float(found.linked[search.names.index(other), -1])
                tied[other] = f"{label} ties it to the residual in {share:.0%} of the resamples"
        return Ties(tied=tied, notes=found.graph.notes)

    def _locally(self, train: Table, residuals: Array) -> Ties:
        """Only the residual's own neighbourhood decides, so only that is searched."""
        columns, owner = numbers(train)
        correlation, rows = correlation_matrix(np.column_stack([columns, residuals]))
        settings = self.search.settings
        extra = {} if settings.budget is None else {"budget": settings.budget}
        found = neighbours(correlation, rows, len(owner), alpha=settings.alpha, max_depth=settings.max_depth, **extra)
        if found.depth_reached < 0:
            return Ties(untested=_too_few(rows, train))
        names = train.names
        linked = {names[int(owner[at])]: "PC finds it directly tied to the residual" for at in found.linked}
        note = "the search ran out of its budget of tests: links that it did not get to test stay"
        return Ties(tied=linked, notes=(note,) if found.budget_hit else ())

    def _search(self, names: Sequence[str], types: Sequence[ColumnType], *, noise: str | None = None) -> Search:
        known = restricted(self.search.knowledge, names, noise=noise)
        return Search(
            method=self.search.method,
            names=tuple(names),
            types=tuple(types),
            shape=self.search.shape,
            settings=self.search.settings,
            knowledge=known,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusFinder:
    """Several methods: what more than half of them tie to the residual is tied."""

    methods: tuple[MethodFinder, ...]

    @property
    def words(self) -> str:
        """Its methods, one by one."""
        return f"The majority of {'; '.join(method.words for method in self.methods)}"

    @property
    def hidden_causes(self) -> str:
        """As much as its methods assume."""
        return "there is no hidden common cause that most of the methods cannot see"

    def graph(self, x: Array, columns: Sequence[Column], *, seed: int) -> DiscoveredGraph:
        """What most methods agree on."""
        return consensus([method.graph(x, columns, seed=seed) for method in self.methods])

    def ties(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Ties:
        """The votes, counted."""
        found = [method.ties(train, residuals, seed=seed, index=index) for method in self.methods]
        untested = next((one.untested for one in found if one.untested), "")
        tied = {}
        for name in train.names:
            reasons = [one.tied[name] for one in found if name in one.tied]
            if 2 * len(reasons) > len(found):
                tied[name] = f"{len(reasons)} of {len(found)} methods tie it to the noise; the first: {reasons[0]}"
        return Ties(tied=tied, untested=untested, notes=tuple(note for one in found for note in one.notes))


def drawn_graph(train: Table, ties: Ties, *, whole: bool, finder: Finder, seed: int) -> DrawnGraph:
    """The picture: what the search finds among the columns (for all training rows only), and what is tied to Z."""
    noise, target = noise_name(train), train.target.name
    edges: list[DrawnEdge] = [
        (noise, target, "->"),
        *((noise, name, "--") for name in train.names if name in ties.tied),
    ]
    if whole and not ties.untested:
        x = np.column_stack([train.x, train.y])
        found = finder.graph(x, (*train.features, train.target), seed=integer_seed(seed, "picture"))
        edges += [(edge.first, edge.second, _mark(found, edge.mark)) for edge in found.edges]
    return DrawnGraph(
        nodes=(*((name, "feature") for name in train.names), (target, "target"), (noise, "noise")),
        edges=tuple(edges),
    )


def _mark(graph: DiscoveredGraph, mark: str) -> EdgeMark:
    """As found; a conflict of a CPDAG is a link whose direction nobody knows."""
    return "--" if graph.kind == "cpdag" and mark == "<->" else mark  # type: ignore[return-value]


def _too_few(rows: int, train: Table) -> str:
    few = f"only {rows} of {len(train)} rows have no missing cell" if rows < len(train) else f"only {rows} rows"
    return f"PC could not test anything: {few}"


def noise_name(train: Table) -> str:
    """What the noise is called: Z, unless a column is."""
    name = "Z"
    while name in (*train.names, train.target.name):
        name += "'"
    return name
