"""The family's contract: a policy proposes new values for one feature of many rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

import numpy as np

from crda_spec.counterfactual.nearness import Nearness
from crda_spec.records import Array, Column, ColumnType, IntArray

Share = Literal["row", "cell"]

NUMBERS: frozenset[ColumnType] = frozenset({"continuous", "integer"})
ANYTHING: frozenset[ColumnType] = frozenset({"continuous", "integer", "category", "boolean"})
NEIGHBOURS = 10  # where a policy looks for near rows and the spec does not say among how many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Feature:
    """What a policy may know of the feature it moves, learnt from training rows only."""

    column: Column
    values: Array  # (n,) its cells, NaN where missing
    pool: IntArray  # the rows to draw values from: those that know it, and know all that moves with it
    joint: Array  # (n, k) the cells of all features that move together, its own among them
    mean: float
    sd: float
    position: int  # in the table's rows
    others: tuple[int, ...]  # positions of all features that do not move with it
    given: tuple[int, ...]  # positions of the features that stay fixed while it moves
    learnt: dict[str, Array] = field(default_factory=dict)  # a policy's own notes, so that a redraw learns nothing anew


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The rows under change, for policies that look beyond their own column."""

    source: IntArray  # (m,) the training row each comes from
    nearness: Nearness


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """New values, before the column's contract is applied."""

    values: Array  # (m,)
    partner: IntArray | None = None  # (m,) the second training row each value was made from, where there is one


class Policy(Protocol):
    """Pure: draws only from `rng` and `shared`, never writes to `x`, and leaves missing cells missing.

    `rng` is the feature's own stream, or that of the features it moves together with: two features that are given the
    same numbers move as one. `shared` gives the same numbers to all features of a row that are moved by this kind.
    """

    kind: ClassVar[str]
    moves: ClassVar[frozenset[ColumnType]]  # the column types it makes sense for

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        ...

    def propose(
        self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator, shared: np.random.Generator
    ) -> Proposal:
        """x: (m,) values of the source rows."""
        ...
