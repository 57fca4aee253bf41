"""The report's figures as files, for slides and papers: SVG and PNG by matplotlib, with units on the axes.

What the new rows are like is drawn in `plots_rows.py`, as PNG only: its SVG is the report's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crda_spec.records import Array, Column, FoldResult, RunResult, TestScore
from crda_spec.report.figures import bin_edges, comparable, shares_of
from crda_spec.report.gate_words import loss_unit
from crda_spec.report.plot_sheet import house_style, readable, sheet, written
from crda_spec.report.plots_rows import rows_plots
from crda_spec.report.svg import LIGHT
from crda_spec.report.wording import in_unit

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
