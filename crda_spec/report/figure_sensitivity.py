"""How strong a hidden cause may be, as a map: its tie to the moved feature against its tie to the target.

After the contour plots of Cinelli and Hazlett (2020), with the gate's gain as the line that counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from crda_spec.records import FeatureSensitivity
from crda_spec.report.figures import KIND, RULES, label, line
from crda_spec.report.svg import coordinate, drawing, element, paint, text_width, words
from crda_spec.report.words.numbers import setting, share, shorten, shown
from crda_spec.scm.sensitivity import used_up_at

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _FLOOR = 380.0, 344.0, 58.0, 362.0, 58.0, 286.0
_ENDS = (0.05, 0.1, 0.2, 0.5, 1.0)  # where both axes may end: the nearest that leaves room around the points
_SHARES = ((0.25, "quarter"), (0.5, "half"))  # of the gain, each with a thin curve
_STEPS = 40
_MAP_RULES = (
    RULES
    + paint(f".{KIND} .over", fill="orange-tint")
    + paint(f".{KIND} .used", fill="none", stroke="orange")
    + paint(f".{KIND} .part", fill="none", stroke="line")
    + paint(f".{KIND} .axis.frame", fill="none")
    + f".{KIND} .used{{stroke-width:2.4}}.{KIND} .part{{stroke-width:1.2;stroke-dasharray:4 3}}"
)


def sensitivity_map(feature: FeatureSensitivity, target: str) -> str:
    """The region in which a hidden cause uses up the gain, the point of equal ties on its edge, and the yardstick.

    Only for a finite limit above 0: with any other there is no edge to draw, and the caller asks first.
    """
    if not 0 < feature.limit < math.inf:
        raise ValueError("sensitivity_map draws where the gain is used up; this limit has no such place")
    end = _end(feature)
    parts = [
        _region(feature.limit, end),
        *_axes(end),
        *(_curve(fraction * feature.limit, end, "part", f"{name} of the gain used") for fraction, name in _SHARES),
        _curve(feature.limit, end, "used", "the whole gain used up"),
        *_points(feature, target, end),
        label(f"explained of {shorten(shown(feature.name), 26)}, %", (_LEFT + _RIGHT) / 2, _HEIGHT - 12),
        _upright(f"explained of {shorten(shown(target), 18)}, %"),
        *_key(feature),
    ]
    told = f"The gain is used up when a hidden cause explains {share(feature.robustness)} of each"
    if feature.observed:
        told += (
            f"; {shown(feature.observed)} explains {share(feature.observed_with_feature)} of {shown(feature.name)} "
            f"and {share(feature.observed_with_target)} of {shown(target)}"
        )
    return drawing(
        parts,
        kind=KIND,
        size=(_WIDTH, _HEIGHT),
        title=f"A hidden cause of {shown(feature.name)} and {shown(target)}",
        description=told,
        rules=_MAP_RULES,
    )


def _end(feature: FeatureSensitivity) -> float:
    """Both axes run from 0 to here."""
    points = (feature.robustness, feature.observed_with_feature, feature.observed_with_target)
    return next((end for end in _ENDS if 1.25 * max(points) <= end), 1.0)


def _at(value: float, end: float) -> float:
    return _LEFT + value / end * (_RIGHT - _LEFT)


def _level(value: float, end: float) -> float:
    return _FLOOR - value / end * (_FLOOR - _TOP)


def _edge(limit: float, end: float) -> list[tuple[float, float]]:
    """The curve R2_y * R2_x / (1 - R2_x) = limit inside the frame, from its upper end to the right."""
    first, last = limit / (limit + end), end  # where it enters the frame at the top and leaves it on the right
    if first >= last:
        return []
    steps = (step / _STEPS for step in range(_STEPS + 1))
    across = [first * (last / first) ** step for step in steps]  # ever wider steps, since the curve flattens
    return [(x, min(end, used_up_at(limit, x))) for x in across]


def _way(points: Sequence[tuple[float, float]], end: float) -> str:
    return "M" + "L".join(f"{coordinate(_at(x, end))} {coordinate(_level(y, end))}" for x, y in points)


def _region(limit: float, end: float) -> str:
    edge = _edge(limit, end)
    return element("path", class_="over", d=f"{_way([*edge, (end, end)], end)}Z") if edge else ""


def _curve(limit: float, end: float, look: str, told: str) -> str:
    edge = _edge(limit, end)
    return element("path", element("title", words(told)), class_=look, d=_way(edge, end)) if edge else ""


def _axes(end: float) -> list[str]:
    """A frame with five ticks a side, in percent."""
    parts = [
        element("rect", class_="axis frame", x=_LEFT, y=_TOP, width=_RIGHT - _LEFT, height=_FLOOR - _TOP),
    ]
    for fifth in range(6):
        value = end * fifth / 5
        x, y, written = _at(value, end), _level(value, end), setting(100 * value)
        parts += [line(x, _FLOOR, x, _FLOOR + 4, "axis"), label(written, x, _FLOOR + 18, look="soft")]
        parts += [line(_LEFT - 4, y, _LEFT, y, "axis"), label(written, _LEFT - 8, y + 4, anchor="end", look="soft")]
    return parts


def _upright(text: str) -> str:
    """The words beside the vertical axis."""
    x, y = 16.0, (_TOP + _FLOOR) / 2
    turn = f"rotate(-90 {coordinate(x)} {coordinate(y)})"
    return element("text", words(text), x=x, y=y, text_anchor="middle", transform=turn)


def _points(feature: FeatureSensitivity, target: str, end: float) -> list[str]:
    """The point of equal ties, on the edge, and the yardstick; resting on one tells its numbers."""
    r = feature.robustness
    equal = element(
        "circle",
        element("title", words(f"{share(r)} of each uses up the gain")),
        class_="mean",
        cx=_at(r, end),
        cy=_level(r, end),
        r=5,
    )
    if not feature.observed:
        return [equal]
    both = feature.observed_with_feature, feature.observed_with_target
    told = f"{shown(feature.observed)}: {share(both[0])} of {shown(feature.name)}, {share(both[1])} of {shown(target)}"
    return [equal, _diamond(_at(both[0], end), _level(both[1], end), element("title", words(told)))]


def _diamond(x: float, y: float, inside: str = "") -> str:
    return element("path", inside, class_="better", d=f"M{coordinate(x)} {coordinate(y - 7)}l7 7l-7 7l-7-7z")


def _key(feature: FeatureSensitivity) -> list[str]:
    """What the marks mean, above the frame."""
    second = 46.0 + text_width("gain used up", 12.0)
    parts = [
        element("path", class_="used", d="M14 14h16"),
        label("gain used up", 36, 18, anchor="start", look="soft"),
        element("path", class_="part", d=f"M{coordinate(second)} 14h16"),
        label("half, quarter", second + 22, 18, anchor="start", look="soft"),
        element("circle", class_="mean", cx=22, cy=36, r=5),
        label("equal ties", 36, 40, anchor="start", look="soft"),
    ]
    if feature.observed:
        name = shorten(shown(feature.observed), 24)
        parts += [_diamond(second + 8, 36), label(f"{name} (measured)", second + 22, 40, anchor="start", look="soft")]
    return parts
