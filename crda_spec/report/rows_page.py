"""What the report says and shows of the new rows: sentences, a table and figures, from the diagnostics alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crda_spec.records import Column, Diagnostics, FeatureVerdict, MovedFeature, Places, RunResult
from crda_spec.report.figure_rows import cloud_plot, effect_curves, gain_bars, quantile_plot
from crda_spec.report.wording import count, in_unit, listed, number, percent, share, shown

MOST_EFFECTS = 12
LOUD = 0.1  # standard deviations of the target: more than this, and an "irrelevant" feature is not flat


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, the sentence that says what to see, and the name of its file."""

    file: str
    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class MovedRow:
    """A row of the table: how far a feature moved."""

    name: str
    changed: str
    median: str
    far: str
    in_sd: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsPart:
    """The section of the page."""

    sentences: tuple[str, ...]
    rows: tuple[MovedRow, ...]
    figures: tuple[Figure, ...]


def rows_part(result: RunResult) -> RowsPart | None:
    """The section on the new rows; None when there are none, or nobody looked."""
    found = result.diagnostics
    if found is None:
        return None
    return RowsPart(
        sentences=rows_sentences(result),
        rows=tuple(_row(one, result) for one in found.moved),
        figures=rows_figures(result),
    )


def rows_figures(result: RunResult) -> tuple[Figure, ...]:
    """The pictures alone, as they are written beside the page."""
    return () if result.diagnostics is None else tuple(_figures(result.diagnostics, result))


def rows_sentences(result: RunResult) -> tuple[str, ...]:
    """What the numbers say, for the page; the terminal takes the last two."""
    found = result.diagnostics
    if found is None:
        return ()
    said = [_outside(found)]
    apart = found.disagreement
    if apart is not None:
        times = apart.new_median / apart.real_median if apart.real_median > 0 else float("inf")
        unit = f" {shown(result.split.train.target.unit)}" if result.split.train.target.unit else ""
        said.append(
            f"The teacher's {apart.members} members differ by {number(apart.new_median)}{unit} at a typical new row, "
            f"and by {number(apart.real_median)} at a real one (standard deviation; {number(times, 2)} times as much)."
        )
    said += [sentence for sentence in (flat_sentence(result), control_sentence(found)) if sentence]
    return tuple(said)


def _outside(found: Diagnostics) -> str:
    places = found.places
    part = share(places.outside) if places.outside else "None"
    return (
        f"{part} of {count(places.rows, 'new row')} that were asked about lie farther from the data than 95 % of real "
        "rows lie from each other, or break a tie among the numbers."
    )


def flat_sentence(result: RunResult) -> str:
    """Whether what the graph calls irrelevant leaves the teacher alone; empty where the question does not arise."""
    found, verdicts = result.diagnostics, {one.name: one for one in result.certificate.features}
    if found is None:
        return ""
    asked = [one for one in found.moved if _irrelevant(verdicts[one.name])]
    if not asked:
        return ""
    loud = [one for one in asked if one.effect > LOUD]
    if not loud:
        names = listed(tuple(shown(one.name) for one in asked))
        return f"The graph calls {names} irrelevant, and the teacher is flat there, as it should be."
    told = listed(tuple(f"{shown(one.name)} ({share(one.effect)} of the target's standard deviation)" for one in loud))
    return f"The graph calls irrelevant what moves the teacher: {told}. Doubt the model there, or the graph."


def _irrelevant(verdict: FeatureVerdict) -> bool:
    return verdict.status == "irrelevant"


def control_sentence(found: Diagnostics) -> str:
    """How much of the change needs no new place; empty without the control."""
    control = found.control
    if control is None:
        return ""
    total = control.teacher_percent + control.places_percent
    return (
        f"Of the change of {percent(total)} % on the test rows, {percent(control.teacher_percent)} points come without "
        "moving anything (the same student on the real rows, labelled again by the same rule), and "
        f"{percent(control.places_percent)} points from the new places."
    )


def _row(one: MovedFeature, result: RunResult) -> MovedRow:
    column = column_of(one.name, result)
    median, far, in_sd = ("-" if value is None else number(value, 3) for value in (one.median, one.far, one.in_sd))
    return MovedRow(in_unit(one.name, column.unit), share(one.changed), median, far, in_sd, share(one.effect))


def column_of(name: str, result: RunResult) -> Column:
    """The feature of that name."""
    return next(column for column in result.split.train.features if column.name == name)


def cloud_axes(places: Places) -> tuple[str, str]:
    """The directions of the plane, each with its share of the variance."""
    plane, (first, second) = places.plane, places.shares
    return f"{plane.first} ({share(first)})", f"{plane.second} ({share(second)})"


def _figures(found: Diagnostics, result: RunResult) -> Iterator[Figure]:
    target, places = result.split.train.target, found.places
    yield Figure(
        "rows_plane",
        cloud_plot(places.plane, cloud_axes(places), "Real and new rows in the plane of their largest variation"),
        "What to see: rings far from every grey dot are rows where no real row is, and where the teacher guesses. In "
        "brackets, the share of the variance of the standardised features.",
    )
    for at, pair in enumerate(places.pairs, start=1):
        names = tuple(in_unit(name, column_of(name, result).unit) for name in (pair.first, pair.second))
        yield Figure(
            f"rows_pair_{at}",
            cloud_plot(pair, (names[0], names[1]), f"{names[0]} and {names[1]}"),
            "What to see: whether the rings keep to the shape of the grey cloud, or break a tie that the data have.",
        )
    if found.moved:
        shown_ones = found.moved[:MOST_EFFECTS]
        columns = [column_of(one.name, result) for one in shown_ones]
        yield Figure(
            "teacher_effects",
            effect_curves(shown_ones, columns, target),
            "What to see: the teacher's mean word along each moved feature. A feature called irrelevant should be a "
            "flat line; the number also counts effects that differ from row to row.",
        )
    outcome = in_unit(target.name, target.unit)
    if found.noise is not None:
        yield Figure(
            "noise_quantiles",
            quantile_plot(
                found.noise, (f"residual of real rows, {outcome}", "noise in new rows"), "Noise before and after"
            ),
            "What to see: on the line, the new rows carry noise like the real ones; flatter, they carry less.",
        )
    if found.errors is not None:
        yield Figure(
            "error_quantiles",
            quantile_plot(
                found.errors,
                (f"plain model's errors, {outcome}", "augmented model's errors"),
                "Test errors before and after",
            ),
            "What to see: flatter than the line means smaller errors; a bend at an end means that the largest errors "
            "changed.",
        )
    if found.control is not None:
        yield Figure(
            "gain_parts",
            gain_bars(found.control),
            "What to see: the step from the first bar to the second is the teacher's labels, from the second to the "
            "third the new places. Shorter is better.",
        )
