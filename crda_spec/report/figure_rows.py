"""Pictures of the new rows: where they lie, what they carry, what the teacher does there, and whose the gain is."""

from __future__ import annotations

from collections.abc import Sequence

from crda_spec.records import Cloud, Column, Comparison, Control, MovedFeature, Points
from crda_spec.report.figures import KIND, RULES, label, line, round_numbers
from crda_spec.report.svg import coordinate, drawing, element, paint, text_width, words
from crda_spec.report.words.numbers import in_unit, number, percent, setting, share, shorten, shown

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _FLOOR = 380.0, 320.0, 62.0, 366.0, 34.0, 262.0
_RULES = (
    RULES
    + paint(f".{KIND} .frame", fill="none", stroke="line")
    + paint(f".{KIND} .new", fill="none", stroke="sky")
    + f".{KIND} .dot{{opacity:.55}}.{KIND} .new{{stroke-width:1.3}}"
)


class _Scale:
    """From numbers to places on the paper; numbers that hardly differ get some room."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        room = 0.05 * (high - low) or max(0.5, 0.05 * abs(high))
        self.low, self.high, self._start, self._end = low - room, high + room, start, end

    def __call__(self, value: float) -> float:
        return self._start + (value - self.low) / (self.high - self.low) * (self._end - self._start)


def cloud_plot(cloud: Cloud, axes: tuple[str, str], title: str) -> str:
    """Real rows as filled grey dots, new ones as blue rings."""
    both = [*cloud.real, *cloud.new]
    across, up = _Scale([x for x, _ in both], _LEFT, _RIGHT), _Scale([y for _, y in both], _FLOOR, _TOP)
    parts = [*_frame(across, up, axes), *_dots(cloud.real, across, up, new=False)]
    parts += [*_dots(cloud.new, across, up, new=True), *_key()]
    told = f"{len(cloud.real)} training rows and {len(cloud.new)} synthetic rows; {_ranges(cloud, axes)}"
    return drawing(parts, kind=KIND, size=(_WIDTH, _HEIGHT), title=title, description=told, rules=_RULES)


def _ranges(cloud: Cloud, axes: tuple[str, str]) -> str:
    told = []
    for at, axis in enumerate(axes):
        ends = [
            f"{number(min(point[at] for point in points))} to {number(max(point[at] for point in points))}"
            if points
            else "none"
            for points in (cloud.real, cloud.new)
        ]
        told.append(f"{axis}: training rows from {ends[0]}, synthetic rows from {ends[1]}")
    return "; ".join(told)


def _dots(points: Points, across: _Scale, up: _Scale, *, new: bool) -> list[str]:
    """One path for all of them: hundreds of circles would be most of the page."""
    radius = 2.6
    turn = f"a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0 {-2 * radius} 0"
    d = "".join(f"M{coordinate(across(x) - radius)} {coordinate(up(y))}{turn}" for x, y in points)
    return [element("path", class_="dot new" if new else "dot before", d=d)] if points else []


def _frame(across: _Scale, up: _Scale, axes: tuple[str, str]) -> list[str]:
    """Axes with round numbers and their names."""
    parts = [element("rect", class_="frame", x=_LEFT, y=_TOP, width=_RIGHT - _LEFT, height=_FLOOR - _TOP)]
    for value in round_numbers(across.low, across.high, 5):
        parts += [line(across(value), _FLOOR, across(value), _FLOOR + 4, "axis")]
        parts += [label(setting(value), across(value), _FLOOR + 18, look="soft")]
    for value in round_numbers(up.low, up.high, 5):
        parts += [line(_LEFT - 4, up(value), _LEFT, up(value), "axis")]
        parts += [label(setting(value), _LEFT - 7, up(value) + 4, anchor="end", look="soft")]
    parts.append(label(shorten(axes[0], 46), (_LEFT + _RIGHT) / 2, _HEIGHT - 18))
    middle = (_TOP + _FLOOR) / 2
    upright = element(
        "text",
        words(shorten(axes[1], 34)),
        x=13,
        y=middle,
        text_anchor="middle",
        transform=f"rotate(-90 13 {coordinate(middle)})",
    )
    return [*parts, upright]


def _key() -> list[str]:
    second = _LEFT + 34 + text_width("training rows", 12.0)
    return [
        element("circle", class_="dot before", cx=_LEFT + 6, cy=14, r=4),
        label("training rows", _LEFT + 16, 18, anchor="start", look="soft"),
        element("circle", class_="new", cx=second + 2, cy=14, r=4),
        label("synthetic rows", second + 12, 18, anchor="start", look="soft"),
    ]


def quantile_plot(found: Comparison, axes: tuple[str, str], title: str) -> str:
    """Equal quantiles of two samples against each other, and the line on which they are the same."""
    both = [*found.before, *found.after]
    across, up = _Scale(both, _LEFT, _RIGHT), _Scale(both, _FLOOR, _TOP)
    points = tuple(zip(found.before, found.after, strict=True))
    parts = [
        *_frame(across, up, axes),
        line(across(across.low), up(across.low), across(across.high), up(across.high), "axis"),
        *_dots(points, across, up, new=True),
        label("line: no change", _RIGHT, 22, anchor="end", look="soft"),
    ]
    told = (
        f"{len(points)} quantiles; {axes[0]} from {number(found.before[0])} to {number(found.before[-1])}, {axes[1]} "
        f"from {number(found.after[0])} to {number(found.after[-1])}; largest gap between the distributions "
        f"{number(found.distance, 2)}"
    )
    return drawing(parts, kind=KIND, size=(_WIDTH, _HEIGHT), title=title, description=told, rules=_RULES)


def effect_curves(moved: Sequence[MovedFeature], columns: Sequence[Column], target: Column) -> str:
    """The teacher's mean word along each moved feature, on one scale of the target: flat means that nothing happens."""
    row, top, left, right = 62.0, 30.0, 190.0, 420.0
    values = [value for one in moved for value in one.curve]
    width, height = 500.0, top + row * len(moved) + 30
    parts = [
        label(
            f"{shorten(in_unit(target.name, target.unit), 44)}, from {number(min(values))} to "
            f"{number(max(values))} in every row",
            left,
            16,
            anchor="start",
            look="soft",
        )
    ]
    for at, (one, column) in enumerate(zip(moved, columns, strict=True)):
        floor = top + row * (at + 1) - 12
        up, across = _Scale(values, floor, floor - row + 20), _Scale(one.grid, left, right)
        parts += [
            label(shorten(shown(one.name), 24), left - 12, floor - 18, anchor="end"),
            label(_ends(one, column), left - 12, floor - 3, anchor="end", look="soft"),
            line(left, floor, right, floor, "grid"),
            _line_through(one, across, up),
            label(share(one.effect), right + 12, floor - 14, anchor="start"),
        ]
    parts.append(label("share of the target's standard deviation", width - 6, height - 8, anchor="end", look="soft"))
    told = "; ".join(f"{shown(one.name)}: {share(one.effect)} of the target's standard deviation" for one in moved)
    return drawing(
        parts,
        kind=KIND,
        size=(width, height),
        title="What the teacher says along each moved feature",
        description=told,
        rules=_RULES,
    )


def _ends(one: MovedFeature, column: Column) -> str:
    if not column.is_numeric:
        return f"{len(one.grid)} values"
    unit = f" {shown(column.unit)}" if column.unit else ""
    return shorten(f"{setting(one.grid[0])} to {setting(one.grid[-1])}{unit}", 28)


def _line_through(one: MovedFeature, across: _Scale, up: _Scale) -> str:
    places = [(across(x), up(y)) for x, y in zip(one.grid, one.curve, strict=True)]
    d = "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in places)
    dots = "".join(element("circle", class_="after", cx=x, cy=y, r=2.4) for x, y in places)
    return element("path", class_="outline", d=d) + dots


def gain_bars(control: Control) -> str:
    """The test loss of three students: real rows, the same labelled anew, and rows at new places."""
    losses = (
        ("plain", control.plain, "before"),
        ("relabelled, not moved", control.relabelled, "after"),
        ("augmented", control.augmented, "after"),
    )
    left, width, row, top = 170.0, 460.0, 34.0, 12.0
    most = max(loss for _, loss, _ in losses) or 1.0
    parts = []
    for at, (name, loss, look) in enumerate(losses):
        y, length = top + at * row, loss / most * 170
        parts += [
            label(name, left - 10, y + 17, anchor="end"),
            element("rect", class_=look, x=left, y=y + 4, width=length, height=18),
            label(number(loss), left + length + 7, y + 18, anchor="start", look="soft"),
        ]
    height = top + 3 * row + 26
    parts.append(label(f"test {control.metric.upper()}, from 0", left, height - 8, anchor="start", look="soft"))
    told = (
        f"{control.metric.upper()} {number(control.plain)} plain, {number(control.relabelled)} relabelled, "
        f"{number(control.augmented)} augmented: {percent(control.teacher_percent)} % by the teacher's labels, "
        f"{percent(control.places_percent)} % by the new places"
    )
    return drawing(
        parts, kind=KIND, size=(width, height), title="Where the change comes from", description=told, rules=_RULES
    )
