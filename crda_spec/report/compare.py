"""Several runs on one page: the verdicts, the numbers, what differs in their specs, and which features moved where.

Numbers are only set side by side where that is fair; what stands against it is said at the top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crda_spec.records import RunResult, rows_of
from crda_spec.report.figures import Change, changes_figure
from crda_spec.report.page import rendered
from crda_spec.report.words.causal import badge, graph_words, is_contradicted
from crda_spec.report.words.gate import verdict_sentence
from crda_spec.report.words.numbers import count, listed, number, p_value, percent, setting, shorten, shown
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


_Row = tuple[str, tuple[str, ...]]  # one fact, a value a run


def render_comparison(runs: Sequence[ComparedRun]) -> str:
    """The page; equal runs in equal order give equal bytes."""
    letters = [_letter(index) for index in range(len(runs))]
    differences = list(_differences(runs))
    changes = [
        Change(f"{letter}: {run.name}", score.change_percent, score.interval_percent)
        for letter, run in zip(letters, runs, strict=True)
        if (score := run.result.score) is not None
    ]
    return rendered(
        "compare.html.j2",
        title=f"{count(len(runs), 'run')} side by side",
        heads=list(zip(letters, runs, strict=True)),
        cautions=tuple(_cautions(runs)),
        facts=tuple(_facts(runs)),
        figure=_figure(changes, runs),
        differences=differences[:MOST_DIFFERENCES],
        more=max(0, len(differences) - MOST_DIFFERENCES),
        features=tuple(_features(runs)),
    )


def _figure(changes: Sequence[Change], runs: Sequence[ComparedRun]) -> str:
    """The changes of the runs that have test rows; "" where none has."""
    metrics = [run.result.score.metric for run in runs if run.result.score is not None]
    return changes_figure(changes, title="Change on the test rows", metric=metrics[0]).svg if metrics else ""


def _letter(index: int) -> str:
    """A, B, ..., Z, AA: what a run is called on the page."""
    return (_letter(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def _untested(runs: Sequence[ComparedRun]) -> str:
    """`Run B` or `Runs A and C`: those without test rows."""
    found = tuple(_letter(at) for at, run in enumerate(runs) if run.result.score is None)
    return f"{'Run' if len(found) == 1 else 'Runs'} {listed(found)}"


def _cautions(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """What makes the numbers of these runs hard to compare."""
    tested = [run for run in runs if run.result.score is not None]
    if len(tested) < len(runs):
        yield (
            f"{_untested(runs)} held no rows back for a test, and trained on all: compare the gate's estimates, not "
            "the test errors."
        )
    data = [(run.record["data"]["sha256"], run.record["data"].get("test_sha256")) for run in runs]
    if len(set(data)) > 1:
        yield "The runs did not read the same data: a difference between them may come from the rows."
    elif len({run.record["data"].get("test_row_ids_sha256") for run in tested}) > 1:
        yield "The runs were tested on different rows of the same data: their errors differ for that reason too."
    if len({run.result.split.train.target.name for run in runs}) > 1:
        yield "The runs do not predict the same column: their errors cannot be compared."
    if len({run.result.score.metric for run in runs if run.result.score is not None}) > 1:
        yield "The runs were scored by different measures: compare the changes, not the errors."
    if len({str(run.record["versions"]) for run in runs}) > 1:
        yield "The runs used different package versions; the records list them."
    if sum(run.result.verdict.decision == "accepted" for run in runs) > 0 and len(runs) > 2:
        yield (
            "The best of several runs looks better than it is. To choose among settings honestly, let the choice be "
            "made inside the gate's folds, or keep test rows that no run has seen."
        )


def _facts(runs: Sequence[ComparedRun]) -> Iterator[_Row]:
    def row(title: str, value: Callable[[RunResult], object]) -> _Row:
        return title, tuple(shown(str(value(run.result))) for run in runs)

    doubt = ", graph contradicted"
    yield row("verdict", lambda result: f"{result.verdict.decision}{doubt if is_contradicted(result) else ''}")
    yield row("in one sentence", lambda result: verdict_sentence(result.verdict))
    yield "data", tuple(shown(f"{run.result.data.source} ({run.record['data']['sha256'][:12]})") for run in runs)
    yield row("training + test rows", lambda result: f"{len(result.split.train)} + {rows_of(result.split.test)}")
    if any(run.result.data.weights is not None for run in runs):
        yield row("rows weighted by", lambda result: result.data.weights or "-")
    yield row("regressor", lambda result: result.settings.get("kind", ""))
    yield row("teacher", lambda result: result.teacher.kind)
    yield row("graph", lambda result: result.certificate.basis)
    yield row("features that moved", _moved)
    yield row("synthetic rows", _made)
    effect = "gate: mean change of the fold losses"
    yield row(effect, lambda result: _or_dash(result.verdict.effect_percent, lambda value: f"{percent(value)} %"))
    yield row("gate: folds in which it helped", _helped)
    yield row("gate: p-value", lambda result: _or_dash(result.verdict.p_value, p_value))
    yield row("test error, plain", _plain)
    yield row("test error, augmented", _augmented)
    yield row("change on the test rows", lambda result: (result.score and score_change(result.score)) or "-")
    if any(run.result.ensemble is not None for run in runs):
        yield row("handed over", _handed)
    yield row("cost", lambda result: fits_words(result.cost))
    yield "seed", tuple(shown(str(run.record["seed"])) for run in runs)


def _or_dash(value: float | None, words: Callable[[float], str]) -> str:
    return "-" if value is None else words(value)


def _handed(result: RunResult) -> str:
    """One model, or the mean of several and what it scores."""
    arm = "augmented" if result.verdict.uses_augmented else "plain"
    if result.ensemble is None:
        return f"1 {arm} model"
    handed = f"the mean of {result.ensemble.models} {arm} models"
    if result.score is None:
        return handed
    return f"{handed}, {result.score.metric.upper()} {number(result.ensemble.scores[-1].loss)}"


def _moved(result: RunResult) -> str:
    made = result.counterfactuals
    if made is None:
        return "none"
    names = made.action.changed
    return ", ".join(shorten(shown(name), 40) for name in names[:12]) + (
        f" and {len(names) - 12} more" if len(names) > 12 else ""
    )


def _made(result: RunResult) -> str:
    made = result.counterfactuals
    if made is None:
        return "0"
    return f"{len(made)}, weight {setting(made.weight)}, retention {setting(made.retention)}"


def _helped(result: RunResult) -> str:
    folds = result.verdict.folds
    return f"{sum(fold.augmented < fold.plain for fold in folds)} of {len(folds)}" if folds else "-"


def _plain(result: RunResult) -> str:
    score = result.score
    return "no test rows" if score is None else f"{score.metric.upper()} {number(score.plain)}"


def _augmented(result: RunResult) -> str:
    score = result.score
    if score is None:
        return "no test rows"
    if score.augmented is None:
        return "-"
    return f"{score.metric.upper()} {number(score.augmented)}" + ("" if result.verdict.accepted else " (not used)")


def _differences(runs: Sequence[ComparedRun]) -> Iterator[_Row]:
    """Every value of the resolved specs, and every edge of the graphs, that is not the same in all runs."""
    flat = [
        {**dict(_flat(run.record["spec"]["resolved"])), **graph_words(run.record["certificate"]["graph"])}
        for run in runs
    ]
    for key in sorted({key for one in flat for key in one}):
        if len({_NOTHING.get(value := one.get(key, ""), value) for one in flat}) > 1:
            whole = [shown(one.get(key, "-")) for one in flat]
            cut = [shorten(one, _LONGEST_VALUE) for one in whole]
            yield shown(key), tuple(cut if len(set(cut)) == len(set(whole)) else whole)  # cut to look equal: not cut


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for index, inner in enumerate(value, start=1):
            yield from _flat(inner, f"{path}.{index}")
    elif isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        for inner, times in Counter(value).items():
            yield f"{path}: {inner}", "listed" if times == 1 else f"listed {times} times"
    else:
        yield path, str(value)


def _features(runs: Sequence[ComparedRun]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each feature with its class and what became of it in every run, ("", "") where it has none.

    In the order of the first run that has it.
    """
    found = []
    for result in (run.result for run in runs):
        moves = {one.name: one.moves for one in result.movements}
        doubt = is_contradicted(result)
        verdicts = result.certificate.features
        found.append({one.name: (badge(one.status, contradicted=doubt), moves[one.name]) for one in verdicts})
    for name in dict.fromkeys(name for one in found for name in one):
        yield shown(name), [one.get(name, ("", "")) for one in found]
