"""What a search is, and what every one hands back: one graph type, with the evidence for each edge.

Marks. Of a CPDAG: `a -> b`; `a -- b`, a link whose direction the data leave open; `a <-> b`, a *conflict*: the data
argue for both directions, so at least one test erred. Of a PAG, where hidden common causes are allowed: an arrowhead at
b says that b does not cause a, a tail at a that a causes b (perhaps through others), a circle `o` that both occur in
some graph that fits; `a <-> b` there says that a hidden common cause ties them.

Would other rows have given the same graph? Edge frequencies over resamples tell (Meinshausen and Buehlmann 2010), the
same ones at any number of workers: every resample has a stream of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.discovery.skeleton import Skeleton
from crda_spec.errors import Complaint, DataError, show
from crda_spec.execution import pool
from crda_spec.records import Array, Column, EdgeMark, IntArray, Note, SearchTie, SearchUsed, Table, Untested, read_only
from crda_spec.scm.graph import free_name
from crda_spec.seeds import integer_seed, stream
from crda_spec.strict import Strict

Method = Literal["pc", "fci", "ges", "consensus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEdge:
    """One link, read `first mark second`, and the evidence for it."""

    first: str  # of `->`, `o->` and `o--` the left end; of the others the column that comes first
    second: str
    mark: EdgeMark
    p_value: float = 0.0  # the largest of any test of the pair: how close the link came to being cut
    statistic: float = 0.0  # of that test; |partial correlation| for Fisher's z
    by_knowledge: bool = False  # the expert decided that it is there, or which way it points
    frequency: float | None = None  # the share of resamples, or of methods, in which the two are linked
    same_mark: float | None = None  # the share in which they are linked by this very mark

    def __str__(self) -> str:
        return f"{self.first} {self.mark} {self.second}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredGraph:
    """The links that a search left, in the order of the columns."""

    method: Method
    kind: Literal["cpdag", "pag"]
    names: tuple[str, ...]
    edges: tuple[FoundEdge, ...]
    alpha: float | None = None  # None for a method without tests
    tests: int = 0
    depth_reached: int = -1  # the size of the largest sets tried; -1 when nothing was tested
    budget_hit: bool = False
    notes: tuple[Note, ...] = ()  # for the reader: a budget that was hit, claims that knowledge overruled
    evidence: Skeleton | None = field(default=None, compare=False, repr=False)

    @property
    def directed(self) -> tuple[tuple[str, str], ...]:
        """The edges `a -> b`."""
        return self._with("->")

    @property
    def undirected(self) -> tuple[tuple[str, str], ...]:
        """The links `a -- b`."""
        return self._with("--")

    @property
    def conflicted(self) -> tuple[tuple[str, str], ...]:
        """Of a CPDAG: the links that the data argue about, `a <-> b`."""
        return self._with("<->") if self.kind == "cpdag" else ()

    @property
    def confounded(self) -> tuple[tuple[str, str], ...]:
        """Of a PAG: the pairs that a hidden common cause ties, `a <-> b`."""
        return self._with("<->") if self.kind == "pag" else ()

    def edge(self, a: str, b: str) -> FoundEdge | None:
        """The link of two columns, in either order."""
        return next((edge for edge in self.edges if {edge.first, edge.second} == {a, b}), None)

    def neighbours(self, name: str) -> tuple[str, ...]:
        """The columns linked to one column, in their order."""
        near = {end for edge in self.edges if name in (ends := (edge.first, edge.second)) for end in ends} - {name}
        return tuple(other for other in self.names if other in near)

    def separating_set(self, a: str, b: str) -> tuple[str, ...] | None:
        """The columns given which two others looked independent; None when no test cut their link."""
        if self.evidence is None:
            return None
        held = self.evidence.separating.of(self.names.index(a), self.names.index(b))
        return None if held is None else tuple(self.names[k] for k in held)

    def p_value(self, a: str, b: str) -> float | None:
        """The largest p-value of any test of two columns; None when the method made no tests."""
        if self.evidence is None:
            return None
        return float(self.evidence.p_values[self.names.index(a), self.names.index(b)])

    def _with(self, mark: EdgeMark) -> tuple[tuple[str, str], ...]:
        return tuple((edge.first, edge.second) for edge in self.edges if edge.mark == mark)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resampled:
    """The graph of all rows, and how often resamples agree with it."""

    graph: DiscoveredGraph  # its edges carry their shares
    linked: Array  # (d, d), symmetric: the share of resamples in which two columns are linked
    directed: Array  # (d, d): the share in which row -> column
    resamples: int

    def stable(self, threshold: float) -> tuple[tuple[str, str], ...]:
        """The pairs that are linked in at least this share of the resamples, found in all rows or not."""
        names = self.graph.names
        pairs = zip(*(ends.tolist() for ends in np.nonzero(np.triu(self.linked >= threshold, 1))), strict=True)
        return tuple((names[i], names[j]) for i, j in pairs)


# A number for each mark, read from row to column (True) or from column to row; 0 is no link.
_CODES = {
    (mark, forward): number
    for number, (mark, forward) in enumerate(
        [("->", True), ("->", False), ("o->", True), ("o->", False), ("o--", True), ("o--", False)], start=1
    )
} | {(mark, forward): number for number, mark in enumerate(("--", "<->", "o-o"), start=7) for forward in (True, False)}


Scheme = Literal["bootstrap", "half"]


class Stability(Strict):
    """Would other rows give the same links?"""

    resamples: int = Field(100, ge=2, le=10_000, description="How many resamples are searched.")
    scheme: Scheme = Field(
        "half", description="bootstrap: n rows with replacement. half: n / 2 rows without, which adds no copies."
    )
    threshold: float = Field(
        0.3, gt=0, le=1, description="A feature tied to the noise in this share of the resamples stays fixed."
    )

    def repeat(self, search: Callable[[Array], DiscoveredGraph], x: Array, *, seed: int, workers: int = 1) -> Resampled:
        """Searches all rows, and then each resample.  search: must be picklable when workers > 1."""
        from joblib import delayed

        graph = search(x)
        jobs = (delayed(_one)(search, x, seed, number, self.scheme) for number in range(self.resamples))
        d = len(graph.names)
        codes = np.zeros((d, d, len(_CODES) + 1), dtype=np.int64)
        i, j = np.indices((d, d))
        for found in pool(workers)(jobs):
            codes[i, j, found] += 1
        shares = codes / self.resamples
        linked = shares[:, :, 1:].sum(axis=2)
        place = {name: position for position, name in enumerate(graph.names)}
        edges = []
        for edge in graph.edges:
            a, b = place[edge.first], place[edge.second]
            same = float(shares[a, b, _CODES[edge.mark, True]])
            edges.append(replace(edge, frequency=float(linked[a, b]), same_mark=same))
        return Resampled(
            graph=replace(graph, edges=tuple(edges)),
            linked=read_only(linked),
            directed=read_only(shares[:, :, _CODES["->", True]]),
            resamples=self.resamples,
        )


def _one(search: Callable[[Array], DiscoveredGraph], x: Array, seed: int, number: int, scheme: Scheme) -> IntArray:
    """The marks of one resample: (d, d) codes."""
    rng = stream(seed, "discovery-stability", number)
    n = len(x)
    rows = rng.integers(0, n, n) if scheme == "bootstrap" else rng.permutation(n)[: n // 2]
    graph = search(x[rows])
    place = {name: position for position, name in enumerate(graph.names)}
    codes = np.zeros((len(place), len(place)), dtype=np.int64)
    for edge in graph.edges:
        a, b = place[edge.first], place[edge.second]
        codes[a, b], codes[b, a] = _CODES[edge.mark, True], _CODES[edge.mark, False]
    return codes


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualNeighbours:
    """Which features are tied to the noise, and why; or why nothing could be tested."""

    tied: Mapping[str, SearchTie] = field(default_factory=dict)
    untested: Untested | None = None
    notes: tuple[Note, ...] = ()


# What a search assumes about hidden causes: the code of an `Assumption`.
HiddenCauses = Literal["no_hidden_cause", "hidden_causes_leave_traces", "methods_see_hidden_causes"]


class Search(Strict):
    """A method with its settings: rows in, a graph out."""

    if TYPE_CHECKING:  # each method declares them, in the order in which a spec shows its fields
        kind: Method
        stability: Stability | None

    hidden_causes: ClassVar[HiddenCauses] = "no_hidden_cause"

    @staticmethod
    def _distinct(names: Sequence[str]) -> tuple[str, ...]:
        """The names as a tuple; a DataError when one occurs twice."""
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        problems = [f"two columns are called {show(name)}" for name in twice]
        if problems:
            raise DataError(Complaint(code="duplicate-column", what=what, hint="rename one") for what in problems)
        return tuple(names)

    @abstractmethod
    def find(self, x: Array, columns: Sequence[Column], *, noise: Sequence[str] = ()) -> DiscoveredGraph:
        """The graph of these rows, (n, d), categories as codes.  noise: columns that nothing causes."""

    @property
    def used(self) -> tuple[SearchUsed, ...]:
        """The method and what a reader must know of its settings."""
        return (SearchUsed(method=self.kind, resamples=None if self.stability is None else self.stability.resamples),)

    def graph(self, x: Array, columns: Sequence[Column], *, seed: int) -> DiscoveredGraph:
        """The graph of some columns; with resamples, each edge carries its share."""
        find = partial(self.find, columns=tuple(columns))
        return find(x) if self.stability is None else self.stability.repeat(find, x, seed=seed).graph

    def residual_neighbours(
        self, train: Table, residuals: Array, *, seed: int, index: tuple[int, ...]
    ) -> ResidualNeighbours:
        """The features linked to the residual, which must stay fixed. index: names the rows, for random streams."""
        noise = noise_name(train)
        columns = (*train.features, Column(name=noise, type="continuous"))
        x = np.column_stack([train.x, residuals])
        rows = int(np.isfinite(x).all(axis=1).sum())
        if rows <= 3:
            return ResidualNeighbours(untested=Untested(rows=rows, of=len(train)))
        find = partial(self.find, columns=columns, noise=(noise,))
        link = SearchTie(kind="linked", method=self.kind)
        if self.stability is None:
            graph = find(x)
            return ResidualNeighbours(tied=dict.fromkeys(graph.neighbours(noise), link), notes=graph.notes)
        resampled = self.stability.repeat(find, x, seed=integer_seed(seed, "search", *index))
        tied = dict.fromkeys(resampled.graph.neighbours(noise), link)
        for pair in resampled.stable(self.stability.threshold):
            if noise in pair:
                (other,) = {*pair} - {noise}
                share = float(resampled.linked[train.names.index(other), -1])
                tied[other] = replace(link, kind="resampled", share=share)
        return ResidualNeighbours(tied=tied, notes=resampled.graph.notes)


def noise_name(train: Table) -> str:
    """What the noise is called: Z, unless a column is."""
    return free_name("Z", {*train.names, train.target.name})
