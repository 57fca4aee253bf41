"""What a run found out, in sentences. The terminal and the page say the same thing in the same words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from crda_spec import records
from crda_spec.records import Counterfactuals, RunResult, Study, movable
from crda_spec.regressors.intervals import fewest_units
from crda_spec.report.words.causal import followed_words, is_contradicted, movable_words, moved_without_noise
from crda_spec.report.words.gate import mean_losses
from crda_spec.report.words.numbers import (
    REASON_WORDS,
    between,
    change,
    count,
    listed,
    number,
    p_value,
    percent,
    setting,
    setting_text,
    share,
    shown,
)


def span_words(span: records.Span) -> str:
    """`2021-01-01 to 2021-03-31`; one moment stands alone."""
    return shown(span.first) if span.first == span.last else f"{shown(span.first)} to {shown(span.last)}"


def time_sentences(order: records.TimeOrder | None) -> tuple[str, ...]:
    """Which time was trained and tested on; nothing when rows have no order."""
    if order is None:
        return ()
    parts = [f"trained on {span_words(order.train)}"]
    parts += [f"tuned on {span_words(order.tuning)}"] if order.tuning is not None else []
    parts += [f"tested on {span_words(order.test)}"] if order.test is not None else []
    return (f"Rows are in the order of {shown(order.column)}: {', '.join(parts)}.",)


def fold_time_sentences(order: records.TimeOrder | None) -> tuple[str, ...]:
    """How the gate's folds follow time; nothing when they do not, or nothing was gated."""
    if order is None or not order.folds:
        return ()
    first = order.folds[0].trained
    ever = f"rows of {span_words(first)} are the first to train on and are never held out"
    return (f"The folds follow {shown(order.column)}: each is scored on rows later than all it was fitted on; {ever}.",)


def fold_spans(result: RunResult) -> tuple[tuple[str, str, str], ...]:
    """Of each fold that was run: its number, the time it was fitted on and the time it was scored on."""
    ran = {fold.fold for fold in result.verdict.folds}
    planned = () if result.time is None else result.time.folds
    return tuple(
        (str(one.fold), span_words(one.trained), span_words(one.held_out)) for one in planned if one.fold in ran
    )


DECISIONS = {
    "accepted": "Accepted: the augmented model is the one to use.",
    "rejected": "Rejected: the plain model is the one to use.",
    "inconclusive": "Inconclusive: the plain model is the one to use until more rows decide.",
    "ungated": "UNGATED: nobody tested whether augmentation helps; the augmented model is handed over all the same.",
    "abstained": "Abstained: nothing was augmented, the plain model is the one to use.",
}
SIGNED = " with signs"  # how the names of families end that hold them
_MOST_MISSING = 3  # columns that a sentence names; the page lists all


def recipe_words(recipe: str, augmenter: str | None) -> str:
    """`distilled`, or `augmenter mixup`: who made the rows. augmenter: its kind, where there is one."""
    return recipe if augmenter is None else f"{recipe} {augmenter}"


def data_sentence(result: RunResult) -> str:
    """How many rows there were, how they were split, and what was left out."""
    train, test = result.split.train, result.split.test
    tested = "none to test" if test is None else f"{len(test)} to test"
    groups = "" if train.groups is None else ", groups kept whole"
    groups += "" if result.data.weights is None else f", rows weighted by '{shown(result.data.weights)}'"
    rows = f"{count(result.data.rows_read, 'row')} read, {result.data.rows_used} used"
    aside = "" if result.split.tuning is None else f", {len(result.split.tuning)} spent on tuning"
    if result.data.test_source is not None:
        where = shown(result.data.test_source)
        return f"{rows} to train{groups}{aside}, {_dropped(result.data)}; {tested}, from {where}."
    return f"{rows}: {len(train)} to train, {tested}{aside}{groups}; {_dropped(result.data)}."


def rows_tile(result: RunResult) -> tuple[str, str]:
    """`320 + 80`, and what these are."""
    train, test = result.split.train, result.split.test
    if test is None:
        return f"{len(train)}", "training rows, none held back for a test"
    return f"{len(train)} + {len(test)}", "training + test rows"


def _dropped(data: records.DataReport) -> str:
    """What was left out of the data, or that nothing was."""
    parts = []
    if data.dropped_missing:
        parts.append(f"{count(data.dropped_missing, 'row')} dropped for missing values")
    if data.dropped_duplicates:
        parts.append(f"{count(data.dropped_duplicates, 'repeated row')} dropped")
    if data.missing_cells:  # ` (bmi 37, age 4)`: the columns with most of them first
        most = sorted(data.missing.items(), key=lambda one: (-one[1], one[0]))
        columns = [f"{shown(name)} {cells}" for name, cells in most[:_MOST_MISSING]]
        columns += [count(len(most) - _MOST_MISSING, "more column")] if len(most) > _MOST_MISSING else []
        where = f" ({', '.join(columns)})" if columns else ""
        parts.append(f"{count(data.missing_cells, 'missing cell')}{where}")
    return ", ".join(parts) or "nothing dropped"


def partition_sentence(result: RunResult) -> str:
    """How many features may move while their rows keep their noise, and whose word that is."""
    certificate = result.certificate
    ground = (
        "certified by the declared graph" if certificate.basis == "declared" else "found by discovery, not certified"
    )
    if is_contradicted(result):
        ground = "by a declared graph that the data contradict"
    noise = " with their noise" if moved_without_noise(result) else ""
    allowed, chosen = len(movable(certificate.features)), len(certificate.perturbed) + len(certificate.propagated)
    fewer = f" The spec and the ranking chose {chosen} of them." if chosen < allowed else ""
    return f"{movable_words(certificate.features)}{noise}, {ground}.{fewer}"


def basis_sentence(result: RunResult) -> str:
    """What moves on the data's support alone; empty when rows carry noise, or there are none."""
    if result.counterfactuals is not None and result.counterfactuals.basis == "augmenter":
        return (
            "An augmenter made the new rows in its own way. The classes describe data and plain model: they claim "
            "nothing of its rows, and only the gate speaks for them."
        )
    if not moved_without_noise(result):
        return ""
    moved = [movement for movement in result.movements if movement.moves == "moves"]
    tied = tuple(shown(movement.name) for movement in moved if not movement.certified)
    several = len(moved) != 1
    sentence = (
        f"In this run {count(len(moved), 'feature')} {'move' if several else 'moves'}. The new rows carry no noise, so "
        "any feature may move, and only the data's support is claimed."
    )
    return f"{sentence} Not certified, and moved all the same: {listed(tied)}." if tied else sentence


def rows_sentence(made: Counterfactuals, train_rows: int, *, weighted: bool = False) -> str:
    """How many synthetic rows there are and what they carry over from their source rows.

    weighted: whether real rows weigh more or less than each other.
    """
    noise = {0.0: "none of its source's noise", 1.0: "all of its source's noise"}.get(
        made.retention, f"{setting(made.retention)} of its source's noise"
    )
    noise = f"carries {noise}"
    if made.basis == "augmenter":
        labels = {"none": "is labelled by the augmenter", "any": "carries the noise of a training row drawn at random"}
        noise = labels.get(made.draw, noise)
    if made.basis == "support":
        noise += ", makes no claim about it, and is labelled by the teacher alone,"
    action = made.action
    amounts = {
        "{} of them equal their source row.": action.copied,
        "{} of them were drawn again, off the data or outside a contract at first.": action.redrawn,
        "{} of them were drawn again because they broke a rule.": action.rule_redrawn,
        "{} more lay off the data and were left out.": action.dropped,
        "{} more broke a rule in every draw and were left out.": action.rule_dropped,
        "At {} of them the noise's size was brought back into its fitted range.": made.scale_clipped,
    }
    asides = [sentence.format(amount) for sentence, amount in amounts.items() if amount]
    rows = f"{count(len(made), 'synthetic row')} from {count(train_rows, 'training row')}"
    weight = f"{setting(made.weight)} times as much as its source" if weighted else setting(made.weight)
    return " ".join([f"{rows}; each {noise} and weighs {weight}.", *asides])


def trust_sentences(result: RunResult) -> tuple[str, ...]:
    """Whether the rows bear out what the graph calls irrelevant, and what follows; nothing where nobody asked."""
    trust, made = result.teacher.trust, result.counterfactuals
    if trust is None:
        return ()
    names = listed(tuple(shown(name) for name in result.certificate.irrelevant))
    seen = (
        f"on rows that they have not seen, the committee's members without {names} "
        f"have an MSE of {number(trust.boundary)}, those with every feature {number(trust.everything)} "
        f"(difference's standard error {number(trust.standard_error)})"
    )
    graph = f"The graph's members have {setting(round(100 * trust.weight))} % of the committee's weight."
    if not trust.passed:
        against = listed(tuple(shown(name) for name in trust.contradicted))
        tied = f" They tie {against} to the target: draw an arrow, or a hidden cause." if against else ""
        return (f"The rows do not bear out the irrelevant features: {seen}. So none is treated as such.{tied}", graph)
    used = "" if made is None or not made.irrelevant else " No label depends on them."
    return (f"The rows bear out the irrelevant features: {seen}.{used}", graph)


def sign_sentences(result: RunResult) -> tuple[str, ...]:
    """The declared signs, who holds them, and what they did on rows unseen; nothing where none is declared."""
    if not result.signs:
        return ()
    declared = ", ".join(f"{shown(one.name)} {one.sign}" for one in result.signs)
    student = "Both the plain and the augmented model hold them." if result.settings.get("monotone") else ""
    members = result.teacher.signs
    if members is None:
        sentence = f"Declared signs: {declared}. No member of the teacher holds them beside one that does not."
        return tuple(text for text in (sentence, student) if text)
    seen = (
        f"on rows that they have not seen, members that hold them have an MSE of {number(members.signed)}, the same "
        f"kinds without signs {number(members.free)} (difference's standard error {number(members.standard_error)})"
    )
    held = {one.name.partition(" ")[0] for one in result.teacher.families if one.name.endswith(SIGNED)}
    kinds = dict.fromkeys(one.name.partition(" ")[0] for one in result.teacher.families)
    others = tuple(kind for kind in kinds if kind not in held)
    left = f" Left alone, since they cannot hold signs: {', '.join(others)}."
    weight = f"Members with signs have {setting(round(100 * members.weight))} % of the committee's weight."
    texts = (f"Declared signs: {declared}; {seen}.", weight + (left if others else ""), student)
    return tuple(text for text in texts if text)


def sign_warnings(result: RunResult) -> tuple[str, ...]:
    """Declared signs that the training rows contradict, one by one; and whether the committee does without them."""
    target, members = shown(result.split.train.target.name), result.teacher.signs
    found = tuple(
        f"The training rows contradict the sign of {shown(one.name)} ({one.sign}): among rows alike in the other "
        f"features, {target} {'falls' if one.statistic < 0 else 'rises'} as {shown(one.name)} grows "
        f"({p_value(one.adjusted)}). Check the sign."
        for one in result.signs
        if one.contradicted
    )
    if members is None or members.passed:
        return found
    margin = f"{setting(members.margin)} standard error{'' if members.margin == 1 else 's'}"
    worse = f"members that hold them err more than the same kinds without, by over {margin}"
    hint = "" if found else " A feature may go both ways: check the signs."
    return (*found, f"The rows do not bear out the declared signs: {worse}. So the committee does without them.{hint}")


def policy_sentence(made: Counterfactuals, feature: str) -> str:
    """What was done to one moved feature, and how often its contract had to step in."""
    action = made.action
    clipped = action.clipped.get(feature, 0)
    brought = f"; {clipped} of {len(made)} brought back inside the contract" if clipped else ""
    return f"{shown(action.policies.get(feature, 'moved')).rstrip('.')}{brought}"


def propagation_sentence(made: Counterfactuals, feature: str) -> str:
    """What made one feature follow those that were moved."""
    return shown(followed_words(made.action.propagated[feature])).rstrip(".")


def nothing_sentence(verdict: records.Verdict) -> str:
    """That no row was made, and why."""
    return f"No synthetic rows were made: {REASON_WORDS[verdict.reason]}."


def gate_sentence(verdict: records.Verdict) -> str:
    """The gate's numbers in one line, or nothing when nothing was tested."""
    if verdict.p_value is None:
        return ""
    effect = "" if verdict.effect_percent is None else f", mean fold loss {percent(verdict.effect_percent)} %"
    if verdict.interval_percent is not None and verdict.level is not None:
        effect += f" ({setting(100 * verdict.level)} % interval {between(verdict.interval_percent)})"
    if verdict.restarts > 1:
        effect += f", each loss the mean of {verdict.restarts} restarts"
    return f"{shown(verdict.test)}: {p_value(verdict.p_value)}, alpha {setting(verdict.alpha)}{effect}"


def score_change(score: records.TestScore) -> str:
    """`-10.6 % (95 % interval -18.1 to -2.9)`; empty when there is no change to speak of."""
    if score.change_percent is None:
        return ""
    sure = "too few test rows for an interval"
    if score.interval_percent is not None:
        sure = f"{setting(100 * score.level)} % interval {between(score.interval_percent)}"
    return f"{percent(score.change_percent)} % ({sure})"


def untested_sentence(result: RunResult) -> str:
    """What stands where no rows were held back for a test; empty where some were."""
    if result.score is not None:
        return ""
    if result.verdict.folds:
        return "No test rows were held back, so only the gate's estimate stands."
    why = "the gate is off" if result.verdict.decision == "ungated" else "there was no augmented model to gate"
    return f"No test rows were held back, and {why}: nothing judged the model."


def _gate_estimate(verdict: records.Verdict) -> Iterator[str]:
    """What the folds say of the model to use, and of the other one."""
    metric = verdict.metric.upper()
    plain, augmented = mean_losses(verdict.folds)
    moved = f"mean fold {metric} {number(plain)} -> {number(augmented)}"
    if verdict.effect_percent is not None:
        moved += f", {percent(verdict.effect_percent)} %"
    if verdict.interval_percent is not None and verdict.level is not None:
        moved += f" ({setting(100 * verdict.level)} % interval {between(verdict.interval_percent)})"
    if verdict.uses_augmented:
        yield f"The gate's estimate, one model vs one model: {moved}."
    else:
        yield f"The gate's estimate of the plain model: mean fold {metric} {number(plain)} (used)."
        yield f"Not used: with the refused augmentation, {moved}."


def score_sentences(result: RunResult) -> tuple[str, ...]:
    """The test result on equal footing; what was refused is named as not used. Without test rows, what stands."""
    score = result.score
    if score is None:
        estimate = _gate_estimate(result.verdict) if result.verdict.folds else ()
        return (*estimate, untested_sentence(result))
    metric = score.metric.upper()
    rows = count(score.rows, "test row" if result.data.weights is None else "weighted test row")
    if score.augmented is None:
        return (f"One plain model on {rows}: {metric} {number(score.plain)}; there is no augmented model to compare.",)
    moved = f"{metric} {number(score.plain)} -> {number(score.augmented)}"
    comparison = f"{moved}, {score_change(score)}" if score_change(score) else moved
    if result.verdict.uses_augmented:
        return (f"One model vs one model on {rows}: {comparison}.",)
    return (
        f"One plain model on {rows}: {metric} {number(score.plain)} (used).",
        f"Not used: the refused augmentation would have scored {comparison}.",
    )


def interval_sentences(result: RunResult) -> Iterator[str]:
    """What the intervals are worth on the test rows, for the model to use; then what they rest on."""
    found, target, score = result.intervals, result.split.train.target, result.score
    if found is None:
        return
    used: records.Arm = "augmented" if result.verdict.uses_augmented else "plain"
    unit = f" {shown(target.unit)}" if target.unit else ""
    for level in found.levels:
        own, plain, least = found.score(used, level), found.score("plain", level), fewest_units(level)
        named = f"{setting(100 * level)} % intervals"
        if found.units < least if own is None else not math.isfinite(own.width):
            rows = "held-out rows" if found.units == found.rows else "held-out groups"
            yield f"{named} are infinite: they need at least {least} {rows}, and there are {found.units}."
            continue
        if own is None or plain is None or score is None:
            yield f"{named}: no test rows were held back to count how many they hold."
            continue
        against = ""
        if used == "augmented" and plain.score > 0:
            moved = percent(100.0 * (own.score / plain.score - 1.0))
            against = f" (plain model: {share(plain.coverage)}, {number(plain.width)}; interval score {moved} %)"
        rows = count(score.rows, "test row")
        yield f"{named} hold {share(own.coverage)} of {rows}, mean width {number(own.width)}{unit}{against}."
    yield f"{_WIDTHS[found.form].format(rows=count(found.rows, 'held-out row'))} {_width_words(found, used)}"


_WIDTHS = {
    "residuals": "They lie around the final model, by its errors on {rows} in the gate; their promise is approximate.",
    "cv_plus": "They are CV+ intervals of the gate's fold models, by their errors on {rows}.",
}


def _width_words(found: records.IntervalReport, arm: records.Arm) -> str:
    own = {one.arm: one for one in found.widths}[arm]
    declared = f"the noise's declared parents ({shown(listed(found.parents))})"
    sources = ((declared, own.parents), ("the features", own.features), ("the prediction", own.prediction))
    by = tuple(words for words, power in sources if power)
    return f"Their width follows {listed(by)}." if by else "All are equally wide."


def interval_table(result: RunResult) -> tuple[tuple[str, ...], ...]:
    """Level, model, coverage, mean width, interval score."""
    found = result.intervals
    return tuple(
        (f"{setting(100 * one.level)} %", one.arm, share(one.coverage), number(one.width), number(one.score))
        for one in (() if found is None else found.scores)
    )


def fits_words(cost: records.Cost) -> str:
    """`67 fits instead of 122, 50 of them repeated on all their rows`."""
    again = f", {cost.refits} of them repeated on all their rows" if cost.refits else ""
    return f"{cost.fits} fits" + (f" instead of {cost.fits + cost.reused}" if cost.reused else "") + again


LOUD = 0.1  # standard deviations of the target: more than this, and an "irrelevant" feature is not flat


def diagnostics_sentences(result: RunResult) -> Iterator[str]:
    """What the new rows are like."""
    diagnostics = result.diagnostics
    if diagnostics is None:
        return
    places, apart = diagnostics.places, diagnostics.disagreement
    part = share(places.outside) if places.outside else "None"
    yield (
        f"{part} of {count(places.rows, 'new row')} that were asked about lie farther from the data than 95 % of real "
        "rows lie from each other, or break a tie among the numbers."
    )
    if apart is not None:
        times = apart.new_median / apart.real_median if apart.real_median > 0 else float("inf")
        unit = f" {shown(result.split.train.target.unit)}" if result.split.train.target.unit else ""
        yield (
            f"The teacher's {apart.members} members differ by {number(apart.new_median)}{unit} at a typical new row, "
            f"and by {number(apart.real_median)} at a real one (standard deviation; {number(times, 2)} times as much)."
        )
    yield from _irrelevant_features(diagnostics, result.certificate)


def _irrelevant_features(diagnostics: records.Diagnostics, certificate: records.Certificate) -> Iterator[str]:
    """Whether what the graph calls irrelevant leaves the teacher alone; nothing where the question does not arise."""
    irrelevant = {verdict.name for verdict in certificate.features if verdict.status == "irrelevant"}
    moved = [one for one in diagnostics.moved if one.name in irrelevant]
    loud = [
        f"{shown(one.name)} ({share(one.effect)} of the target's standard deviation)"
        for one in moved
        if one.effect > LOUD
    ]
    if loud:
        which = listed(tuple(loud))
        yield f"The graph calls irrelevant what moves the teacher: {which}. Doubt the model there, or the graph."
    elif moved:
        names = listed(tuple(shown(one.name) for one in moved))
        yield f"The graph calls {names} irrelevant, and the teacher is flat there, as it should be."


CONTROLS: Mapping[records.ControlKind, str] = {
    "boundary": "plain model, columns that matter only",
    "relabelled": "original rows relabelled, none added",
    "without_graph": "this recipe without the graph",
}


def control_changes(result: RunResult) -> tuple[tuple[str, float], ...]:
    """Each control and then the augmented model: who it is, and its change of the test loss in percent."""
    controls, whole = result.controls, None if result.score is None else result.score.change_percent
    if controls is None or whole is None:
        return ()
    changes = [(words, change) for kind, words in CONTROLS.items() if (change := controls.change_of(kind)) is not None]
    return (*changes, ("this recipe", whole))


def graph_sentence(result: RunResult) -> str:
    """What the graph gave or cost; empty where nobody knows."""
    controls, whole = result.controls, None if result.score is None else result.score.change_percent
    blind = None if controls is None else controls.change_of("without_graph")
    if whole is None or blind is None:
        return ""
    points, without = _points(whole - blind), f"without it the change is {percent(blind)} %"
    if not points:
        return f"The graph changed nothing here: {without}, too."
    if whole > blind:
        return f"The graph cost {points} here: {without}."
    if blind > 0.0:
        return f"The graph gave {points} here: {without}."
    come = "comes" if points == "1.0 point" else "come"
    return f"Of the change of {percent(whole)} %, {points} {come} from the graph."


def graph_points(points: float) -> str:
    """The same in some words, to stand beside the change."""
    size = _points(points)
    if not size:
        return "nothing from the graph"
    return f"the graph cost {size}" if points > 0 else f"{size} from the graph"


def _points(value: float) -> str:
    """Their number without its sign, to the tenth that changes are shown to; empty for none."""
    size = f"{abs(value):.1f}"
    return "" if size == "0.0" else f"{size} point" + ("" if size == "1.0" else "s")


def shift_sentence(result: RunResult) -> str:
    """Both models where what the graph calls irrelevant is shuffled; empty where nothing is."""
    shift, score = None if result.controls is None else result.controls.shift, result.score
    if shift is None or score is None:
        return ""
    names = listed(tuple(map(shown, shift.features)))
    which = f"irrelevant feature ({names})" if len(shift.features) == 1 else f"irrelevant features ({names})"
    each = "" if len(shift.features) == 1 else ", each by itself"
    losses = f"{score.metric.upper()} {number(shift.plain)} -> {number(shift.augmented)}"
    return f"Test rows with the {which} shuffled{each}: {losses}, {percent(shift.change_percent)} %."


def shown_study(studies: Sequence[Study]) -> Study:
    """The search on all rows: that of the knobs, where there is one."""
    return ([study for study in studies if study.fold == 0] or list(studies))[-1]


def tuning_sentences(studies: Sequence[Study]) -> Iterator[str]:
    """What was searched, where, and what was found."""
    yield from (_study_sentence(study) for study in studies if study.fold == 0)
    inside = len({study.fold for study in studies if study.fold})
    if inside:
        yield (
            f"The same was searched anew inside each of {count(inside, 'gate fold')}, on the training rows of that "
            "fold alone: nothing that a search found has seen a row that judges it."
        )
    late = sum(study.stopped == "time" for study in studies)
    if late:
        yield (
            f"The clock ended {late} of the {len(studies)} searches: on another machine they may find something "
            "else, so this run cannot be repeated to the byte."
        )


def _study_sentence(study: Study) -> str:
    where = f"{study.rows} rows set aside for it" if study.set_aside else f"all {study.rows} training rows"
    values = ", ".join(f"{name} {setting_text(value)}" for name, value in sorted(study.chosen.values.items()))
    loss = study.mean_loss(study.chosen.losses)
    tried = f"{count(len(study.trials), 'trial')} on {where}, each on {len(study.held_rows)} inner folds"
    inner = f"inner {study.metric.upper()} {number(loss)}"
    if study.what == "regressor":
        return f"The regressor's settings, for both models: {values} ({inner}; {tried})."
    amounts = {
        "pruned": sum(trial.state == "pruned" for trial in study.trials),
        "tried before": sum(trial.repeats is not None for trial in study.trials),
        "failed": sum(trial.state == "failed" for trial in study.trials),
    }
    tried += "".join(f", {amount} {what}" for what, amount in amounts.items() if amount)
    moved = change(study.mean_loss(study.plain), loss) if study.plain else None
    against = "" if moved is None else f", {percent(moved)} % against the plain model there"
    return (
        f"The augmentation's knobs: {values} ({inner}{against}; {tried}). The best of many trials looks better than it "
        "is: the gate judges."
    )


def chosen_table(studies: Sequence[Study]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Headers, and what each search chose: gate fold, the loss it promised, and the values; no row for one search."""
    shown_one = shown_study(studies)
    alike = [study for study in studies if study.what == shown_one.what]
    names = sorted({name for study in alike for name in study.chosen.values})
    rows = tuple(
        (
            str(study.fold) if study.fold else "set aside" if study.set_aside else "all rows",
            number(study.mean_loss(study.chosen.losses)),
            *(setting_text(study.chosen.values[name]) for name in names),
        )
        for study in alike
    )
    return ("gate fold", f"inner {shown_one.metric.upper()}", *names), rows if len(rows) > 1 else ()
