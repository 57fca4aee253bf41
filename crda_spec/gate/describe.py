"""After the verdict: what a reader wants to know of a run, and nothing that the run itself depends on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crda_spec import records
from crda_spec.counterfactual.diagnostics import comparison, diagnose
from crda_spec.counterfactual.procedure import Augmentation
from crda_spec.data.folds import Division
from crda_spec.gate.score import Scored
from crda_spec.independence import Gcm, adjust
from crda_spec.records import (
    Certificate,
    Clock,
    Counterfactuals,
    DeclaredSign,
    Diagnostics,
    Span,
    Split,
    TimeOrder,
)
from crda_spec.scm.sensitivity import sensitivity


def describe_rows(split: Split, augmentation: Augmentation, scored: Scored) -> Diagnostics | None:
    """What the new rows are like, and what became of the errors; None when there are no such rows."""
    made, augmented, score = augmentation.counterfactuals, scored.augmented, scored.score
    if made is None or augmented is None or (score is not None and not np.isfinite(score.augmented or 0.0)):
        return None
    seed = augmentation.context.seed
    certificate, abduction = augmentation.certificate, augmentation.abduction
    described = diagnose(split.train, augmentation.teacher, abduction, made, seed=seed, certificate=certificate)
    if split.test is None:
        return described
    before, after = (split.test.errors(model) for model in (augmentation.plain, augmented))
    return replace(described, errors=comparison(before, after))


def describe_sensitivity(
    train: records.Table, made: Counterfactuals | None, certificate: Certificate, verdict: records.Verdict
) -> records.Sensitivity | None:
    """How strong a hidden cause must be to use up the gain that the gate measured; None without such a gain."""
    if made is None or made.basis == "augmenter" or verdict.metric != "mse" or not verdict.folds:
        return None
    gain = float(np.mean([fold.plain - fold.augmented for fold in verdict.folds]))
    return sensitivity(train, made, certificate, gain=gain) if gain > 0 else None


def describe_signs(train: records.Table, signs: records.Signs, *, alpha: float = 0.05) -> tuple[DeclaredSign, ...]:
    """Each declared sign against the training rows.

    If more of a feature never lowers the target, the other features held fixed, then their covariance given these is
    not negative: a slope significantly against the sign contradicts it, Holm over all signs.
    """
    if not signs:
        return ()
    gcm = Gcm.of_table(train)
    place, target = {name: position for position, name in enumerate(gcm.names)}, train.target.name
    found = []
    for name, sign in signs:
        others = [position for other, position in place.items() if other not in (name, target)]
        found.append(gcm.slope(place[name], place[target], others, sign=1 if sign == "increasing" else -1))
    adjusted = adjust(np.array([p for _, p in found]), "holm").tolist()
    return tuple(
        DeclaredSign(name=name, sign=sign, statistic=t, p_value=p, adjusted=q, contradicted=q <= alpha)
        for (name, sign), (t, p), q in zip(signs, found, adjusted, strict=True)
    )


def describe_time(split: Split, division: Division | None) -> TimeOrder | None:
    """The spans of a run's rows; None when they have no order. division: the gate's folds, where it has been asked."""
    clock, times = split.clock, split.train.times
    if clock is None or times is None:
        return None
    tested, tuned = (None if part is None else part.times for part in (split.test, split.tuning))
    seen, held = ((), ()) if division is None or division.seen is None else (division.seen, division.held)
    return TimeOrder(
        column=clock.column,
        train=span_of(clock, times),
        test=None if tested is None else span_of(clock, tested),
        tuning=None if tuned is None else span_of(clock, tuned),
        folds=tuple(
            records.FoldSpan(fold=number, trained=span_of(clock, times[before]), held_out=span_of(clock, times[later]))
            for number, (before, later) in enumerate(zip(seen, held, strict=True), start=1)
        ),
    )


def span_of(clock: Clock, times: records.IntArray) -> Span:
    """From the first to the last of these moments. times: (n,) positions among the clock's."""
    return Span(first=clock.timestamps[int(np.min(times))], last=clock.timestamps[int(np.max(times))])
