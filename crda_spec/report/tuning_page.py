"""What a run says of its searches, on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crda_spec.records import RunResult, Study
from crda_spec.report.blocks import MOST_ROWS, Grid, Line
from crda_spec.report.figure_tuning import said, trials_plot
from crda_spec.report.wording import change, count, number, percent


def tuning_blocks(result: RunResult) -> tuple[Line | Grid, ...]:
    """The terminal's section; empty when nothing was searched."""
    if not result.studies:
        return ()
    lines: list[Line | Grid] = [Line(sentence) for sentence in tuning_sentences(result)]
    headers, rows = chosen_table(result.studies)
    if len(rows) > 1:
        hidden = len(rows) - MOST_ROWS
        more = f"and {hidden} more, see trials.csv" if hidden > 0 else ""
        kept = tuple(rows[:MOST_ROWS])
        lines.append(Grid(headers=headers, rows=kept, tones=("",) * len(kept), more=more))
    return tuple(lines)


def tuning_parts(result: RunResult) -> dict[str, Any] | None:
    """The page's section; None when nothing was searched."""
    if not result.studies:
        return None
    headers, rows = chosen_table(result.studies)
    return {
        "sentences": tuning_sentences(result),
        "figure": tuning_figure(result.studies),
        "headers": headers,
        "rows": rows if len(rows) > 1 else [],
    }


def tuning_figure(studies: Sequence[Study]) -> str:
    """The search on all rows: that of the knobs, where there is one."""
    return trials_plot(_shown(studies))


def _shown(studies: Sequence[Study]) -> Study:
    first = [study for study in studies if study.fold == 0] or list(studies)
    return first[-1]


def tuning_sentences(result: RunResult) -> tuple[str, ...]:
    """What was searched, where, and what was found."""
    told = [_sentence(study) for study in result.studies if study.fold == 0]
    inside = len({study.fold for study in result.studies if study.fold})
    if inside:
        told.append(
            f"The same was searched anew inside each of {count(inside, 'gate fold')}, on the training rows of that "
            "fold alone: nothing that a search found has seen a row that judges it."
        )
    late = sum(study.stopped == "time" for study in result.studies)
    if late:
        told.append(
            f"The clock ended {late} of the {len(result.studies)} searches: on another machine they may find something "
            "else, so this run cannot be repeated to the byte."
        )
    return tuple(told)


def _sentence(study: Study) -> str:
    where = f"{study.rows} rows set aside for it" if study.set_aside else f"all {study.rows} training rows"
    values = ", ".join(f"{name} {said(value)}" for name, value in sorted(study.chosen.values.items()))
    loss = study.mean_loss(study.chosen.losses)
    tried = f"{count(len(study.trials), 'trial')} on {where}, each on {len(study.held_rows)} inner folds"
    metric = study.metric.upper()
    if study.what == "regressor":
        return f"The regressor's settings, for both models: {values} (inner {metric} {number(loss)}; {tried})."
    extras = _extras(study)
    moved = change(study.mean_loss(study.plain), loss) if study.plain else None
    against = "" if moved is None else f", {percent(moved)} % against the plain model there"
    return (
        f"The augmentation's knobs: {values} (inner {metric} {number(loss)}{against}; {tried}{extras}). The best of "
        "many trials looks better than it is: the gate judges."
    )


def _extras(study: Study) -> str:
    pruned = sum(trial.state == "pruned" for trial in study.trials)
    again = sum(trial.repeats is not None for trial in study.trials)
    failed = sum(trial.state == "failed" for trial in study.trials)
    found = [(pruned, "pruned"), (again, "tried before"), (failed, "failed")]
    return "".join(f", {amount} {what}" for amount, what in found if amount)


def chosen_table(studies: Sequence[Study]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """What each search chose: gate fold, the loss it promised, and the values."""
    what = _shown(studies).what
    own = [study for study in studies if study.what == what]
    names = sorted({name for study in own for name in study.chosen.values})
    rows = [
        (
            str(study.fold) if study.fold else "set aside" if study.set_aside else "all rows",
            number(study.mean_loss(study.chosen.losses)),
            *(said(study.chosen.values[name]) for name in names),
        )
        for study in own
    ]
    return ("gate fold", f"inner {own[0].metric.upper()}", *names), rows
