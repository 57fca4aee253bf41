"""What the terminal says about a run, as data: lines and grids, before anything is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from crda_spec.records import Falsification, FeatureSensitivity, FeatureVerdict, FoldResult, RunResult, Sensitivity
from crda_spec.report.blocks import MOST_ROWS, Grid, Line, Section
from crda_spec.report.page_parts import control_sentence, tuning_blocks
from crda_spec.report.words.causal import (
    OUTCOMES,
    assumption_sentence,
    consequence_sentence,
    evidence_sentences,
    falsification_sentence,
    gain_sentence,
    ground_sentences,
    joint_check,
    moved_without_noise,
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
from crda_spec.report.words.ensemble import ensemble_blocks, handed_over
from crda_spec.report.words.gate import verdict_sentence
from crda_spec.report.words.numbers import (
    MOVEMENT_WORDS,
    STATUS_WORDS,
    change,
    listed,
    number,
    percent,
    share,
    shorten,
    shown,
)
from crda_spec.report.words.run import (
    DECISIONS,
    data_sentence,
    fits_words,
    fold_time_sentences,
    gate_sentence,
    held_out_spans,
    licence_sentence,
    nothing_sentence,
    partition_sentence,
    policy_sentence,
    propagation_sentence,
    rows_sentence,
    score_sentences,
    time_sentences,
)

MOST_STATEMENTS = 5
_MOST_REMEDIES = 6


def ground_lines(result: RunResult) -> tuple[Line, ...]:
    """What the certificate looked at, and what must hold for it to mean anything."""
    certificate = result.certificate
    assumed = tuple(Line(shown(assumption_sentence(one)), "soft", 2) for one in certificate.assumes)
    heading = (Line("Assumed:", "soft"),) if assumed else ()
    joint, free = certificate.joint, moved_without_noise(result)
    bad = joint_check(joint) if joint is not None and joint.failed else ""
    checks = (Line(text, "bad" if text == bad else "") for text in evidence_sentences(certificate, free))
    return (*(Line(text) for text in ground_sentences(certificate, free)), *checks, *heading, *assumed)


def remedy_lines(result: RunResult) -> tuple[Line, ...]:
    """What would let more features move, the smallest change first."""
    remedies = result.certificate.remedies
    lines = [Line(shown(remedy_sentence(remedy))) for remedy in remedies[:_MOST_REMEDIES]]
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
    lines = [Line(f"{OUTCOMES[found.outcome]}. {shown(falsification_sentence(found))}", tone)]
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
    lines = (Line(shown(sensitivity_sentence(found)), "strong"), Line(gain_sentence(result)))
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


_LONGEST_REASON = 400  # the whole reason is in certificate.json


def sections(result: RunResult) -> tuple[Section, ...]:
    """The summary, top to bottom: data, partition, falsification, action, gate, sensitivity, test, ensemble."""
    data = (
        Line(f"{shown(result.data.source)}: {data_sentence(result)}"),
        *(Line(text) for text in time_sentences(result.time)),
        *_notes(result.data.notes),
    )
    partition: tuple[Line | Grid, ...] = (
        Line(partition_sentence(result)),
        *(Line(text, "strong") for text in (licence_sentence(result),) if text),
        _partition_grid(result),
        *ground_lines(result),
    )
    parts = (
        Section("Data", data),
        Section("Partition", partition),
        Section("Remedies", remedy_lines(result)),
        Section("Falsification", falsification_blocks(result)),
        Section("Tuning", tuning_blocks(result)),
        Section("Action", _action(result)),
        Section("Gate", _gate(result)),
        Section("Sensitivity", sensitivity_blocks(result)),
        Section("Test", tuple(Line(text) for text in (*score_sentences(result), *_control(result)))),
        Section("Ensemble", ensemble_blocks(result)),
    )
    return tuple(part for part in parts if part.blocks)


def closing(result: RunResult, files: str | None) -> tuple[Line, ...]:
    """The decision, what it cost, and where the files are."""
    decision = result.verdict.decision
    tone = {"accepted": "good", "rejected": "bad", "ungated": "bad"}.get(decision, "strong")
    seconds = sum(result.timings.values())
    decided = " ".join(text for text in (DECISIONS[decision], handed_over(result)) if text)
    lines = [Line(f"{decided} ({fits_words(result.cost)}, {seconds:.1f} s)", tone)]
    if files is not None:
        lines.append(Line(f"Files: {shown(files)}"))
    return tuple(lines)


def _control(result: RunResult) -> tuple[str, ...]:
    said = "" if result.diagnostics is None else control_sentence(result.diagnostics)
    return (said,) if said else ()


def _notes(notes: Sequence[str]) -> tuple[Line, ...]:
    return tuple(Line(shown(note), "soft") for note in notes)


def _partition_grid(result: RunResult) -> Grid:
    """What the certificate says of every feature and what becomes of it; cut where it would fill the screen."""
    units = {column.name: column.unit for column in result.split.train.features}
    found = {movement.name: movement for movement in result.movements}
    verdicts = moving_first(result)
    hidden = len(verdicts) - MOST_ROWS
    return Grid(
        headers=("feature", "unit", "certificate", "in this run", "reason"),
        rows=tuple(
            (
                shown(verdict.name),
                shown(units.get(verdict.name) or "-"),
                STATUS_WORDS[verdict.status],
                MOVEMENT_WORDS[found[verdict.name].moves, found[verdict.name].licence],
                _reason(verdict),
            )
            for verdict in verdicts[:MOST_ROWS]
        ),
        toned=2,
        tones=tuple(_status_tone(verdict) for verdict in verdicts[:MOST_ROWS]),
        more=f"and {hidden} more, see certificate.json" if hidden > 0 else "",
    )


def _status_tone(verdict: FeatureVerdict) -> str:
    return "good" if verdict.perturbable else ("bad" if verdict.status == "blocked" else "soft")


def _reason(verdict: FeatureVerdict) -> str:
    """The reason, which spells out its path, where the path was written, and a warning."""
    parts = [shown(reason_sentence(verdict.reason)).rstrip(".")]
    if verdict.lines:
        parts.append(f"see {listed(tuple(dict.fromkeys(shown(line.where) for line in verdict.lines)))}")
    if verdict.warning:
        parts.append(f"warning: {shown(warning_sentence(verdict.warning))}")
    return shorten("; ".join(parts), _LONGEST_REASON, gap=" ... ")


def _action(result: RunResult) -> tuple[Line, ...]:
    made = result.counterfactuals
    if made is None:
        return (Line(nothing_sentence(result.verdict)),)
    weighted = result.data.weights is not None
    lines = [Line(rows_sentence(made, len(result.split.train), weighted=weighted))]
    action = made.action
    told = [f"{shown(name)}: {policy_sentence(made, name)}" for name in action.moved]
    told += [f"{shown(name)}: {propagation_sentence(made, name)}" for name in action.propagated]
    lines += [Line(text, indent=2) for text in told[:MOST_ROWS]]
    hidden = len(told) - MOST_ROWS
    if hidden > 0:
        lines.append(Line(f"and {hidden} more, see record.json", "soft", 2))
    return tuple(lines)


def _gate(result: RunResult) -> tuple[Line | Grid, ...]:
    verdict = result.verdict
    blocks: list[Line | Grid] = []
    if verdict.folds:
        blocks += [Line(text) for text in fold_time_sentences(result.time)]
        blocks.append(_gate_grid(verdict.folds, verdict.metric, held_out_spans(result)))
    numbers = gate_sentence(verdict)
    if numbers:
        blocks.append(Line(f"{numbers}."))
    blocks.append(Line(shown(verdict_sentence(verdict)), "strong"))
    return tuple(blocks)


def _gate_grid(folds: Sequence[FoldResult], metric: str, spans: Mapping[int, str]) -> Grid:
    """The paired fold losses and their means; the means stay when the table is cut.

    spans: the time that each fold held out; empty when rows have no order.
    """
    rows: list[tuple[str, ...]] = [
        (str(fold.fold), number(fold.plain), number(fold.augmented), _moved(fold.plain, fold.augmented))
        for fold in folds
    ]
    plain = sum(fold.plain for fold in folds) / len(folds)
    augmented = sum(fold.augmented for fold in folds) / len(folds)
    hidden = len(rows) - MOST_ROWS
    kept = [*rows[:MOST_ROWS], ("mean", number(plain), number(augmented), _moved(plain, augmented))]
    losses = [*((fold.plain, fold.augmented) for fold in folds[:MOST_ROWS]), (plain, augmented)]
    headers: tuple[str, ...] = ("fold", f"plain {metric.upper()}", f"augmented {metric.upper()}", "change %")
    if spans:
        headers = (*headers, "held out")
        kept = [(*row, spans.get(fold.fold, "")) for row, fold in zip(kept[:-1], folds, strict=False)] + [
            (*kept[-1], "")
        ]
    return Grid(
        headers=headers,
        rows=tuple(kept),
        numeric=(0, 1, 2, 3),
        toned=3,
        tones=tuple("good" if after < before else "bad" if after > before else "" for before, after in losses),
        more=f"and {hidden} more, see folds.csv" if hidden > 0 else "",
    )


def _moved(plain: float, augmented: float) -> str:
    moved = change(plain, augmented)
    return "n/a" if moved is None else percent(moved)
