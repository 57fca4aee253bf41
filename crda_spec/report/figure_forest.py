"""Several changes with their intervals on one axis, one line a run: left of the line of no change is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crda_spec.report.figure_marks import KIND, RULES, label, line
from crda_spec.report.figures import round_numbers
from crda_spec.report.svg import drawing, element, text_width
from crda_spec.report.wording import percent, setting, shorten, shown

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
