"""From the folds' losses to a verdict, with the numbers it rests on.

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
from typing import Protocol

import numpy as np
from scipy.stats import norm

from crda_spec import records
from crda_spec.counterfactual.procedure import Augmentation
from crda_spec.gate.cross_validate import FoldOutcome
from crda_spec.gate.score import change_interval, percent_change, units_of
from crda_spec.gate.tests import Arms, Gate, Paired, p_value
from crda_spec.records import Array, Cost, FoldResult, IntArray, RowLosses, Verdict, VerdictReason, spread_of
from crda_spec.regressors.metrics import MSE, Metric, charged
from crda_spec.seeds import stream


class ScoredTable(Protocol):
    """What is known of the rows that were held out: a table has it, and so has the folder of a run."""

    @property
    def y(self) -> Array:
        """(n,) their outcomes; only a metric that is relative to their variance looks."""

    @property
    def groups(self) -> IntArray | None:
        """(n,) rows of equal number belong together."""

    @property
    def weights(self) -> Array | None:
        """(n,) how much each row counts."""


def paired_folds(results: Sequence[FoldResult]) -> Paired:
    """What the folds alone say, for tests that look at nothing else."""
    arms = Arms(np.array([result.plain for result in results]), np.array([result.augmented for result in results]))
    once = Arms(*(losses[None, :] for losses in arms))
    return Paired(
        folds=arms,
        train_rows=np.array([result.train_rows for result in results]),
        held_rows=np.array([result.held_out_rows for result in results]),
        rows=arms,
        units=np.arange(len(results)),
        each=once,
        fold_of=np.arange(len(results))[None, :],
        blocks=once,
    )


def paired_losses(folds: Sequence[FoldOutcome], train: ScoredTable, metric: Metric = MSE) -> Paired:
    """The folds' losses, every scored row's in each repeat and on average, and the folds' losses by these averages."""
    rows = len(train.y)
    losses, held = mean_losses(folds, rows), [fold.held for fold in folds]
    paired = paired_rows([fold.result for fold in folds], losses, train.groups, train.weights)
    scored = np.flatnonzero(~np.isnan(losses.plain))
    repeats = sum(map(len, held)) // len(scored)
    each, fold_of = np.zeros((2, repeats, rows)), np.zeros((repeats, rows), dtype=np.int64)
    for number, fold in enumerate(folds):
        repeat = number * repeats // len(folds)
        each[0, repeat, fold.held], each[1, repeat, fold.held] = fold.plain, fold.augmented
        fold_of[repeat, fold.held] = number
    weights = None if train.weights is None else train.weights[scored]
    by_repeat = Arms(*(charged(arm[:, scored], weights) for arm in each))
    paired = replace(paired, each=by_repeat, fold_of=fold_of[:, scored])
    if repeats == 1:
        return paired

    def block(arm: Array, own: IntArray) -> float:
        weights = None if train.weights is None else train.weights[own]
        return metric.mean(arm[own], spread=spread_of(train.y[own], weights), weights=weights)

    both = ([block(arm, own) for own in held] for arm in (losses.plain, losses.augmented))
    return replace(paired, blocks=Arms(*(np.array(blocks).reshape(repeats, -1) for blocks in both)))


def mean_losses(folds: Sequence[records.FoldRows | FoldOutcome], rows: int) -> RowLosses:
    """Every training row's mean loss over the repeats, NaN where the gate ended before its fold."""
    times, plain, augmented = (np.zeros(rows) for _ in range(3))
    for fold in folds:
        times[fold.held] += 1.0
        plain[fold.held] += fold.plain
        augmented[fold.held] += fold.augmented
    times[times == 0.0] = np.nan
    return RowLosses(plain=plain / times, augmented=augmented / times)


def paired_rows(
    results: Sequence[FoldResult], losses: RowLosses, groups: IntArray | None, weights: Array | None = None
) -> Paired:
    """The folds' losses and those of the scored rows. groups, weights: (n,) of all training rows.

    A weighted row enters with what it adds to the weighted mean (`metrics.charged`): tests on rows ask about that mean.
    """
    scored = np.flatnonzero(~np.isnan(losses.plain))
    own = None if weights is None else weights[scored]
    rows = Arms(*(charged(arm[scored], own) for arm in (losses.plain, losses.augmented)))
    units = units_of(len(scored), None if groups is None else groups[scored])
    return replace(paired_folds(results), rows=rows, units=units)


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
        rng = stream(seed, "gate-interval")
        interval = change_interval(*paired.rows, paired.units, gate.loss, level=level_of(gate), rng=rng)
    return Measured(
        p_value=found,
        effect=effect_of(paired),
        interval=interval,
        passed=passes(gate, paired, results, found),
        hurts=gate.p_value(paired.swapped(), rng=stream(0, "gate-sides")) < gate.alpha,
    )


def judge(
    gate: Gate,
    outcomes: Sequence[FoldOutcome],
    train: records.Table,
    *,
    seed: int,
    cost: Cost | None = None,
    stopped_fits: int = 0,
) -> Verdict:
    """The verdict on the paired losses. cost: of the folds, if they share models. stopped_fits: those spared."""
    results = tuple(outcome.result for outcome in outcomes)
    cost = sum((outcome.cost for outcome in outcomes), Cost()) if cost is None else cost
    seen = measure(gate, paired_losses(outcomes, train, gate.loss), results, seed=seed)
    verdict = conclude(gate, results, seen, rows=len(train), stopped_fits=stopped_fits)
    return replace(verdict, fits=cost.fits, reused_fits=cost.reused)


def conclude(
    gate: Gate, results: tuple[FoldResult, ...], seen: Measured, *, rows: int, stopped_fits: int = 0
) -> Verdict:
    """The verdict that follows from the numbers, but for what it cost. rows: how many there are to train on."""
    planned, level = gate.all_folds, level_of(gate)
    decision, reason = _decide(gate, results, seen, stopped=len(results) < planned)
    wanted = rows_to_decide(gate, rows, seen.effect, seen.interval, level) if decision == "inconclusive" else None
    about, bounds = (None, None) if wanted is None else (wanted[0], wanted[1:])
    return Verdict(
        decision=decision,
        reason=reason,
        test=gate.name,
        metric=gate.loss.name,
        alpha=gate.alpha,
        p_value=seen.p_value,
        effect_percent=seen.effect,
        folds=results,
        fits=0,
        interval_percent=seen.interval,
        level=level if seen.interval is not None else None,
        min_effect=gate.min_effect,
        rows_to_decide=about,
        rows_interval=bounds,
        planned_folds=planned,
        repeats=gate.divisions,
        restarts=gate.restarts,
        stopped_fits=stopped_fits,
        train_rows=rows,
    )


def level_of(gate: Gate) -> float:
    """Of the interval: as much is left out on either side as the test may err."""
    return 1.0 - gate.alpha * (1.0 if gate.alternative == "two-sided" else 2.0)


def _decide(
    gate: Gate, results: Sequence[FoldResult], seen: Measured, *, stopped: bool
) -> tuple[records.Decision, VerdictReason]:
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
    """Whether the test passed and the mean fell, on the side asked for, in most folds. alpha: instead of its own."""
    if found >= (alpha or gate.alpha) or effect_of(paired) >= 0.0 or not _stable(results):
        return False
    if gate.alternative == "less":
        return True
    # Two-sided a small p-value may speak against augmentation; any seed will do to compare with a half.
    return gate.p_value(_asked(gate, paired), rng=stream(0, "gate-sides")) < 0.5


def _stable(results: Sequence[FoldResult]) -> bool:
    """Folds in which nothing could move leave the test without a word; a minority of folds may not speak for all."""
    return 2 * sum(not result.synthetic_rows for result in results) < len(results)


def tested_p_value(gate: Gate, paired: Paired, *, seed: int) -> float:
    """The p-value of the gate's question."""
    rng = stream(seed, "gate-test")
    return p_value(gate, _asked(gate, paired), rng=rng)


def effect_of(paired: Paired) -> float:
    """Change of the mean fold loss in percent."""
    return percent_change(*(float(arm.mean()) for arm in paired.folds))


def why_no_test(augmented: Augmentation, falsification: records.Falsification | None) -> VerdictReason:
    """Why there was nothing to test, or why nobody asked."""
    if augmented.counterfactuals is not None:
        return "gate_disabled"
    if augmented.certificate.stops or (falsification is not None and falsification.forbids):
        return "graph_falsified"
    if augmented.movable.basis == "augmenter":
        return "no_new_rows"
    return "off_support" if augmented.movable.names else "no_perturbable_features"


def abstain(gate: Gate, reason: VerdictReason) -> Verdict:
    """The verdict when there is nothing to test, or nobody asks."""
    return Verdict(
        decision="ungated" if reason == "gate_disabled" else "abstained",
        reason=reason,
        test=gate.name if gate.enabled else "none",
        metric=gate.loss.name,
        alpha=gate.alpha,
        p_value=None,
        effect_percent=None,
        folds=(),
        fits=0,
        min_effect=gate.min_effect,
    )


def _asked(gate: Gate, paired: Paired) -> Paired:
    """The losses as `min_effect` asks about them."""
    return paired.against(gate.min_effect, row_power=gate.loss.row_power)


def rows_to_decide(
    gate: Gate, rows: int, effect: float, interval: tuple[float, float] | None, level: float
) -> tuple[int, int, int | None] | None:
    """How many training rows would decide if the effect is what it seems, at least and at most.

    Errors shrink with the root of the rows. A gain needs enough to be shown, four times in five; what looks like none,
    enough to rule out one worth having. The upper end is None where no number of rows is ruled out: the effect may be
    right on the border. None at all when there is no interval, or more rows would not help to tell.
    """
    if interval is None or not all(map(math.isfinite, interval)):
        return None
    reach = (interval[1] - interval[0]) / 2.0
    error = reach / float(norm.ppf((1.0 + level) / 2.0))
    side = float(norm.ppf((1.0 + level) / 2.0)) + float(norm.ppf(_POWER))
    worth = max(gate.min_effect, NEGLIGIBLE)
    distance = -effect - gate.min_effect if -effect > worth else effect + worth
    if distance <= 0.0 or error <= 0.0:
        return None

    def needed(distance: float) -> int:
        return max(rows + 1, math.ceil(rows * (side * error / distance) ** 2))

    return needed(distance), needed(distance + reach), needed(distance - reach) if distance > reach else None
