"""GES, greedy search over equivalence classes by score (Chickering 2002), through pgmpy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.discovery._protocol import DiscoveredGraph, FoundEdge, Search, Stability
from crda_spec.errors import Complaint, DataError
from crda_spec.independence.conditional import tidy
from crda_spec.independence.correlation import correlation_matrix
from crda_spec.records import Array, Column, ColumnType, EdgeMark, IntArray, Note

_DETERMINED = 1e-10  # a column of variance 1 with less left than this is determined by the others


class Ges(Search):
    """Greedy equivalence search: the CPDAG with the best BIC that greedy steps reach.

    Rows with a missing value are left out. A column that earlier ones determine (a constant, a copy, a perfect linear
    combination) has no finite score: it stays without links, and is named in the notes.
    """

    kind: Literal["ges"] = Field("ges", description="Greedy equivalence search by score (pgmpy); takes no knowledge.")
    stability: Stability | None = Field(None, description="Repeat the search on resamples; null: do not.")

    def find(self, x: Array, columns: Sequence[Column], *, noise: Sequence[str] = ()) -> DiscoveredGraph:
        """The graph of these rows, (n, d), categories as codes.  noise: not used."""
        names = self._distinct([column.name for column in columns])
        types = [column.type for column in columns]
        whole = x[np.isfinite(x).all(axis=1)]
        kept = _independent(whole, types)
        if len(whole) <= len(kept) + 1:
            raise DataError(
                Complaint(
                    code="too-few-rows",
                    what=f"GES scores {len(kept)} columns from {len(whole)} rows without a missing value",
                    hint="it needs more rows than columns: search fewer columns, or use pc",
                )
            )
        edges = _search(whole[:, kept], [types[k] for k in kept.tolist()]) if len(kept) > 1 else {}
        left_out = tuple(name for place, name in enumerate(names) if place not in set(kept.tolist()))
        named = sorted((int(kept[a]), int(kept[b]), mark) for (a, b), mark in edges.items())
        return DiscoveredGraph(
            method="ges",
            kind="cpdag",
            names=names,
            edges=tuple(
                FoundEdge(first=names[a], second=names[b], mark=mark)
                for a, b, mark in sorted(named, key=lambda edge: (min(edge[:2]), max(edge[:2])))
            ),
            notes=(Note(code="left_out", names=left_out),) if left_out else (),
        )


def _independent(x: Array, types: Sequence[ColumnType]) -> IntArray:
    """The columns that no earlier ones determine; of a category only a constant or a copy is one that others do."""
    left = tidy(correlation_matrix(x)[0])
    kept: list[int] = []
    for place, kind in enumerate(types):
        values = x[:, place]
        constant = len(np.unique(values)) < 2
        if kind == "category":
            # A copy divides the rows in the same way.
            pairs = (np.unique(x[:, [place, k]], axis=0) for k in kept if types[k] == "category")
            copied = any(len(both) == len(np.unique(values)) == len(np.unique(both[:, 1])) for both in pairs)
        else:
            copied = left[place, place] <= _DETERMINED
        if constant or copied:
            continue
        kept.append(place)
        if kind != "category":
            left = left - np.outer(left[:, place], left[place]) / left[place, place]
    return np.array(kept, dtype=np.int64)


def _search(x: Array, types: Sequence[ColumnType]) -> dict[tuple[int, int], EdgeMark]:
    """Runs pgmpy on columns under names of our own, since it is particular about names."""
    # Slow to import (about five seconds), and needed for this method only.
    import pandas as pd
    from pgmpy.causal_discovery import GES

    names = [f"c{place:04d}" for place in range(x.shape[1])]
    spread = x.std(axis=0)
    frame = pd.DataFrame((x - x.mean(axis=0)) / spread, columns=names)
    mixed = "category" in types
    for place, kind in enumerate(types):
        if kind == "category":
            frame[names[place]] = pd.Categorical([f"v{code:g}" for code in x[:, place].tolist()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own deprecations
        cpdag = GES(scoring_method="bic-cg" if mixed else "bic-g").fit(frame).causal_graph_
    edges: dict[tuple[int, int], EdgeMark] = {}
    for a, b in sorted((int(a[1:]), int(b[1:])) for a, b in cpdag.directed_edges):
        edges[a, b] = "->"
    for a, b in sorted((int(a[1:]), int(b[1:])) for a, b in cpdag.undirected_edges):
        edges[min(a, b), max(a, b)] = "--"
    return edges
