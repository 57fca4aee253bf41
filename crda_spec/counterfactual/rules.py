"""Rules between columns that every new row keeps: comparisons, sums, and combinations that are allowed.

A rule is about the new rows, like a policy or the support guard: a row that breaks one is drawn again, and left out
after the usual number of tries. Real rows are the measure: a rule that a training row breaks is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Discriminator, Field, Tag

from crda_spec.data.equations import Condition, Kind, Values
from crda_spec.data.raw import counted
from crda_spec.errors import Complaint, did_you_mean, inconsistent, repeated, show
from crda_spec.records import Array, Column, Table
from crda_spec.strict import LIST, MAPPING, ColumnName, NonNegative, Strict

Mask = npt.NDArray[np.bool_]
Cell = bool | int | float | str
PATH = "perturbation.rules"
_MOST_ROWS = 5  # that a message names


class ListedCombinations(Strict):
    """Combinations of some columns, written out."""

    columns: tuple[ColumnName, ...] = Field(description="The columns, at least two.")
    rows: tuple[tuple[Cell, ...], ...] = Field(
        min_length=1, description="The combinations allowed: one value for each of the columns."
    )


_Combinations = Annotated[
    Annotated[tuple[ColumnName, ...], Tag(LIST)] | Annotated[ListedCombinations, Tag(MAPPING)],
    Discriminator(lambda value: MAPPING if isinstance(value, dict | ListedCombinations) else LIST),
]


class Rules(Strict):
    """Relations between columns that every new row keeps."""

    hold: tuple[str, ...] = Field(
        (),
        description=(
            "Comparisons among features: start <= end, bmi < 60, a + b + c == 100, ward == 'north'. A name of several "
            "words stands in backticks."
        ),
    )
    tolerance: NonNegative = Field(
        0.0, description="How far the sides of ==, <= and >= may miss each other, in their own unit."
    )
    allowed: tuple[_Combinations, ...] = Field(
        (),
        description=(
            "Columns of which only some combinations may be: [ward, sex]: those that occur among the training rows. "
            "{columns: [ward, sex], rows: [[north, f], [south, m]]}: these."
        ),
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that a rule is about, each once."""
        conditions = [name for text in self.hold for name in Condition(text=text).names]
        return tuple(dict.fromkeys([*conditions, *(name for one in self.allowed for name in _columns(one))]))

    def complaints(self, features: Sequence[str]) -> Iterator[Complaint]:
        """All that is wrong with them, as far as the names of the columns tell."""
        yield from self._condition_complaints(dict.fromkeys(features))
        yield from repeated(f"{PATH}.hold", self.hold)
        if self.tolerance and not any(sign in text for text in self.hold for sign in ("==", "<=", ">=")):
            what = "tolerance is read only by ==, <= and >=, and no rule has one"
            yield inconsistent(f"{PATH}.tolerance", what, "remove the key")
        for number, one in enumerate(self.allowed):
            path, columns = f"{PATH}.allowed.{number}", _columns(one)
            if len(columns) < 2:
                what = f"a combination has at least 2 columns, got {len(columns)}"
                yield inconsistent(path, what, "name another, or give the one column `values` under dataset.columns")
            yield from repeated(path, columns)
            for name in columns:
                if name not in features:
                    what, hint = f"there is no feature {show(name)}", did_you_mean(name, features, otherwise="features")
                    yield Complaint(code="unknown-column", path=path, what=what, hint=hint)
            for at, row in enumerate(one.rows if isinstance(one, ListedCombinations) else ()):
                if len(row) != len(columns):
                    what = f"{show(list(row))} has {counted(len(row), 'value')} for {counted(len(columns), 'column')}"
                    yield inconsistent(f"{path}.rows.{at}", what, "give one value for each column")

    def _condition_complaints(self, kinds: Mapping[str, Kind]) -> Iterator[Complaint]:
        for number, text in enumerate(self.hold):
            yield from Condition(text=text).complaints(kinds, f"{PATH}.hold.{number}")

    def misfits(self, train: Table) -> Iterator[Complaint]:
        """Rules that do not suit the columns, now that types and labels are known, and rules that real rows break."""
        complaints = [
            *self._condition_complaints({column.name: kind_of(column) for column in train.features}),
            *self._combination_misfits(train),
        ]
        yield from complaints
        if complaints:
            return
        for rule, broken in self.on(train).broken_by_rule(train.x):
            if broken.any():
                numbers = (train.row_ids[broken] + 1).tolist()
                listed = ", ".join(map(str, numbers[:_MOST_ROWS]))
                more = f" and {len(numbers) - _MOST_ROWS} more" if len(numbers) > _MOST_ROWS else ""
                verb, noun = ("breaks", "row") if len(numbers) == 1 else ("break", "rows")
                what = f"{counted(len(numbers), 'training row')} {verb} the rule {rule.words}: {noun} {listed}{more}"
                hint = "repair these cells, or weaken the rule until every real row keeps it"
                yield Complaint(code="rule-broken", path=rule.path, what=what, hint=hint)

    def _combination_misfits(self, train: Table) -> Iterator[Complaint]:
        for number, one in enumerate(self.allowed):
            path, columns = f"{PATH}.allowed.{number}", [train.features[at] for at in train.positions(_columns(one))]
            for column in columns:
                if column.type == "continuous":
                    what = f"{show(column.name)} is continuous: hardly any of its combinations occurs twice"
                    hint = "take labels, truths or whole numbers, or compare numbers under perturbation.rules.hold"
                    yield Complaint(code="rule-continuous", path=path, what=what, hint=hint)
            for at, row in enumerate(one.rows if isinstance(one, ListedCombinations) else ()):
                for cell, column in zip(row, columns, strict=True):
                    if _code(cell, column) is None:
                        known = column.labels if column.type == "category" else ()
                        hint = did_you_mean(str(cell), known or (), otherwise="its labels")
                        hint = hint or f"the column is {column.type}"
                        what = f"{show(cell)} is no value of {show(column.name)}"
                        yield Complaint(code="unknown-label", path=f"{path}.rows.{at}", what=what, hint=hint)

    def on(self, train: Table) -> LearntRules:
        """The rules on these columns; which combinations occur is asked of these rows alone."""
        conditions = [
            _Learnt(f"{PATH}.hold.{number}", show(text), condition.names, condition)
            for number, text in enumerate(self.hold)
            for condition in (Condition(text=text, tolerance=self.tolerance),)
        ]
        combinations = [
            _Learnt(f"{PATH}.allowed.{number}", _words(one), _columns(one), _codes(one, train))
            for number, one in enumerate(self.allowed)
        ]
        return LearntRules(train.features, (*conditions, *combinations))


@dataclass(frozen=True, slots=True, eq=False)
class _Learnt:
    """One rule: where it is written, how a message calls it, its columns, and what it asks."""

    path: str
    words: str
    names: tuple[str, ...]
    asks: Condition | frozenset[tuple[float, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class LearntRules:
    """Rules that rows can be held against. A rule with a missing cell cannot be judged, so the row keeps it."""

    features: tuple[Column, ...]
    rules: tuple[_Learnt, ...]

    def broken(self, x: Array) -> Mask:
        """(m,) which of these rows break a rule. x: (m, d)."""
        wrong = np.zeros(len(x), dtype=np.bool_)
        for _, mine in self.broken_by_rule(x):
            wrong |= mine
        return wrong

    def broken_by_rule(self, x: Array) -> Iterator[tuple[_Learnt, Mask]]:
        """Each rule, and which of these rows break it."""
        at = {column.name: position for position, column in enumerate(self.features)}
        for rule in self.rules:
            cells = x[:, [at[name] for name in rule.names]]
            known = ~np.isnan(cells).any(axis=1)
            if isinstance(rule.asks, Condition):
                columns = {
                    name: (kind_of(self.features[at[name]]), _values(values, self.features[at[name]]))
                    for name, values in zip(rule.names, cells.T, strict=True)
                }
                yield rule, known & ~rule.asks.kept(columns, rows=len(x))
            else:
                allowed = rule.asks
                kept = np.array([tuple(row) in allowed for row in cells.tolist()], dtype=np.bool_)
                yield rule, known & ~kept


def kind_of(column: Column) -> Kind:
    """What a rule takes a column for: a category is the tuple of its labels."""
    return (column.labels or ()) if column.type == "category" else column.type


def _values(values: Array, column: Column) -> Values:
    """A category's labels, all else as it is."""
    if column.type != "category":
        return values
    return np.array(column.labels, dtype=object)[np.nan_to_num(values).astype(np.int64)]


def _columns(one: tuple[str, ...] | ListedCombinations) -> tuple[str, ...]:
    return one.columns if isinstance(one, ListedCombinations) else one


def _words(one: tuple[str, ...] | ListedCombinations) -> str:
    listed = "listed" if isinstance(one, ListedCombinations) else "that occur"
    return f"only combinations of {' and '.join(map(show, _columns(one)))} {listed}"


def _codes(one: tuple[str, ...] | ListedCombinations, train: Table) -> frozenset[tuple[float, ...]]:
    """The combinations, as rows of a table have them."""
    positions = list(train.positions(_columns(one)))
    if not isinstance(one, ListedCombinations):
        cells = train.x[:, positions]
        return frozenset(map(tuple, cells[~np.isnan(cells).any(axis=1)].tolist()))
    columns = [train.features[position] for position in positions]
    coded = (tuple(map(_code, row, columns)) for row in one.rows)
    return frozenset(tuple(cell for cell in row if cell is not None) for row in coded)


def _code(cell: Cell, column: Column) -> float | None:
    """A value as a row has it; None when it is none of the column's."""
    if column.type == "category":
        label = str(cell).lower() if isinstance(cell, bool) else str(cell)
        labels = column.labels or ()
        return float(labels.index(label)) if label in labels else None
    if isinstance(cell, str) or (column.type == "boolean") != isinstance(cell, bool):
        return None
    return float(cell)
