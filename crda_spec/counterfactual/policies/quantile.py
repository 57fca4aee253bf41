"""Move along the feature's own distribution."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import SHARE, BasePolicy, Feature, Proposal, Rows, Share
from crda_spec.records import Array, Column, IntArray
from crda_spec.strict import Positive

_FITS_THE_CACHE = 20_000  # values


class Quantile(BasePolicy):
    """x' is the training value whose rank is x's own plus u, u uniform on [-reach, reach), ranks running from 0 to 1.

    Ranks are reflected at 0 and 1, not cut off, and a value that several rows share stands at a random place among
    its ranks: both together keep the column's distribution exactly as it is, with no pile at either end.
    Together: the same u and the same place among ties, so the same shift of rank.
    """

    size: ClassVar[str | None] = "reach"

    kind: Literal["quantile"] = Field(
        "quantile",
        description="Move to a training value of a nearby rank: the column keeps its distribution exactly.",
    )
    reach: Positive = Field(0.2, le=1, description="The largest change of rank, as a share of the rows.")
    share: Share = Field("cell", description=SHARE)

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        each = ", one shift for all features of a row moved so" if self.share == "row" else ""
        return f"moved by up to {100 * self.reach:g} % of the rows along its own distribution{each}"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        source = rows.shared if self.share == "row" else rng
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
