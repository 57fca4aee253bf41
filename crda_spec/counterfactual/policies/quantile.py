"""Move along the feature's own distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crda_spec.counterfactual.policies._protocol import NUMBERS, Feature, Proposal, Rows, Share
from crda_spec.records import Array, Column, ColumnType, IntArray

_FITS_THE_CACHE = 20_000  # values


@dataclass(frozen=True, slots=True)
class Quantile:
    """x' is the training value whose rank is x's own plus u, u uniform on [-reach, reach), ranks running from 0 to 1.

    Ranks are reflected at 0 and 1, not cut off, and a value that several rows share stands at a random place among
    its ranks: both together keep the column's distribution exactly as it is, with no pile at either end.
    Together: the same u and the same place among ties, so the same shift of rank.
    """

    kind: ClassVar[str] = "quantile"
    moves: ClassVar[frozenset[ColumnType]] = NUMBERS

    reach: float = 0.2
    share: Share = "cell"

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        del column
        each = ", one shift for all features of a row moved so" if self.share == "row" else ""
        return f"moved by up to {100 * self.reach:g} % of the rows along its own distribution{each}"

    def propose(
        self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator, shared: np.random.Generator
    ) -> Proposal:
        """See `Policy.propose`."""
        del rows
        source = shared if self.share == "row" else rng
        among, shift = source.random(len(x)), self.reach * source.uniform(-1.0, 1.0, len(x))
        if "sorted" not in feature.learnt:
            known = np.sort(feature.values[~np.isnan(feature.values)])
            alike = np.searchsorted(known, known, side="right") - np.searchsorted(known, known, side="left")
            feature.learnt.update(sorted=known, times=alike.astype(np.float64))
        known, times = feature.learnt["sorted"], feature.learnt["times"]
        if not len(known):
            return Proposal(x)
        below = _below(known, x)
        here = np.minimum(below, len(known) - 1)
        ties = np.where(known[here] == x, times[here], 0.0)
        rank = np.abs((below + among * ties) / len(known) + shift)
        rank = np.where(rank > 1.0, 2.0 - rank, rank)
        place = np.minimum((rank * len(known)).astype(np.int64), len(known) - 1)
        return Proposal(np.where(np.isnan(x), x, known[place]))


def _below(known: Array, x: Array) -> IntArray:
    """How many of the known values, ascending, are below each x."""
    if len(known) <= _FITS_THE_CACHE:
        return np.asarray(np.searchsorted(known, x), dtype=np.int64)
    # Looking up values in their own order walks through memory once; in any other order it is ten times slower.
    order, below = np.argsort(x), np.empty(len(x), dtype=np.int64)
    below[order] = np.searchsorted(known, x[order])
    return below
