"""The causal part of the terminal's summary: what the certificate rests on, remedies, falsification, sensitivity."""

from __future__ import annotations

import math

from crda_spec.records import Falsification, FeatureSensitivity, RunResult, Sensitivity
from crda_spec.report.blocks import MOST_ROWS, Grid, Line
from crda_spec.report.causal_sentences import (
    JOINT,
    OUTCOMES,
    consequence_sentence,
    evidence_sentences,
    gain_sentence,
    ground_sentences,
    moved_without_noise,
    permutation_sentence,
    sensitivity_absence,
    statement_numbers,
    statement_words,
    suggestion_sentence,
    tested_sentence,
    yardstick_words,
)
from crda_spec.report.wording import share, shown

MOST_STATEMENTS = 5
_MOST_REMEDIES = 6


def ground_lines(result: RunResult) -> tuple[Line, ...]:
    """What the certificate looked at, and what must hold for it to mean anything."""
    certificate = result.certificate
    assumed = tuple(Line(shown(text), "soft", 2) for text in certificate.assumes)
    heading = (Line("Assumed:", "soft"),) if assumed else ()
    failed = certificate.joint is not None and certificate.joint.failed
    free = moved_without_noise(result)
    checks = (
        Line(text, "bad" if failed and text.startswith(JOINT) else "") for text in evidence_sentences(certificate, free)
    )
    return (*(Line(text) for text in ground_sentences(certificate, free)), *checks, *heading, *assumed)


def remedy_lines(result: RunResult) -> tuple[Line, ...]:
    """What would let more features move, the smallest change first."""
    remedies = result.certificate.remedies
    lines = [Line(shown(remedy.sentence)) for remedy in remedies[:_MOST_REMEDIES]]
    hidden = len(remedies) - _MOST_REMEDIES
    if hidden > 0:
        lines.append(Line(f"and {hidden} more, see certificate.json", "soft"))
    return tuple(lines)


def falsification_blocks(result: RunResult) -> tuple[Line | Grid, ...]:
    """Whether the data contradict the declared graph; nothing without one."""
    found = result.falsification
    if found is None:
        return ()
    tone = "bad" if found.outcome == "falsified" else "strong"
    lines = [Line(f"{OUTCOMES[found.outcome]}. {shown(found.sentence)}", tone)]
    after = (consequence_sentence(found), tested_sentence(found), permutation_sentence(found))
    lines += [Line(text) for text in after if text]
    grid = (_statements(found),) if found.statements else ()
    suggested = suggestion_sentence(found)
    return (*lines, *grid, *((Line(suggested),) if suggested else ()))


def _statements(found: Falsification) -> Grid:
    """The statements that the data like least."""
    worst = found.statements[:MOST_STATEMENTS]
    hidden = len(found.statements) - len(worst)
    return Grid(
        headers=("p", "adjusted", "data say", "the graph calls independent"),
        rows=tuple(
            (*statement_numbers(statement), "violated" if statement.violated else "holds", statement_words(statement))
            for statement in worst
        ),
        numeric=(0, 1),
        toned=2,
        tones=tuple("bad" if statement.violated else "good" for statement in worst),
        more=f"and {hidden} more, see record.json" if hidden > 0 else "",
    )


def sensitivity_blocks(result: RunResult) -> tuple[Line | Grid, ...]:
    """How strong a hidden cause would have to be; or why there is nothing to say; nothing without a graph."""
    found = result.sensitivity
    if found is None:
        absence = sensitivity_absence(result)
        return (Line(absence),) if absence else ()
    lines = (Line(shown(found.sentence), "strong"), Line(gain_sentence(result)))
    return (*lines, _robustness(found, result.split.train.target.name)) if found.features else lines


def _needed(feature: FeatureSensitivity) -> str:
    """What uses up the gain; a dash where nothing can, since no noise is carried or nothing moved."""
    return f"{share(feature.robustness)} of each" if math.isfinite(feature.limit) else "-"


def _robustness(found: Sensitivity, target: str) -> Grid:
    """A number for each moved feature, the weakest first, and its yardstick."""
    ordered = sorted(found.features, key=lambda feature: feature.robustness)
    hidden = len(ordered) - MOST_ROWS
    return Grid(
        headers=("feature", "a hidden cause must explain", "the strongest measured one explains"),
        rows=tuple(
            (shown(feature.name), _needed(feature), yardstick_words(feature, target)) for feature in ordered[:MOST_ROWS]
        ),
        toned=1,
        tones=("",) * min(len(ordered), MOST_ROWS),
        more=f"and {hidden} more, see record.json" if hidden > 0 else "",
    )
