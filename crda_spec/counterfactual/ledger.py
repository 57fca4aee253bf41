"""What was done to each synthetic row, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crda_spec.records import Action, Array, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangedCells:
    """Every cell in which a synthetic row differs from its source, row by row, columns in the table's order.

    Source row plus changed cells is the synthetic row, to the last bit.
    """

    row: IntArray  # (k,) position of the synthetic row
    column: IntArray  # (k,) position of the feature
    old: Array  # (k,)
    new: Array  # (k,)

    def applied_to(self, source: Array) -> Array:
        """The synthetic rows, from their source rows. source: (m, d)."""
        x = source.copy()
        x[self.row, self.column] = self.new
        return x


def changed_cells(action: Action, real: Array) -> ChangedCells:
    """What the action changed. real: (n, d) the rows that `action.source` counts."""
    source = real[action.source]
    # Bits, not values: -0.0 equals 0.0 and yet is another number; of missing cells there is only one kind.
    differs = np.ascontiguousarray(source).view(np.int64) != np.ascontiguousarray(action.x).view(np.int64)
    row, column = np.nonzero(differs & ~(np.isnan(source) & np.isnan(action.x)))
    return ChangedCells(row=row, column=column, old=source[row, column], new=action.x[row, column])
