"""The gate's verdict, what would turn it, and what an ensemble gives beside the augmentation, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from crda_spec import records
from crda_spec.gate.tests import wilcoxon_p_value
from crda_spec.records import Array, FoldResult, RunResult, Verdict
from crda_spec.report.words.causal import remedy_sentence
from crda_spec.report.words.numbers import between, change, count, number, percent, setting, shown

# Reasons that follow from the test and the mean; not those of a gate that stopped early or has too little to move.
_TURNS_ON_FOLDS = ("improved", "worse", "no_gain_worth_having", "not_significant")
_TWO_SIDED = {"wilcoxon, less": False, "wilcoxon, two-sided": True}  # by `Verdict.test`: whose arithmetic is known
_FEWEST = 3  # folds below which leaving one out says nothing


_ABSTENTIONS: Mapping[records.VerdictReason, str] = {
    "no_perturbable_features": "No feature may be perturbed, so nothing was augmented: use the plain model.",
    "graph_falsified": (
        "The data contradict the declared graph, so nothing it promises was used and nothing was augmented: "
        "use the plain model."
    ),
    "off_support": (
        "Every new row lay off the data or broke a rule, so none was left and nothing was augmented: "
        "use the plain model, or move features less far."
    ),
    "no_new_rows": "The augmenter made no row, so nothing was augmented: use the plain model.",
    "gate_disabled": (
        "UNGATED: the spec switches the gate off, so nobody tested whether augmentation helps or hurts. "
        "The augmented model is handed over all the same; set gate.enabled to true before you rely on it."
    ),
}
_LEADS: Mapping[records.VerdictReason, str] = {
    "improved": "Augmentation helps",
    "worse": "Augmentation hurts",
    "unstable_partition": "The partition is not stable",
    "no_gain_worth_having": "No gain worth having",
    "cannot_pass": "Not enough gain",
}


def verdict_sentence(verdict: Verdict) -> str:
    """What was seen, what it means, and what to do."""
    if verdict.sentence:
        return verdict.sentence
    if verdict.p_value is None or verdict.effect_percent is None:
        return _ABSTENTIONS[verdict.reason]
    folds, asked = verdict.folds, verdict.min_effect
    better = sum(fold.augmented < fold.plain for fold in folds)
    much = ""
    if asked:
        enough = sum(fold.augmented < (1.0 - asked / 100.0) * fold.plain for fold in folds)
        much = f" (by more than {asked:g} % in {enough})"
    fell = f"held-out {verdict.metric.upper()} fell in {better} of {len(folds)} folds{much}"
    compared = f"p = {verdict.p_value:.4g} {'<' if verdict.p_value < verdict.alpha else '>='} {verdict.alpha:g}"
    compared += f", a gain of {asked:g} % or more asked for" if asked else ""
    advice = "use the augmented model." if verdict.reason == "improved" else "keep the plain model."
    change = f"{verdict.effect_percent:+.1f} % on average ({compared})"
    return " ".join([f"{lead(verdict)}: {fell}, {change}: {advice}", *asides(verdict)])


def lead(verdict: Verdict) -> str:
    """What a gate that tested saw, in three words."""
    return _LEADS.get(verdict.reason, "No convincing gain")


def asides(verdict: Verdict) -> Iterator[str]:
    """Folds in which nothing moved, what a wide interval rules out, and how many rows would decide."""
    idle = sum(not fold.synthetic_rows for fold in verdict.folds)
    if idle:
        yield f"In {count(idle, 'fold')} no feature could be perturbed."
    if verdict.reason == "no_gain_worth_having" and verdict.interval_percent is not None:
        yield f"The change is {verdict.interval_percent[0]:+.1f} % or more ({verdict.level:.0%} interval)."
    ahead = verdict.planned_folds - len(verdict.folds)
    if ahead > 0:
        saved = count(verdict.stopped_fits, "fit")
        yield f"Stopped there: {count(ahead, 'more fold')} could not have made it pass ({saved} saved)."
    if verdict.reason == "not_significant" and verdict.rows_to_decide is not None:
        yield _rows_wanted(verdict)


_TELLING = 3.0  # a number of rows with an interval wider than this factor tells nobody what to do


def _rows_wanted(verdict: Verdict) -> str:
    """How many rows would decide, where that is known well enough to say it."""
    assert verdict.rows_to_decide is not None  # noqa: S101 - the caller has looked
    low, high = verdict.rows_interval or (1, None)
    if high is None or high > _TELLING * low:
        return "More training rows could decide; how many cannot be told from these."

    def rounded(rows: int) -> int:
        unit = int(10 ** max(0, len(str(rows)) - 2))  # two digits: it is a guess
        return -(-rows // unit) * unit

    about, rows = rounded(verdict.rows_to_decide), verdict.train_rows
    return f"About {about} training rows ({rounded(low)} to {rounded(high)}) instead of {rows} would decide."


def loss_unit(metric: str, target: records.Column) -> str:
    """`MSE (days squared)`: a loss with its unit, where the target has one."""
    if not target.unit or metric.endswith("r2"):
        return metric.upper()
    return f"{metric.upper()} ({shown(target.unit)}{' squared' if metric == 'mse' else ''})"


def p_value_sentence(verdict: Verdict) -> str:
    """What the p-value says, in counts; empty when nothing was tested."""
    if verdict.p_value is None:
        return ""
    rare = "fewer than 1 in 10 000" if verdict.p_value < 1e-4 else f"about {_of_hundred(verdict.p_value)}"
    nothing = f"gained {setting(verdict.min_effect)} % and no more" if verdict.min_effect else "did nothing"
    return (
        f"If the augmentation {nothing}, {rare} such runs would speak for it at least this strongly; "
        f"the gate accepts below {_of_hundred(verdict.alpha)} (alpha {setting(verdict.alpha)})."
    )


def _of_hundred(probability: float) -> str:
    if probability >= 0.01:
        return f"{setting(round(100 * probability, 1))} in 100"
    return f"{setting(float(f'{1000 * probability:.2g}'))} in 1000"


def turning_sentences(result: RunResult) -> tuple[str, ...]:
    """What would change the verdict: single folds, or, where nothing was tested, what stood in the way."""
    verdict = result.verdict
    if not verdict.folds:
        return tuple(_obstacles(result))
    return (*_flips(verdict), *_one_fold_less(verdict.folds))


def _obstacles(result: RunResult) -> Iterator[str]:
    if result.verdict.reason == "graph_falsified":
        yield "A graph that the data do not contradict: see which statements were violated, and correct the graph."
        if result.certificate.stops:
            yield "Or rows that carry no noise (counterfactual.retention: 0), which the contradiction does not stop."
    elif result.certificate.remedies:
        smallest = remedy_sentence(result.certificate.remedies[0]).rstrip(".")
        yield f"A feature that may move. The smallest change: {smallest}."
    elif result.verdict.reason == "no_perturbable_features":
        yield "A feature that may move: the table above tells what holds each of them fixed."


def _flips(verdict: Verdict) -> Iterator[str]:
    """In how many folds the comparison would have to come out the other way, where the test's arithmetic is known."""
    if verdict.test not in _TWO_SIDED or verdict.p_value is None or verdict.reason not in _TURNS_ON_FOLDS:
        return
    plain = np.array([fold.plain for fold in verdict.folds], dtype=np.float64)
    beaten = (1.0 - verdict.min_effect / 100.0) * plain  # what the gate tests against
    difference = np.array([fold.augmented for fold in verdict.folds], dtype=np.float64) - beaten
    if not np.isfinite(difference).all():
        return
    two_sided = _TWO_SIDED[verdict.test]
    needed = folds_to_turn(
        difference, alpha=verdict.alpha, two_sided=two_sided, accepted=verdict.accepted, asked=plain - beaten
    )
    if needed is None:
        yield "No change of sign in single folds would turn the verdict: there are too few folds, or too small gains."
        return
    folds, it = ("fold", "it") if needed == 1 else ("folds", "they")
    wanted = f"the {setting(verdict.min_effect)} % asked for" if verdict.min_effect else ""
    if verdict.accepted:
        turned = f"gained more than {wanted}, had {it} fallen short" if wanted else f"helped, had {it} hurt"
        yield (
            f"It hangs on {needed} of {count(len(difference), 'fold')}: {needed} {folds} that {turned} by as much, "
            "would have turned it."
        )
    else:
        turned = f"fell short of {wanted}, had {it} exceeded it" if wanted else f"did not help, had {it} helped"
        yield f"{needed} {folds} that {turned} by as much, would have been enough to accept."


def folds_to_turn(
    difference: Array, *, alpha: float, two_sided: bool, accepted: bool, asked: Array | float = 0.0
) -> int | None:
    """The least number of folds whose difference must change its sign until Wilcoxon's test decides otherwise.

    difference: (k,) augmented - plain + asked. The largest that stand on the verdict's side turn first: each moves the
    rank sum most, so that no smaller number would do. None when no number is enough.  asked: (k,) the gain, in units
    of the loss, that has to be exceeded (`min_effect`).
    """

    def accepts(values: Array) -> bool:
        falls = wilcoxon_p_value(values, "less") < 0.5
        p_value = wilcoxon_p_value(values, "two-sided" if two_sided else "less")
        return bool(p_value < alpha and np.mean(values - asked) < 0 and falls)

    turned = difference.copy()
    side = np.flatnonzero(turned < 0 if accepted else turned > 0)
    for number_turned, fold in enumerate(side[np.argsort(-np.abs(turned[side]), kind="stable")], start=1):
        turned[fold] = -turned[fold]
        if accepts(turned) != accepted:
            return number_turned
    return None


def _one_fold_less(folds: Sequence[FoldResult]) -> Iterator[str]:
    """How much of the mean hangs on one fold."""
    if len(folds) < _FEWEST:
        return
    best = min(folds, key=lambda fold: (fold.augmented - fold.plain, fold.fold))
    moved = change(*mean_losses([fold for fold in folds if fold is not best]))
    if moved is not None and np.isfinite(moved) and best.augmented < best.plain:
        yield (
            f"Without the fold that gained most (fold {best.fold}, by {number(best.plain - best.augmented)}), the mean "
            f"loss would have changed by {percent(moved)} %."
        )


def mean_losses(folds: Sequence[FoldResult]) -> tuple[float, float]:
    """The mean loss of the plain models and of the augmented ones."""
    return sum(fold.plain for fold in folds) / len(folds), sum(fold.augmented for fold in folds) / len(folds)


def fold_rows(folds: Sequence[FoldResult]) -> list[tuple[str, ...]]:
    """fold, rows held out, synthetic rows, plain, augmented, change in percent; the means last."""

    def losses(plain: float, augmented: float) -> tuple[str, str, str]:
        moved = change(plain, augmented)
        return number(plain), number(augmented), "n/a" if moved is None else percent(moved)

    rows: list[tuple[str, ...]] = [
        (str(fold.fold), str(fold.held_out_rows), str(fold.synthetic_rows), *losses(fold.plain, fold.augmented))
        for fold in folds
    ]
    return [*rows, ("mean", "", "", *losses(*mean_losses(folds)))]


def ensemble_rows(ensemble: records.Ensemble) -> tuple[tuple[str, ...], ...]:
    """One line for one model and for all models of each arm."""
    return tuple(
        (
            f"{one.models} {one.arm}",
            number(one.loss),
            # What the models score alone: one of them says little about the next.
            "" if one.models == 1 else f"{number(min(one.singles))} to {number(max(one.singles))}",
            _change(one.change_percent, one.interval_percent),
            _change(one.augmentation_percent, one.augmentation_interval),
        )
        for one in ensemble.scores
    )


def _change(change: float | None, interval: tuple[float, float] | None) -> str:
    around = "" if interval is None else f" ({between(interval)})"
    return "" if change is None else f"{percent(change)}{around}"


def handed_over(result: RunResult) -> str:
    """What the run hands over beside the decision; empty when it is one model."""
    ensemble = result.ensemble
    return "" if ensemble is None else f"Handed over: the mean of {ensemble.models} {ensemble.arm} models."


def ensemble_sentences(result: RunResult) -> Iterator[str]:
    """How much of the change is the ensemble's and how much the augmentation's, and who tested what."""
    ensemble, decision, test = result.ensemble, result.verdict.decision, result.score
    if ensemble is None:
        return
    many = ensemble.models
    if test is None:
        yield f"No test rows were held back, so nobody compared the mean of {many} models with one model."
        return
    plain, augmented = ensemble.score("plain", many), ensemble.score("augmented", many)
    if plain is None or plain.change_percent is None:
        return
    if augmented is None or augmented.change_percent is None or augmented.augmentation_percent is None:
        why = "nothing was augmented" if decision == "abstained" else "the gate chose the plain model"
        yield (
            f"{many} plain models against one: {test.metric.upper()} {percent(plain.change_percent)} %. "
            f"The augmentation has no part in it: {why}."
        )
    else:
        yield (
            f"{many} augmented models against one plain model: {percent(augmented.change_percent)} %. Of this the "
            f"ensemble alone gives {percent(plain.change_percent)} % ({many} plain models against one), and the "
            f"augmentation changes that by {percent(augmented.augmentation_percent)} % ({many} augmented models "
            f"against {many} plain)."
        )
        yield _helps(augmented, many, test)
    if len(set(plain.singles)) == 1:
        yield f"All {many} models are the same: this regressor draws nothing, so one of them would do."
    elif augmented is not None:
        tested = "Nobody tested the augmentation" if decision == "ungated" else "The gate judged one model against one"
        yield f"{tested}: whether an ensemble gains by it, only these test rows say."


def _helps(augmented: records.EnsembleScore, many: int, test: records.TestScore) -> str:
    interval = augmented.augmentation_interval
    if interval is None:
        return f"{count(test.rows, 'test row')} are too few to say how sure that is."
    sure = f"({setting(100 * test.level)} % interval {between(interval)})"
    if interval[1] < 0:
        return f"So the augmentation helps an ensemble, too {sure}."
    if interval[0] > 0:
        plain = f"{many} plain models err less"
        return f"So on these rows the augmentation hurts an ensemble {sure}: {plain}."
    return f"These rows cannot tell whether the augmentation helps an ensemble {sure}."
