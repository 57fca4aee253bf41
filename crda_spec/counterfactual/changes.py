"""`therapy_hours=+2`, `dose=40`, `ward=north`: what is to be changed, read under the columns' contracts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crda_spec.data.cells import Mask, fold_truth, number_faults
from crda_spec.errors import Complaint, DataError, SpecError, did_you_mean, show
from crda_spec.records import Array, Cell, Column, IntArray, Table

_QUANTITY = re.compile(r"\s*([+-]?)((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")
_TRUTHS = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
MOST_POINTS = 1001


@dataclass(frozen=True, slots=True)
class Change:
    """One column set to a value, or raised by it."""

    position: int
    value: float  # a label's code
    adds: bool = False

    def applied(self, values: Array) -> Array:
        """(m,) the column's new values, from those observed."""
        return values + self.value if self.adds else np.full(len(values), self.value)


@dataclass(frozen=True, slots=True)
class Sweep:
    """One column set to each value of a grid in turn."""

    position: int
    grid: tuple[float, ...]


def read_changes(
    texts: Sequence[str], sweep: str | None, train: Table, blocked: Mapping[str, Complaint]
) -> tuple[tuple[Change, ...], Sweep | None]:
    """The changes and the grid; a SpecError with all that is wrong with them. blocked: what may not be changed."""
    complaints: list[Complaint] = []
    changes: list[Change] = []
    for text in texts:
        found = _change(text, train, blocked)
        (complaints if isinstance(found, Complaint) else changes).append(found)  # type: ignore[arg-type]
    swept = None if sweep is None else _sweep(sweep, train, blocked)
    if isinstance(swept, Complaint):
        complaints.append(swept)
        swept = None
    positions = Counter([*(change.position for change in changes), *([] if swept is None else [swept.position])])
    for position, times in positions.items():
        if times > 1:
            name = train.names[position]
            what = f"{show(name)} is changed {times} times"
            complaints.append(Complaint(code="changed-twice", path=name, what=what, hint="say it once"))
    for change in changes:
        if change.adds and change.value == 0:
            name = train.names[change.position]
            complaints.append(Complaint(code="no-change", path=name, what="+0 changes nothing", hint="add a number"))
    if not texts and sweep is None:
        hint = f"write what is to be different, e.g. {_example(train)}"
        complaints.append(Complaint(code="no-change", what="no change is asked for", hint=hint))
    if complaints:
        raise SpecError(complaints)
    return tuple(changes), swept


def _example(train: Table) -> str:
    column = next((one for one in train.features if one.is_numeric), train.features[0])
    return f"{column.name}=+1" if column.is_numeric else f"{column.name}={(column.labels or ('true',))[0]}"


def _named(text: str, train: Table, blocked: Mapping[str, Complaint]) -> tuple[int, str] | Complaint:
    """The column's position and what stands after the sign of equality; a name may hold one too."""
    known = [name for name in train.names if text.startswith(f"{name}=")]
    if known:
        name = max(known, key=len)
        return blocked.get(name) or (train.names.index(name), text[len(name) + 1 :])
    name, equals, _ = text.partition("=")
    if not equals:
        what, hint = f"{show(text)} is no change", f"write COLUMN=VALUE, e.g. {_example(train)}"
        return Complaint(code="unreadable-change", what=what, hint=hint)
    if name == train.target.name:
        what, hint = f"{show(name)} is the outcome itself", "change what causes it"
        return Complaint(code="changes-target", path=name, what=what, hint=hint)
    hint = did_you_mean(name, train.names, otherwise="the run's features are")
    return Complaint(code="unknown-column", path=name, what=f"the run has no feature {show(name)}", hint=hint)


def _change(text: str, train: Table, blocked: Mapping[str, Complaint]) -> Change | Complaint:
    found = _named(text, train, blocked)
    if isinstance(found, Complaint):
        return found
    position, value = found
    column = train.features[position]
    if not column.is_numeric:
        return _label(position, column, value.removeprefix("=").strip())
    quantity = _number(column, value.removeprefix("="))
    if isinstance(quantity, Complaint):
        return quantity
    sign, size = quantity
    signed = -size if sign == "-" else size
    return Change(position, signed, adds=bool(sign) and not value.startswith("="))


def _label(position: int, column: Column, text: str) -> Change | Complaint:
    if column.type == "boolean":
        if text.casefold() in _TRUTHS:
            return Change(position, _TRUTHS[text.casefold()])
        known: Sequence[str] = ("true", "false")
    else:
        known = column.labels or ()
        for label in (text, fold_truth(text)):
            if label in known:
                return Change(position, float(known.index(label)))
    what = f"{show(text)} is no label of {show(column.name)}"
    hint = did_you_mean(text, known, otherwise="its labels are")
    return Complaint(code="unknown-label", path=column.name, what=what, hint=hint)


def _number(column: Column, text: str) -> tuple[str, float] | Complaint:
    """Its sign, if it has one, and its size; a unit must be the column's."""
    match, name = _QUANTITY.fullmatch(text), column.name
    if match is None:
        hint = f"write a number: {name}=40 sets, {name}=+2 and {name}=-2 add, {name}==-2 sets a negative one"
        return Complaint(code="not-a-number", path=name, what=f"{show(text)} is no number", hint=hint)
    sign, size, unit = match.groups()
    if unit and unit != column.unit:
        what = f"{show(text)} is in {show(unit)}, but {show(name)} is in {show(column.unit)}"
        hint = f"write it in {column.unit}"
        if column.unit is None:
            what, hint = f"{show(text)} has a unit, but the run knows none for {show(name)}", "leave the unit out"
        return Complaint(code="unit-mismatch", path=name, what=what, hint=hint)
    return sign, float(size)


def _sweep(text: str, train: Table, blocked: Mapping[str, Complaint]) -> Sweep | Complaint:
    found = _named(text, train, blocked)
    if isinstance(found, Complaint):
        return found
    position, value = found
    column = train.features[position]
    hint = f"write --sweep {column.name}=0:20, or {column.name}=0:20:41 for 41 points"
    if not column.is_numeric:
        what = f"{show(column.name)} has labels, and a sweep needs numbers"
        hint = f"ask for each label: {column.name}=..."
        return Complaint(code="bad-sweep", path=column.name, what=what, hint=hint)
    parts = value.split(":")
    try:
        ends, points = [float(one) for one in parts[:2]], int(parts[2]) if len(parts) > 2 else 21
    except ValueError:
        ends, points = [], 0
    sound = len(parts) in (2, 3) and len(ends) == 2 and ends[0] < ends[1] and 2 <= points <= MOST_POINTS
    if not sound or not np.isfinite(ends).all():
        what = f"{show(value)} is no range of 2 to {MOST_POINTS} points"
        return Complaint(code="bad-sweep", path=column.name, what=what, hint=hint)
    grid = np.linspace(ends[0], ends[1], points)
    grid = np.unique(np.rint(grid)) if column.type == "integer" else grid
    if column.allowed is not None:
        grid = np.array([one for one in column.allowed if ends[0] <= one <= ends[1]])
    faults = [what for what, _, bad in _faults(grid, column) if bad.any()]
    if faults or len(grid) < 2:
        what = f"the range {value} of {show(column.name)} is {faults[0] if faults else 'a single value'}"
        return Complaint(code="broken-contract", path=column.name, what=what, hint="stay inside the column's contract")
    return Sweep(position, tuple(grid.tolist()))


def _faults(values: Array, column: Column) -> Iterator[tuple[str, str, Mask]]:
    """What breaks the column's contract: words, what to try, and where."""
    whole = column.type == "integer"
    for code, what, _, bad in number_faults(values, whole=whole, inexact=None, low=column.minimum, high=column.maximum):
        unit = f" {column.unit}" if column.unit and code in ("below-minimum", "above-maximum") else ""
        yield f"{what}{unit}", "stay inside the column's contract", bad
    if column.allowed is not None:
        allowed = ", ".join(f"{one:g}" for one in column.allowed[:12])
        yield "not among the allowed values", f"allowed: {allowed}", ~np.isin(values, column.allowed)


def settings_of(
    changes: Mapping[int, Sequence[tuple[int, Change]]],
    x: Array,
    train: Table,
    rows: IntArray,
    *,
    still: bool = False,
) -> dict[int, Array]:
    """By column: (m,) the new values, NaN becoming a number where it is set; DataError with all that cannot be.

    changes: by column, which change each of some rows gets; a row without one keeps its value.
    rows: (m,) the numbers that messages call the rows by.  still: it is no error when nothing changes.
    """
    complaints: list[Complaint] = []
    settings: dict[int, Array] = {}
    moved = np.zeros(len(x), dtype=np.bool_)
    for position, pairs in changes.items():
        column, values = train.features[position], x[:, position].copy()
        at = np.array([row for row, _ in pairs], dtype=np.int64)
        adds = np.array([change.adds for _, change in pairs])
        amount = np.array([change.value for _, change in pairs])
        unknown = adds & np.isnan(values[at])
        new = np.where(adds, values[at] + amount, amount)
        if unknown.any():
            what = f"{show(column.name)} is missing in row {rows[at[unknown.argmax()]]}, so nothing can be added to it"
            hint = f"set it: {column.name}=..."
            complaints.append(Complaint(code="missing", path=column.name, what=what, hint=hint))
        for what, hint, bad in _faults(new, column) if column.is_numeric else ():
            if bad.any():
                first, more = int(bad.argmax()), int(bad.sum()) - 1
                others = f" (and {more} more)" if more else ""
                said = f"{show(column.name)} would be {new[first]:g} in row {rows[at[first]]}{others}, which is {what}"
                complaints.append(Complaint(code="broken-contract", path=column.name, what=said, hint=hint))
                break
        moved[at] |= new != x[at, position]
        values[at] = new
        settings[position] = values
    if not complaints and not still and not moved.any():
        what = f"row {rows[0]} has these values" if len(rows) == 1 else "all of these rows have these values"
        hint = "ask for other values"
        complaints.append(Complaint(code="no-change", what=f"nothing changes: {what}", hint=hint))
    if complaints:
        raise DataError(complaints)
    return settings


def cells_of(values: Array, column: Column) -> list[Cell]:
    """Numbers of a table as the data have them."""
    known = values.tolist()
    if column.type == "continuous" and not np.isnan(values).any():
        return list(known)  # the usual case, whole
    return [_cell(value, column) for value in known]


def _cell(value: float, column: Column) -> Cell:
    if np.isnan(value):
        return None
    if column.type == "category":
        return (column.labels or ())[int(value)]
    if column.type == "boolean":
        return value == 1.0
    return int(value) if column.type == "integer" and value == int(value) else value
