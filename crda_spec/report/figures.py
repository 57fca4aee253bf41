"""The plots of the page, each a pure function from numbers to an SVG string: same numbers, same bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from crda_spec.records import Array, Column, FoldResult, TestScore
from crda_spec.report.svg import coordinate, drawing, element, paint, text_width, words
from crda_spec.report.words.numbers import count, in_unit, number, percent, setting, shorten, shown

KIND = "crda-figure"
RULES = (
    paint(f".{KIND} text", fill="ink")
    + paint(f".{KIND} .soft", fill="soft")
    + paint(f".{KIND} .grid", stroke="grid")
    + paint(f".{KIND} .axis", stroke="line")
    + paint(f".{KIND} .before", fill="grey")
    + paint(f".{KIND} .after", fill="sky")
    + paint(f".{KIND} .outline", fill="none", stroke="sky")
    + paint(f".{KIND} .better", fill="sky", stroke="sky")
    + paint(f".{KIND} .worse", fill="orange", stroke="orange")
    + paint(f".{KIND} .mean", fill="ink", stroke="ink")
    + f".{KIND} text{{font-size:12px;stroke:none;unicode-bidi:isolate}}.{KIND} .outline{{stroke-width:2}}"
    + f".{KIND} .before{{opacity:.38}}.{KIND} line{{stroke-width:1}}.{KIND} line.better{{stroke-width:1.6}}"
    + f".{KIND} line.worse{{stroke-width:1.6;stroke-dasharray:5 3}}.{KIND} line.mean{{stroke-width:3}}"
)


def label(text: str, x: float, y: float, *, anchor: str = "middle", look: str = "") -> str:
    """Words at a point of their baseline."""
    return element("text", words(text), x=x, y=y, text_anchor=anchor, **({"class_": look} if look else {}))


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    """A straight line between two points."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=look)


_MOST_BINS = 28
_LARGEST = 1e150  # a table holds numbers up to 1e100; the span of anything near the largest floats is not finite
_MOST_BARS = 12


def histograms(before: Array, after: Array, column: Column) -> str:
    """How a number is spread among the training rows (filled) and among the synthetic rows (outlined).

    before: (n,) and after: (m,), in the column's unit; values that are missing, not finite, or far beyond what a table
    may hold are left out. Both are drawn as a share of their own rows, on the same bins, so that the two shapes can be
    compared.
    """
    before, after = comparable(before), comparable(after)
    edges = bin_edges(before, after, whole=column.type == "integer")
    shares = [np.histogram(values, bins=edges)[0] / max(1, len(values)) for values in (before, after)]
    width, height, left, top, bottom = 380.0, 190.0, 14.0, 30.0, 44.0
    tallest = max(float(max(share.max() for share in shares)), 1e-9)
    x = np.linspace(left, width - left, len(edges))
    floor = height - bottom
    y = [floor - share / tallest * (floor - top) for share in shares]
    bars = [
        element(
            "rect", class_="before", x=float(x[i]), y=float(h), width=float(x[i + 1] - x[i]), height=float(floor - h)
        )
        for i, h in enumerate(y[0])
        if h < floor
    ]
    steps = "".join(f"V{coordinate(h)}H{coordinate(x[i + 1])}" for i, h in enumerate(y[1]))
    title = in_unit(column.name, column.unit)
    parts = [
        *bars,
        element("path", class_="outline", d=f"M{coordinate(x[0])} {coordinate(floor)}{steps}V{coordinate(floor)}"),
        line(left, floor, width - left, floor, "axis"),
        *_ticks(float(edges[0]), float(edges[-1]), (left, width - left), floor),
        label(shorten(title, 48), width / 2, height - 6, look="soft"),
        *_key(left),
    ]
    return drawing(
        parts,
        kind=KIND,
        size=(width, height),
        title=f"{title} before and after",
        description=f"{_spread('Training rows', before)}; {_spread('synthetic rows', after)}",
        rules=RULES,
    )


def comparable(values: Array) -> Array:
    """The values that can be drawn: neither missing nor far beyond what a table may hold."""
    return values[np.abs(values) < _LARGEST]


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


def _key(left: float) -> list[str]:
    second = left + 34 + text_width("training rows", 12.0)
    return [
        element("rect", class_="before", x=left, y=8, width=13, height=11),
        label("training rows", left + 19, 18, anchor="start", look="soft"),
        element("rect", class_="outline", x=second, y=9, width=12, height=9),
        label("synthetic rows", second + 19, 18, anchor="start", look="soft"),
    ]


def _ticks(low: float, high: float, sides: tuple[float, float], floor: float) -> list[str]:
    """Round numbers below a horizontal axis, at most six."""
    left, right = sides
    parts = []
    for value in round_numbers(low, high):
        x = left + (value / 2 - low / 2) / (high / 2 - low / 2) * (right - left)
        written = setting(value)
        middle = min(max(x, text_width(written, 12.0) / 2), right + left - text_width(written, 12.0) / 2)
        parts += [line(x, floor, x, floor + 4, "axis"), label(written, middle, floor + 18, look="soft")]
    return parts


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


def category_bars(before: Array, after: Array, column: Column) -> str:
    """How often each value of a category or boolean occurs, among the training rows and the synthetic rows."""
    labels = column.labels or ("false", "true")
    shares = [shares_of(values, len(labels)) for values in (before, after)]
    order = sorted(range(len(labels)), key=lambda code: (-shares[0][code], code))[:_MOST_BARS]
    rest = len(labels) - len(order)
    names = [shorten(shown(labels[code]), 22) for code in order]
    left = 20.0 + max((text_width(name, 12.0) for name in names), default=0.0)
    width, row, top = left + 260.0, 34.0, 34.0
    widest = max(float(share[code]) for share in shares for code in order) or 1.0
    parts = _key(14.0)
    for index, (code, name) in enumerate(zip(order, names, strict=True)):
        y = top + index * row
        parts.append(label(name, left - 8, y + 17, anchor="end"))
        for share, look, offset in ((shares[0][code], "before", 2.0), (shares[1][code], "after", 14.0)):
            length = share / widest * 190
            parts.append(element("rect", class_=look, x=left, y=y + offset, width=length, height=11))
            parts.append(label(f"{100 * share:.1f} %", left + length + 6, y + offset + 10, anchor="start", look="soft"))
    height = top + len(order) * row + 22
    name = in_unit(column.name, column.unit)
    parts.append(
        label(
            shorten(name, 40) + (f"; {rest} rarer values not drawn" if rest else ""),
            14,
            height - 4,
            anchor="start",
            look="soft",
        )
    )
    told = "; ".join(
        f"{n}: {100 * shares[0][c]:.1f} % to {100 * shares[1][c]:.1f} %" for c, n in zip(order, names, strict=True)
    )
    return drawing(
        parts, kind=KIND, size=(width, height), title=f"{name} before and after", description=told, rules=RULES
    )


def shares_of(codes: Array, amount: int) -> list[float]:
    """The share of each code among the values that are not missing."""
    present = codes[np.isfinite(codes)].astype(np.int64)
    counts = np.bincount(present, minlength=amount)
    return [float(value) for value in counts / max(1, len(present))]


def fold_slopes(folds: Sequence[FoldResult], metric: str) -> str:
    """Each gate fold as a line from the plain model's loss to the augmented model's; falling is better."""
    losses = [value for fold in folds for value in (fold.plain, fold.augmented) if math.isfinite(value)]
    low, high = (min(losses), max(losses)) if losses else (0.0, 1.0)
    pad = 0.06 * (high - low) or max(1e-9, abs(high) * 0.1)
    low, high = low - pad, high + pad
    width, height, left, right, top, bottom = 460.0, 300.0, 150.0, 350.0, 34.0, 280.0

    def level(loss: float) -> float:
        return bottom - (loss - low) / (high - low) * (bottom - top)

    parts = [label("plain", left, 18), label("augmented", right, 18)]
    for value in round_numbers(low, high):
        parts.append(line(left - 70, level(value), right + 70, level(value), "grid"))
        parts.append(label(setting(value), left - 78, level(value) + 4, anchor="end", look="soft"))
    drawn = [(fold.plain, fold.augmented, f"fold {fold.fold}") for fold in folds if _finite(fold)]
    for plain, augmented, whose in drawn:
        look = "better" if augmented < plain else "worse"
        parts.append(_slope((plain, augmented), (level(plain), level(augmented)), (left, right), look, whose))
    if drawn:
        means = (_mean([fold[0] for fold in drawn]), _mean([fold[1] for fold in drawn]))
        levels = (level(means[0]), level(means[1]))
        parts.append(_slope(means, levels, (left, right), "mean", "mean of the folds"))
        parts.append(label(number(means[0]), left - 10, levels[0] - 7, anchor="end"))
        parts.append(label(number(means[1]), right + 10, levels[1] - 7, anchor="start"))
    better = sum(augmented < plain for plain, augmented, _ in drawn)
    return drawing(
        parts,
        kind=KIND,
        size=(width, height),
        title=f"{metric.upper()} of the gate's folds",
        description=f"The augmented model erred less in {better} of {count(len(drawn), 'fold')}",
        rules=RULES,
    )


def _finite(fold: FoldResult) -> bool:
    return math.isfinite(fold.plain) and math.isfinite(fold.augmented)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _slope(
    losses: tuple[float, float], levels: tuple[float, float], sides: tuple[float, float], look: str, whose: str
) -> str:
    """One line of the slope plot with a dot at each end; resting on it tells the numbers."""
    told = element("title", words(f"{whose}: {number(losses[0])} to {number(losses[1])}"))
    radius = 5 if look == "mean" else 3.5
    dots = "".join(element("circle", class_=look, cx=x, cy=y, r=radius) for x, y in zip(sides, levels, strict=True))
    return element("g", told + line(sides[0], levels[0], sides[1], levels[1], look) + dots)


def score_interval(score: TestScore) -> str:
    """The change on the test rows with its interval, against the line of no change; left of it is better.

    Only for a score that has both: the caller asks first.
    """
    if score.change_percent is None or score.interval_percent is None:
        raise ValueError("score_interval draws an interval; this score has none")
    low, high = score.interval_percent
    start, end = min(low, score.change_percent, 0.0), max(high, score.change_percent, 0.0)
    pad = 0.12 * (end - start) or 1.0
    start, end = start - pad, end + pad
    width, height, left, right, floor = 440.0, 104.0, 20.0, 420.0, 66.0

    def at(value: float) -> float:
        return left + (value - start) / (end - start) * (right - left)

    look = "better" if high < 0 else "worse" if low > 0 else "mean"
    parts = [
        line(left, floor, right, floor, "axis"),
        *_ticks(start, end, (left, right), floor),
        line(at(0.0), 22, at(0.0), floor, "axis"),
        label("better", at(0.0) - 10, 18, anchor="end", look="soft"),
        label("worse", at(0.0) + 10, 18, anchor="start", look="soft"),
        element("rect", class_=look, x=at(low), y=40, width=max(1.0, at(high) - at(low)), height=6, rx=3),
        element("circle", class_=look, cx=at(score.change_percent), cy=43, r=7),
        label(f"change of the test {score.metric.upper()}, %", width / 2, height - 4, look="soft"),
    ]
    level = setting(100 * score.level)
    told = f"{percent(score.change_percent)} %, {level} % interval from {percent(low)} to {percent(high)}"
    return drawing(
        parts, kind=KIND, size=(width, height), title="Change on the test rows", description=told, rules=RULES
    )


_ROW = 34.0
_LEFT, _RIGHT, _TOP = 190.0, 620.0, 30.0


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the figure: a change in percent and its interval, each None where there is none."""

    name: str
    value: float | None
    interval: tuple[float, float] | None


def forest(changes: Sequence[Change], *, title: str, axis: str) -> str:
    """The changes below each other; a run without one keeps its line and says so."""
    ends: list[float] = [
        0.0,
        *(end for one in changes for end in (one.value, *(one.interval or ())) if end is not None),
    ]
    low, high = min(ends), max(ends)
    pad = 0.1 * (high - low) or 1.0
    low, high = low - pad, high + pad
    floor = _TOP + _ROW * len(changes)

    def at(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT)

    parts = [line(at(0.0), _TOP - 8, at(0.0), floor, "axis"), line(_LEFT, floor, _RIGHT, floor, "axis")]
    parts += [
        label("better", at(0.0) - 8, 14, anchor="end", look="soft"),
        label("worse", at(0.0) + 8, 14, anchor="start"),
    ]
    for value in round_numbers(low, high):
        parts += [line(at(value), floor, at(value), floor + 4, "axis"), label(setting(value), at(value), floor + 18)]
    for index, one in enumerate(changes):
        y = _TOP + _ROW * (index + 0.5)
        parts.append(label(_fitted(one.name), _LEFT - 12, y + 4, anchor="end"))
        parts += _mark(one, at, y)
    parts.append(label(axis, (_LEFT + _RIGHT) / 2, floor + 38, look="soft"))
    told = "; ".join(f"{one.name}: {_words(one)}" for one in changes)
    size = (_RIGHT + 20.0, floor + 46.0)
    return drawing(parts, kind=KIND, size=size, title=title, description=told, rules=RULES)


def _mark(one: Change, at: Callable[[float], float], y: float) -> list[str]:
    if one.value is None:
        return [label("nothing to compare", at(0.0) + 8, y + 4, anchor="start", look="soft")]
    low, high = one.interval or (one.value, one.value)
    look = "mean" if one.interval is None or low <= 0 <= high else "better" if high < 0 else "worse"
    bar = element("rect", class_=look, x=at(low), y=y - 3, width=max(1.0, at(high) - at(low)), height=6, rx=3)
    return [bar, element("circle", class_=look, cx=at(one.value), cy=y, r=6)]


def _words(one: Change) -> str:
    if one.value is None:
        return "nothing to compare"
    said = f"{percent(one.value)} %"
    return said if one.interval is None else f"{said} ({percent(one.interval[0])} to {percent(one.interval[1])})"


def _fitted(name: str) -> str:
    """As much of a name as the margin holds."""
    length = 24
    text = shorten(shown(name), length)
    while text_width(text, 12.0) > _LEFT - 24 and length > 6:
        length -= 2
        text = shorten(shown(name), length)
    return text
