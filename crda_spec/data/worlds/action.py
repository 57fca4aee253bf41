"""Checks what a caller asks of a world: which rows, and what its variables are set to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from crda_spec.data.equations.evaluate import Values
from crda_spec.data.equations.tree import Equation
from crda_spec.errors import Complaint, DataError, did_you_mean, show
from crda_spec.records import IntArray


def check_rows(rows: npt.ArrayLike | None, available: int) -> IntArray:
    """Positions of rows as an array (m,); all rows for None. Raises DataError for positions that do not exist."""
    if rows is None:
        return np.arange(available, dtype=np.int64)
    index = np.asarray(rows)
    if index.ndim != 1 or (index.size and not np.issubdtype(index.dtype, np.integer)):
        what = f"rows must be a list of whole numbers, but got {index.dtype} of shape {index.shape}"
        raise DataError(Complaint(code="action-rows", what=what, hint="pass positions, e.g. np.flatnonzero(mask)"))
    wrong = (index < 0) | (index >= available)
    if wrong.any():
        what = f"row {index[wrong.argmax()]} does not exist"
        raise DataError(Complaint(code="action-rows", what=what, hint=f"rows are counted from 0 to {available - 1}"))
    return index.astype(np.int64)


def check_action(
    action: Mapping[str, npt.ArrayLike], equations: Sequence[Equation], *, target: str, rows: int
) -> dict[str, Values]:
    """The values that variables are set to, (rows,) each; raises DataError with all that is wrong with them.

    A variable of whole numbers may be set between them: an equation knows no difference.
    """
    known = {equation.name: equation for equation in equations}
    values: dict[str, Values] = {}
    complaints = []
    for name, given in action.items():
        if name not in known:
            what, hint = (
                f"'{name}' is no variable of this world",
                did_you_mean(name, tuple(known), otherwise="variables"),
            )
            complaints.append(Complaint(code="unknown-variable", path=name, what=what, hint=hint))
        elif name == target:
            what, hint = f"'{name}' is the outcome itself and cannot be set", "set what causes it"
            complaints.append(Complaint(code="action-target", path=name, what=what, hint=hint))
        else:
            found = _setting(known[name], given, rows)
            if isinstance(found, Complaint):
                complaints.append(found)
            else:
                values[name] = found
    if complaints:
        raise DataError(complaints)
    return values


def _setting(equation: Equation, given: npt.ArrayLike, rows: int) -> Values | Complaint:
    """One variable's new values as a contiguous array: numpy may round a broadcast one differently."""
    name = equation.name
    raw = np.asarray(given, dtype=object if equation.type == "category" else None)
    if raw.ndim != 0 and raw.shape != (rows,):
        what = f"{rows} rows need {rows} values, but got an array of shape {raw.shape}"
        return Complaint(code="action-shape", path=name, what=what, hint="give one value a row, or a single one")
    column = np.array(np.broadcast_to(raw, (rows,)))
    if equation.type == "category":
        return _labels(equation, column)
    if not (np.issubdtype(column.dtype, np.number) or column.dtype == np.bool_):
        what = f"the values must be numbers, but got {show(column.tolist()[0]) if rows else column.dtype}"
        return Complaint(code="action-value", path=name, what=what, hint=f"'{name}' is {equation.type}")
    numbers = column.astype(np.float64)
    wrong = ~np.isfinite(numbers)
    allowed = "finite numbers"
    if equation.type == "boolean":
        wrong |= (numbers != 0.0) & (numbers != 1.0)
        allowed = "0 or 1"
    if wrong.any():
        first = int(wrong.argmax())
        what = f"the values must be {allowed}, but got {numbers[first]:g} for row {first + 1} of the action"
        return Complaint(code="action-value", path=name, what=what, hint=f"'{name}' is {equation.type}")
    return numbers


def _labels(equation: Equation, column: Values) -> Values | Complaint:
    """Labels of a category; one that its equation never gives would pass through it unnoticed."""
    for value in dict.fromkeys(column.tolist()):
        if value not in equation.labels:
            hint = did_you_mean(str(value), equation.labels, otherwise="its labels")
            what = f"{show(value)} is no label of '{equation.name}'"
            return Complaint(code="unknown-label", path=equation.name, what=what, hint=hint)
    return column
