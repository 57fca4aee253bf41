"""Discovery alone: what a search finds among the features and the target, before any model is fitted.

The residual is not part of it: it needs a model, and only a run has one. So what is found here is a draft for an
expert, and says nothing yet about which features may move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.partition import Finder
from crda_spec.data.assemble import assemble
from crda_spec.data.contract import Assembly
from crda_spec.data.sources import Csv, Excel, Parquet, Source
from crda_spec.records import Array, Column, DrawnGraph, EdgeMark, Table
from crda_spec.scm.discovery.compare import Comparison, compare
from crda_spec.scm.discovery.extension import GraphDraft, declarable
from crda_spec.scm.discovery.found import DiscoveredGraph
from crda_spec.scm.discovery.stability import Scheme, Stability, stability
from crda_spec.scm.graph import CausalGraph

OFTEN = 0.5  # a link in this share of the resamples is told even when all rows together do not show it
DataKind = Literal["csv", "parquet", "excel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a search found, on which rows, how stable it is, and how it compares with a declared graph."""

    graph: DiscoveredGraph
    target: str
    source: str  # which rows: `training rows of patients.csv`
    rows: int
    complete: int  # rows without a missing cell: those that were searched
    resamples: int  # 0: the search was not repeated
    scheme: Scheme
    often: tuple[tuple[str, str, float], ...]  # pairs that resamples link often and all rows together do not, and how
    comparison: Comparison | None  # None without a declared graph

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of the search."""
        untested = (
            f"Only {self.complete} rows have no missing cell: nothing could be tested, so every link is still there."
        )
        said = [untested] if self.graph.tests == 0 and self.graph.alpha is not None and self.complete <= 3 else []
        if self.complete < self.rows and not said:
            said.append(f"{self.rows - self.complete} of {self.rows} rows have a missing cell and were left out.")
        return (*said, *self.graph.notes)

    @property
    def drawn(self) -> DrawnGraph:
        """The picture: a conflict is drawn as a link whose direction nobody knows."""
        names = [name for name in self.graph.names if name != self.target]
        return DrawnGraph(
            nodes=(*((name, "feature") for name in names), (self.target, "target")),
            edges=tuple((edge.first, edge.second, self._mark(edge.mark)) for edge in self.graph.edges),
        )

    def draft(self) -> GraphDraft:
        """The graph with every link directed, to be checked by an expert and declared."""
        return declarable(self.graph, target=self.target)

    def _mark(self, mark: EdgeMark) -> EdgeMark:
        return "--" if mark == "<->" and self.graph.kind == "cpdag" else mark


@dataclass(frozen=True, slots=True)
class _GraphOf:
    """Rows in, graph out: what `stability` repeats."""

    finder: Finder
    columns: tuple[Column, ...]
    seed: int

    def __call__(self, x: Array) -> DiscoveredGraph:
        return self.finder.graph(x, self.columns, seed=self.seed)


def search(
    table: Table,
    finder: Finder,
    *,
    source: str,
    seed: int,
    resamples: int = 0,
    scheme: Scheme = "half",
    declared: CausalGraph | None = None,
) -> Findings:
    """Searches the features and the target of a table; with resamples, each link carries its share of them.

    finder: a search without resamples of its own.  declared: the expert's graph, to compare with.
    """
    columns = (*table.features, table.target)
    x = np.column_stack([table.x, table.y])
    find = _GraphOf(finder, columns, seed)
    often: tuple[tuple[str, str, float], ...] = ()
    with threadpool_limits(limits=1):
        if resamples:
            repeated = stability(find, x, resamples=resamples, seed=seed, scheme=scheme)
            graph, often = repeated.graph, tuple(_often(repeated))
        else:
            graph = find(x)
    return Findings(
        graph=graph,
        target=table.target.name,
        source=source,
        rows=len(table),
        complete=int(np.isfinite(x).all(axis=1).sum()),
        resamples=resamples,
        scheme=scheme,
        often=often,
        comparison=None if declared is None else compare(graph, declared),
    )


def _often(repeated: Stability) -> Sequence[tuple[str, str, float]]:
    names = repeated.graph.names
    place = {name: position for position, name in enumerate(names)}
    return [
        (a, b, float(repeated.linked[place[a], place[b]]))
        for a, b in repeated.stable(OFTEN)
        if repeated.graph.edge(a, b) is None
    ]


def read_table(path: Path, kind: DataKind, *, target: str) -> Table:
    """All rows of a file, its columns' types inferred as in a run; missing cells and repeated rows stay."""
    sources: dict[DataKind, Source] = {
        "csv": Csv(path=path, written=str(path)),
        "parquet": Parquet(path=path, written=str(path)),
        "excel": Excel(path=path, sheet=0, written=str(path)),
    }
    rules = Assembly(target=target, missing="impute", duplicates="keep")
    return assemble(sources[kind].read(), rules, seed=0).table
