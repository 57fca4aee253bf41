"""Would other rows have given the same graph? Edge frequencies over resamples (Meinshausen and Buehlmann 2010).

Every resample draws from a stream of its own number, and counts are whole numbers, so that the result is the same,
to the byte, at any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from joblib import Parallel, delayed

from crda_spec.discovery.found import DiscoveredGraph
from crda_spec.records import Array, IntArray, read_only
from crda_spec.seeds import stream

Scheme = Literal["bootstrap", "half"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stability:
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


def stability(
    search: Callable[[Array], DiscoveredGraph],
    x: Array,
    *,
    resamples: int,
    seed: int,
    scheme: Scheme = "bootstrap",
    workers: int = 1,
) -> Stability:
    """Searches all rows, and then each resample.

    search: a method with its settings (`columns.Search`); it must be picklable when workers > 1.  scheme: `bootstrap`
    draws n rows with replacement; `half` draws n / 2 without, which adds no copies and so no false certainty.
    """
    graph = search(x)
    jobs = (delayed(_one)(search, x, seed, number, scheme) for number in range(resamples))
    d = len(graph.names)
    codes = np.zeros((d, d, len(_CODES) + 1), dtype=np.int64)
    i, j = np.indices((d, d))
    for found in Parallel(n_jobs=workers)(jobs):
        codes[i, j, found] += 1
    shares = codes / max(resamples, 1)
    linked = shares[:, :, 1:].sum(axis=2)
    place = {name: position for position, name in enumerate(graph.names)}
    own = {
        (edge.first, edge.second): (place[edge.first], place[edge.second], _CODES[edge.mark, True])
        for edge in graph.edges
    }
    return Stability(
        graph=graph.with_shares(
            {pair: (float(linked[a, b]), float(shares[a, b, c])) for pair, (a, b, c) in own.items()}
        ),
        linked=read_only(linked),
        directed=read_only(shares[:, :, _CODES["->", True]]),
        resamples=resamples,
    )


# A number for each mark, read from row to column (True) or from column to row; 0 is no link.
_CODES = {
    (mark, forward): number
    for number, (mark, forward) in enumerate(
        [("->", True), ("->", False), ("o->", True), ("o->", False), ("o--", True), ("o--", False)], start=1
    )
} | {(mark, forward): number for number, mark in enumerate(("--", "<->", "o-o"), start=7) for forward in (True, False)}


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
