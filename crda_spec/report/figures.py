"""The figures of the report, each drawn once by matplotlib: for the page, and for files. Same numbers, same bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crda_spec import records
from crda_spec.records import Array, Column, Diagnostics, RunResult, Table
from crda_spec.report.svg import LIGHT, text_width
from crda_spec.report.words import numbers
from crda_spec.report.words.gate import loss_unit, mean_losses
from crda_spec.report.words.numbers import count, in_unit, number, percent, setting, share, shorten, shown
from crda_spec.report.words.run import control_changes
from crda_spec.report.words.whatif import effect_name
from crda_spec.scm.sensitivity import used_up_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_EFFECTS = 12
MOST_AVERAGES = 24
MOST_CURVES = 8  # of a sweep; the answers have all
MOST_FEATURES = 24  # moved ones that are drawn; the others keep their sentence
_HALF, _WHOLE = 460.0, 736.0  # widths: half of the page, and as wide as its text
_SIZE = 12.0  # of letters
_NAMED = 42.0  # height of a line under its name
_MOST_BINS = 28
_MOST_BARS = 12
_LARGEST = 1e150  # a table holds numbers up to 1e100; the span of anything near the largest floats is not finite
_REAL, _NEW = "training rows", "synthetic rows"
_GREY, _SKY, _ORANGE, _INK, _SOFT, _LINE = (LIGHT[name] for name in ("grey", "sky", "orange", "ink", "soft", "line"))
_Cell = tuple[float, float, float, float]
_DOT: Mapping[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5.2}
_RING: Mapping[str, Any] = {**_DOT, "markerfacecolor": "none", "markeredgecolor": _SKY, "markeredgewidth": 1.3}


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, with its name and what it shows in words for those who cannot see it."""

    figure: Figure
    title: str
    description: str

    @cached_property
    def svg(self) -> str:
        """For the page, and for a file."""
        from crda_spec.report.canvas import svg_text

        return svg_text(self.figure, title=self.title, description=self.description)

    @property
    def png(self) -> bytes:
        """For slides and papers."""
        from crda_spec.report.canvas import png_bytes

        return png_bytes(self.figure)


@contextmanager
def _in_style() -> Iterator[None]:
    """Figures and their parts take our settings when they are made."""
    from matplotlib import rc_context

    from crda_spec.report.canvas import STYLE

    with rc_context(STYLE):
        yield


def _sheet(width: float, height: float) -> Figure:
    """An empty figure; its size in pixels of the page."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width / 72.0, height / 72.0), facecolor=LIGHT["ground"])


def _axes(figure: Figure) -> Axes:
    """New axes; `_fit` finds their place when their labels are known."""
    return figure.add_axes((0.0, 0.0, 1.0, 1.0), label=str(len(figure.axes)))


def _panel(width: float, height: float) -> tuple[Figure, Axes]:
    figure = _sheet(width, height)
    return figure, _axes(figure)


def _fit(ax: Axes, *, cell: _Cell | None = None, top: float = 34.0) -> None:
    """Puts the axes where their labels have room: inside the figure, or inside a cell (left, top, width, height)."""
    width, height = ax.figure.bbox.size
    left, above, wide, high = cell or (0.0, 0.0, width, height)
    labels = [text_width(label.get_text(), _SIZE) for label in ax.get_yticklabels()]
    start = left + 14.0 + max(labels, default=0.0) + (22.0 if ax.get_ylabel() else 0.0)
    floor = height - above - high + (44.0 if ax.get_xlabel() else 26.0)
    end, ceiling = left + wide - 16.0, height - above - top
    ax.set_position((start / width, floor / height, (end - start) / width, (ceiling - floor) / height))


def _legend(figure: Figure, ax: Axes, *, rows: int = 1) -> None:
    handles, labels = ax.get_legend_handles_labels()
    top = 1.0 - 8.0 / figure.bbox.height
    figure.legend(handles, labels, loc="upper left", ncols=-(-len(labels) // rows), bbox_to_anchor=(0.03, top))


def _scale(ax: Axes, axis: Literal["x", "y"], low: float, high: float, most: int = 6) -> None:
    """An axis from low to high, with round numbers."""
    ticks = round_numbers(low, high, most)
    ax.set(**{f"{axis}ticks": ticks, f"{axis}ticklabels": [setting(value) for value in ticks]})
    ax.set(**{f"{axis}lim": (low, high)})


def _beside(ax: Axes, x: float, y: float, text: str, *, left: bool = False, colour: str = _SOFT) -> None:
    """Words a little to the right of a point, or to its left."""
    side, aside = ("right", -9.0) if left else ("left", 9.0)
    look: dict[str, Any] = {"ha": side, "va": "center_baseline", "color": colour, "annotation_clip": False}
    ax.annotate(text, (x, y), (aside, 0.0), textcoords="offset points", **look)


def _name_lines(ax: Axes, names: Sequence[str]) -> None:
    """Lines below each other, each under its name: beside it, a long name would leave the line no room."""
    for at, name in enumerate(names):
        ax.text(0.0, at - 0.42, name, transform=ax.get_yaxis_transform(), va="center_baseline", color=_INK)
    ax.set_yticks([])
    ax.set_ylim(len(names) - 0.65, -0.7)
    ax.spines["left"].set_visible(False)


def _room(values: Sequence[float], room: float = 0.05) -> tuple[float, float]:
    """Ends that leave some room; values that hardly differ get more."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    pad = room * (high - low) or max(0.5, room * abs(high))
    return low - pad, high + pad


def round_numbers(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """At most `most` multiples of 1, 2 or 5 times a power of ten from low to high."""
    span = high / 2 - low / 2  # half the span, which is finite for all finite ends
    if not span > 0:
        return (low,)
    power = 10.0 ** math.floor(math.log10(span) - 1)
    for step in (power * base for base in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return tuple(index * step + 0.0 for index in range(first, last + 1))
    return (low, high)


def _name(text: str, longest: int = 46) -> str:
    return shorten(shown(text), longest)


# --- before and after


@_in_style()
def feature_figure(before: Array, after: Array, column: Column) -> Picture:
    """One feature among the training rows (filled) and among the synthetic rows.

    before: (n,) and after: (m,), in the column's unit; values that are missing, not finite, or far beyond what a table
    may hold are left out. Both are drawn as a share of their own rows, so that the two shapes can be compared.
    """
    height = 220.0 if column.is_numeric else 84.0 + 30.0 * min(_MOST_BARS, len(_labels(column)))
    figure, ax = _panel(_HALF, height)
    description = (_draw_bins if column.is_numeric else _draw_bars)(ax, before, after, column)
    _fit(ax)
    _legend(figure, ax)
    return Picture(figure, f"{in_unit(column.name, column.unit)} before and after", description)


def _labels(column: Column) -> tuple[str, ...]:
    return column.labels or ("false", "true")


def _draw_bins(ax: Axes, before: Array, after: Array, column: Column) -> str:
    """Draws one feature; returns what is to be seen."""
    before, after = (values[np.abs(values) < _LARGEST] for values in (before, after))
    edges = bin_edges(before, after, whole=column.type == "integer")
    old, new = (100.0 * np.histogram(values, bins=edges)[0] / max(1, len(values)) for values in (before, after))
    ax.stairs(old, fill=True, color=_GREY, alpha=0.4, label=_REAL)
    ax.stairs(new, color=_SKY, linewidth=1.8, label=_NEW)
    # Bins are counted, not measured: no arithmetic on ends near the largest floats.
    low, high, bins = float(edges[0]), float(edges[-1]), len(old)
    ticks = round_numbers(low, high, 5)
    places = [bins * (value / 2 - low / 2) / (high / 2 - low / 2) for value in ticks]
    ax.set_xticks(places, [setting(value) for value in ticks])
    ax.set_xlim(0, bins)
    _scale(ax, "y", 0.0, 1.05 * float(max(old.max(), new.max())) or 1.0, 5)
    ax.set_xlabel(shorten(in_unit(column.name, column.unit), 46))
    ax.set_ylabel("rows, %")
    return f"{_spread('Training rows', before)}; {_spread('synthetic rows', after)}"


def bin_edges(before: Array, after: Array, *, whole: bool) -> Array:
    """Edges of the bins that both samples share: at most 28; around each whole number where that is few enough."""
    both = np.concatenate([before, after])
    low, high = (float(both.min()), float(both.max())) if len(both) else (0.0, 1.0)
    size = max(abs(low), abs(high))
    if whole and high - low < _MOST_BINS and size < 2**40:
        return np.arange(math.floor(low), math.ceil(high) + 2, dtype=np.float64) - 0.5
    amount = max(6, min(_MOST_BINS, round(2 * len(both) ** (1 / 3))))
    # Half of each end, since the span of the largest floats is not finite; values that hardly differ get some room.
    half_low, half_high, limit = low / 2, high / 2, np.finfo(np.float64).max / 2
    if half_high - half_low <= 1e-12 * max(size, 1e-200):
        room = 0.25 * max(1.0, 1e-6 * size)
        half_low, half_high = max(half_low - room, -limit), min(half_high + room, limit)
    edges = np.asarray(2 * np.linspace(half_low, half_high, amount + 1), dtype=np.float64)
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # halving may have rounded an end inwards
    return edges


def _spread(whose: str, values: Array) -> str:
    if not len(values):
        return f"{whose}: no values"
    low, middle, high = (number(float(value)) for value in np.quantile(values, [0.0, 0.5, 1.0]))
    return f"{whose}: from {low} to {high}, median {middle}"


def _draw_bars(ax: Axes, before: Array, after: Array, column: Column) -> str:
    labels = _labels(column)
    codes = (values[np.isfinite(values)].astype(np.int64) for values in (before, after))  # of those not missing
    old, new = (100.0 * (np.bincount(some, minlength=len(labels)) / max(1, len(some))) for some in codes)
    order = np.argsort(-old, kind="stable")[:_MOST_BARS]
    names = [_name(labels[code], 22) for code in order]
    for values, shift, colour, alpha, label in ((old, -0.2, _GREY, 0.55, _REAL), (new, 0.2, _SKY, 1.0, _NEW)):
        ax.barh(np.arange(len(order)) + shift, values[order], 0.36, color=colour, alpha=alpha, label=label)
        for at, value in enumerate(values[order]):
            _beside(ax, value, at + shift, f"{value:.1f} %")
    ax.set_yticks(range(len(order)), names)
    ax.set_ylim(len(order) - 0.45, -0.55)
    _scale(ax, "x", 0.0, 1.2 * float(max(old.max(), new.max())) or 1.0, 5)
    rest = len(labels) - len(order)
    more = f"; {rest} rarer values not drawn" if rest else ""
    ax.set_xlabel(f"{shorten(in_unit(column.name, column.unit), 28)}, % of rows{more}")
    return "; ".join(f"{name}: {old[c]:.1f} % to {new[c]:.1f} %" for c, name in zip(order, names, strict=True))


# --- the gate and the test rows


@_in_style()
def gate_figure(folds: Sequence[records.FoldResult], metric: str, target: Column) -> Picture:
    """Each fold as a line from the plain model's loss to the augmented model's; falling is better."""
    figure, ax = _panel(_HALF, 320.0)
    finite = [fold for fold in folds if math.isfinite(fold.plain) and math.isfinite(fold.augmented)]
    labels = {True: "helped", False: "did not help"}
    for fold in finite:
        better = fold.augmented < fold.plain
        ax.plot(
            [0, 1],
            [fold.plain, fold.augmented],
            color=_SKY if better else _ORANGE,
            linestyle="-" if better else "--",
            marker="o",
            gid=f"fold {fold.fold}: {number(fold.plain)} to {number(fold.augmented)}",
            label=labels.pop(better, ""),
        )
    _scale(ax, "y", *_room([loss for fold in finite for loss in (fold.plain, fold.augmented)], 0.08))
    if finite:
        means = plain, augmented = mean_losses(finite)
        words = f"mean of the folds: {number(plain)} to {number(augmented)}"
        ax.plot([0, 1], means, color=_INK, linewidth=3.0, marker="o", markersize=8, label="mean", gid=words)
        _beside(ax, 0.0, plain, number(plain), left=True, colour=_INK)
        _beside(ax, 1.0, augmented, number(augmented), colour=_INK)
    ax.set_xticks([0, 1], ["plain", "augmented"])
    ax.set_xlim(-0.35, 1.35)
    ax.set_ylabel(shorten(f"held-out {loss_unit(metric, target)}", 40))
    ax.grid(axis="y")
    ax.set_axisbelow(True)
    _fit(ax)
    _legend(figure, ax)
    helped = sum(fold.augmented < fold.plain for fold in finite)
    description = f"The augmented model erred less in {helped} of {count(len(finite), 'fold')}"
    return Picture(figure, f"{metric.upper()} of the gate's folds", description)


@dataclass(frozen=True, slots=True)
class Change:
    """A change in percent and its interval, each None where there is none."""

    name: str
    value: float | None
    interval: tuple[float, float] | None


@_in_style()
def changes_figure(changes: Sequence[Change], *, title: str, metric: str, description: str = "") -> Picture:
    """Changes of the test loss below each other; one that cannot be compared keeps its line and says so."""
    figure, ax = _panel(_WHOLE if len(changes) > 1 else _HALF, 84.0 + 34.0 * len(changes))
    ends = [end for one in changes for end in (one.value, *(one.interval or ())) if end is not None]
    low, high = _room([0.0, *ends], 0.12)
    ax.axvline(0.0, color=_LINE, linewidth=1.2)
    for at, one in enumerate(changes):
        if one.value is None:
            _beside(ax, 0.0, at, "nothing to compare", left=-low > high)
            continue
        start, end = one.interval or (one.value, one.value)
        colour = _INK if one.interval is None or start <= 0 <= end else _SKY if end < 0 else _ORANGE
        ax.plot([start, end], [at, at], color=colour, linewidth=5.0, solid_capstyle="round")
        ax.plot([one.value], [at], color=colour, marker="o", markersize=13, gid=f"{one.name} {_change_words(one)}")
    _beside(ax, 0.0, -0.75, "better", left=True)
    _beside(ax, 0.0, -0.75, "worse")
    _scale(ax, "x", low, high, 8)
    ax.set_yticks(range(len(changes)), [_name(one.name, 24) for one in changes])
    ax.tick_params(axis="y", length=0, labelcolor=_INK)
    ax.set_ylim(len(changes) - 0.4, -0.6)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"change of the test {metric.upper()}, %")
    _fit(ax)
    return Picture(figure, title, description or "; ".join(f"{one.name}: {_change_words(one)}" for one in changes))


def _change_words(one: Change) -> str:
    if one.value is None:
        return "nothing to compare"
    return f"{percent(one.value)} %" + ("" if one.interval is None else f" ({numbers.between(one.interval)})")


def score_figure(score: records.TestScore) -> Picture:
    """The change on the test rows with its interval, if there is one."""
    if score.change_percent is None:
        raise ValueError("a run without an augmented model has no such figure")
    description = f"{percent(score.change_percent)} %"
    if score.interval_percent is not None:
        description += f", {setting(100 * score.level)} % interval from {numbers.between(score.interval_percent)}"
    only = Change("", score.change_percent, score.interval_percent)
    return changes_figure([only], title="Change on the test rows", metric=score.metric, description=description)


def ensemble_figure(ensemble: records.Ensemble, metric: str) -> Picture:
    """The changes with their intervals, the two equal footings first, then both together."""
    many, score, changes = ensemble.models, ensemble.score, []
    plain, augmented, single = score("plain", many), score("augmented", many), score("augmented", 1)
    if plain is not None:
        changes.append(Change(f"{many} plain : 1 plain", plain.change_percent, plain.interval_percent))
    if single is not None:
        changes.append(Change("1 augmented : 1 plain", single.augmentation_percent, single.augmentation_interval))
    if augmented is not None:
        gain, between = augmented.augmentation_percent, augmented.augmentation_interval
        changes.append(Change(f"{many} augmented : {many} plain", gain, between))
        changes.append(Change(f"{many} augmented : 1 plain", augmented.change_percent, augmented.interval_percent))
    return changes_figure(changes, title="What the ensemble and the augmentation give", metric=metric)


@_in_style()
def interval_figure(found: records.IntervalReport) -> Picture:
    """Coverage of each model's intervals against their level, with their mean widths."""
    lines = [one for one in found.scores if math.isfinite(one.width)]
    figure, ax = _panel(_HALF, 76.0 + _NAMED * len(lines))
    low = 100.0 * min(min(one.coverage, one.level) for one in lines)
    for at, one in enumerate(lines):
        ax.plot([100.0 * one.level] * 2, [at - 0.2, at + 0.2], color=_LINE, linewidth=2.0, label=_once("level", at))
        colour = _SKY if one.arm == "augmented" else _GREY
        ax.plot([100.0 * one.coverage], [at], **_DOT, color=colour, label=_once("test rows inside", at))
    _scale(ax, "x", max(0.0, low - 25.0), 104.0, 6)
    names = [f"{one.arm}, {setting(100 * one.level)} %" for one in lines]
    _name_lines(ax, [f"{name}, width {number(one.width)}" for name, one in zip(names, lines, strict=True)])
    ax.set_xlabel("test rows inside, %")
    _fit(ax)
    _legend(figure, ax)
    words = (
        f"{name}: {share(one.coverage)} inside, mean width {number(one.width)}"
        for name, one in zip(names, lines, strict=True)
    )
    return Picture(figure, "Prediction intervals on the test rows", "; ".join(words))


def _once(label: str, at: int) -> str:
    """A label for the legend, which names each thing once."""
    return label if at == 0 else f"_{label}"


# --- what the new rows are like


@_in_style()
def cloud_figure(cloud: records.Cloud, axes: tuple[str, str], title: str) -> Picture:
    """Real rows as filled grey dots, new ones as blue rings."""
    figure, ax = _plane([*cloud.real, *cloud.new], axes)
    ax.plot(*_columns(cloud.real), **_DOT, color=_GREY, alpha=0.5, markeredgewidth=0.0, label=_REAL)
    ax.plot(*_columns(cloud.new), **_RING, label=_NEW)
    _legend(figure, ax)
    ranges = "; ".join(
        f"{axis}: training rows from {_range(real)}, synthetic rows from {_range(new)}"
        for axis, real, new in zip(axes, _columns(cloud.real), _columns(cloud.new), strict=True)
    )
    return Picture(figure, title, f"{len(cloud.real)} training rows and {len(cloud.new)} synthetic rows; {ranges}")


@_in_style()
def quantile_figure(samples: records.Comparison, axes: tuple[str, str], title: str) -> Picture:
    """Equal quantiles of two samples against each other, and the line on which they are the same."""
    both = [*samples.before, *samples.after]
    figure, ax = _plane([(value, value) for value in both], axes)
    ax.plot(_room(both), _room(both), color=_LINE, linewidth=1.0, label="no change")
    ax.plot(samples.before, samples.after, **_RING, label="quantiles")
    _legend(figure, ax)
    description = (
        f"{len(samples.before)} quantiles; {axes[0]} from {number(samples.before[0])} to {number(samples.before[-1])}, "
        f"{axes[1]} from {number(samples.after[0])} to {number(samples.after[-1])}; largest gap between the "
        f"distributions {number(samples.distance, 2)}"
    )
    return Picture(figure, title, description)


def _plane(points: Sequence[tuple[float, float]], axes: tuple[str, str]) -> tuple[Figure, Axes]:
    """Named axes around the points."""
    figure, ax = _panel(_HALF, 360.0)
    across, up = _columns(points)
    _scale(ax, "x", *_room(across), 5)
    _scale(ax, "y", *_room(up), 5)
    ax.set_xlabel(_name(axes[0]))
    ax.set_ylabel(_name(axes[1], 36))
    _fit(ax)
    return figure, ax


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _range(values: Sequence[float]) -> str:
    return f"{number(min(values))} to {number(max(values))}" if values else "none"


@_in_style()
def effects_figure(moved: Sequence[records.MovedFeature], columns: Sequence[Column], target: Column) -> Picture:
    """The teacher's mean along each moved feature, on one scale of the target: flat means that nothing happens."""
    across, top, high = min(2, len(moved)), 26.0, 150.0
    wide, height = _HALF / across, top + high * -(-len(moved) // across)
    figure, ends = _sheet(_HALF, height), _room([value for one in moved for value in one.curve], 0.08)
    for at, (one, column) in enumerate(zip(moved, columns, strict=True)):
        ax, cell = _axes(figure), (wide * (at % across), top + high * (at // across), wide, high)
        ax.plot(one.grid, one.curve, color=_SKY, marker="o", markersize=4)
        _scale(ax, "y", *ends, 4)
        if column.is_numeric:
            _scale(ax, "x", *_room(one.grid), 4)
        else:
            codes = [int(code) for code in one.grid][:4]
            ax.set_xticks(codes, [_name(_labels(column)[code], 26 // len(codes)) for code in codes], fontsize=10.0)
            ax.set_xlim(*_room(one.grid, 0.25))
        ax.set_xlabel(shorten(in_unit(column.name, column.unit), 24))
        ax.set_title(f"{share(one.effect)} of the outcome's sd", fontsize=10.0, color=_SOFT, pad=3.0)
        _fit(ax, cell=cell, top=20.0)
    outcome = shorten(in_unit(target.name, target.unit), 34)
    figure.text(0.03, 1 - 18.0 / height, f"teacher's mean, {outcome}")
    effects = (f"{shown(one.name)}: {share(one.effect)} of the target's standard deviation" for one in moved)
    return Picture(figure, "What the teacher says along each moved feature", "; ".join(effects))


@_in_style()
def gain_figure(changes: Sequence[tuple[str, float]], metric: str) -> Picture:
    """The change of the test loss of each control, and of the augmented model, which comes last."""
    figure, ax = _panel(_WHOLE, 62.0 + 32.0 * len(changes))
    values = [value for _, value in changes]
    low, high = _room([0.0, *values], 0.22)  # for the numbers at the ends of the bars
    if left := max(values) <= 0.0:
        high = -0.02 * low
    ax.axvline(0.0, color=_LINE, linewidth=1.2)
    ax.barh(range(len(changes)), values, 0.55, color=[*[(_GREY, 0.55)] * (len(changes) - 1), _SKY])
    for at, value in enumerate(values):
        _beside(ax, value, at, f"{percent(value)} %", left=left or value < 0.0)
    _scale(ax, "x", low, high, 8)
    ax.set_yticks(range(len(changes)), [words for words, _ in changes])
    ax.tick_params(axis="y", length=0, labelcolor=_INK)
    ax.set_ylim(len(changes) - 0.45, -0.55)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"change of the test {metric.upper()}, %")
    _fit(ax, top=12.0)
    description = "; ".join(f"{words}: {percent(value)} %" for words, value in changes)
    return Picture(figure, "Where the gain comes from", description)


# --- how strong a hidden cause may be, after the contour plots of Cinelli and Hazlett (2020)


@_in_style()
def sensitivity_figure(feature: records.FeatureSensitivity, target: str) -> Picture:
    """The region in which a hidden cause uses up the gain, the point of equal ties on its edge, and the yardstick.

    Only for a finite limit above 0: with any other there is no edge to draw, and the caller asks first.
    """
    if not 0 < feature.limit < math.inf:
        raise ValueError("sensitivity_figure draws where the gain is used up; this limit has no such place")
    r, measured = feature.robustness, (feature.observed_with_feature, feature.observed_with_target)
    # Both axes end at the nearest of these that leaves room around the points.
    end = next((end for end in (0.05, 0.1, 0.2, 0.5, 1.0) if 1.25 * max(r, *measured) <= end), 1.0)
    figure, ax = _panel(_HALF, 380.0)
    name, goal = shown(feature.name), shown(target)
    if edge := _edge(feature.limit, end):
        ax.fill(*zip(*edge, (100 * end, 100 * end), strict=True), color=LIGHT["orange-tint"], linewidth=0.0)
        used = "the whole gain used up"
        ax.plot(*zip(*edge, strict=True), color=_ORANGE, linewidth=2.4, label="gain used up", gid=used)
    for fraction, part, label in ((0.25, "quarter", ""), (0.5, "half", "half, quarter")):
        if curve := _edge(fraction * feature.limit, end):
            used = f"{part} of the gain used"
            ax.plot(*zip(*curve, strict=True), color=_LINE, linestyle="--", linewidth=1.2, label=label, gid=used)
    look = {**_DOT, "markersize": 10, "gid": f"{share(r)} of each uses up the gain"}
    ax.plot([100 * r], [100 * r], **look, color=_INK, label="equal ties")
    description = f"The gain is used up when a hidden cause explains {share(r)} of each"
    if feature.observed:
        shares = f"{share(measured[0])} of {name} and {share(measured[1])} of {goal}"
        label = f"{_name(feature.observed, 24)} (measured)"
        look = {**_DOT, "marker": "D", "markersize": 9, "gid": f"{feature.observed}: {shares}"}
        ax.plot([100 * measured[0]], [100 * measured[1]], **look, color=_SKY, label=label)
        description += f"; {shown(feature.observed)} explains {shares}"
    _scale(ax, "x", 0.0, 100.0 * end)
    _scale(ax, "y", 0.0, 100.0 * end)
    ax.set_xlabel(f"explained of {shorten(name, 32)}, %")
    ax.set_ylabel(f"explained of {shorten(goal, 24)}, %")
    _fit(ax, top=58.0)
    _legend(figure, ax, rows=2)
    return Picture(figure, f"A hidden cause of {name} and {goal}", description)


def _edge(limit: float, end: float) -> list[tuple[float, float]]:
    """The curve R2_y * R2_x / (1 - R2_x) = limit inside the frame, in percent, from its upper end to the right."""
    first, steps = limit / (limit + end), 40  # where it enters the frame at the top
    if first >= end:
        return []
    across = [first * (end / first) ** (step / steps) for step in range(steps + 1)]  # ever wider: the curve flattens
    return [(100 * x, 100 * min(end, used_up_at(limit, x))) for x in across]


# --- a search


@_in_style()
def trials_figure(study: records.Study) -> Picture:
    """Each trial at its loss: filled when whole, hollow when it was pruned.

    Where there is a plain model, the loss is a change against it on the same inner folds: a pruned trial has not seen
    all of them, and some folds are harder than others.
    """
    losses = {trial.number: _trial_loss(trial, study) for trial in study.trials if trial.state != "failed"}
    low, high = _trial_ends([*losses.values(), *([0.0] if study.plain else [])])
    figure, ax = _panel(_WHOLE, 340.0)
    if study.plain:
        ax.axhline(0.0, color=_ORANGE, linestyle="--", linewidth=1.6, label="plain model")
    whole = (losses[trial.number] if trial.state == "complete" else math.inf for trial in study.trials)
    bests = list(accumulate(whole, min))
    steps = [(trial.number, min(best, high)) for trial, best in zip(study.trials, bests, strict=True)]
    stairs = [step for step in steps if math.isfinite(step[1])] if math.isfinite(bests[-1]) else []
    ax.step(*_columns(stairs), where="post", color=_SKY, linewidth=1.8, label="best so far")
    looks = {"complete": {"color": _SKY}, "pruned": _RING, "chosen": {"color": _INK, "zorder": 3}}
    labels = {"complete": "a whole trial", "pruned": "pruned", "chosen": "chosen"}
    for trial in study.trials:
        if trial.number in losses:
            kind = "chosen" if trial.number == study.best else trial.state
            look = {**_DOT, **looks[kind], "markersize": 12 if kind == "chosen" else 7, "label": labels.pop(kind, "")}
            height = min(losses[trial.number], high)
            ax.plot([trial.number], [height], **look, gid=_trial_words(trial, losses[trial.number], study))
    _scale(ax, "y", low, high)
    amount = max(len(study.trials), 2)
    ticks = [value for value in round_numbers(1, amount, most=9) if value == int(value)]
    ax.set_xticks(ticks, [setting(value) for value in ticks])
    ax.set_xlim(1 - 0.02 * amount, amount * 1.02)
    ax.set_xlabel("trial")
    ax.set_ylabel(f"inner {study.metric.upper()}" + (", change against plain, %" if study.plain else ""))
    ax.grid(axis="y")
    ax.set_axisbelow(True)
    _fit(ax)
    _legend(figure, ax)
    pruned = sum(trial.state == "pruned" for trial in study.trials)
    description = (
        f"{count(len(study.trials), 'trial')}, {pruned} pruned; the best is trial {study.best}, with "
        f"{number(study.mean_loss(study.chosen.losses))}"
    )
    return Picture(figure, f"Inner {study.metric.upper()} of each trial", description)


def _trial_loss(trial: records.Trial, study: records.Study) -> float:
    loss = study.mean_loss(trial.losses)
    against = numbers.change(study.mean_loss(study.plain[: len(trial.losses)]), loss) if study.plain else loss
    return math.inf if against is None else against


def _trial_words(trial: records.Trial, loss: float, study: records.Study) -> str:
    values = ", ".join(f"{name} {numbers.setting_text(value)}" for name, value in sorted(trial.values.items()))
    height = f"{percent(loss)} %" if study.plain else number(loss)
    return f"trial {trial.number} ({trial.state}): {height}; {values}"


def _trial_ends(losses: Sequence[float]) -> tuple[float, float]:
    """The part of the scale that is drawn: bad trials, drawn at its edge, must not flatten the good ones."""
    known = sorted(loss for loss in losses if math.isfinite(loss)) or [0.0, 1.0]
    low, middle = known[0], known[len(known) // 2]
    high = min(known[-1], low + 4.0 * (middle - low)) if middle > low else known[-1]
    pad = 0.06 * (high - low) or max(1e-9, abs(high) * 0.1)
    return low - pad, high + pad


# --- what would have been


@_in_style()
def sweep_figure(found: records.WhatIf) -> Picture:
    """One curve a row: its outcome along the swept column, the band of its interval, and the dot that was observed."""
    if found.sweep is None:
        raise ValueError("only a sweep has curves")
    figure, ax = _panel(_WHOLE, 380.0)
    target, name = in_unit(found.target.name, found.target.unit), found.sweep.name
    curves: dict[int, list[records.Answer]] = {}
    for one in found.answers:
        curves.setdefault(one.row, []).append(one)
    drawn = list(curves.items())[:MOST_CURVES]
    colours = (_SKY, _ORANGE, _INK, _GREY)
    heights: list[float] = []
    across: list[float] = []
    for at, (row, answers) in enumerate(drawn):
        colour = colours[at % len(colours)]
        cells = [next((cell for cell in one.changes if cell.name == name), None) for one in answers]
        own = next((cell.before for cell in cells if cell is not None), None)
        x = [float(own if cell is None else cell.after) for cell in cells]  # type: ignore[arg-type]
        y = [one.outcome for one in answers]
        if all(one.interval is not None for one in answers):
            low, high = ([one.observed + one.interval[end] for one in answers if one.interval] for end in (0, 1))
            ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0.0)
            heights += [*low, *high]
        ax.plot(x, y, color=colour, linewidth=2.0, label=f"row {row}", gid=f"row {row}")
        across, heights = [*across, *x], [*heights, *y, answers[0].observed]
        if isinstance(own, int | float):
            ax.plot([own], [answers[0].observed], **_DOT, color=colour, gid=f"row {row} as observed")
    _scale(ax, "x", *_room(across, 0.02))
    _scale(ax, "y", *_room(heights))
    ax.set_xlabel(_name(in_unit(name, found.sweep.unit)))
    ax.set_ylabel(_name(target, 36))
    _fit(ax)
    _legend(figure, ax)
    more = len(curves) - len(drawn)
    rest = f"; {more} more rows are not drawn" if more else ""
    description = f"{count(len(drawn), 'row')}{rest}; {shown(name)} {_range(across)}, outcome {_range(heights)}"
    return Picture(figure, f"What if {shown(name)} had been different", description)


@_in_style()
def average_effects_figure(
    effects: Sequence[records.AverageEffect], columns: Sequence[Column], target: Column
) -> Picture:
    """The mean effect of a standard deviation of each certified cause, or of a label, and where 8 of 10 rows lie."""
    figure, ax = _panel(_HALF, 66.0 + _NAMED * len(effects))
    ax.axvline(0.0, color=_LINE, linewidth=1.2)
    ends = [0.0]
    for at, one in enumerate(effects):
        unit = 1.0 if one.sd is None else one.sd
        start, middle, end = (unit * value for value in (one.low, one.mean, one.high))
        ax.plot([start, end], [at, at], color=_SKY, linewidth=5.0, alpha=0.5, solid_capstyle="round")
        ax.plot([middle], [at], color=_INK, marker="o", markersize=10, gid=f"{one.name}: {number(middle)}")
        ends += [start, middle, end]
    low, high = _room(ends, 0.08)
    _scale(ax, "x", low, high, 6)
    _name_lines(ax, [_name(_of_sd(one, columns), 44) for one in effects])
    ax.set_xlabel(f"change of {shorten(in_unit(target.name, target.unit), 40)}")
    _fit(ax, top=14.0)
    words = "; ".join(f"{effect_name(one, columns)}: {number(one.mean)}" for one in effects)
    return Picture(figure, "What each certified cause does on average, by the teacher", words)


def _of_sd(effect: records.AverageEffect, columns: Sequence[Column]) -> str:
    if effect.sd is None:
        return effect_name(effect, columns)
    unit = next((f" {one.unit}" for one in columns if one.name == effect.name and one.unit), "")
    return f"{effect.name}, +{number(effect.sd, 2)}{unit}"


# --- what a run shows


def run_figures(result: RunResult) -> dict[str, Picture]:
    """The figures that the page and the folder share, by name of file."""
    figures: dict[str, Picture] = {}
    train, made = result.split.train, result.counterfactuals
    if made is not None:
        for place, name in enumerate(made.action.changed[:MOST_FEATURES], start=1):
            at = train.names.index(name)
            figures[f"feature_{place}"] = feature_figure(train.x[:, at], made.action.x[:, at], train.features[at])
    found, verdict = result.diagnostics, result.verdict
    if verdict.folds:
        figures["gate"] = gate_figure(verdict.folds, verdict.metric, train.target)
    score = result.score
    if score is not None and score.change_percent is not None:
        figures["test"] = score_figure(score)
    if result.intervals is not None and any(math.isfinite(one.width) for one in result.intervals.scores):
        figures["intervals"] = interval_figure(result.intervals)
    if score is not None and (changes := control_changes(result)):
        figures["gain"] = gain_figure(changes, score.metric)
    return figures if found is None else {**figures, **_row_figures(train, found)}


def _row_figures(train: Table, found: Diagnostics) -> dict[str, Picture]:
    """What the new rows are like."""
    figures: dict[str, Picture] = {}
    target = train.target
    places, columns = found.places, {column.name: column for column in train.features}
    (first, second), plane = places.shares, places.plane
    axes = f"{plane.first} ({share(first)})", f"{plane.second} ({share(second)})"
    figures["rows_plane"] = cloud_figure(plane, axes, "Real and new rows in the plane of their largest variation")
    for at, pair in enumerate(places.pairs, start=1):
        one, other = (in_unit(name, columns[name].unit) for name in (pair.first, pair.second))
        figures[f"rows_pair_{at}"] = cloud_figure(pair, (one, other), f"{one} and {other}")
    if moved := found.moved[:MOST_EFFECTS]:
        figures["teacher_effects"] = effects_figure(moved, [columns[one.name] for one in moved], target)
    if averages := found.effects[:MOST_AVERAGES]:
        figures["average_effects"] = average_effects_figure(averages, train.features, target)
    outcome = in_unit(target.name, target.unit)
    if found.noise is not None:
        axes = f"residual of real rows, {outcome}", "noise in new rows"
        figures["noise_quantiles"] = quantile_figure(found.noise, axes, "Noise before and after")
    if found.errors is not None:
        axes = f"plain model's errors, {outcome}", "augmented model's errors"
        figures["error_quantiles"] = quantile_figure(found.errors, axes, "Test errors before and after")
    return figures


def figure_files(figures: Mapping[str, Picture]) -> dict[str, bytes]:
    """Each figure as SVG, by path in the run's folder. PNG only on request: drawing twice is a twentieth of a run."""
    return {f"figures/{name}.svg": picture.svg.encode() for name, picture in figures.items()}
