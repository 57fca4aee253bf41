"""Move towards another training row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import (
    AMONG,
    ANYTHING,
    NEIGHBOURS,
    BasePolicy,
    Feature,
    Proposal,
    Rows,
    unread_neighbours,
)
from crda_spec.errors import Complaint
from crda_spec.records import Array, Column, ColumnType
from crda_spec.strict import Positive


class Interpolate(BasePolicy):
    """x' = x + mix (x_partner - x), mix uniform on [0, reach).

    All interpolated features of a row have one partner and one mix, so every linear tie among them stays (rounding an
    integer aside): x' lies on the segment between two training rows. A label is the partner's with probability `mix`,
    each cell by its own coin. Where the partner's cell is missing, the value stays. A near partner is one of the
    nearest rows in all features, so that the segment follows a curved cloud too. Together: the same coin.
    """

    moves: ClassVar[frozenset[ColumnType]] = ANYTHING
    size: ClassVar[str | None] = "reach"

    kind: Literal["interpolate"] = Field(
        "interpolate",
        description="Move towards another row, the same one for all features of a row: linear ties among them stay.",
    )
    partner: Literal["any", "near"] = Field("any", description="Any other row, or one of the nearest.")
    neighbours: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=f"{AMONG} in all features; only with partner: near, where null means 10.",
    )
    reach: Positive = Field(0.5, le=1, description="The largest share of the way; a label changes as often as that.")

    @property
    def needs_neighbours(self) -> bool:
        """Only towards a near partner."""
        return self.partner == "near"

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Neighbours that are not looked for."""
        return unread_neighbours(path, self.neighbours, setting="partner", value=self.partner, needed="near")

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        near = f"one of the {self.neighbours or NEIGHBOURS} rows most alike"
        other = "any other row" if self.partner == "any" else near
        if column.is_numeric:
            return f"moved up to {100 * self.reach:g} % of the way to {other}"
        return f"taken from {other} with a probability of up to {100 * self.reach:g} %"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        partner = rows.nearness.partner(
            rows.source,
            rows.shared.random(len(x)),
            positions=tuple(range(len(rows.nearness.train.features))),
            count=None if self.partner == "any" else self.neighbours or NEIGHBOURS,
        )
        mix = self.reach * rows.shared.random(len(x))
        end = feature.values[partner]
        end = np.where(np.isnan(end), x, end)
        if feature.column.is_numeric:
            return Proposal(x + mix * (end - x), partner)
        return Proposal(np.where((rng.random(len(x)) < mix) & ~np.isnan(x), end, x), partner)
