"""The ensemble in a table and in sentences: what several models give, and what the augmentation gives beside that."""

from __future__ import annotations

from collections.abc import Iterator

from crda_spec.records import Decision, Ensemble, EnsembleScore, RunResult
from crda_spec.report.blocks import Grid, Line
from crda_spec.report.words.numbers import count, number, percent, setting


def ensemble_blocks(result: RunResult) -> tuple[Line | Grid, ...]:
    """The terminal's part of it; nothing when one model is handed over."""
    found = result.ensemble
    if found is None:
        return ()
    rows = ensemble_rows(found)
    grid = Grid(
        headers=("models", found.metric.upper(), "each alone", "against 1 plain, %", "against as many plain, %"),
        rows=rows,
        numeric=(1, 2, 3, 4),
        toned=0,
        tones=tuple("strong" if one.models > 1 and one.arm == found.arm else "" for one in found.scores),
    )
    return (grid, *(Line(text) for text in ensemble_sentences(result)))


def ensemble_rows(found: Ensemble) -> tuple[tuple[str, ...], ...]:
    """One line for one model and for all models of each arm."""
    return tuple(
        (
            f"{one.models} {one.arm}",
            number(one.loss),
            _range(one),
            _change(one.change_percent, one.interval_percent),
            _change(one.augmentation_percent, one.augmentation_interval),
        )
        for one in found.scores
    )


def _range(score: EnsembleScore) -> str:
    """What the models score alone: one of them says little about the next."""
    low, high = min(score.singles), max(score.singles)
    return "" if score.models == 1 else f"{number(low)} to {number(high)}"


def _change(change: float | None, interval: tuple[float, float] | None) -> str:
    if change is None:
        return ""
    if interval is None:
        return percent(change)
    return f"{percent(change)} ({percent(interval[0])} to {percent(interval[1])})"


def handed_over(result: RunResult) -> str:
    """What the run hands over beside the decision; empty when it is one model."""
    found = result.ensemble
    return "" if found is None else f"Handed over: the mean of {found.models} {found.arm} models."


def ensemble_sentences(result: RunResult) -> tuple[str, ...]:
    """How much of the change is the ensemble's and how much the augmentation's, and who tested what."""
    return () if result.ensemble is None else tuple(_sentences(result.ensemble, result.verdict.decision))


def _sentences(found: Ensemble, decision: Decision) -> Iterator[str]:
    metric, many = found.metric.upper(), found.models
    plain, augmented = found.score("plain", many), found.score("augmented", many)
    if plain is None or plain.change_percent is None:
        return
    if augmented is None or augmented.change_percent is None or augmented.augmentation_percent is None:
        why = "nothing was augmented" if decision == "abstained" else "the gate chose the plain model"
        yield (
            f"{many} plain models against one: {metric} {percent(plain.change_percent)} %. The augmentation has no "
            f"part in it: {why}."
        )
    else:
        yield (
            f"{many} augmented models against one plain model: {percent(augmented.change_percent)} %. Of this the "
            f"ensemble alone gives {percent(plain.change_percent)} % ({many} plain models against one), and the "
            f"augmentation changes that by {percent(augmented.augmentation_percent)} % ({many} augmented models "
            f"against {many} plain)."
        )
        yield _helps(augmented, found)
    if len(set(plain.singles)) == 1:
        yield f"All {many} models are the same: this regressor draws nothing, so one of them would do."
    elif augmented is not None:
        tested = "Nobody tested the augmentation" if decision == "ungated" else "The gate judged one model against one"
        yield f"{tested}: whether an ensemble gains by it, only these test rows say."


def _helps(augmented: EnsembleScore, found: Ensemble) -> str:
    interval, level = augmented.augmentation_interval, f"{setting(100 * found.level)} % interval"
    if interval is None:
        return f"{count(found.rows, 'test row')} are too few to say how sure that is."
    low, high = interval
    if high < 0:
        return f"So the augmentation helps an ensemble, too ({level} {percent(low)} to {percent(high)})."
    if low > 0:
        return (
            f"So on these rows the augmentation hurts an ensemble ({level} {percent(low)} to {percent(high)}): "
            f"{found.models} plain models err less."
        )
    return (
        f"These rows cannot tell whether the augmentation helps an ensemble ({level} {percent(low)} to "
        f"{percent(high)})."
    )
