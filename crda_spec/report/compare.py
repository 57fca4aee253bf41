"""Several runs on one page: the verdicts, the numbers, what differs in their specs, and which features moved where.

Numbers are only set side by side where that is fair; what stands against it is said at the top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crda_spec.records import RunResult
from crda_spec.report.figures import Change, changes_figure
from crda_spec.report.page import rendered
from crda_spec.report.words.gate import verdict_sentence
from crda_spec.report.words.numbers import STATUS_WORDS, count, number, p_value, percent, setting, shorten, shown
from crda_spec.report.words.run import fits_words, score_change

MOST_DIFFERENCES = 80
_LONGEST_VALUE = 120
_NOTHING = {"None": "", "[]": "", "{}": ""}  # a key that is absent and one that says nothing are the same


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedRun:
    """A finished run as the comparison needs it."""

    name: str
    folder: str
    result: RunResult
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Row:
    """One fact, a value a run; `differs` where not all are equal."""

    title: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


@dataclass(frozen=True, slots=True)
class _Cell:
    """A feature's verdict in one run; an empty status where the run does not have the feature."""

    status: str
    words: str


def render_comparison(runs: Sequence[ComparedRun]) -> str:
    """The page; equal runs in equal order give equal bytes."""
    letters = [_letter(index) for index in range(len(runs))]
    differences = list(_differences(runs))
    changes = [
        Change(f"{letter}: {run.name}", run.result.score.change_percent, run.result.score.interval_percent)
        for letter, run in zip(letters, runs, strict=True)
    ]
    figure = changes_figure(changes, title="Change on the test rows", metric=runs[0].result.score.metric)
    return rendered(
        "compare.html.j2",
        title=f"{count(len(runs), 'run')} side by side",
        heads=[(letter, run) for letter, run in zip(letters, runs, strict=True)],
        cautions=tuple(_cautions(runs)),
        facts=tuple(_facts(runs)),
        figure=figure.svg,
        differences=differences[:MOST_DIFFERENCES],
        more=max(0, len(differences) - MOST_DIFFERENCES),
        features=tuple(_features(runs)),
    )


def _letter(index: int) -> str:
    """A, B, ..., Z, AA: what a run is called on the page."""
    return (_letter(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def _cautions(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """What makes the numbers of these runs hard to compare."""
    data = [(run.record["data"]["sha256"], run.record["data"].get("test_sha256")) for run in runs]
    if len(set(data)) > 1:
        yield "The runs did not read the same data: a difference between them may come from the rows."
    elif len({run.record["data"].get("test_row_ids_sha256") for run in runs}) > 1:
        yield "The runs were tested on different rows of the same data: their errors differ for that reason too."
    if len({run.result.split.train.target.name for run in runs}) > 1:
        yield "The runs do not predict the same column: their errors cannot be compared."
    if len({run.result.score.metric for run in runs}) > 1:
        yield "The runs were scored by different measures: compare the changes, not the errors."
    if len({str(run.record["versions"]) for run in runs}) > 1:
        yield "The runs used different package versions; the records list them."
    if sum(run.result.verdict.decision == "accepted" for run in runs) > 0 and len(runs) > 2:
        yield (
            "The best of several runs looks better than it is. To choose among settings honestly, let the choice be "
            "made inside the gate's folds, or keep test rows that no run has seen."
        )


def _facts(runs: Sequence[ComparedRun]) -> Iterator[_Row]:
    results = [run.result for run in runs]

    def row(title: str, values: Sequence[object]) -> _Row:
        return _Row(title, tuple(shown(str(value)) for value in values))

    yield row("verdict", [result.verdict.decision for result in results])
    yield row("in one sentence", [verdict_sentence(result.verdict) for result in results])
    yield row(
        "data",
        [
            f"{result.data.source} ({run.record['data']['sha256'][:12]})"
            for run, result in zip(runs, results, strict=True)
        ],
    )
    yield row("training + test rows", [f"{len(result.split.train)} + {len(result.split.test)}" for result in results])
    if any(result.data.weights is not None for result in results):
        yield row("rows weighted by", [result.data.weights or "-" for result in results])
    yield row("regressor", [result.settings.get("kind", "") for result in results])
    yield row("teacher", [result.teacher.kind for result in results])
    yield row("graph", [result.certificate.basis for result in results])
    yield row("features that moved", [_moved(result) for result in results])
    yield row("synthetic rows", [_made(result) for result in results])
    yield row("gate: mean change of the fold losses", [_effect(result) for result in results])
    yield row("gate: folds in which it helped", [_helped(result) for result in results])
    yield row(
        "gate: p-value", ["-" if one.verdict.p_value is None else p_value(one.verdict.p_value) for one in results]
    )
    yield row(
        "test error, plain", [f"{result.score.metric.upper()} {number(result.score.plain)}" for result in results]
    )
    yield row("test error, augmented", [_augmented(result) for result in results])
    yield row("change on the test rows", [score_change(result.score) or "-" for result in results])
    if any(result.ensemble is not None for result in results):
        yield row("handed over", [_handed(result) for result in results])
    yield row("cost", [fits_words(result.cost) for result in results])
    yield row("seed", [run.record["seed"] for run in runs])


def _handed(result: RunResult) -> str:
    """One model, or the mean of several and what it scores."""
    arm = "augmented" if result.verdict.uses_augmented else "plain"
    if result.ensemble is None:
        return f"1 {arm} model"
    last = result.ensemble.scores[-1]
    return f"the mean of {last.models} {arm} models, {result.score.metric.upper()} {number(last.loss)}"


def _moved(result: RunResult) -> str:
    made = result.counterfactuals
    if made is None:
        return "none"
    names = [*made.action.moved, *(name for name in made.action.propagated if name not in made.action.moved)]
    return ", ".join(shorten(shown(name), 40) for name in names[:12]) + (
        f" and {len(names) - 12} more" if len(names) > 12 else ""
    )


def _made(result: RunResult) -> str:
    made = result.counterfactuals
    if made is None:
        return "0"
    return f"{len(made)}, weight {setting(made.weight)}, retention {setting(made.retention)}"


def _effect(result: RunResult) -> str:
    effect = result.verdict.effect_percent
    return "-" if effect is None else f"{percent(effect)} %"


def _helped(result: RunResult) -> str:
    folds = result.verdict.folds
    return f"{sum(fold.augmented < fold.plain for fold in folds)} of {len(folds)}" if folds else "-"


def _augmented(result: RunResult) -> str:
    score = result.score
    if score.augmented is None:
        return "-"
    return f"{score.metric.upper()} {number(score.augmented)}" + ("" if result.verdict.accepted else " (not used)")


def _differences(runs: Sequence[ComparedRun]) -> Iterator[_Row]:
    """Every value of the resolved specs that is not the same in all runs."""
    flat = [dict(_flat(run.record["spec"]["resolved"])) for run in runs]
    for key in sorted({key for one in flat for key in one}):
        row = _Row(key, tuple(shorten(shown(one.get(key, "-")), _LONGEST_VALUE) for one in flat))
        if len({_NOTHING.get(value := one.get(key, ""), value) for one in flat}) > 1:
            yield row


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for index, inner in enumerate(value, start=1):
            yield from _flat(inner, f"{path}.{index}")
    else:
        yield path, str(value)


def _features(runs: Sequence[ComparedRun]) -> Iterator[tuple[str, tuple[_Cell, ...]]]:
    """Each feature with its verdict in every run, in the order of the first run that has it."""
    verdicts = [{one.name: one.status for one in run.result.certificate.features} for run in runs]
    for name in dict.fromkeys(name for one in verdicts for name in one):
        cells = (
            _Cell(status := one.get(name, ""), STATUS_WORDS[status] if status else "not in this run")
            for one in verdicts
        )
        yield shown(name), tuple(cells)
