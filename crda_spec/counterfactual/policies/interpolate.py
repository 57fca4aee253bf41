"""Move towards another training row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from crda_spec.counterfactual.policies._protocol import ANYTHING, NEIGHBOURS, Feature, Proposal, Rows
from crda_spec.records import Array, Column, ColumnType


@dataclass(frozen=True, slots=True)
class Interpolate:
    """x' = x + mix (x_partner - x), mix uniform on [0, reach).

    All interpolated features of a row have one partner and one mix, so every linear tie among them stays (rounding an
    integer aside): x' lies on the segment between two training rows. A label is the partner's with probability `mix`,
    each cell by its own coin. Where the partner's cell is missing, the value stays. A near partner is one of the
    nearest rows in all features, so that the segment follows a curved cloud too. Together: the same coin.
    """

    kind: ClassVar[str] = "interpolate"
    moves: ClassVar[frozenset[ColumnType]] = ANYTHING

    partner: Literal["any", "near"] = "any"
    neighbours: int | None = None
    reach: float = 0.5

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        near = f"one of the {self.neighbours or NEIGHBOURS} rows most alike"
        other = "any other row" if self.partner == "any" else near
        if column.is_numeric:
            return f"moved up to {100 * self.reach:g} % of the way to {other}"
        return f"taken from {other} with a probability of up to {100 * self.reach:g} %"

    def propose(
        self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator, shared: np.random.Generator
    ) -> Proposal:
        """See `Policy.propose`."""
        partner = rows.nearness.partner(
            rows.source,
            shared.random(len(x)),
            positions=tuple(range(len(rows.nearness.train.features))),
            count=None if self.partner == "any" else self.neighbours or NEIGHBOURS,
        )
        mix = self.reach * shared.random(len(x))
        end = feature.values[partner]
        end = np.where(np.isnan(end), x, end)
        if feature.column.is_numeric:
            return Proposal(x + mix * (end - x), partner)
        return Proposal(np.where((rng.random(len(x)) < mix) & ~np.isnan(x), end, x), partner)
