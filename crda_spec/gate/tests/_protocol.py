"""What a test of the gate is given, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

import numpy as np

from crda_spec.records import Array, IntArray

Alternative = Literal["less", "two-sided"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paired:
    """What both arms lost on the same held-out rows: a number a fold, and a number a row.

    Where rows are weighted, a fold has its weighted mean, and a row its loss times its weight (mean 1 over all rows):
    the mean of the rows' numbers then is the weighted mean, and rows are as exchangeable as without weights.
    """

    plain: Array  # (k,) one loss a fold, repeats one after the other
    augmented: Array  # (k,)
    train_rows: IntArray  # (k,) how many rows each fold was fitted on
    held_rows: IntArray  # (k,) how many it was scored on
    row_plain: Array  # (n,) one loss a row, averaged over repeats
    row_augmented: Array  # (n,)
    units: IntArray  # (n,) rows of equal number belong together
    each_plain: Array  # (repeats, n) one loss a row and repeat
    each_augmented: Array
    fold_of: IntArray  # (repeats, n) the fold that held the row out
    # (repeats, folds) the losses of each repeat's folds when every row costs what it did on average over all repeats;
    # with one repeat, the losses above
    block_plain: Array
    block_augmented: Array

    @property
    def difference(self) -> Array:
        """(k,) augmented - plain: negative where augmentation helped."""
        return self.augmented - self.plain

    @property
    def row_difference(self) -> Array:
        """(n,) augmented - plain."""
        return self.row_augmented - self.row_plain

    @property
    def block_difference(self) -> Array:
        """(repeats, folds) augmented - plain."""
        return self.block_augmented - self.block_plain

    def swapped(self) -> Paired:
        """The same with the arms' names exchanged: is the plain one better?"""
        return replace(
            self,
            plain=self.augmented,
            augmented=self.plain,
            row_plain=self.row_augmented,
            row_augmented=self.row_plain,
            each_plain=self.each_augmented,
            each_augmented=self.each_plain,
            block_plain=self.block_augmented,
            block_augmented=self.block_plain,
        )

    def against(self, gain: float, *, row_power: int = 1) -> Paired:
        """The same against a plain arm that is already better by `gain` percent.

        row_power: a fold's loss is the mean loss of its rows to the power 1 / row_power (rmse: 2).
        """
        left = 1.0 - gain / 100.0
        return replace(
            self,
            plain=left * self.plain,
            row_plain=left**row_power * self.row_plain,
            each_plain=left**row_power * self.each_plain,
            block_plain=left * self.block_plain,
        )

    def check_finite(self) -> None:
        """Whoever gets this far with a loss that is no number has made a mistake."""
        for losses in (self.plain, self.augmented, self.row_plain, self.row_augmented):
            if not np.all(np.isfinite(losses)):
                message = "a fold loss is not finite"
                raise ValueError(message)


class PairedTest(Protocol):
    """A one-sided test of: is the augmented loss smaller? Pure: draws only from `rng`."""

    kind: ClassVar[str]

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """The chance of so much gain or more when there is none."""
        ...


def p_value(test: PairedTest, paired: Paired, alternative: Alternative, *, rng: np.random.Generator) -> float:
    """One-sided as the test gives it; two-sided, twice the smaller of both directions."""
    paired.check_finite()
    first, second = rng.spawn(2)  # so that asking for the other side too does not change this one
    less = test.p_value(paired, rng=first)
    if alternative == "less":
        return less
    return min(1.0, 2.0 * min(less, test.p_value(paired.swapped(), rng=second)))
