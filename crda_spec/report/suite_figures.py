"""The figures of a benchmark suite: bars with errors, ranks with their critical difference, p-values, curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crda_spec.report.figures import (
    _DOT,
    _GREY,
    _INK,
    _LINE,
    _ORANGE,
    _SKY,
    _WHOLE,
    Picture,
    _beside,
    _fit,
    _in_style,
    _legend,
    _name,
    _panel,
    _room,
    _scale,
)
from crda_spec.report.svg import LIGHT
from crda_spec.report.words.numbers import p_number, percent, setting

_CURVES = tuple(LIGHT[name] for name in ("sky", "orange", "green", "purple", "gold", "grey", "ink"))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_FAR = 150.0  # percent: a bar that is longer is cut, and its number stands beside it
_LEAST = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A mean change in percent with its standard error, and what somebody else found."""

    name: str
    change: float
    error: float | None = None
    other: float | None = None


@_in_style()
def bars_figure(bars: Sequence[Bar], *, title: str, other: str = "") -> Picture:
    """Changes as bars from zero; the line through an end is one standard error to each side. other: who rings are."""
    figure, ax = _panel(_WHOLE, 96.0 + 26.0 * len(bars))
    ends = [end for bar in bars for end in (bar.change - (bar.error or 0), bar.change + (bar.error or 0), bar.other)]
    low, high = _room([0.0, *(max(-_FAR, min(_FAR, end)) for end in ends if end is not None)], 0.08)
    for at, bar in enumerate(bars):
        colour = _SKY if bar.change < 0 else _ORANGE
        words = _bar_words(bar)
        ax.barh([at], [max(-_FAR, min(_FAR, bar.change))], 0.62, color=colour, alpha=0.75, gid=words)
        if bar.error is not None:
            line = [max(-_FAR, min(_FAR, bar.change + side * bar.error)) for side in (-1, 1)]
            ax.plot(line, [at, at], color=_INK, linewidth=1.6)
        if bar.other is not None and abs(bar.other) <= _FAR:
            label = other if not any(one.other is not None for one in bars[:at]) else f"_{other}"
            ax.plot(
                [bar.other],
                [at],
                **{**_DOT, "markersize": 8.0},
                markerfacecolor="none",
                markeredgecolor=_INK,
                markeredgewidth=1.5,
                label=label,
            )
        if bar.change > _FAR:
            _beside(ax, _FAR, at, f"{percent(bar.change)} %", left=True, colour=_INK)
    ax.axvline(0.0, color=_LINE, linewidth=1.2)
    _scale(ax, "x", low, high, 8)
    ax.set_yticks(range(len(bars)), [_name(bar.name, 44) for bar in bars])
    ax.tick_params(axis="y", length=0, labelcolor=_INK)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("mean change of the test error against no augmentation, %")
    _fit(ax)
    if any(bar.other is not None for bar in bars):
        _legend(figure, ax)
    return Picture(figure, title, "; ".join(map(_bar_words, bars)))


def _bar_words(bar: Bar) -> str:
    error = "" if bar.error is None else f" ± {bar.error:.1f}"
    return f"{bar.name}: {percent(bar.change)}{error} %" + ("" if bar.other is None else f" (paper {bar.other:+.1f} %)")


@_in_style()
def rank_figure(
    names: Sequence[str],
    ranks: Sequence[float],
    *,
    groups: Sequence[tuple[int, int]],
    critical: float | None,
    title: str,
) -> Picture:
    """Mean ranks, the best on top; a bar joins methods that Nemenyi's test cannot tell apart."""
    figure, ax = _panel(_WHOLE, 110.0 + 24.0 * len(names))
    low, high = _room([1.0, *ranks], 0.04)
    for at, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        ax.plot([low, rank], [at, at], color=LIGHT["grid"], linewidth=1.0)
        ax.plot(
            [rank], [at], **{**_DOT, "markersize": 8.0}, color=_SKY if at == 0 else _GREY, gid=f"{name}: {rank:.2f}"
        )
        _beside(ax, rank, at, f"{rank:.2f}", colour=_INK)
    room = 0.012 * (high - low)
    for number, (start, end) in enumerate(groups):
        place = ranks[start] - (2 + number % 3) * room
        ax.plot([place, place], [start - 0.2, end + 0.2], color=_INK, linewidth=3.0, solid_capstyle="round")
    if critical is not None:
        ax.plot([high - critical, high], [-1.0, -1.0], color=_INK, linewidth=2.0)
        _beside(ax, max(low, high - critical), -1.0, f"critical difference {critical:.2f}", left=True)
    _scale(ax, "x", low, high + 0.08 * (high - low), 8)
    ax.set_yticks(range(len(names)), [_name(name, 44) for name in names])
    ax.tick_params(axis="y", length=0, labelcolor=_INK)
    ax.set_ylim(len(names) - 0.4, -1.6)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("mean rank over tables (1 is best)")
    _fit(ax)
    words = "; ".join(f"{name}: {rank:.2f}" for name, rank in zip(names, ranks, strict=True))
    return Picture(figure, title, words + ("" if critical is None else f"; critical difference {critical:.2f}"))


@_in_style()
def p_value_figure(
    names: Sequence[str], across: Sequence[str], table: Sequence[Sequence[float | None]], *, title: str
) -> Picture:
    """P-values as a map: names down, others across; the darker, the less can chance explain."""
    from matplotlib.patches import Rectangle

    figure, ax = _panel(_WHOLE, 110.0 + 30.0 * len(names))
    for row, line in enumerate(table):
        for column, value in enumerate(line):
            if value is None:
                continue
            depth = min(1.0, -math.log10(max(value, 1e-4)) / 4.0)
            where, words = (column - 0.5, row - 0.5), f"{names[row]}, {across[column]}: {p_number(value, 2)}"
            ax.add_patch(
                Rectangle(where, 1.0, 1.0, facecolor=_SKY, alpha=0.06 + 0.6 * depth, edgecolor="none", gid=words)
            )
            text = f"{value:.3f}" if value >= 0.001 else "<.001"
            ax.text(
                column,
                row,
                text,
                ha="center",
                va="center_baseline",
                color=_INK,
                fontweight="bold" if value < _LEAST else "normal",
            )
    ax.set_xlim(-0.5, len(across) - 0.5)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xticks(range(len(across)), list(across))
    ax.set_yticks(range(len(names)), [_name(name, 44) for name in names])
    ax.tick_params(length=0, labelcolor=_INK)
    for spine in ax.spines.values():
        spine.set_visible(False)
    _fit(ax)
    pairs = (
        f"{names[row]}, {across[column]} {p_number(value, 2)}"
        for row, line in enumerate(table)
        for column, value in enumerate(line)
        if value is not None
    )
    return Picture(figure, title, "; ".join(pairs))


Point = tuple[float, float, float | None]  # where, the change, its error


@_in_style()
def curves_figure(curves: Mapping[str, Sequence[Point]], *, title: str, across: str) -> Picture:
    """Changes over sizes, or over a knob's values; an upright line is one standard error to each side."""
    rows = -(-len(curves) // 3)
    figure, ax = _panel(_WHOLE, 300.0 + 18.0 * rows)
    points = [point for curve in curves.values() for point in curve]
    for at, (name, curve) in enumerate(curves.items()):
        colour, marker = _CURVES[at % len(_CURVES)], _MARKERS[at % len(_MARKERS)]
        places = [point[0] for point in curve]
        changes = [max(-_FAR, min(_FAR, point[1])) for point in curve]
        ax.plot(places, changes, color=colour, marker=marker, markersize=6, linewidth=1.8, label=_name(name, 34))
        for place, change, error in curve:
            if error is not None:
                line = [max(-_FAR, min(_FAR, change + side * error)) for side in (-1, 1)]
                ax.plot([place, place], line, color=colour, linewidth=1.0)
    ax.axhline(0.0, color=_LINE, linewidth=1.2)
    ends = [max(-_FAR, min(_FAR, point[1] + sign * (point[2] or 0))) for point in points for sign in (-1, 1)]
    _scale(ax, "y", *_room([0.0, *ends], 0.08))
    _scale(ax, "x", *_room([point[0] for point in points], 0.04), 8)
    ax.set_xlabel(across)
    ax.set_ylabel("change, %")
    ax.grid(axis="y")
    ax.set_axisbelow(True)
    _fit(ax, top=34.0 + 18.0 * rows)
    _legend(figure, ax, rows=rows)
    words = (
        f"{name}: " + ", ".join(f"{setting(point[0])}: {percent(point[1])} %" for point in curve)
        for name, curve in curves.items()
    )
    return Picture(figure, title, "; ".join(words))
