"""Rows that have an order: the moments they count in, and which time each part of a run was fitted and scored on."""

from __future__ import annotations

from dataclasses import dataclass


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
