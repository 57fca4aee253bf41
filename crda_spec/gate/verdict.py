"""From the folds' losses to a verdict, with the numbers it rests on and one sentence that a person can act on.

- accepted: the test passed, the mean loss fell, and most folds had something to move.
- rejected: augmentation hurts, or no gain worth having is left in the interval, or the partition is not stable.
- inconclusive: neither; the verdict says about how many rows would decide it.
- abstained: nothing was made that could be tested.  ungated: nobody asked for a test.

Accepted apart, the plain model is the one to use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy.stats import norm

from crda_spec.gate.gate import FoldOutcome, Gate
from crda_spec.gate.interval import change_interval
from crda_spec.gate.pairing import paired_losses
from crda_spec.gate.tests import Paired, p_value
from crda_spec.gate.words import ABSTENTIONS, Told, sentence
from crda_spec.records import Decision, FoldResult, Table, Verdict, VerdictReason
from crda_spec.seeds import stream

NEGLIGIBLE = 1.0  # percent: whoever rules out this much gain need not ask for more rows
_POWER = 0.8  # with which the rows that a verdict asks for would decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The numbers that a verdict rests on."""

    p_value: float
    effect: float  # percent
    interval: tuple[float, float] | None
    passed: bool
    hurts: bool  # the same test the other way round passes


def measure(gate: Gate, paired: Paired, results: Sequence[FoldResult], *, seed: int) -> Measured:
    """Test, effect and interval."""
    found, interval = tested_p_value(gate, paired, seed=seed), None
    if level_of(gate) > 0.0:
        rng, rows = stream(seed, "gate-interval"), (paired.row_plain, paired.row_augmented)
        interval = change_interval(*rows, paired.units, gate.metric, level=level_of(gate), rng=rng)
    return Measured(
        p_value=found,
        effect=effect_of(paired),
        interval=interval,
        passed=passes(gate, paired, results, found),
        hurts=gate.test.p_value(paired.swapped(), rng=stream(0, "gate-sides")) < gate.alpha,
    )


def judge(
    gate: Gate, outcomes: Sequence[FoldOutcome], train: Table, *, seed: int, shared: int = 0, stopped_fits: int = 0
) -> Verdict:
    """The verdict on the paired losses.

    shared: models that were fitted once for several folds, beside those that the folds fitted themselves.
    stopped_fits: fits that were not made because the verdict was certain.
    """
    results = tuple(outcome.result for outcome in outcomes)
    seen = measure(gate, paired_losses(outcomes, train, gate.metric), results, seed=seed)
    return replace(
        conclude(gate, results, seen, rows=len(train), stopped_fits=stopped_fits),
        fits=shared + sum(outcome.fits for outcome in outcomes),
        spared_fits=sum(outcome.reused for outcome in outcomes) - shared,
    )


def conclude(
    gate: Gate, results: tuple[FoldResult, ...], seen: Measured, *, rows: int, stopped_fits: int = 0
) -> Verdict:
    """The verdict that follows from the numbers, but for what it cost. rows: how many there are to train on."""
    planned, level = gate.folds * gate.repeats, level_of(gate)
    decision, reason = _decide(gate, results, seen, stopped=len(results) < planned)
    wanted = rows_to_decide(gate, rows, seen.effect, seen.interval, level) if decision == "inconclusive" else None
    told = Told(
        results=results,
        p_value=seen.p_value,
        effect=seen.effect,
        reason=reason,
        interval=seen.interval,
        level=level,
        rows=rows,
        wanted=wanted,
        planned=planned,
        stopped_fits=stopped_fits,
    )
    return Verdict(
        decision=decision,
        reason=reason,
        sentence=sentence(gate, told),
        test=gate.name,
        metric=gate.metric.name,
        alpha=gate.alpha,
        p_value=seen.p_value,
        effect_percent=seen.effect,
        folds=results,
        fits=0,
        interval_percent=seen.interval,
        level=level if seen.interval is not None else None,
        min_effect=gate.min_effect,
        rows_to_decide=wanted,
        planned_folds=planned,
        repeats=gate.repeats,
        starts=gate.starts,
        stopped_fits=stopped_fits,
    )


def level_of(gate: Gate) -> float:
    """Of the interval: as much is left out on either side as the test may err."""
    return 1.0 - gate.alpha * (1.0 if gate.alternative == "two-sided" else 2.0)


def _decide(
    gate: Gate, results: Sequence[FoldResult], seen: Measured, *, stopped: bool
) -> tuple[Decision, VerdictReason]:
    if seen.passed and not stopped:
        return "accepted", "improved"
    # Most folds gain a little, one or two lose it all and more: that is a disaster, whatever the ranks say.
    if seen.hurts or (seen.p_value < gate.alpha and seen.effect > 0.0):
        return "rejected", "worse"
    if not _stable(results):
        return "rejected", "unstable_partition"
    if seen.interval is not None and seen.interval[0] > -max(gate.min_effect, NEGLIGIBLE):
        return "rejected", "no_gain_worth_having"
    return ("rejected", "cannot_pass") if stopped else ("inconclusive", "not_significant")


def passes(gate: Gate, paired: Paired, results: Sequence[FoldResult], found: float, *, alpha: float = 0.0) -> bool:
    """Whether the test passed, and its gain is one: the mean fell, on the side that was asked for, in most folds.

    found: the test's p-value.  alpha: another level than the gate's, where several are tested.
    """
    if found >= (alpha or gate.alpha) or effect_of(paired) >= 0.0 or not _stable(results):
        return False
    if gate.alternative == "less":
        return True
    # Two-sided a small p-value may speak against augmentation; any seed will do to compare with a half.
    return gate.test.p_value(_asked(gate, paired), rng=stream(0, "gate-sides")) < 0.5


def _stable(results: Sequence[FoldResult]) -> bool:
    """Folds in which nothing could move leave the test without a word; a minority of folds may not speak for all."""
    return 2 * sum(not result.perturbed for result in results) < len(results)


def tested_p_value(gate: Gate, paired: Paired, *, seed: int) -> float:
    """The p-value of the gate's question."""
    rng = stream(seed, "gate-test")
    return p_value(gate.test, _asked(gate, paired), gate.alternative, rng=rng)


def effect_of(paired: Paired) -> float:
    """Change of the mean fold loss in percent."""
    return percent_change(float(paired.plain.mean()), float(paired.augmented.mean()))


def abstain(gate: Gate, reason: VerdictReason) -> Verdict:
    """The verdict when there is nothing to test, or nobody asks."""
    return Verdict(
        decision="ungated" if reason == "gate_disabled" else "abstained",
        reason=reason,
        sentence=ABSTENTIONS[reason],
        test=gate.name if gate.enabled else "none",
        metric=gate.metric.name,
        alpha=gate.alpha,
        p_value=None,
        effect_percent=None,
        folds=(),
        fits=0,
        min_effect=gate.min_effect,
    )


def _asked(gate: Gate, paired: Paired) -> Paired:
    """The losses as `min_effect` asks about them."""
    return paired.against(gate.min_effect, row_power=gate.metric.row_power)


def rows_to_decide(
    gate: Gate, rows: int, effect: float, interval: tuple[float, float] | None, level: float
) -> int | None:
    """About how many training rows would decide, if the effect is what it seems: errors shrink with the root.

    A gain needs enough to be shown, four times in five; what looks like none, enough to rule out one worth having.
    None when there is no interval, or more rows would not help to tell.
    """
    if interval is None or not all(map(math.isfinite, interval)):
        return None
    error = (interval[1] - interval[0]) / (2.0 * float(norm.ppf((1.0 + level) / 2.0)))
    side = float(norm.ppf((1.0 + level) / 2.0)) + float(norm.ppf(_POWER))
    worth = max(gate.min_effect, NEGLIGIBLE)
    distance = -effect - gate.min_effect if -effect > worth else effect + worth
    if distance <= 0.0 or error <= 0.0:
        return None
    return max(rows + 1, math.ceil(rows * (side * error / distance) ** 2))


def percent_change(before: float, after: float) -> float:
    """Change in percent of `before`; 0 when both are 0."""
    if before == 0.0:
        return 0.0 if after == 0.0 else float("inf")
    return 100.0 * (after - before) / before
