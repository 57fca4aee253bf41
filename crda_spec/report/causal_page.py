"""The causal parts of the page: the partition with its reasons, remedies, falsification and sensitivity, as rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from crda_spec.records import FeatureVerdict, RunResult
from crda_spec.report.causal_sentences import (
    OUTCOMES,
    closing_sentence,
    consequence_sentence,
    evidence_sentences,
    gain_sentence,
    ground_sentences,
    moved_without_noise,
    moving_first,
    permutation_sentence,
    sensitivity_absence,
    statement_numbers,
    statement_words,
    suggestion_sentence,
    tested_sentence,
    yardstick_words,
)
from crda_spec.report.figure_sensitivity import sensitivity_map
from crda_spec.report.graph_page import anchors
from crda_spec.report.wording import STATUS_WORDS, in_unit, number, setting, share, shown

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
        "evidence": evidence_sentences(result.certificate, free),
        "remedies": tuple(shown(remedy.sentence) for remedy in result.certificate.remedies),
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
            movement=shown(found[verdict.name].sentence),
            moves=found[verdict.name].moves,
            reason=shown(verdict.reason),
            witness=shown(" ".join(verdict.witness)),
            lines=tuple((shown(line.edge), shown(line.where)) for line in verdict.lines),
            closing=closing_sentence(verdict),
            lemma=shown(verdict.lemma),
            evidence=_evidence(verdict),
            warning=shown(verdict.warning),
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
        shown(found.sentence),
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
        sentences=(shown(found.sentence), gain_sentence(result)), rows=rows, mapped=any(row.figure for row in rows)
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
            figure=sensitivity_map(feature, train.target.name) if drawn else "",
        )
