"""A run in few words: the verdict, what the test rows say, which features moved and why. For terminal and page alike.

Only facts that a record keeps are looked at, so that a run and its record say the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from crda_spec import records
from crda_spec.records import FeatureVerdict, Forecaster, Movement, RunResult
from crda_spec.report.words import causal, gate, run
from crda_spec.report.words.numbers import (
    CLASS_WORDS,
    count,
    listed,
    number,
    p_value,
    setting,
    setting_text,
    share,
    shown,
)

_METRICS: Mapping[str, str] = {
    "mse": "mean squared error",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "1-r2": "unexplained variance (1 - R2)",
    "crps": "CRPS",
}
_PLAIN = "Use the plain model."
_HEADLINES: Mapping[records.Decision, tuple[str, str]] = {
    "accepted": ("ACCEPTED", "Use the augmented model."),
    "rejected": ("REJECTED", _PLAIN),
    "inconclusive": ("INCONCLUSIVE", "Use the plain model until more rows decide."),
    "ungated": (
        "UNGATED",
        (
            "Nobody tested whether augmentation helps or hurts, and the final model is the augmented one. "
            "Set gate.enabled to true before you rely on it."
        ),
    ),
    "abstained": ("NOTHING TO MOVE", _PLAIN),
}
_ABSTAINED: Mapping[records.VerdictReason, tuple[str, str]] = {
    "no_perturbable_features": ("NOTHING TO MOVE", f"No feature may move, so nothing was augmented. {_PLAIN}"),
    "graph_falsified": (
        "GRAPH CONTRADICTED",
        f"The data contradict the graph, so nothing was augmented. {_PLAIN} Correct the graph, then run again.",
    ),
    "no_new_rows": ("NOTHING ADDED", f"The augmenter made no row. {_PLAIN}"),
    "off_support": (
        "NOTHING ADDED",
        f"Every new row lay off the data and was dropped. {_PLAIN} Or move features less far.",
    ),
}


def headline(result: RunResult) -> tuple[str, str]:
    """The verdict in capitals, and what to do."""
    verdict = result.verdict
    word, advice = _HEADLINES[verdict.decision]
    if verdict.decision == "abstained":
        word, advice = _ABSTAINED.get(verdict.reason, (word, advice))
    if verdict.accepted and causal.is_contradicted(result):
        advice = "The augmented model errs less, but the data contradict the graph: correct it before you rely on this."
    if result.ensemble is not None:
        arm = "augmented" if verdict.uses_augmented else "plain"
        advice += f" The final model is the mean of {result.ensemble.models} {arm} models."
    return word, advice


def _change_words(percent: float, interval: tuple[float, float] | None, level: float | None) -> str:
    """`14.3 % lower (95 % interval 11.7 to 17.0)`; the ends say their own direction where they differ in it."""
    sure = ""
    if interval is not None and level is not None:
        low, high = sorted(interval, key=abs) if interval[0] * interval[1] > 0 else interval
        own_way = interval[0] * interval[1] > 0 and (low < 0) == (percent < 0)
        ends = f"{_size(low)} to {_size(high)}" if own_way else f"{_directed(low)} to {_directed(high)}"
        sure = f" ({setting(100 * level)} % interval {ends})"
    return f"{_directed(percent, ' %')}{sure}"


def _size(percent: float) -> str:
    return f"{abs(percent):.1f}" if abs(percent) >= 0.1 else f"{abs(percent):.2g}"


def _directed(percent: float, unit: str = "") -> str:
    if percent == 0.0:
        return f"0{unit} lower"
    return f"{_size(percent)}{unit} {'lower' if percent < 0 else 'higher'}"


def metric_words(metric: str) -> str:
    """`mean squared error`."""
    return _METRICS.get(metric, f"{metric.replace('pinball', 'pinball loss at')}")


def test_sentence(result: RunResult) -> str:
    """What the test rows say of the augmented model."""
    score = result.score
    if score is None:
        return run.untested_sentence(result)
    rows = f"{score.rows:,} {'weighted ' if result.data.weights is not None else ''}test row{'s' * (score.rows != 1)}"
    if score.augmented is None:
        return f"On {rows}, the plain model beside the mean of the training rows:"
    metric = metric_words(score.metric)
    if score.change_percent is None:
        return f"On {rows} its {metric} is {number(score.augmented)}, the plain model's {number(score.plain)}."
    moved = _change_words(score.change_percent, score.interval_percent, score.level)
    if score.interval_percent is None:
        moved += " (too few test rows for an interval)"
    if result.verdict.uses_augmented:
        return f"On {rows} its {metric} is {moved}."
    return f"On {rows} the refused augmented model's {metric} is {moved}."


_FORECASTERS: Mapping[Forecaster, str] = {"plain": "plain", "augmented": "augmented", "mean": "predict the mean"}


def accuracy_table(result: RunResult) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Headers and rows: measure, its value for each forecaster, and the unit. No row without test rows.

    A gate's metric that is none of the three stands in a row of its own, before them.
    """
    score = result.score
    if score is None:
        return (), ()
    found = {one.forecaster: one for one in score.accuracy}
    unit = shown(result.split.train.target.unit or "")
    rows = [
        ("RMSE", *_alike([one.rmse for one in found.values()]), unit),
        ("MAE", *_alike([one.mae for one in found.values()]), unit),
    ]
    explained = [one.r2 for one in found.values() if one.r2 is not None]
    if len(explained) == len(found):
        rows.append(("R2", *_shares(explained), ""))
    if score.metric not in ("mse", "rmse", "mae", "1-r2"):
        own = [value for value in (score.plain, score.augmented) if value is not None]
        rows.insert(0, (score.metric, *_alike(own), "", ""))
    return ("", *(_FORECASTERS[who] for who in found), ""), tuple(rows)


def _alike(values: Sequence[float]) -> list[str]:
    """Three digits, or four where three would make two of them equal."""
    return next(
        texts
        for digits in (3, 4, 5)
        if len(set(texts := [number(value, digits) for value in values])) == len(set(values)) or digits == 5
    )


def _shares(values: Sequence[float]) -> list[str]:
    """R2 with two decimals, or three where two would make two of them equal."""

    def text(value: float, digits: int) -> str:
        return f"{value:.{digits}f}".replace("-0." + "0" * digits, "0." + "0" * digits)

    two = [text(value, 2) for value in values]
    return two if len(set(two)) == len(set(values)) else [text(value, 3) for value in values]


def gate_sentence(result: RunResult) -> str:
    """The gate's estimate; empty when nothing was gated."""
    verdict = result.verdict
    if not verdict.folds or verdict.p_value is None or verdict.effect_percent is None:
        return ""
    name = shown(verdict.test).partition(",")[0]
    found = f"{count(len(verdict.folds), 'fold')}, {name[:1].upper()}{name[1:]}, {p_value(verdict.p_value, 2)}"
    moved = _change_words(verdict.effect_percent, verdict.interval_percent, verdict.level)
    ends = [f"The gate ({found}) estimated {moved}."]
    if verdict.accepted and result.score is not None:
        ends.append("The test figure is the one to quote.")
    if not verdict.accepted:
        # A verdict read back from its record does not know the rows it stands on.
        seen = replace(verdict, train_rows=len(result.split.train), interval_percent=None)  # the interval is said above
        ends += [f"{gate.lead(verdict)}.", *gate.asides(seen)]
    return " ".join(ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureGroup:
    """Features of one class that move, or stay, for one reason."""

    badge: str  # see `causal.badge`
    word: str  # the class as it is shown
    moves: bool
    names: tuple[str, ...]
    reason: str
    path: str = ""  # an open path of the first of them, read from the feature to the target
    where: tuple[str, ...] = ()  # the places at which that path was written


def feature_groups(result: RunResult) -> tuple[FeatureGroup, ...]:
    """Every feature, grouped by class and reason: those that move first."""
    doubted = causal.is_contradicted(result)
    movements = {movement.name: movement for movement in result.movements}
    hidden = {name for name, role in result.certificate.graph.nodes if role not in ("feature", "target", "noise")}
    found: dict[tuple[bool, str, str], list[FeatureVerdict]] = {}
    for verdict in result.certificate.features:
        movement = movements[verdict.name]
        key = (movement.moves == "stays", verdict.status, _reason(result, verdict, movement, hidden))
        found.setdefault(key, []).append(verdict)
    order = {"irrelevant": 0, "cause": 1, "blocked": 2}
    groups = []
    for (stays, status, alone), members in sorted(found.items(), key=lambda one: (one[0][0], order[one[0][1]])):
        reason, first = alone, members[0]
        badge = causal.badge(status, contradicted=doubted)
        if len(members) > 1:
            reason = _reason(result, first, movements[first.name], hidden, "them")
        witness = status == "blocked" and bool(first.witness)
        groups.append(
            FeatureGroup(
                badge=badge,
                word=CLASS_WORDS[badge],
                moves=not stays,
                names=tuple(shown(one.name) for one in members),
                reason=shown(reason),
                path=shown(" ".join(_from_feature(first.witness))) if witness else "",
                where=tuple(dict.fromkeys(shown(line.where) for line in first.lines)) if witness else (),
            )
        )
    return tuple(groups)


def _reason(result: RunResult, verdict: FeatureVerdict, movement: Movement, hidden: set[str], it: str = "it") -> str:
    """Why a feature has its class, or why it stays although its class lets it move. it: or `them`."""
    if result.counterfactuals is not None and result.counterfactuals.basis == "augmenter":
        moves = movement.moves == "moves"
        return f"the augmenter moves {it}, and claims nothing" if moves else f"the augmenter does not change {it}"
    says, follows = ("says", "follows") if it == "it" else ("say", "follow")
    target, declared = result.split.train.target.name, result.certificate.basis == "declared"
    blocked = verdict.status == "blocked"
    tie = _tie(verdict, target, hidden, it) if blocked else ""
    if movement.moves == "follows":
        return f"{follows} what moves and causes {it}"
    if movement.moves == "moves":
        if movement.basis == "invariance":
            return f"no label depends on {it}"
        if movement.basis == "support":
            return f"moves all the same, since new rows carry no noise: {tie}" if blocked else "new rows carry no noise"
        if not declared:
            return f"the search found no tie to the noise of {target}"
        if verdict.status == "irrelevant":
            return f"{says} nothing about {target}, given the other features"
        return f"no hidden cause of {target} is connected to {it}"
    if blocked:
        return tie
    # A record read back has this reason as its sentence alone, so that the knob in it is what can be told apart.
    held = causal.held_sentence(verdict.held) or movement.sentence
    if "partition.keep" in held:
        return f"could move; partition.keep holds {it} fixed"
    if "partition.max_features" in held:
        return "could move; ranked too low for partition.max_features"
    if result.counterfactuals is None and verdict.held is None:
        return "could move; no row was made"
    return f"could move; {held.removeprefix('it may move, but ')}" if held else "could move"


_MEASURED = re.compile(r" \([rp] = [^()]*\)$")  # differs from feature to feature; the whole reason has it
_TURNED = {"->": "<-", "<-": "->"}


def _from_feature(witness: Sequence[str]) -> list[str]:
    """A path that starts at the target, read from its other end."""
    return [_TURNED.get(token, token) for token in reversed(witness)]


def _tie(verdict: FeatureVerdict, target: str, hidden: set[str], it: str) -> str:
    """How a blocked feature is tied to the target's noise: by the shape of its open path, or as the search says."""
    if not verdict.witness:
        text = _MEASURED.sub("", causal.reason_sentence(verdict.reason, subject=False).rstrip("."))
        return text.replace(f"{verdict.name} ", "it ", 1) if text.startswith(f"{verdict.name} ") else text
    path = _from_feature(verdict.witness)
    nodes, marks = path[::2], path[1::2]

    def spoken(names: Sequence[str]) -> str:
        return listed(tuple(f"{name} (hidden)" if name in hidden else name for name in names))

    if set(marks) == {"->"}:
        through = [name for name in nodes[1:-1] if name in hidden] or nodes[1:-1]
        acts = "acts" if it == "it" else "act"
        return (
            f"{acts} on {target} through {spoken(through)}"
            if through
            else f"{'drives' if it == 'it' else 'drive'} the noise of {target}"
        )
    if set(marks) == {"<-"}:
        return f"{target} causes {it}"
    if marks == ["<->"]:
        return f"{'shares' if it == 'it' else 'share'} a hidden cause with {target}"
    turn = marks.index("->") if "->" in marks else 0
    if set(marks) == {"<-", "->"} and "<-" not in marks[turn:]:
        return f"{spoken(nodes[turn : turn + 1])} drives both {it} and {target}"
    return f"tied to what drives {target}, once other features are held fixed"


def graph_sentence(result: RunResult) -> str:
    """Whether the data contradict the graph, in one sentence; empty without a declared graph."""
    found = result.falsification
    if found is None:
        return ""
    tested = f"({count(len(found.statements), 'statement')} tested)"
    if found.outcome == "falsified":
        violated = sum(one.violated for one in found.statements)
        are = "is" if violated == 1 else "are"
        of = count(len(found.statements), "tested statement")
        return f"The data contradict the graph: {violated} of {of} {are} violated."
    if not found.statements:
        return "The graph implies nothing that these columns could contradict: it stands on the expert's word."
    little = "; this test tells little about it" if found.outcome == "not_informative" else ""
    return f"The data do not contradict the graph {tested}{little}."


def doubts(result: RunResult) -> Iterator[str]:
    """What speaks against trusting the run, and is not the verdict itself."""
    certificate, trust, found = result.certificate, result.teacher.trust, result.falsification
    if found is not None and found.outcome == "falsified":
        if suggestion := causal.suggestion_sentence(found):
            yield suggestion
        if certificate.repair is not None:
            yield shown(causal.repair_sentence(certificate.repair))
    if certificate.joint is not None and certificate.joint.failed and not causal.moved_without_noise(result):
        yield shown(causal.joint_sentence(certificate.joint))
    yield from (
        f"{shown(one.name)}: {shown(causal.warning_sentence(one.warning))}."
        for one in certificate.features
        if one.warning
    )
    if trust is not None and not trust.passed:
        yield "The rows do not bear out the irrelevant features, so none is treated as such."
    yield from run.sign_warnings(result)


def remedy_sentence(result: RunResult) -> str:
    """The smallest change that would free more features; empty where none is known."""
    remedies = result.certificate.remedies
    return f"To free more: {shown(causal.remedy_sentence(remedies[0])).rstrip('.')}." if remedies else ""


def tuning_sentence(result: RunResult) -> str:
    """What a search chose; empty without one."""
    if not result.studies:
        return ""
    study = run.shown_study(result.studies)
    values = ", ".join(f"{name} {setting_text(value)}" for name, value in sorted(study.chosen.values.items()))
    return f"Tuned in {count(len(study.trials), 'trial')}: {values}."


def made_words(result: RunResult) -> str:
    """`7,500 synthetic rows from 300`."""
    made, rows = result.counterfactuals, f"{len(result.split.train):,}"
    return f"{rows} training rows" if made is None else f"{len(made):,} synthetic rows from {rows}"


def cost_words(result: RunResult) -> str:
    """`102 fits in 31 s`."""
    seconds = sum(result.timings.values())
    return (
        f"{count(result.cost.fits, 'fit')} in {seconds:.0f} s"
        if seconds >= 10
        else (f"{count(result.cost.fits, 'fit')} in {seconds:.1f} s")
    )


def interval_words(result: RunResult) -> str:
    """`90 % intervals cover 90.4 % of the test rows`; empty where nobody counted."""
    found = result.intervals
    used: records.Arm = "augmented" if result.verdict.uses_augmented else "plain"
    own = None if found is None or not found.levels else found.score(used, found.levels[0])
    if own is None:
        return ""
    return f"{setting(100 * own.level)} % intervals cover {share(own.coverage)} of the test rows"


def data_sentence(result: RunResult) -> str:
    """What was read and lost; empty where nothing was lost and rows have no order."""
    data, said = result.data, list(run.time_sentences(result.time))
    if data.dropped_missing or data.dropped_duplicates or data.missing_cells:
        said.insert(0, run.data_sentence(result))
    return " ".join(said)


# --- one line each, beside the title of a part that is folded


def test_finding(result: RunResult) -> str:
    """`MSE 1049 -> 898.9.`."""
    score = result.score
    if score is None:
        return "Every row was trained on."
    after = "" if score.augmented is None else f" -> {number(score.augmented)}"
    return f"{score.metric.upper()} {number(score.plain)}{after} on {score.rows:,} test rows."


def gate_finding(result: RunResult) -> str:
    """In how many folds the augmented model erred less."""
    verdict = result.verdict
    if not verdict.folds:
        return "Nothing was tested."
    better = sum(fold.augmented < fold.plain for fold in verdict.folds)
    p = "" if verdict.p_value is None else f" ({p_value(verdict.p_value, 2)})"
    return f"The augmented model errs less in {better} of {count(len(verdict.folds), 'fold')}{p}."


def rows_finding(result: RunResult) -> str:
    """How many new rows lie off the data."""
    if result.diagnostics is None:
        return ""
    outside = result.diagnostics.places.outside
    return f"{share(outside) if outside else 'None'} of the new rows looked at lie off the data."


def sensitivity_finding(result: RunResult) -> str:
    """What the weakest hidden cause would have to explain."""
    found = result.sensitivity
    if found is None:
        return "No gain that a hidden cause could use up."
    if found.retention == 0:
        return "New rows carry no noise, so no hidden cause can spoil their labels."
    if not found.features:
        return "No feature that moved can be measured this way."
    weakest = min(found.features, key=lambda feature: feature.robustness)
    return f"At least {share(weakest.robustness)} of what the features leave open (through {shown(weakest.name)})."


def remedy_finding(result: RunResult) -> str:
    """The smallest change that would free more features."""
    text = causal.remedy_sentence(result.certificate.remedies[0]).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."


def interval_finding(result: RunResult) -> str:
    """How many test rows the intervals hold."""
    words = interval_words(result)
    return f"{words}." if words else "No test rows to count in them."


def signs_finding(result: RunResult) -> str:
    """How many declared signs the rows contradict."""
    wrong = sum(one.contradicted for one in result.signs)
    return f"{count(len(result.signs), 'sign')} declared, {wrong or 'none'} contradicted by the rows."


def data_finding(result: RunResult) -> str:
    """Rows that were read, used and lost."""
    data = result.data
    lost = data.rows_read - data.rows_used if data.test_source is None else 0
    said = f"{data.rows_read:,} rows read, {data.rows_used:,} used"
    said += f", {lost:,} left out" if lost else ""
    return f"{said}, {count(data.missing_cells, 'missing cell')}." if data.missing_cells else f"{said}."


def checks(result: RunResult) -> tuple[str, ...]:
    """What would free more features, what the data say of the graph, and what speaks against trusting the run."""
    return tuple(text for text in (remedy_sentence(result), graph_sentence(result), *doubts(result)) if text)
