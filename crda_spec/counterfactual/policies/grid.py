"""Draw one of the declared values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.policies._protocol import ANYTHING, BasePolicy, Feature, Proposal, Rows
from crda_spec.errors import Complaint, did_you_mean, inconsistent, show
from crda_spec.records import Array, Column, ColumnType


class Grid(BasePolicy):
    """x' is one of the declared values, each as likely. Together: the same position of every list."""

    moves: ClassVar[frozenset[ColumnType]] = ANYTHING
    own_values: ClassVar[bool] = True

    kind: Literal["grid"] = Field("grid", description="Draw one of the declared values, each alike.")
    values: tuple[bool | int | float | str, ...] = Field(
        min_length=1, description="The values: numbers, labels, or true and false, as the column holds."
    )

    @property
    def needs_spread(self) -> bool:
        """The values are the user's."""
        return False

    def complaints(self, path: str) -> Iterator[Complaint]:
        """Values that are listed twice."""
        # By type as well: to Python 1, 1.0 and true are one value.
        times = Counter((type(value), value) for value in self.values)
        for (_, value), count in times.items():
            if count > 1:
                yield inconsistent(f"{path}.values", f"{show(value)} is listed {count} times", "list it once")

    def misfits(self, path: str, column: Column) -> Iterator[Complaint]:
        """Values that the column cannot hold."""
        hint = "write a value that its contract allows, or change dataset.columns"
        for position, value in enumerate(self.values):
            if what := _refusal(value, column):
                if column.type == "category":
                    hint = did_you_mean(str(value), list(column.labels or ()), otherwise="labels")
                elif column.type == "boolean":
                    hint = "write true or false, without quotes"
                yield Complaint(code="wrong-value", path=f"{path}.values.{position}", what=what, hint=hint)

    def describe(self, column: Column) -> str:
        """What it does, in words for the report."""
        shown = ", ".join(str(value) for value in self.values[:6])
        more = f" and {len(self.values) - 6} more" if len(self.values) > 6 else ""
        return f"set to one of {shown}{more}{f' {column.unit}' if column.unit else ''}"

    def propose(self, x: Array, feature: Feature, rows: Rows, *, rng: np.random.Generator) -> Proposal:
        """See `BasePolicy.propose`."""
        cells = np.array([cell(value, feature.column) for value in self.values])
        return Proposal(np.where(np.isnan(x), x, cells[rng.integers(0, len(cells), size=len(x))]))


def cell(value: bool | float | str, column: Column) -> float:  # noqa: FBT001 - a value of the user's, not a switch
    """A declared value as the table holds it; ValueError, with the reason, when the column cannot hold it."""
    reason = _refusal(value, column)
    if reason:
        raise ValueError(reason)
    return float((column.labels or ()).index(str(value))) if column.type == "category" else float(value)


def _refusal(value: bool | float | str, column: Column) -> str:  # noqa: FBT001 - a value of the user's, not a switch
    """Why the column cannot hold the value; empty when it can."""
    name = show(column.name)
    if column.type == "category":
        return (
            "" if isinstance(value, str) and value in (column.labels or ()) else f"{show(value)} is no label of {name}"
        )
    if column.type == "boolean":
        return "" if isinstance(value, bool) else f"{show(value)} is not true or false, but {name} is a boolean"
    if isinstance(value, bool | str):
        return f"{show(value)} is not a number, but {name} holds numbers"
    if column.type == "integer" and value != round(value):
        return f"{value:g} is not whole, but {name} holds whole numbers"
    if column.minimum is not None and value < column.minimum:
        return f"{value:g} is below the minimum {column.minimum:g} of {name}"
    if column.maximum is not None and value > column.maximum:
        return f"{value:g} is above the maximum {column.maximum:g} of {name}"
    if column.allowed is not None and value not in column.allowed:
        return f"{value:g} is not among the values that {name} may have"
    return ""
