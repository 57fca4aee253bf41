"""The summary of a run on the terminal: colours for a person, stable plain text for a pipe.

First as data (lines, grids and the sections that hold them), then drawn. A pipe gets our words in ASCII, 100 columns
wide whatever the console believes its width to be, so that two runs can be compared with diff. Names and units stay as
the data spell them, where the console's encoding can write them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from crda_spec import __version__
from crda_spec.records import FeatureVerdict, RunResult
from crda_spec.report.summary import Heading, summary
from crda_spec.report.words import causal, gate, run
from crda_spec.report.words.numbers import (
    CLASS_WORDS,
    listed,
    p_number,
    percent,
    share,
    shorten,
    shown,
    wrapped,
)

MOST_ROWS = 20
MOST_STATEMENTS = 5
PLAIN_WIDTH = 100
_MOST_REMEDIES = 6
_LONGEST_REASON = 400  # the whole reason is in certificate.json
_LONGEST_NAME = 28
_GAIN_WIDTH = 44  # of who is compared
_ASCII = {"\N{MIDDLE DOT}": "|"}  # our only letter beyond ASCII, and what stands for it where it cannot be written
_STYLES = {"": "", "good": "bold green", "bad": "bold yellow", "strong": "bold", "soft": "dim"}


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph; `tone` is good, bad, strong, soft or empty."""

    text: str
    tone: str = ""
    indent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table: `numeric` columns are set to the right, `tones` colour each row's column `toned`."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    toned: int = 0
    tones: tuple[str, ...] = ()  # none: no row is coloured
    more: str = ""  # said below a table that was cut


@dataclass(frozen=True, slots=True)
class Section:
    """A headed part of the summary."""

    title: str
    blocks: tuple[Line | Grid, ...]


def sections(result: RunResult) -> tuple[Section, ...]:
    """The summary, top to bottom: data, partition, falsification, signs, action, gate, sensitivity, test, and so on."""
    data = f"{shown(result.data.source)}: {run.data_sentence(result)}"
    parts = {
        "Data": (
            *_lines((data, *run.time_sentences(result.time))),
            *(Line(shown(note), "soft") for note in result.data.notes),
        ),
        "Partition": _partition(result),
        "Remedies": _remedies(result),
        "Falsification": _falsification(result),
        "Signs": (*_lines(run.sign_sentences(result)), *(Line(text, "bad") for text in run.sign_warnings(result))),
        "Tuning": _tuning(result),
        "Action": _action(result),
        "Gate": _gate(result),
        "Sensitivity": _sensitivity(result),
        "Test": _lines(run.score_sentences(result)),
        "Intervals": _lines(run.interval_sentences(result)),
        _gain_title(result): _gain(result),
        "Ensemble": _ensemble(result),
    }
    calm = _without_green if causal.is_contradicted(result) else tuple
    made = (Section(title, calm(blocks)) for title, blocks in parts.items())
    return tuple(section for section in made if section.blocks)


def _without_green(blocks: Iterable[Line | Grid]) -> tuple[Line | Grid, ...]:
    """The data contradict the graph: nothing that rests on it looks fine."""
    return tuple(
        replace(one, tone="" if one.tone == "good" else one.tone)
        if isinstance(one, Line)
        else replace(one, tones=tuple("" if tone == "good" else tone for tone in one.tones))
        for one in blocks
    )


def closing(result: RunResult, files: str | None) -> tuple[Line, ...]:
    """The decision, what it cost, and where the files are."""
    decision = result.verdict.decision
    accepted = "bad" if causal.is_contradicted(result) else "good"
    tone = {"accepted": accepted, "rejected": "bad", "ungated": "bad"}.get(decision, "strong")
    decided = " ".join(text for text in (run.DECISIONS[decision], gate.handed_over(result)) if text)
    cost = f"{run.fits_words(result.cost)}, {sum(result.timings.values()):.1f} s"
    return (Line(f"{decided} ({cost})", tone), *(() if files is None else (Line(f"Files: {shown(files)}"),)))


def _lines(texts: Iterable[str]) -> Iterator[Line]:
    return (Line(text) for text in texts if text)


def _more(amount: int, most: int, file: str) -> str:
    """What is said of those that are not listed."""
    return f"and {amount - most} more, see {file}" if amount > most else ""


def _partition(result: RunResult) -> Iterator[Line | Grid]:
    """What may move, what the certificate looked at, and what must hold for it to mean anything."""
    certificate, without_noise = result.certificate, causal.moved_without_noise(result)
    yield Line(run.partition_sentence(result))
    if basis := run.basis_sentence(result):
        yield Line(basis, "strong")
    yield _partition_grid(result)
    yield from _lines(causal.ground_sentences(certificate, without_noise))
    failed = certificate.joint is not None and certificate.joint.failed
    for text in causal.evidence_sentences(certificate, without_noise):
        yield Line(text, "bad" if failed and text.startswith(causal.JOINT_CHECK) else "")
    if certificate.assumes:
        yield Line("Assumed:", "soft")
    for assumption in certificate.assumes:
        yield Line(shown(causal.assumption_sentence(assumption)), "soft", 2)


def _partition_grid(result: RunResult) -> Grid:
    """The class of every feature and what becomes of it; cut where it would fill the screen."""
    units = {column.name: column.unit for column in result.split.train.features}
    retention = 0.0 if result.counterfactuals is None else result.counterfactuals.retention
    movements = {movement.name: causal.movement_word(movement, retention) for movement in result.movements}
    verdicts = causal.moving_first(result)
    return Grid(
        headers=("feature", "unit", "class", "in this run", "reason"),
        rows=tuple(
            (
                shown(verdict.name),
                shown(units.get(verdict.name) or "-"),
                CLASS_WORDS[causal.badge(verdict.status, contradicted=causal.is_contradicted(result))],
                movements[verdict.name],
                reason,
            )
            for verdict, reason in zip(verdicts[:MOST_ROWS], _reasons(verdicts), strict=False)
        ),
        toned=2,
        tones=tuple(
            "bad" if verdict.status == "blocked" else "soft" if verdict.held else "good"
            for verdict in verdicts[:MOST_ROWS]
        ),
        more=_more(len(verdicts), MOST_ROWS, "certificate.json"),
    )


def _reasons(verdicts: Iterable[FeatureVerdict]) -> Iterator[str]:
    """The reason of each; one that is the same but for the feature's name is told once."""
    told: dict[str, str] = {}
    for verdict in verdicts:
        name, reason = shown(verdict.name), _reason(verdict)
        first = told.setdefault(reason.replace(name, ""), name)
        yield reason if first == name else f"as for {shorten(first, _LONGEST_NAME)}"


def _reason(verdict: FeatureVerdict) -> str:
    """The reason, which spells out its path, where the path was written, and a warning."""
    parts = [shown(causal.reason_sentence(verdict.held or verdict.reason)).rstrip(".")]
    if verdict.lines:
        parts.append(f"see {listed(tuple(dict.fromkeys(shown(line.where) for line in verdict.lines)))}")
    if verdict.warning:
        parts.append(f"warning: {shown(causal.warning_sentence(verdict.warning))}")
    return shorten("; ".join(parts), _LONGEST_REASON, gap=" ... ")


def _remedies(result: RunResult) -> Iterator[Line]:
    """What would let more features move, the smallest change first."""
    remedies = result.certificate.remedies
    yield from (Line(shown(causal.remedy_sentence(remedy))) for remedy in remedies[:_MOST_REMEDIES])
    if more := _more(len(remedies), _MOST_REMEDIES, "certificate.json"):
        yield Line(more, "soft")


def _falsification(result: RunResult) -> Iterator[Line | Grid]:
    """Whether the data contradict the declared graph, and the statements that they like least."""
    falsification = result.falsification
    if falsification is None:
        return
    first, *others = causal.falsification_sentences(falsification, result.certificate.repair)
    outcome = falsification.outcome.replace("_", " ").capitalize()
    yield Line(f"{outcome}. {first}", "bad" if falsification.outcome == "falsified" else "strong")
    yield from _lines(others)
    if worst := falsification.statements[:MOST_STATEMENTS]:
        yield Grid(
            headers=("p", "adjusted", "data say", "the graph calls independent"),
            rows=tuple(
                (
                    p_number(one.p_value),
                    p_number(one.adjusted),
                    "violated" if one.violated else "holds",
                    causal.statement_words(one),
                )
                for one in worst
            ),
            numeric=(0, 1),
            toned=2,
            tones=tuple("bad" if one.violated else "good" for one in worst),
            more=_more(len(falsification.statements), MOST_STATEMENTS, "record.json"),
        )
    yield from _lines((causal.suggestion_sentence(falsification),))


def _tuning(result: RunResult) -> Iterator[Line | Grid]:
    if not result.studies:
        return
    yield from _lines(run.tuning_sentences(result.studies))
    headers, rows = run.chosen_table(result.studies)
    if rows:
        yield Grid(headers=headers, rows=rows[:MOST_ROWS], more=_more(len(rows), MOST_ROWS, "trials.csv"))


def _action(result: RunResult) -> Iterator[Line]:
    made = result.counterfactuals
    if made is None:
        yield Line(run.nothing_sentence(result.verdict))
        return
    yield Line(run.rows_sentence(made, len(result.split.train), weighted=result.data.weights is not None))
    yield from _lines(run.trust_sentences(result))
    moves = [f"{shown(name)}: {run.policy_sentence(made, name)}" for name in made.action.moved]
    moves += [f"{shown(name)}: {run.propagation_sentence(made, name)}" for name in made.action.propagated]
    yield from (Line(text, indent=2) for text in moves[:MOST_ROWS])
    if more := _more(len(moves), MOST_ROWS, "record.json"):
        yield Line(more, "soft", 2)


def _gate(result: RunResult) -> Iterator[Line | Grid]:
    verdict = result.verdict
    if verdict.folds:
        yield from _lines(run.fold_time_sentences(result.time))
        yield _gate_grid(result)
    if numbers := run.gate_sentence(verdict):
        yield Line(f"{numbers}.")
    yield Line(shown(gate.verdict_sentence(verdict)), "strong")


def _gate_grid(result: RunResult) -> Grid:
    """The paired fold losses and their means; the means stay when the table is cut."""
    folds, metric = result.verdict.folds, result.verdict.metric.upper()
    *rows, means = [(number, *losses) for number, _, _, *losses in gate.fold_rows(folds)]
    rows = [*rows[:MOST_ROWS], means]
    losses = [*((fold.plain, fold.augmented) for fold in folds[:MOST_ROWS]), gate.mean_losses(folds)]
    headers: tuple[str, ...] = ("fold", f"plain {metric}", f"augmented {metric}", "change %")
    if result.time is not None and result.time.folds:  # the time that each fold held out
        spans = {str(fold.fold): run.span_words(fold.held_out) for fold in result.time.folds}
        headers, rows = (*headers, "held out"), [(*row, spans.get(row[0], "")) for row in rows]
    return Grid(
        headers=headers,
        rows=tuple(rows),
        numeric=(0, 1, 2, 3),
        toned=3,
        tones=tuple("good" if after < before else "bad" if after > before else "" for before, after in losses),
        more=_more(len(folds), MOST_ROWS, "folds.csv"),
    )


def _sensitivity(result: RunResult) -> Iterator[Line | Grid]:
    """How strong a hidden cause would have to be: a number for each moved feature, the weakest first."""
    found, target = result.sensitivity, result.split.train.target.name
    for index, text in enumerate(causal.sensitivity_sentences(result)):
        yield Line(text, "strong" if found is not None and index == 0 else "")
    if found is None or not found.features:
        return
    ordered = sorted(found.features, key=lambda feature: feature.robustness)
    yield Grid(
        headers=("feature", "a hidden cause must explain", "the strongest measured one explains"),
        rows=tuple(
            (
                shown(feature.name),
                # Nothing can use up the gain where no noise is carried or nothing moved.
                f"{share(feature.robustness)} of each" if math.isfinite(feature.limit) else "-",
                causal.yardstick_words(feature, target),
            )
            for feature in ordered[:MOST_ROWS]
        ),
        more=_more(len(ordered), MOST_ROWS, "record.json"),
    )


def _gain_title(result: RunResult) -> str:
    metric = "" if result.score is None else result.score.metric.upper()
    return f"{'WHERE THE GAIN COMES FROM':{_GAIN_WIDTH}}change of test {metric}"


def _gain(result: RunResult) -> Iterator[Line]:
    """One line a control, the recipe itself last, with the points that the graph gave."""
    controls, changes = result.controls, run.control_changes(result)
    for at, (words, change) in enumerate(changes, start=1):
        last = at == len(changes)
        text = f"{words:{_GAIN_WIDTH}}{percent(change):>7} %"
        if last and controls is not None and controls.graph_points is not None:
            text += f"   {run.graph_points(controls.graph_points)}"
        yield Line(text, "strong" if last else "")
    yield from _lines((run.shift_sentence(result),))


def _ensemble(result: RunResult) -> Iterator[Line | Grid]:
    ensemble, score = result.ensemble, result.score
    if ensemble is None:
        return
    if score is not None:
        yield Grid(
            headers=("models", score.metric.upper(), "each alone", "against 1 plain, %", "against as many plain, %"),
            rows=gate.ensemble_rows(ensemble),
            numeric=(1, 2, 3, 4),
            tones=tuple("strong" if one.models > 1 and one.arm == ensemble.arm else "" for one in ensemble.scores),
        )
    yield from _lines(gate.ensemble_sentences(result))


def print_summary(
    result: RunResult,
    *,
    name: str,
    files: str | None,
    console: Console,
    recipe: str = "",
    seed: int | None = None,
    verbose: bool = False,
) -> None:
    """Prints what the run found, on one screen; verbose: every section after it.

    files: where the run was written; None when it was not.
    """
    heading = Heading(name=name, recipe=recipe, seed=seed, version=f"crda-spec {__version__}")
    folder = None if files is None else Path(files)
    with_teacher = folder is None or not folder.is_dir() or (folder / "teacher").is_dir()
    screen = summary(result, heading, files, with_teacher=with_teacher)
    if console.is_terminal:
        console.print()
        for line in screen:
            toned = len(line.text) if line.toned is None else line.toned
            text = Text.assemble((line.text[:toned], _STYLES[line.tone]), line.text[toned:])
            console.print(text, soft_wrap=True)
    else:
        _write("\n".join(line.text for line in screen) + "\n" * (1 + verbose), console)
    if verbose:
        print_sections(f"crda-spec run: {shown(name)}", sections(result), closing(result, files), console=console)


def _write(text: str, console: Console) -> None:
    """To a pipe, which may not be able to write every letter."""
    encoding = console.encoding
    for ours, plain in _ASCII.items():
        try:
            ours.encode(encoding)
        except UnicodeEncodeError:
            text = text.replace(ours, plain)
    console.out(text.encode(encoding, "backslashreplace").decode(encoding), end="", highlight=False)


def print_sections(title: str, parts: Sequence[Section], last: Sequence[Line], *, console: Console) -> None:
    """Prints a title, the sections below it and the closing lines."""
    if console.is_terminal:
        _print_rich(title, parts, last, console)
        return
    _write("\n".join(_plain_lines(title, parts, last)) + "\n", console)


def _plain_lines(title: str, parts: Sequence[Section], last: Sequence[Line]) -> Iterator[str]:
    """The summary as lines of plain text."""
    yield title
    yield "=" * cell_len(title)
    for section in parts:
        yield ""
        yield section.title
        for block in section.blocks:
            if isinstance(block, Line):
                yield from wrapped(block.text, PLAIN_WIDTH, 2 + block.indent)
            else:
                yield from _plain_grid(block)
    if last:
        yield ""
    yield from (line.text for line in last)  # unbroken: the path is there to be copied


def _plain_grid(grid: Grid) -> Iterator[str]:
    """Columns parted by two spaces; the last one wraps under itself."""
    rows = [(*(shorten(cell, _LONGEST_NAME, gap="...") for cell in row[:-1]), row[-1]) for row in grid.rows]
    widths = [max(cell_len(row[column]) for row in (grid.headers, *rows)) for column in range(len(grid.headers))]
    start = 2 + sum(width + 2 for width in widths[:-1])
    ruled = (*("-" * width for width in widths[:-1]), "-" * min(widths[-1], PLAIN_WIDTH - start))
    for row in (grid.headers, ruled, *rows):
        cells = [_aligned(cell, widths[i], right=i in grid.numeric) for i, cell in enumerate(row[:-1])]
        tail = _tail(row[-1], widths[-1], start, right=len(row) - 1 in grid.numeric)
        yield ("  " + "".join(cell + "  " for cell in cells) + tail[0]).rstrip()
        yield from (" " * start + more for more in tail[1:])
    if grid.more:
        yield f"  {grid.more}"


def _aligned(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space


def _tail(cell: str, width: int, start: int, *, right: bool) -> list[str]:
    """The last cell of a row, over as many lines as it needs."""
    if right:
        return [_aligned(cell, width, right=True)]
    room = PLAIN_WIDTH - start
    return [piece for line in wrapped(cell, room) or [""] for piece in (chop_cells(line, room) or [""])]


def _print_rich(title: str, parts: Sequence[Section], last: Sequence[Line], console: Console) -> None:
    console.print()
    console.print(Rule(Text(title, style="bold"), align="left", style="cyan"))
    for section in parts:
        console.print(Text(section.title, style="bold cyan"))
        for block in section.blocks:
            if isinstance(block, Line):
                console.print(Padding(Text(block.text, style=_STYLES[block.tone]), (0, 0, 0, 2 + block.indent)))
            else:
                console.print(Padding(_rich_grid(block), (0, 0, 0, 2)))
        console.print()
    for line in last:
        console.print(Text(line.text, style=_STYLES[line.tone]), soft_wrap=True)


def _rich_grid(grid: Grid) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim", show_edge=False)
    for index, header in enumerate(grid.headers):
        right = index in grid.numeric
        longest = max((cell_len(row[index]) for row in grid.rows), default=0)
        wraps = index == len(grid.headers) - 1 or longest > _LONGEST_NAME
        drawn.add_column(Text(header), justify="right" if right else "left", overflow="fold", no_wrap=not wraps)
    for row, tone in zip(grid.rows, grid.tones or ("",) * len(grid.rows), strict=True):
        cells = [shorten(cell, _LONGEST_NAME, gap="...") for cell in row[:-1]] + [row[-1]]
        drawn.add_row(*(Text(cell, style=_STYLES[tone] if i == grid.toned else "") for i, cell in enumerate(cells)))
    if grid.more:
        drawn.caption = Text(grid.more)
        drawn.caption_justify = "left"
    return drawn
