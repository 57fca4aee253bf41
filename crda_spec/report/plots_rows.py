"""What the new rows are like, drawn for slides and papers: one figure for each that the report shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crda_spec.records import Cloud, Column, Comparison, Control, MovedFeature, RunResult
from crda_spec.report.gate_words import loss_unit
from crda_spec.report.plot_sheet import readable, sheet
from crda_spec.report.rows_page import MOST_EFFECTS, cloud_axes, column_of
from crda_spec.report.svg import LIGHT
from crda_spec.report.wording import in_unit, number, share

_ACROSS = 3
_MOST_TICKS = 6


def rows_plots(result: RunResult) -> Iterator[tuple[str, Figure]]:
    """File name without ending, and figure: the same names as the report's own pictures."""
    found, target = result.diagnostics, result.split.train.target
    if found is None:
        return
    yield "rows_plane", cloud_figure(found.places.plane, cloud_axes(found.places))
    for at, pair in enumerate(found.places.pairs, start=1):
        first, second = (in_unit(name, column_of(name, result).unit) for name in (pair.first, pair.second))
        yield f"rows_pair_{at}", cloud_figure(pair, (first, second))
    if found.moved:
        moved = found.moved[:MOST_EFFECTS]
        yield "teacher_effects", effects_figure(moved, [column_of(one.name, result) for one in moved], target)
    outcome = in_unit(target.name, target.unit)
    if found.noise is not None:
        yield (
            "noise_quantiles",
            quantile_figure(found.noise, (f"residual of real rows, {outcome}", "noise in new rows")),
        )
    if found.errors is not None:
        axes = (f"plain model's errors, {outcome}", "augmented model's errors")
        yield "error_quantiles", quantile_figure(found.errors, axes)
    if found.control is not None:
        yield "gain_parts", gain_figure(found.control, target)


def cloud_figure(cloud: Cloud, axes: tuple[str, str]) -> Figure:
    """Real rows as filled grey dots, new ones as blue rings."""
    figure = sheet(4.2, 3.7)
    place = figure.subplots()
    real, new = (([x for x, _ in points], [y for _, y in points]) for points in (cloud.real, cloud.new))
    place.scatter(*real, s=16.0, color=LIGHT["grey"], alpha=0.5, linewidths=0.0, label="training rows")
    place.scatter(*new, s=16.0, facecolors="none", edgecolors=LIGHT["sky"], linewidths=0.9, label="synthetic rows")
    _name_axes(place, axes)
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8.0)
    return figure


def quantile_figure(found: Comparison, axes: tuple[str, str]) -> Figure:
    """Equal quantiles of two samples against each other, and the line on which they are the same."""
    figure = sheet(4.2, 3.7)
    place = figure.subplots()
    ends = (min(*found.before, *found.after), max(*found.before, *found.after))
    place.plot(ends, ends, color=LIGHT["line"], linewidth=1.0, label="no change")
    place.scatter(found.before, found.after, s=16.0, facecolors="none", edgecolors=LIGHT["sky"], label="quantiles")
    _name_axes(place, axes)
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8.0)
    return figure


def _name_axes(place: Axes, axes: tuple[str, str]) -> None:
    place.set_xlabel(readable(axes[0]))
    place.set_ylabel(readable(axes[1]))


def effects_figure(moved: Sequence[MovedFeature], columns: Sequence[Column], target: Column) -> Figure:
    """The teacher's mean word along each moved feature, on one scale of the target: flat means that nothing happens."""
    across = min(_ACROSS, len(moved))
    down = -(-len(moved) // across)
    figure = sheet(max(3.4, 2.6 * across), 2.4 * down + 0.5)
    grid = figure.subplots(down, across, squeeze=False, sharey=True)
    for spare in grid.flat[len(moved) :]:
        spare.set_axis_off()
    for place, one, column in zip(grid.flat, moved, columns, strict=False):
        place.plot(one.grid, one.curve, color=LIGHT["sky"], marker="o", markersize=3.5)
        place.set_xlabel(readable(in_unit(column.name, column.unit), 30))
        place.set_title(f"{share(one.effect)} of the outcome's sd", fontsize=8.0, loc="left")
        if not column.is_numeric:
            labels = column.labels or ("false", "true")
            ticks = [int(code) for code in one.grid][:_MOST_TICKS]
            place.set_xticks(ticks, [readable(labels[code], 10) for code in ticks])
    figure.supylabel(readable(f"teacher's mean, {in_unit(target.name, target.unit)}", 42), fontsize=8.0)
    return figure


def gain_figure(control: Control, target: Column) -> Figure:
    """The test loss of three students: real rows, the same labelled anew, and rows at new places."""
    figure = sheet(5.0, 2.0)
    place = figure.subplots()
    names = ("plain", "relabelled, not moved", "augmented")
    losses = (control.plain, control.relabelled, control.augmented)
    bars = place.barh(range(3), losses, 0.55, color=[LIGHT["grey"], LIGHT["sky"], LIGHT["sky"]])
    place.bar_label(bars, labels=[f" {number(loss)}" for loss in losses], fontsize=8.0)
    place.set_yticks(range(3), names)
    place.invert_yaxis()
    place.set_xlim(0.0, 1.2 * max(losses) or 1.0)
    place.set_xlabel(readable(f"test {loss_unit(control.metric, target)}"))
    return figure
