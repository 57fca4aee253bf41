"""A column's contract applied to proposed values: whole numbers, bounds, allowed values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from crda_spec.errors import Complaint, show
from crda_spec.records import Array, Column


def settle(proposal: Array, column: Column) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The nearest values that the column's contract allows, and which proposals that changed.

    Rounding an integer is no violation, so it is not marked.
    """
    rounded = np.rint(proposal) if column.type == "integer" else proposal
    low_bound, high_bound = _bounds(column)
    allowed = np.unique([value for value in column.allowed or () if low_bound <= value <= high_bound])
    if len(allowed):
        above = np.clip(np.searchsorted(allowed, rounded), 1, max(1, len(allowed) - 1))
        low, high = allowed[above - 1], allowed[np.minimum(above, len(allowed) - 1)]
        nearest = np.where(np.abs(rounded - low) <= np.abs(high - rounded), low, high)
        kept = np.where(np.isnan(rounded), rounded, nearest)
    elif np.isinf(low_bound) and np.isinf(high_bound):
        return rounded, np.zeros(len(rounded), dtype=np.bool_)
    else:
        kept = np.clip(rounded, low_bound, high_bound)
    return kept, (kept != rounded) & ~np.isnan(rounded)


def _bounds(column: Column) -> tuple[float, float]:
    """Between an integer's bounds, which may be fractions, only whole numbers count."""
    ceil, floor = (np.ceil, np.floor) if column.type == "integer" else (float, float)
    low = -np.inf if column.minimum is None else float(ceil(column.minimum))
    high = np.inf if column.maximum is None else float(floor(column.maximum))
    return low, high


def fit_contract(proposal: Array, column: Column) -> tuple[Array, int]:
    """The nearest values that the contract allows, and how many proposals that changed."""
    kept, changed = settle(proposal, column)
    return kept, int(np.count_nonzero(changed))


def violations(proposal: Array, broken: npt.NDArray[np.bool_], column: Column) -> Iterator[Complaint]:
    """What a run says that must not bring values back: the feature, its worst value, the bound and the count."""
    if not broken.any():
        return
    rounded = np.rint(proposal) if column.type == "integer" else proposal
    kept, _ = settle(proposal, column)
    worst = int(np.argmax(np.where(broken, np.abs(kept - rounded), -1.0)))
    value, low, high = float(rounded[worst]), column.minimum, column.maximum
    if low is not None and value < low:
        rule = f"below its minimum {low:g}"
    elif high is not None and value > high:
        rule = f"above its maximum {high:g}"
    else:
        rule = "not among its allowed values"
    count = int(np.count_nonzero(broken))
    what = f"{show(column.name)} would become {value:g}, {rule}, in the worst of {count} of {len(proposal)} new rows"
    hint = "use on_violation: clip or redraw, or a policy that moves it less far"
    yield Complaint(code="contract-violation", path="perturbation.on_violation", what=what, hint=hint)
