"""What a run found, on one screen: at most 40 lines of 100 columns, the verdict first. `--verbose` says the rest.

A fixed page for a fixed width: what does not fit is counted, and stands whole in the report.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len, chop_cells

from crda_spec.counterfactual.whatif import example_change
from crda_spec.records import RunResult
from crda_spec.report.words import brief, causal, run
from crda_spec.report.words.numbers import percent, shorten, shown, wrapped

WIDTH = 100
MOST_LINES = 40
_NAMES = 38  # columns of a group's names
_LONGEST_NAME = 36
_MOST_DOUBTS = 3
_GAIN = 50  # columns of who is compared


@dataclass(frozen=True, slots=True)
class Line:
    """One line on the screen; `tone` is good, bad, strong, soft or empty, and colours its first `toned` letters."""

    text: str = ""
    tone: str = ""
    toned: int | None = None  # None: all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What a result does not know of its run."""

    name: str
    recipe: str = ""
    seed: int | None = None
    version: str = ""


def summary(result: RunResult, heading: Heading, files: str | None, *, with_teacher: bool = True) -> tuple[Line, ...]:
    """The screen, top to bottom. files: where the run was written; None when it was not.

    with_teacher: whether the folder has the teacher, who alone can be asked.
    """
    above = [_title(result, heading), Line(), *_verdict(result), Line()]
    gain = list(_gain(result))
    commands = _commands(result, files, heading.seed or 0, with_teacher=with_teacher)
    below = [*([*gain, Line()] if gain else []), *_counts(result), *commands]
    return (*above, *_moved(result, MOST_LINES - len(above) - len(below) - 1), Line(), *below)


def _ends(left: str, right: str) -> str:
    """One text at either end of a line; the left one gives way."""
    left = shorten(left, WIDTH - cell_len(right) - 2, gap="...")
    return f"{left}{' ' * (WIDTH - cell_len(left) - cell_len(right))}{right}".rstrip()


def _title(result: RunResult, heading: Heading) -> Line:
    target, kind = shown(result.split.train.target.name), result.settings.get("kind", "")
    parts = [shown(heading.name), f"{target} ({kind})" if kind else target]
    parts += [f"recipe {heading.recipe}"] if heading.recipe else []
    parts += [f"seed {heading.seed}"] if heading.seed is not None else []
    return Line(_ends(" · ".join(parts), heading.version), "strong")


def _wrapped(text: str, indent: int = 2, *, most: int = 4, hang: int | None = None) -> list[str]:
    """Lines of a paragraph; one that needs more than `most` is cut, and ends in dots."""
    lines = [piece for line in wrapped(text, WIDTH, indent, hang) for piece in chop_cells(line, WIDTH)]
    return lines if len(lines) <= most else [*lines[: most - 1], shorten(lines[most - 1], WIDTH - 4) + " ..."]


def _verdict(result: RunResult) -> Iterator[Line]:
    word, advice = brief.headline(result)
    accepted = "bad" if causal.is_contradicted(result) else "good"
    tone = {"accepted": accepted, "rejected": "bad", "ungated": "bad"}.get(result.verdict.decision, "strong")
    first, *others = _wrapped(f"{word}  {advice}", 0, hang=2)
    yield Line(first, tone, len(word))
    yield from map(Line, others)
    estimate = brief.gate_sentence(result)
    if result.score is None:
        yield from _paragraphs([estimate, brief.test_sentence(result)])
        return
    yield from _paragraphs([brief.test_sentence(result)])
    yield from _table(*brief.accuracy_table(result))
    yield from _paragraphs([estimate])


def _paragraphs(texts: Iterable[str]) -> Iterator[Line]:
    return (Line(line) for text in texts if text for line in _wrapped(text))


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Line]:
    """Numbers under their headers, set to the right; the last column, a unit, to the left."""
    widths = [max(cell_len(row[at]) for row in (headers, *rows)) for at in range(len(headers))]
    for row in (headers, *rows):
        name, *cells, unit = row
        numbers = "".join(
            " " * (3 + width - cell_len(cell)) + cell for cell, width in zip(cells, widths[1:], strict=False)
        )
        yield Line(f"    {name}{' ' * (widths[0] - cell_len(name))}{numbers}  {shorten(unit, 30)}".rstrip())


# --- which features moved


def _moved(result: RunResult, room: int) -> Iterator[Line]:
    """The groups of features within so many lines: paths, places and long lists of names give way first."""
    ground = "by the declared graph" if result.certificate.basis == "declared" else "by discovery, not certified"
    title = "WHAT MOVED" if result.counterfactuals is not None else "WHY NOTHING MOVED"
    yield Line(_ends(title, ground), "strong", len(title))
    last = [*_checks(result)]
    room -= 1
    while len(last) > max(3, room - 4):
        last.pop()
    groups = brief.feature_groups(result)
    width = min(_NAMES, max((cell_len(", ".join(group.names)) for group in groups), default=0))
    for most, paths in ((3, True), (2, True), (2, False), (1, False)):
        told = [_group(group, width, most, paths=paths) for group in groups]
        if sum(map(len, told)) + len(last) <= room:
            break
    lines: list[Line] = []
    for at, group in enumerate(told):
        left = sum(len(one.names) for one in groups[at:])
        if len(lines) + len(group) + (at + 1 < len(told)) + len(last) > room:
            lines.append(Line(f"  and {left} features more: see the report, or --verbose", "soft"))
            break
        lines += group
    yield from lines
    yield from last


def _group(group: brief.FeatureGroup, width: int, most: int, *, paths: bool) -> list[Line]:
    """Class, names and reason side by side, then the open path. width: columns of the names."""
    margin = 2 + max(10, len(group.word)) + 2
    names, room = _names(group.names, width, most), WIDTH - margin - width - 2
    reasons = [piece for line in wrapped(group.reason, room) for piece in chop_cells(line, room)]
    if len(reasons) > max(most, 2):
        reasons = [*reasons[: max(most, 2) - 1], shorten(reasons[max(most, 2) - 1], room - 4) + " ..."]
    tone = "bad" if group.badge == "blocked" else "good" if group.moves and "doubted" not in group.badge else "soft"
    lines: list[Line] = []
    for at, (name, reason) in enumerate(zip_longest(names, reasons, fillvalue="")):
        head = f"  {group.word if at == 0 else '':<{margin - 2}}"
        text = f"{head}{name}{' ' * (width + 2 - cell_len(name))}{reason}".rstrip()
        lines.append(Line(text, tone if at == 0 else "", 2 + len(group.word)))
    if group.path and paths:
        path = group.path + (f"   (of {group.names[0]})" if len(group.names) > 1 else "")
        lines += [Line(line, "soft") for line in _wrapped(path, margin + 2, most=2)]
    return lines


def _names(names: Sequence[str], width: int, most: int) -> list[str]:
    """As many names as fit into so many lines, and how many there are beside them."""
    lines: list[str] = []
    line = ""
    for at, name in enumerate(names):
        short = shorten(name, min(_LONGEST_NAME, width - 1), gap="...")
        comma = "," if at + 1 < len(names) else ""
        if line and cell_len(line) + 1 + cell_len(short + comma) > width:
            if len(lines) + 1 == most:
                return [*lines, _cut(line, names, at, width)]
            lines.append(line)
            line = ""
        line += (" " if line else "") + short + comma
    return [*lines, line]


def _cut(line: str, names: Sequence[str], at: int, width: int) -> str:
    """The last line of names, with `and 61 more` in place of as many names as that needs."""
    while line:
        text = f"{line.rstrip(',')} and {len(names) - at} more"
        if cell_len(text) <= width:
            return text
        kept = line.rstrip(",").rpartition(", ")[0]
        if not kept:
            break
        line, at = kept, at - 1
    return shorten(line.rstrip(","), width - len(" and 9999 more"), gap="...") + f" and {len(names) - at} more"


def _checks(result: RunResult) -> Iterator[Line]:
    """What would free more features, what the data say of the graph, and what speaks against trusting the run."""
    remedy = brief.remedy_sentence(result)
    yield from (Line(line) for line in (_wrapped(remedy, most=2) if remedy else ()))
    found = brief.graph_sentence(result)
    falsified = causal.is_contradicted(result)
    yield from (Line(line, "bad" if falsified else "") for line in (_wrapped(found, most=2) if found else ()))
    several = list(brief.doubts(result))
    for text in several[:_MOST_DOUBTS]:
        yield from (Line(line, "bad") for line in _wrapped(text, most=2, hang=4))
    if len(several) > _MOST_DOUBTS:
        yield Line(f"  {len(several) - _MOST_DOUBTS} more warnings: see the report, or --verbose", "bad")


# --- what the change is made of, and what the run cost


def _gain(result: RunResult) -> Iterator[Line]:
    """One line a control, the recipe itself last, with the points that the graph gave."""
    changes, score, controls = run.control_changes(result), result.score, result.controls
    if not changes or score is None:
        return
    yield Line(f"{'WHERE THE GAIN COMES FROM':{_GAIN + 2}}change of test {score.metric.upper()}", "strong", 25)
    for at, (words, change) in enumerate(changes, start=1):
        text = f"  {words:{_GAIN}}{percent(change):>7} %"
        if at == len(changes) and controls is not None and controls.graph_points is not None:
            text += f"   {run.graph_points(controls.graph_points)}"
        yield Line(text, "strong" if at == len(changes) else "")


def _counts(result: RunResult) -> Iterator[Line]:
    """What was read and lost, what a search chose, and what the run made and cost."""
    parts = (brief.made_words(result), brief.cost_words(result), brief.interval_words(result))
    texts = ((brief.data_sentence(result), 3), (brief.tuning_sentence(result), 2), (" · ".join(filter(None, parts)), 2))
    yield from (Line(line) for text, most in texts if text for line in _wrapped(text, 0, most=most))


def _commands(result: RunResult, files: str | None, seed: int, *, with_teacher: bool) -> Iterator[Line]:
    """Commands to copy: unbroken, however long the path is."""
    if files is None:
        return
    folder = shlex.quote(shown(files))
    yield Line(f"Report   {shown(files)}/report.html")
    yield Line(f"Check    crda-spec verify {folder}")
    if with_teacher and (question := _question(result, seed)):
        yield Line(f"Ask      crda-spec whatif {folder} {question}")


def _question(result: RunResult, seed: int) -> str:
    """What `whatif` can be asked of a training row, as it is typed; empty where no answer would lie among the data."""
    train = result.split.train
    example = example_change(train, {one.name: one.status for one in result.certificate.features}, seed=seed)
    if example is None:
        return ""
    row, feature, step = example
    return f"--row {int(train.row_ids[row]) + 1} {shlex.quote(f'{shown(train.names[feature])}=+{step:g}')}"
