"""Rows: columns, tables, splits, what a teacher says of them, and their order in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The column that orders the rows, and every moment in it, earliest first."""

    column: str
    moments: tuple[str, ...]  # each in one spelling: 2024-03-01, 2024-03-01T08:30:00, 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time, both ends included."""

    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldSpan:
    """Which time a gate fold was fitted on, and which later time it was scored on."""

    fold: int
    trained: Span
    held_out: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOrder:
    """The gate's folds follow time: each is scored on rows that are later than all that it was fitted on."""

    column: str  # that orders the rows
    train: Span  # of all training rows
    test: Span | None  # of the test rows; null when they come from a second source, whose times are not read
    tuning: Span | None  # of the rows that were spent on searches; null when there are none
    folds: tuple[FoldSpan, ...]  # of the gate, as planned; none when nothing was gated


Array: TypeAlias = "npt.NDArray[np.float64]"
IntArray: TypeAlias = "npt.NDArray[np.int64]"

ColumnType = Literal["continuous", "integer", "category", "boolean"]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, closed for writing."""
    array.setflags(write=False)
    return array


def relative(weights: Array | None) -> Array | None:
    """The weights with mean 1: only their proportions count. None when all are equal, which is to say nothing.

    weights: (n,) positive. Returns (n,).
    """
    return None if weights is None or weights.min() == weights.max() else weights / weights.mean()


def weighted_mean(values: Array, weights: Array | None) -> float:
    """The mean of the values, each counted by its weight: sum(w v) / sum(w).

    values, weights: (n,).
    """
    heft = relative(weights)
    return float((values if heft is None else heft * values).mean())


def spread_of(y: Array, weights: Array | None) -> float:
    """The variance of y, each value counted by its weight."""
    if relative(weights) is None:
        return float(y.var())
    return weighted_mean((y - weighted_mean(y, weights)) ** 2, weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The contract of one column: what its values are and may be."""

    name: str
    type: ColumnType
    unit: str | None = None
    minimum: float | None = None  # declared bounds; None where nothing was declared
    maximum: float | None = None
    labels: tuple[str, ...] | None = None  # of a category, in the order of its codes
    allowed: tuple[float, ...] | None = None  # of a number, when only some values are
    inferred: bool = True  # the type came from the data, not from the spec

    @property
    def is_numeric(self) -> bool:
        """Whether sums and differences of its values mean something."""
        return self.type in ("continuous", "integer")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Rows of features and the target. Knows nothing of train or test."""

    features: tuple[Column, ...]
    target: Column
    row_ids: IntArray  # (n,) position of each row in its source, counted from 0
    x: Array  # (n, d)
    y: Array  # (n,)
    groups: IntArray | None = None  # (n,) rows of equal number belong together
    weights: Array | None = None  # (n,) positive: how much each row counts; None: all the same
    times: IntArray | None = None  # (n,) which of the `Clock`'s moments each row belongs to, where rows have an order

    def __post_init__(self) -> None:
        for array in (self.row_ids, self.x, self.y, self.groups, self.weights, self.times):
            if array is not None:
                read_only(array)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in the order of x's columns."""
        return tuple(column.name for column in self.features)

    def take(self, index: IntArray) -> Table:
        """The rows at these positions, in this order."""
        return Table(
            features=self.features,
            target=self.target,
            row_ids=self.row_ids[index],
            x=self.x[index],
            y=self.y[index],
            groups=None if self.groups is None else self.groups[index],
            weights=None if self.weights is None else self.weights[index],
            times=None if self.times is None else self.times[index],
        )

    def positions(self, names: Sequence[str]) -> tuple[int, ...]:
        """The columns of x that hold these features."""
        where = {name: position for position, name in enumerate(self.names)}
        return tuple(where[name] for name in names)


class Predictor(Protocol):
    """A fitted model: rows in, predictions out, in the target's own unit."""

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        ...


class HeldOut:
    """The test rows. No stage can read them: the only way in is to be scored on them.

    It is deliberately not a `Table`, so that handing test rows to a stage is a type error.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: Table) -> None:
        """Closes the door behind the rows."""
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def row_ids(self) -> IntArray:
        """Which rows of the source are held out."""
        return self._rows.row_ids

    @property
    def groups(self) -> IntArray | None:
        """The groups of the held-out rows, for an interval that respects them."""
        return self._rows.groups

    @property
    def weights(self) -> Array | None:
        """How much each held-out row counts in a score; None: all the same."""
        return self._rows.weights

    @property
    def times(self) -> IntArray | None:
        """When the held-out rows were, for whoever tells it."""
        return self._rows.times

    @property
    def spread(self) -> float:
        """The (weighted) variance of the held-out targets, one number, for a score that is relative to it."""
        return spread_of(self._rows.y, self._rows.weights)

    def errors(self, model: Predictor) -> Array:
        """The model's prediction errors, row by row: y - prediction."""
        return self._rows.y - model.predict(self._rows.x)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Training rows, which the method sees, and test rows, which only the final scoring sees."""

    train: Table
    test: HeldOut
    tuning: Table | None = None  # rows that are spent on searches and are no longer among the training rows
    clock: Clock | None = None  # what `times` count in; None when rows have no order


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherFamily:
    """What one kind of model contributes to a teacher."""

    name: str
    fitted: int  # models of this kind
    weight: float  # of all of them together; a family without weight is not asked
    error: float | None  # mean squared error on rows that the members had not seen; None where there are none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Teacher:
    """What labels a counterfactual row: the weighted mean of one or several fitted models."""

    kind: str
    members: tuple[Predictor, ...]  # those that have weight
    in_sample: Array  # (n,) its predictions for its own training rows
    out_of_fold: Array | None  # (n,) the same by members that have not seen the row, where there are any
    weights: tuple[float, ...] = ()  # one a member, together 1; empty when all weigh the same
    names: tuple[str, ...] = ()  # one a member: its kind, and what it has not seen
    families: tuple[TeacherFamily, ...] = ()

    def predict(self, x: Array) -> Array:
        """x: (m, d). Returns (m,)."""
        if len(set(self.weights)) > 1:
            total = self.weights[0] * self.members[0].predict(x)
            for weight, member in zip(self.weights[1:], self.members[1:], strict=True):
                total = total + weight * member.predict(x)
            return total
        total = self.members[0].predict(x)
        for member in self.members[1:]:
            total = total + member.predict(x)
        return total / len(self.members)


Residuals = Literal["in_sample", "out_of_fold"]


NoiseKind = Literal["additive", "location_scale"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Abduction:
    """The noise of each training row.

    additive: y = g(x) + noise. location_scale: y = g(x) + s(x) * noise, s positive, so that the noise has one size.
    """

    noise: Array  # (n,)
    residuals: Residuals
    model: NoiseKind = "additive"
    scale: Array | None = None  # (n,) s(x) of each training row; None when additive
    scale_model: NoiseScale | None = None  # s at any x; None when additive
    scale_clipped: int = 0  # training rows at whose x the fitted scale had to be brought back into its range


class NoiseScale(Protocol):
    """The fitted size of the noise: rows in, positive numbers out."""

    def at(self, x: Array) -> tuple[Array, int]:
        """x: (m, d). Returns (m,), and how many of them had to be brought back into the range that was fitted."""
        ...
