"""How much each row counts: a column of positive numbers, checked like the contracts but without an exception.

A weight that is missing is an error under every rule for missing values: to leave its row out would be to weigh it 0,
and to fill it in would be to guess how much somebody's observation counts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crda_spec.data.cells import Cells, UnsupportedCellsError, quoted, read_cells
from crda_spec.data.raw import RawTable
from crda_spec.data.rows import counted, listed
from crda_spec.errors import Complaint, Place
from crda_spec.records import Array, Column

_PATH = "dataset.weights"
_SMALLEST, _LARGEST = 1e-100, 1e100  # beyond, sums and ratios of weights are lost to rounding
_LEAVE_OUT = "a row that should not count is left out of the data"


def read_weights(raw: RawTable, name: str) -> tuple[Array, list[Complaint]]:
    """(n,) the weights, and all that is wrong with them."""
    place = Place(file=raw.description)
    try:
        cells = read_cells(raw.frame[name], raw.numbers.get(name))
    except UnsupportedCellsError as error:
        what = f"column '{name}' holds {error}, but weights are numbers"
        complaint = Complaint(code="bad-weights", path=_PATH, place=place, what=what, hint="name a column of numbers")
        return np.full(len(raw.frame), np.nan), [complaint]
    found = [
        Complaint(
            code="bad-weights",
            path=_PATH,
            place=place,
            what=f"{counted(len(bad), 'weight')} of '{name}' {'is' if len(bad) == 1 else 'are'} {what}: {rows}",
            hint=hint,
        )
        for what, wrong, hint in _faults(cells)
        if len(bad := np.flatnonzero(wrong))
        for rows in [listed(raw, bad, None if what == "missing" else [quoted(cells.shown[at]) for at in bad[:5]])]
    ]
    return cells.numbers, found


def weight_column(name: str) -> Column:
    """The same rule as a contract, for rows that are read block by block."""
    return Column(name=name, type="continuous", minimum=_SMALLEST, maximum=_LARGEST, inferred=False)


def _faults(cells: Cells) -> list[tuple[str, npt.NDArray[np.bool_], str]]:
    """What may be wrong with a weight, which ones it is wrong with, and what to do."""
    weight, present = cells.numbers, cells.present
    word = np.full(len(weight), cells.kind == "boolean") | np.isnan(weight)
    number = present & ~word
    finite = number & np.isfinite(weight)
    return [
        ("missing", ~present, "every row needs a weight: fill it in, or leave the row out of the data"),
        ("not numeric", present & word, "name a column of numbers, or repair the cells"),
        ("infinite", number & np.isinf(weight), "write a finite number"),
        ("negative", finite & (weight < 0.0), "a weight is a positive number"),
        ("zero", finite & (weight == 0.0), f"a weight is a positive number; {_LEAVE_OUT}"),
        (
            f"not between {_SMALLEST:g} and {_LARGEST:g}",
            finite & (weight > 0.0) & ((weight < _SMALLEST) | (weight > _LARGEST)),
            "only the proportions of weights count: write them in another unit",
        ),
    ]
