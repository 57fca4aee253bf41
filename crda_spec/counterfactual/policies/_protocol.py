"""The family's contract: a policy proposes new values for one feature of many rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from crda_spec.counterfactual.neighbours import Nearness
from crda_spec.errors import Complaint
from crda_spec.records import Array, Column, ColumnType, IntArray
from crda_spec.strict import Strict

Share = Literal["row", "cell"]
SHARE = "One draw for all features of a row that are moved this way, or one for each cell."

NUMBERS: frozenset[ColumnType] = frozenset({"continuous", "integer"})
ANYTHING: frozenset[ColumnType] = frozenset({"continuous", "integer", "category", "boolean"})


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

    source: IntArray  # (m,) the training row each comes from, NOBODY for a row from elsewhere
    nearness: Nearness
    shared: np.random.Generator  # gives the same numbers to all features of a row that are moved under one label


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """New values, before the column's contract is applied."""

    values: Array  # (m,)
    partner: IntArray | None = None  # (m,) the second training row each value was made from, where there is one


class BasePolicy(Strict):
    """What is done to a feature: the settings that a spec writes, and the draw itself."""

    moves: ClassVar[frozenset[ColumnType]] = NUMBERS  # the column types it makes sense for
    size: ClassVar[str | None] = None  # the setting that says how far a value moves, where there is one
    own_values: ClassVar[bool] = False  # it proposes what the user listed, whether or not a training row has it

    kind: str

    @property
    def label(self) -> str:
        """What it is called; features moved under one label may share their draws."""
        return self.kind

    def suits(self, column: Column) -> bool:
        """Whether it can move this column."""
        return column.type in self.moves

    @property
    def needs_spread(self) -> bool:
        """Whether it leaves a column of one value as it is."""
        return True

    @property
    def needs_neighbours(self) -> bool:
        """Whether it looks for training rows like the one it moves: a row from elsewhere has none."""
        return False

    @property
    def needs_fixed(self) -> bool:
        """Whether it draws given the features that stay fixed, which must then be the same in every row."""
        return False

    def complaints(self, path: str) -> Iterator[Complaint]:
        """What is wrong with its settings and no single field can know. path: where the policy is written."""
        return iter(())

    def misfits(self, path: str, column: Column) -> Iterator[Complaint]:
        """What is wrong with its settings for a column of a type that it suits."""
        return iter(())

    @abstractmethod
    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""

    @abstractmethod
    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """New values. Pure: draws only from `rng` and `rows.shared`, never writes to `x`, leaves missing cells missing.

        x: (m,) values of the source rows.
        rng: the feature's own stream, or that of the features it moves together with: two features that are given the
        same numbers move as one.
        """
