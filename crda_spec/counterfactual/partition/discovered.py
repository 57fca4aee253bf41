"""Without a graph: what a search ties to the residual, then what the screen and the joint check see, stays fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from crda_spec.counterfactual.partition.choice import Choice, Joint, checked_jointly, choose
from crda_spec.counterfactual.partition.evidence import Evidence, Screening, blind, numbers, screened, tie_name
from crda_spec.discovery.columns import Search
from crda_spec.discovery.consensus import consensus
from crda_spec.discovery.fci import possibly_confounded_with
from crda_spec.discovery.found import DiscoveredGraph
from crda_spec.discovery.knowledge import restricted
from crda_spec.discovery.skeleton import neighbours
from crda_spec.discovery.stability import Scheme, stability
from crda_spec.independence import correlation_matrix
from crda_spec.records import (
    Array,
    Certificate,
    Column,
    ColumnType,
    DrawnEdge,
    DrawnGraph,
    EdgeMark,
    FeatureVerdict,
    Table,
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredPartitioner:
    """The paper's filters, with any search and any screen: what either ties to the residual stays fixed."""

    finder: Finder
    screening: Screening
    choice: Choice
    joint: Joint | None = None

    def foreseen(self, features: Sequence[str]) -> tuple[FeatureVerdict, ...]:
        """Nothing: the filters need residuals."""
        del features
        return ()

    def partition(self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]) -> Certificate:
        """Filters each feature, then chooses, then asks about the chosen ones together."""
        ties = self.finder.ties(train, residuals, seed=seed, index=index)
        evidence = screened(train, residuals, self.screening, seed=seed, index=index)
        nothing = ties.untested or blind(evidence)
        verdicts = [
            FeatureVerdict(name=name, status="blocked", reason=nothing, evidence=found.numbers)
            if nothing
            else self._verdict(name, found, ties.tied.get(name, ""))
            for name, found in zip(train.names, evidence, strict=True)
        ]
        chosen, together = choose(verdicts, self.choice), None
        if self.joint is not None:
            chosen, together = checked_jointly(train, residuals, chosen, self.joint, seed=seed, index=index)
        return Certificate(
            basis="discovered",
            graph=drawn_graph(train, ties, whole=index == (0,), finder=self.finder, seed=seed),
            features=chosen,
            joint=together,
            notes=ties.notes,
            method=f"{self.finder.words} and {self.screening.words} looked for ties to {self.screening.whose}.",
            assumes=(
                "no link found means no link: the tests need enough rows, and see only the dependence they look for",
                self.finder.hidden_causes,
                "the regressor is accurate where features move: its own error travels with the noise",
            ),
        )

    def _verdict(self, name: str, found: Evidence, tied: str) -> FeatureVerdict:
        if tied:
            return FeatureVerdict(name=name, status="blocked", reason=f"{tied} ({found.words})", evidence=found.numbers)
        if found.fails:
            reason = f"its {tie_name(self.screening)} with the residual is {found.failure} ({found.words})"
            return FeatureVerdict(name=name, status="blocked", reason=reason, evidence=found.numbers)
        reason = f"no tie to the residual was found ({found.words})"
        return FeatureVerdict(name=name, status="screened", reason=reason, evidence=found.numbers)
