"""The report's figures as files, for slides and papers: SVG and PNG by matplotlib."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font

from crda_spec.records import Array, Cloud, Column, Comparison, Control, FoldResult, MovedFeature, RunResult, TestScore
from crda_spec.report.figures import bin_edges, comparable, shares_of
from crda_spec.report.graph_png import NO_GLYPH, font_file
from crda_spec.report.page_parts import MOST_EFFECTS, cloud_axes, column_of
from crda_spec.report.svg import LIGHT
from crda_spec.report.words.gate import loss_unit
from crda_spec.report.words.numbers import in_unit, number, share, shorten, shown

_DPI = 150
_RULES: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "svg.fonttype": "path",  # looks the same where the font is not installed
    "svg.hashsalt": "crda-spec",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": LIGHT["line"],
    "axes.labelcolor": LIGHT["ink"],
    "xtick.color": LIGHT["soft"],
    "ytick.color": LIGHT["soft"],
    "text.color": LIGHT["ink"],
    "text.parse_math": False,  # a `$` in a column's name is a `$`
}


@contextmanager
def house_style() -> Iterator[None]:
    """Our settings and nobody else's, inside a `with`."""
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the user's matplotlibrc says
        mpl.rcParams.update(_RULES)
        yield


def written(figure: Figure, kind: str) -> bytes:
    """The bytes of an SVG or PNG file."""
    sink = io.BytesIO()
    nobody = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(sink, format=kind, dpi=_DPI, metadata=nobody)
    figure.set_layout_engine("none")  # its parts are in place now: the next format need not look again
    return sink.getvalue()


def sheet(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor=LIGHT["ground"])
    FigureCanvasAgg(figure)  # attaches itself, so that savefig asks no global backend
    return figure


def readable(text: str, longest: int = 48) -> str:
    """A name as the font can draw it, with a square for each letter it does not have."""
    known = get_font(str(font_file())).get_charmap()
    return "".join(letter if ord(letter) in known else NO_GLYPH for letter in shorten(shown(text), longest))


MOST_FEATURES = 12  # in one figure; the page shows more
_MOST_BARS = 10


def plot_files(result: RunResult) -> dict[str, bytes]:
    """File name -> bytes: the features, the gate's folds, the change on the test rows, what the new rows are like."""
    figures: dict[str, Figure] = {}
    with house_style():
        if result.counterfactuals is not None:
            figures["features"] = features_figure(result)
        if result.verdict.folds:
            figures["gate"] = gate_figure(result.verdict.folds, result.verdict.metric, result.split.train.target)
        if result.score.change_percent is not None:
            figures["test"] = score_figure(result.score)
        files = {
            f"figures/{name}.{kind}": written(figure, kind)
            for name, figure in figures.items()
            for kind in ("png", "svg")
        }
        return files | {f"figures/{name}.png": written(figure, "png") for name, figure in rows_plots(result)}


def features_figure(result: RunResult) -> Figure:
    """Each moved feature among the training rows (filled) and the synthetic rows (outlined)."""
    made, train = result.counterfactuals, result.split.train
    if made is None:
        raise ValueError("a run without synthetic rows has no such figure")
    names = tuple(dict.fromkeys((*made.action.moved, *made.action.propagated)))[:MOST_FEATURES]
    across = min(3, len(names))
    down = -(-len(names) // across)
    figure = sheet(3.4 * across, 2.5 * down + 0.4)
    grid = figure.subplots(down, across, squeeze=False)
    for place in grid.flat[len(names) :]:
        place.set_axis_off()
    for place, name in zip(grid.flat, names, strict=False):
        at = train.names.index(name)
        column = train.features[at]
        draw = _histogram if column.is_numeric else _bars
        draw(place, train.x[:, at], made.action.x[:, at], column)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)
    return figure


def _histogram(place: Axes, before: Array, after: Array, column: Column) -> None:
    before, after = comparable(before), comparable(after)
    edges = bin_edges(before, after, whole=column.type == "integer")
    old, new = (100.0 * np.histogram(values, bins=edges)[0] / max(1, len(values)) for values in (before, after))
    place.stairs(old, edges, fill=True, color=LIGHT["grey"], alpha=0.4, label="training rows")
    place.stairs(new, edges, color=LIGHT["sky"], linewidth=1.6, label="synthetic rows")
    place.set_xlabel(readable(in_unit(column.name, column.unit)))
    place.set_ylabel("share of rows (%)")


def _bars(place: Axes, before: Array, after: Array, column: Column) -> None:
    labels = column.labels or ("false", "true")
    old, new = (100.0 * np.array(shares_of(values, len(labels))) for values in (before, after))
    order = np.argsort(-old, kind="stable")[:_MOST_BARS]
    at = np.arange(len(order))
    place.barh(at - 0.2, old[order], 0.36, color=LIGHT["grey"], alpha=0.55, label="training rows")
    place.barh(at + 0.2, new[order], 0.36, color=LIGHT["sky"], label="synthetic rows")
    place.set_yticks(at, [readable(labels[code], 18) for code in order])
    place.invert_yaxis()
    place.set_xlabel("share of rows (%)")
    place.set_title(readable(in_unit(column.name, column.unit), 40), fontsize=9.0)


def gate_figure(folds: Sequence[FoldResult], metric: str, target: Column) -> Figure:
    """Each fold's losses, plain and augmented, joined by a line; the thick line is the mean."""
    figure = sheet(4.6, 3.6)
    place = figure.subplots()
    pairs = np.array([(fold.plain, fold.augmented) for fold in folds], dtype=np.float64)
    finite = pairs[np.isfinite(pairs).all(axis=1)]
    said: set[str] = set()
    for pair in finite:
        better = bool(pair[1] < pair[0])
        look = ("sky", "-", "fold where it helped") if better else ("orange", "--", "fold where it did not")
        label = look[2] if look[2] not in said else "_nolegend_"
        said.add(look[2])
        place.plot([0, 1], pair, color=LIGHT[look[0]], linestyle=look[1], marker="o", markersize=4, label=label)
    if len(finite):
        mean = finite.mean(axis=0)
        place.plot([0, 1], mean, color=LIGHT["ink"], linewidth=3.0, marker="o", markersize=7, label="mean")
        place.legend(frameon=False, fontsize=8.0, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    place.set_xticks([0, 1], ["plain", "augmented"])
    place.set_xlim(-0.25, 1.25)
    place.set_ylabel(readable(f"held-out {loss_unit(metric, target)}"))
    return figure


def score_figure(score: TestScore) -> Figure:
    """The change on the test rows with its interval; left of the dashed line the augmented model errs less."""
    if score.change_percent is None:
        raise ValueError("a run without an augmented model has no such figure")
    figure = sheet(4.6, 1.5)
    place = figure.subplots()
    low, high = score.interval_percent or (score.change_percent, score.change_percent)
    look = "sky" if high < 0 else "orange" if low > 0 else "ink"
    place.plot([low, high], [0, 0], color=LIGHT[look], linewidth=5.0, solid_capstyle="round")
    place.plot([score.change_percent], [0], color=LIGHT[look], marker="o", markersize=11)
    place.axvline(0.0, color=LIGHT["line"], linestyle="--", linewidth=1.2)
    place.set_yticks([])
    place.spines["left"].set_visible(False)
    place.margins(x=0.15)
    place.set_xlabel(f"change of the test {score.metric.upper()} (%), below 0 is better")
    return figure


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
