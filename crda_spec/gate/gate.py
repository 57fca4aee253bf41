"""The gate: K folds, everything refitted inside each, both arms scored on the same real rows that neither has seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import Procedure, augment, fit_augmented
from crda_spec.errors import Complaint, DataError
from crda_spec.gate.tests import Alternative, wilcoxon_p_value
from crda_spec.records import Array, FoldResult, IntArray, Study, Table, Verdict, VerdictReason
from crda_spec.regressors.teachers import GateFolds

Metric = Literal["mse", "mae"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WilcoxonGate:
    """Accept when the paired fold losses say so at level alpha."""

    folds: int = 10
    alpha: float = 0.05
    alternative: Alternative = "less"
    metric: Metric = "mse"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldOutcome:
    """One fold's result, and what it cost."""

    result: FoldResult
    fits: int
    seconds: float
    reused: int = 0  # models that it needed and had from another fold
    studies: tuple[Study, ...] = ()  # the searches inside this fold


def loss(errors: Array, metric: Metric) -> float:
    """The mean loss of prediction errors."""
    with np.errstate(over="ignore", invalid="ignore"):  # whoever asks looks whether the loss is finite
        return float(np.mean(errors**2)) if metric == "mse" else float(np.mean(np.abs(errors)))


def run_fold(
    procedure: Procedure,
    train: Table,
    held: IntArray,
    number: int,
    *,
    metric: Metric,
    seed: int,
    around: GateFolds | None = None,
) -> FoldOutcome:
    """Fold `number` (from 1): the whole procedure on the other rows, both arms scored on the held-out ones.

    around: the gate's other folds, and models that have not seen this one (`teachers/sharing.py` proves it).
    """
    index = (number,)
    seen = train.take(np.setdiff1d(np.arange(len(train)), held))
    with threadpool_limits(limits=1):  # the same bytes on any machine, and no fight between workers
        augmentation = augment(procedure, seen, seed=seed, index=index, around=around)
        augmented = fit_augmented(augmentation, seen, seed=seed, index=index)
        x, y = train.x[held], train.y[held]
        plain_loss = loss(y - augmentation.plain.predict(x), metric)
        augmented_loss = plain_loss if augmented is augmentation.plain else loss(y - augmented.predict(x), metric)
    _check_finite(number, plain_loss, augmented_loss)
    made = augmentation.counterfactuals
    result = FoldResult(
        fold=number,
        train_rows=len(seen),
        held_out_rows=len(held),
        plain=plain_loss,
        augmented=augmented_loss,
        perturbed=augmentation.moved,
        synthetic_rows=0 if made is None else len(made),
    )
    fitter = augmentation.fitter
    return FoldOutcome(
        result=result,
        fits=fitter.fits,
        seconds=fitter.seconds,
        reused=fitter.reused,
        studies=augmentation.studies,
    )


def _check_finite(number: int, plain: float, augmented: float) -> None:
    """A model that has run away is an error that says so, not a verdict."""
    for arm, value in (("plain", plain), ("augmented", augmented)):
        if not math.isfinite(value):
            what = f"the {arm} model of gate fold {number} predicts numbers that are not finite"
            hint = "lower its learning rate, or look for extreme values in the data"
            raise DataError(Complaint(code="diverged", path="regressor", what=what, hint=hint))


def judge(gate: WilcoxonGate, outcomes: Sequence[FoldOutcome], *, shared: int = 0) -> Verdict:
    """The verdict on the paired fold losses.

    shared: models that were fitted once for several folds, beside those that the folds fitted themselves.
    """
    results = tuple(outcome.result for outcome in outcomes)
    plain = np.array([result.plain for result in results])
    augmented = np.array([result.augmented for result in results])
    difference = augmented - plain
    p_value = wilcoxon_p_value(difference, gate.alternative)
    effect = percent_change(float(plain.mean()), float(augmented.mean()))
    falls = wilcoxon_p_value(difference, "less") < 0.5  # two-sided, a small p-value may speak against augmentation
    # Folds in which nothing could move leave the test without a word; a minority of folds may not speak for all.
    idle = sum(not result.perturbed for result in results)
    stable = 2 * idle < len(results)
    accepted = p_value < gate.alpha and effect < 0 and falls and stable
    reason: VerdictReason = "improved" if accepted else "not_significant" if stable else "unstable_partition"
    disaster = p_value < gate.alpha and effect > 0  # most folds gain a little, one or two lose it all and more
    if disaster or wilcoxon_p_value(-difference, "less") < gate.alpha:
        reason = "worse"
    return Verdict(
        decision="accepted" if accepted else "rejected",
        reason=reason,
        sentence=_sentence(gate, results, p_value, effect, reason),
        test=f"wilcoxon, {gate.alternative}",
        metric=gate.metric,
        alpha=gate.alpha,
        p_value=p_value,
        effect_percent=effect,
        folds=results,
        fits=shared + sum(outcome.fits for outcome in outcomes),
        spared_fits=sum(outcome.reused for outcome in outcomes) - shared,
    )


_ABSTENTIONS: dict[VerdictReason, str] = {
    "no_perturbable_features": "No feature may be perturbed, so nothing was augmented: use the plain model.",
    "graph_falsified": (
        "The data contradict the declared graph, so nothing it promises was used and nothing was augmented: "
        "use the plain model."
    ),
}


def abstain(gate: WilcoxonGate, reason: VerdictReason) -> Verdict:
    """The verdict when nothing was made, so that there is nothing to test."""
    return Verdict(
        decision="abstained",
        reason=reason,
        sentence=_ABSTENTIONS[reason],
        test=f"wilcoxon, {gate.alternative}",
        metric=gate.metric,
        alpha=gate.alpha,
        p_value=None,
        effect_percent=None,
        folds=(),
        fits=0,
    )


def percent_change(before: float, after: float) -> float:
    """Change in percent of `before`; 0 when both are 0."""
    if before == 0.0:
        return 0.0 if after == 0.0 else float("inf")
    return 100.0 * (after - before) / before


def _sentence(
    gate: WilcoxonGate, results: Sequence[FoldResult], p_value: float, effect: float, reason: VerdictReason
) -> str:
    better = sum(result.augmented < result.plain for result in results)
    name = gate.metric.upper()
    idle = sum(not result.perturbed for result in results)
    aside = f" In {idle} {'fold' if idle == 1 else 'folds'} no feature could be perturbed." if idle else ""
    compared = f"{'<' if p_value < gate.alpha else '>='} {gate.alpha:g}"
    folds = f"held-out {name} fell in {better} of {len(results)} folds, {effect:+.1f} % on average"
    if reason == "improved":
        return f"Augmentation helps: {folds} (p = {p_value:.4g} {compared}): use the augmented model.{aside}"
    lead = "Augmentation hurts" if reason == "worse" else "No convincing gain"
    if reason == "unstable_partition":
        lead = "The partition is not stable"
    return f"{lead}: {folds} (p = {p_value:.4g} {compared}): keep the plain model.{aside}"
