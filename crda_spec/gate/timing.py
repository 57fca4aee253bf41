"""Which time each part of a run was fitted and scored on, in words that a record can hold."""

from __future__ import annotations

import numpy as np

from crda_spec.gate.gate import Repeat
from crda_spec.records import Clock, FoldSpan, IntArray, Span, Split, TimeOrder


def time_order(split: Split, division: Repeat | None) -> TimeOrder | None:
    """The spans of a run's rows; None when they have no order. division: the gate's folds, where it has been asked."""
    clock, times = split.clock, split.train.times
    if clock is None or times is None:
        return None
    tested, tuned = split.test.times, None if split.tuning is None else split.tuning.times
    seen, held = ((), ()) if division is None or division.seen is None else (division.seen, division.held)
    return TimeOrder(
        column=clock.column,
        train=span_of(clock, times),
        test=None if tested is None else span_of(clock, tested),
        tuning=None if tuned is None else span_of(clock, tuned),
        folds=tuple(
            FoldSpan(fold=number, trained=span_of(clock, times[before]), held_out=span_of(clock, times[later]))
            for number, (before, later) in enumerate(zip(seen, held, strict=True), start=1)
        ),
    )


def span_of(clock: Clock, times: IntArray) -> Span:
    """From the first to the last of these moments. times: (n,) positions among the clock's."""
    return Span(first=clock.moments[int(np.min(times))], last=clock.moments[int(np.max(times))])
