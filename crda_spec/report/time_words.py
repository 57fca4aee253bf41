"""What a run with an order of time says of it. The terminal and the page say the same thing in the same words."""

from __future__ import annotations

from crda_spec.records import RunResult, Span, TimeOrder
from crda_spec.report.wording import shown


def span_words(span: Span) -> str:
    """`2021-01-01 to 2021-03-31`; one moment stands alone."""
    return shown(span.first) if span.first == span.last else f"{shown(span.first)} to {shown(span.last)}"


def time_sentences(order: TimeOrder | None) -> tuple[str, ...]:
    """Which time was trained and tested on; nothing when rows have no order."""
    if order is None:
        return ()
    parts = [f"trained on {span_words(order.train)}"]
    parts += [f"tuned on {span_words(order.tuning)}"] if order.tuning is not None else []
    parts += [f"tested on {span_words(order.test)}"] if order.test is not None else []
    return (f"Rows are in the order of {shown(order.column)}: {', '.join(parts)}.",)


def fold_time_sentences(order: TimeOrder | None) -> tuple[str, ...]:
    """How the gate's folds follow time; nothing when they do not, or nothing was gated."""
    if order is None or not order.folds:
        return ()
    first = order.folds[0].trained
    ever = f"rows of {span_words(first)} are the first to train on and are never held out"
    return (f"The folds follow {shown(order.column)}: each is scored on rows later than all it was fitted on; {ever}.",)


def fold_spans(result: RunResult) -> tuple[tuple[str, str, str], ...]:
    """Of each fold that was run: its number, the time it was fitted on and the time it was scored on."""
    ran = {fold.fold for fold in result.verdict.folds}
    planned = () if result.time is None else result.time.folds
    return tuple(
        (str(one.fold), span_words(one.trained), span_words(one.held_out)) for one in planned if one.fold in ran
    )


def held_out_spans(result: RunResult) -> dict[int, str]:
    """The time that each fold held out; empty when rows have no order."""
    return {} if result.time is None else {fold.fold: span_words(fold.held_out) for fold in result.time.folds}
