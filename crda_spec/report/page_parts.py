"""The parts of the page: partition and graph, the new rows, the searches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crda_spec.records import Diagnostics, FeatureVerdict, MovedFeature, RunResult, Study
from crda_spec.report.blocks import MOST_ROWS, Grid, Line
from crda_spec.report.figures import Picture, sensitivity_figure, trials_figure
from crda_spec.report.graph_draw import anchors
from crda_spec.report.words.causal import (
    OUTCOMES,
    assumption_sentence,
    closing_sentence,
    consequence_sentence,
    evidence_sentences,
    falsification_sentence,
    gain_sentence,
    ground_sentences,
    lemma_sentence,
    moved_without_noise,
    movement_sentence,
    moving_first,
    permutation_sentence,
    reason_sentence,
    remedy_sentence,
    sensitivity_absence,
    sensitivity_sentence,
    statement_numbers,
    statement_words,
    suggestion_sentence,
    tested_sentence,
    warning_sentence,
    yardstick_words,
)
from crda_spec.report.words.numbers import (
    STATUS_WORDS,
    change,
    count,
    in_unit,
    listed,
    number,
    percent,
    setting,
    setting_text,
    share,
    shown,
)

MOST_STATEMENTS = 12
MOST_MAPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRow:
    """A row of the partition table."""

    anchor: str  # where the graph's box leads to
    name: str
    unit: str
    status: str
    verdict: str
    movement: str
    moves: str
    reason: str
    witness: str
    lines: tuple[tuple[str, str], ...]  # edge, where it was written
    closing: str
    lemma: str
    evidence: str
    warning: str


@dataclass(frozen=True, slots=True)
class StatementRow:
    """What the graph calls independent, and what the rows say."""

    words: str
    p_value: str
    adjusted: str
    violated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FalsificationPart:
    """The test of the graph."""

    outcome: str
    falsified: bool
    sentences: tuple[str, ...]
    rows: tuple[StatementRow, ...]
    more: int  # statements that the table leaves out


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """One moved feature, with a map ("" where there is none)."""

    name: str
    robustness: str
    moved: str
    yardstick: str
    figure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityPart:
    """What a hidden cause would have to be like."""

    sentences: tuple[str, ...]
    rows: tuple[SensitivityRow, ...]
    mapped: bool


def causal_parts(result: RunResult) -> dict[str, object]:
    """What the template needs for its causal sections, by name."""
    free = moved_without_noise(result)
    return {
        "features": tuple(_features(result)),
        "ground": ground_sentences(result.certificate, free),
        "assumptions": tuple(map(assumption_sentence, result.certificate.assumes)),
        "evidence": evidence_sentences(result.certificate, free),
        "remedies": tuple(shown(remedy_sentence(remedy)) for remedy in result.certificate.remedies),
        "falsification": _falsification(result),
        "sensitivity": _sensitivity(result),
    }


def _features(result: RunResult) -> Iterator[FeatureRow]:
    """Those that move come first, as on the terminal."""
    units = {column.name: column.unit or "" for column in result.split.train.features}
    places = anchors(result.certificate.features)
    found = {movement.name: movement for movement in result.movements}
    for verdict in moving_first(result):
        yield FeatureRow(
            anchor=places[verdict.name],
            name=shown(verdict.name),
            unit=shown(units.get(verdict.name, "")),
            status=verdict.status,
            verdict=STATUS_WORDS[verdict.status],
            movement=shown(movement_sentence(found[verdict.name])),
            moves=found[verdict.name].moves,
            reason=shown(reason_sentence(verdict.reason)),
            witness=shown(" ".join(verdict.witness)),
            lines=tuple((shown(line.edge), shown(line.where)) for line in verdict.lines),
            closing=closing_sentence(verdict),
            lemma=shown(lemma_sentence(verdict.lemma)),
            evidence=_evidence(verdict),
            warning=shown(warning_sentence(verdict.warning)),
        )


def _evidence(verdict: FeatureVerdict) -> str:
    """What was measured, the p-values last; the order is our own, since a record on disk keeps none."""
    measured = sorted(verdict.evidence.items(), key=lambda item: ("p_value" in item[0], item[0]))
    return ", ".join(f"{key.replace('_', ' ')} {setting(value)}" for key, value in measured)


def _falsification(result: RunResult) -> FalsificationPart | None:
    found = result.falsification
    if found is None:
        return None
    said = (
        shown(falsification_sentence(found)),
        consequence_sentence(found),
        tested_sentence(found),
        permutation_sentence(found),
        suggestion_sentence(found),
    )
    return FalsificationPart(
        outcome=OUTCOMES[found.outcome],
        falsified=found.outcome == "falsified",
        sentences=tuple(sentence for sentence in said if sentence),
        rows=tuple(
            StatementRow(statement_words(statement), *statement_numbers(statement), statement.violated)
            for statement in found.statements[:MOST_STATEMENTS]
        ),
        more=max(0, len(found.statements) - MOST_STATEMENTS),
    )


def _sensitivity(result: RunResult) -> SensitivityPart | None:
    found = result.sensitivity
    if found is None:
        absence = sensitivity_absence(result)
        return SensitivityPart(sentences=(absence,), rows=(), mapped=False) if absence else None
    rows = tuple(_sensitivity_rows(result))
    return SensitivityPart(
        sentences=(shown(sensitivity_sentence(found)), gain_sentence(result)),
        rows=rows,
        mapped=any(row.figure for row in rows),
    )


def _sensitivity_rows(result: RunResult) -> Iterator[SensitivityRow]:
    train, found = result.split.train, result.sensitivity
    units = {column.name: column.unit for column in train.features}
    for index, feature in enumerate(found.features if found is not None else ()):
        drawn = 0 < feature.limit < math.inf and index < MOST_MAPS
        unit = units.get(feature.name)
        yield SensitivityRow(
            name=in_unit(feature.name, unit),
            robustness=share(feature.robustness) if math.isfinite(feature.limit) else "-",
            moved=number(feature.moved_sd),
            yardstick=yardstick_words(feature, train.target.name),
            figure=sensitivity_figure(feature, train.target.name).svg if drawn else "",
        )


LOUD = 0.1  # standard deviations of the target: more than this, and an "irrelevant" feature is not flat


# By name of the figure (several share one up to their number): what to see in it.
CAPTIONS = {
    "rows_plane": "rings far from every grey dot are rows where no real row is, and where the teacher guesses. In "
    "brackets, the share of the variance of the standardised features.",
    "rows_pair": "whether the rings keep to the shape of the grey cloud, or break a tie that the data have.",
    "teacher_effects": "the teacher's mean word along each moved feature. A feature called irrelevant should be a flat "
    "line; the number also counts effects that differ from row to row.",
    "noise_quantiles": "on the line, the new rows carry noise like the real ones; flatter, they carry less.",
    "error_quantiles": "flatter than the line means smaller errors; a bend at an end means that the largest errors "
    "changed.",
    "gain_parts": "the step from the first bar to the second is the teacher's labels, from the second to the third the "
    "new places. Shorter is better.",
}


@dataclass(frozen=True, slots=True)
class MovedRow:
    """A row of the table: how far a feature moved."""

    name: str
    changed: str
    median: str
    far: str
    in_sd: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsPart:
    """The section of the page."""

    sentences: tuple[str, ...]
    rows: tuple[MovedRow, ...]
    figures: tuple[tuple[str, str], ...]  # SVG, what to see


def rows_part(result: RunResult, figures: Mapping[str, Picture]) -> RowsPart | None:
    """The section on the new rows; None when there are none, or nobody looked."""
    found = result.diagnostics
    if found is None:
        return None
    return RowsPart(
        sentences=rows_sentences(result),
        rows=tuple(_row(one, result) for one in found.moved),
        figures=tuple(
            (picture.svg, CAPTIONS[kind])
            for name, picture in figures.items()
            if (kind := name.rstrip("_0123456789")) in CAPTIONS
        ),
    )


def rows_sentences(result: RunResult) -> tuple[str, ...]:
    """What the numbers say, for the page; the terminal takes the last two."""
    found = result.diagnostics
    if found is None:
        return ()
    said = [_outside(found)]
    apart = found.disagreement
    if apart is not None:
        times = apart.new_median / apart.real_median if apart.real_median > 0 else float("inf")
        unit = f" {shown(result.split.train.target.unit)}" if result.split.train.target.unit else ""
        said.append(
            f"The teacher's {apart.members} members differ by {number(apart.new_median)}{unit} at a typical new row, "
            f"and by {number(apart.real_median)} at a real one (standard deviation; {number(times, 2)} times as much)."
        )
    said += [sentence for sentence in (flat_sentence(result), control_sentence(found)) if sentence]
    return tuple(said)


def _outside(found: Diagnostics) -> str:
    places = found.places
    part = share(places.outside) if places.outside else "None"
    return (
        f"{part} of {count(places.rows, 'new row')} that were asked about lie farther from the data than 95 % of real "
        "rows lie from each other, or break a tie among the numbers."
    )


def flat_sentence(result: RunResult) -> str:
    """Whether what the graph calls irrelevant leaves the teacher alone; empty where the question does not arise."""
    found, verdicts = result.diagnostics, {one.name: one for one in result.certificate.features}
    if found is None:
        return ""
    asked = [one for one in found.moved if _irrelevant(verdicts[one.name])]
    if not asked:
        return ""
    loud = [one for one in asked if one.effect > LOUD]
    if not loud:
        names = listed(tuple(shown(one.name) for one in asked))
        return f"The graph calls {names} irrelevant, and the teacher is flat there, as it should be."
    told = listed(tuple(f"{shown(one.name)} ({share(one.effect)} of the target's standard deviation)" for one in loud))
    return f"The graph calls irrelevant what moves the teacher: {told}. Doubt the model there, or the graph."


def _irrelevant(verdict: FeatureVerdict) -> bool:
    return verdict.status == "irrelevant"


def control_sentence(found: Diagnostics) -> str:
    """How much of the change needs no new place; empty without the control."""
    control = found.control
    if control is None:
        return ""
    total = control.teacher_percent + control.places_percent
    return (
        f"Of the change of {percent(total)} % on the test rows, {percent(control.teacher_percent)} points come without "
        "moving anything (the same student on the real rows, labelled again by the same rule), and "
        f"{percent(control.places_percent)} points from the new places."
    )


def _row(one: MovedFeature, result: RunResult) -> MovedRow:
    column = next(column for column in result.split.train.features if column.name == one.name)
    median, far, in_sd = ("-" if value is None else number(value, 3) for value in (one.median, one.far, one.in_sd))
    return MovedRow(in_unit(one.name, column.unit), share(one.changed), median, far, in_sd, share(one.effect))


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
    return trials_figure(_shown(studies)).svg


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
    values = ", ".join(f"{name} {setting_text(value)}" for name, value in sorted(study.chosen.values.items()))
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
            *(setting_text(study.chosen.values[name]) for name in names),
        )
        for study in own
    ]
    return ("gate fold", f"inner {own[0].metric.upper()}", *names), rows
