"""Draw another value of the same column."""

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
from crda_spec.records import Array, Column, ColumnType, IntArray


class Resample(BasePolicy):
    """x' is a value that a training row has: as often as it occurs, every one alike, or that of a similar row.

    A similar row is one of the nearest in all other features; where its cell is missing, the value stays.
    Together: the values of one and the same row (for `uniform`, every combination that occurs is as likely).
    """

    moves: ClassVar[frozenset[ColumnType]] = ANYTHING

    kind: Literal["resample"] = Field(
        "resample", description="Draw another value of the feature's own column, for any type."
    )
    weights: Literal["empirical", "uniform", "neighbour"] = Field(
        "empirical",
        description=(
            "As often as it occurs among the training rows, every distinct value alike, or the value of a row that is "
            "similar in all other features."
        ),
    )
    neighbours: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=f"{AMONG} in all other features; only with weights: neighbour, where null means 10.",
    )

    @property
    def needs_neighbours(self) -> bool:
        """Only to take a neighbour's value."""
        return self.weights == "neighbour"

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Neighbours that are not looked for."""
        return unread_neighbours(path, self.neighbours, setting="weights", value=self.weights, needed="neighbour")

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        if self.weights == "neighbour":
            return f"replaced by the value of one of the {self._near} rows most alike in all other features"
        return "redrawn from its own column, " + (
            "each value as often as it occurs" if self.weights == "empirical" else "every value alike"
        )

    @property
    def _near(self) -> int:
        return self.neighbours or NEIGHBOURS

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        if self.weights == "neighbour":
            partner = rows.nearness.partner(rows.source, rng.random(len(x)), positions=feature.others, count=self._near)
            drawn = feature.values[partner]
            return Proposal(np.where(np.isnan(x) | np.isnan(drawn), x, drawn))
        pool = feature.pool if self.weights == "empirical" else _one_of_each(feature)
        if not len(pool):
            return Proposal(x)
        drawn = feature.values[pool[rng.integers(0, len(pool), size=len(x))]]
        return Proposal(np.where(np.isnan(x), x, drawn))


def _one_of_each(feature: Feature) -> IntArray:
    """For each distinct value (or combination of values that move together), ascending, a row that holds it."""
    if not len(feature.pool):
        return feature.pool
    cells = feature.joint[feature.pool]
    if cells.shape[1] == 1:
        return feature.pool[np.unique(cells[:, 0], return_index=True)[1]]
    return feature.pool[np.unique(cells, axis=0, return_index=True)[1]]
