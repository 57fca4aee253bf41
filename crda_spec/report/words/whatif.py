"""What-ifs and average effects in sentences: what would have been, how sure that is, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crda_spec.records import Answer, AverageEffect, Caution, Cell, Column, WhatIf
from crda_spec.report.words.numbers import in_unit, listed, number, setting, share, shown

_BASES = {
    "irrelevant": "By the graph, {target} does not depend on {names} once the other columns are known: the outcome is "
    "unchanged.",
    "certificate": "The certificate covers {names}: if the graph is right, the row keeps its noise.",
    "search": "No graph was declared. A search and a screen found no tie between {names} and the noise.",
}
_CAUTIONS: dict[Caution, str] = {
    "graph_contradicted": "The data contradict the declared graph: read every answer with care, and correct the graph.",
    "trust_failed": "The rows contradict it: with the columns that the graph calls irrelevant, {target} is predicted "
    "better{contradicted}.",
    "no_graph": "Not to find a tie is no proof that there is none: read this as the model's difference, and as an "
    "effect only if you can defend a graph.",
    "one_draw": "A label or a whole number that follows takes one of the values that fit its row: another draw may "
    "differ.",
    "searched_teacher": "There is no interval: a search chose the teacher, so it cannot be fitted again.",
}
MOST_ROWS = 40  # of a table on the terminal
TURNS = (
    "turns at: what a hidden cause would have to explain of what the features leave open in the changed columns and in "
    "the target to turn the sign. *: extrapolation."
)
CONTRADICTED = "the graph calls it irrelevant, but the rows do not bear that out"
NO_GRAPH = "no graph was declared, and tests that find no tie certify no cause"
HELD_FIXED = "The other columns are held fixed."
FOLLOWED = "What the changed columns cause follows, by fitted equations."
NOT_CALIBRATED = (
    "The interval is the spread of {refits} teachers fitted again on rows with other noise. Nobody observes a "
    "difference, so no interval of one can be calibrated on data, as that of a prediction can."
)
AVERAGES = (
    "If the column were set, given the graph: the teacher's mean change over training rows. It is not what the column "
    "predicts."
)


def cell_words(value: Cell, column_unit: str | None = None) -> str:
    """A cell as a person reads it."""
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return shown(value)
    return f"{setting(value)} {shown(column_unit)}" if column_unit else setting(value)


def signed(value: float) -> str:
    """A difference, always with its sign."""
    text = number(value)
    return text if text.startswith("-") or value == 0 else f"+{text}"


def change_words(answer: Answer, *, follows: bool = False) -> str:
    """`therapy_hours 3.9 -> 5.9`: what was set, or what followed."""
    cells = (
        f"{shown(one.name)} {cell_words(one.before)} -> {cell_words(one.after)}"
        for one in answer.changes
        if one.follows == follows
    )
    return ", ".join(cells)


def difference_words(answer: Answer, level: float) -> str:
    """`+6.040 (90 % interval +3.925 to +8.155)`."""
    if answer.basis == "irrelevant":
        return "unchanged"
    if answer.interval is None or answer.interval[0] == answer.interval[1]:
        return signed(answer.difference)
    low, high = map(signed, answer.interval)
    return f"{signed(answer.difference)} ({setting(100 * level)} % interval {low} to {high})"


def answer_sentences(found: WhatIf, answer: Answer) -> Iterator[str]:
    """One row, whole."""
    target = in_unit(found.target.name, found.target.unit)
    yield f"Row {answer.row}: {target} as observed {number(answer.observed)}."
    changes = change_words(answer) or "nothing, the row has these values"
    yield f"Changed: {changes}."
    if followed := change_words(answer, follows=True):
        yield f"Follows: {followed}."
    yield f"It would have been {number(answer.outcome)}: {difference_words(answer, found.level)}."
    yield from robustness_sentences(found, answer)
    yield from _places(answer)


def robustness_sentences(found: WhatIf, answer: Answer) -> Iterator[str]:
    """How strong a hidden cause would have to be to turn the sign, after Cinelli and Hazlett (2020)."""
    if answer.robustness is None:
        return
    # No hidden cause of an irrelevant column could turn the sign: nothing was computed from it.
    asked = tuple(shown(name) for name, status in found.asked if found.follow or status != "irrelevant")
    names, target = listed(asked), shown(found.target.name)
    yield (
        f"A hidden cause of {target} and {names} would have to explain {share(answer.robustness)} of what the features "
        "leave open in each to turn the sign."
    )
    one = found.benchmark
    if one is not None:
        enough = (
            "" if one.with_feature * one.with_target >= _product(answer.robustness) * (1 - one.with_feature) else "not "
        )
        yield (
            f"{shown(one.name)}, the measured feature that is tied most to both, explains {share(one.with_feature)} of "
            f"{names} and {share(one.with_target)} of {target}: one more like it, unmeasured, would {enough}be enough."
        )


def _product(robustness: float) -> float:
    """R2_y * R2_x / (1 - R2_x) at which the sign turns."""
    return robustness**2 / (1.0 - robustness) if robustness < 1 else float("inf")


def _places(answer: Answer) -> Iterator[str]:
    if answer.beyond:
        names = listed(tuple(map(shown, answer.beyond)))
        yield f"Extrapolation: no training row has such a value of {names}; the teacher guesses there."
    elif answer.off_data:
        yield "Extrapolation: no training row is like this one; the teacher guesses there."


def ground_sentences(found: WhatIf) -> Iterator[str]:
    """What all answers rest on, and what to be careful about."""
    target, names = shown(found.target.name), listed(tuple(shown(name) for name, _ in found.asked))
    yield _BASES[found.answers[0].basis].format(target=target, names=names)
    yield FOLLOWED if found.follow else HELD_FIXED
    named = f" (above all {listed(tuple(map(shown, found.contradicted)))})" if found.contradicted else ""
    for caution in found.cautions:
        yield _CAUTIONS[caution].format(target=target, contradicted=named)
    if found.refits:
        yield NOT_CALIBRATED.format(refits=found.refits)


def extrapolation_sentence(found: WhatIf) -> str:
    """How many answers lie beyond the data, of several."""
    far = sum(bool(one.beyond) or one.off_data for one in found.answers)
    return f"{far} of {len(found.answers)} answers are extrapolation: no training row is like them." if far else ""


def answer_rows(found: WhatIf) -> Iterator[tuple[str, ...]]:
    """Row, change, observed, would have been, difference, its interval, and what turns its sign."""
    for one in found.answers:
        interval = "" if one.interval is None else f"{signed(one.interval[0])} to {signed(one.interval[1])}"
        far = " *" if one.beyond or one.off_data else ""
        yield (
            f"{one.row}{far}",
            number(one.observed),
            number(one.outcome),
            signed(one.difference),
            interval,
            "-" if one.robustness is None else share(one.robustness),
            change_words(one),
        )


def effect_name(effect: AverageEffect, columns: Sequence[Column]) -> str:
    """`therapy_hours (hours/week)`, `ward: north instead of south`."""
    if effect.label:
        return f"{shown(effect.name)}: {shown(effect.label)} instead of {shown(effect.against)}"
    return in_unit(effect.name, next((one.unit for one in columns if one.name == effect.name), None))


def effect_rows(effects: Sequence[AverageEffect], columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """What is set, the mean change, its spread, and where 8 of 10 rows lie."""
    return [
        (
            effect_name(one, columns),
            signed(one.mean),
            number(one.spread),
            f"{signed(one.low)} to {signed(one.high)}",
            listed(tuple(map(shown, one.follows))) if one.follows else "-",
        )
        for one in effects
    ]


def without_effect(name: str, why: str, target: str) -> str:
    """A feature of which no average is told."""
    if not why:
        return f"{shown(name)}: 0 by the graph, {shown(target)} does not depend on it once the other columns are known."
    return f"{shown(name)}: cannot be told, {shown(why)}."
