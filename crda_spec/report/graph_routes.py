"""The way of each edge over the paper, in points that any way of drawing can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crda_spec.report.graph_boxes import Box
from crda_spec.report.layout import Layout

HEAD = 8.0  # the length of an arrow's head
RING = 3.5  # the radius of the circle at an end that may be a head or a tail
_TIE_SHIFT = 8.0  # a tie runs this much above an edge between the same nodes

Point = tuple[float, float]
# How a line goes on: to one point straight and level, or to the last of three along a cubic curve.
Step = tuple[Point] | tuple[Point, Point, Point]
Tip = tuple[float, float, int]  # where an arrow ends, and +1 when it points right, -1 when left

# What stands at the left and the right end of each mark: a head, a circle, or nothing.
_ENDS = {
    "->": ("", ">"),
    "<->": (">", ">"),
    "--": ("", ""),
    "o->": ("o", ">"),
    "o-o": ("o", "o"),
    "o--": ("o", ""),
}
_ROOM = {"": 0.0, ">": HEAD, "o": 2 * RING}  # what an end takes of the line


@dataclass(frozen=True, slots=True)
class Route:
    """A line from box to box, and where it carries an arrow's head or a circle (its middle)."""

    start: Point
    steps: tuple[Step, ...]
    tips: tuple[Tip, ...]
    rings: tuple[Point, ...] = ()


def route(edge: tuple[str, str, str], boxes: Mapping[str, Box], layout: Layout) -> Route:
    """The way of an edge: drawn from left to right, whichever way it points."""
    start, end, mark = edge
    a, b = boxes[start], boxes[end]
    ends = _ENDS[mark]
    if a.layer > b.layer:
        a, b, ends = b, a, ends[::-1]
    tie = mark == "<->"
    if a.layer == b.layer:
        return _same_layer(a, b, layout, ends)
    return _across(a, b, _stops(a, b, tie, boxes, layout), -_TIE_SHIFT if tie else 0.0, ends)


def head(tip: Tip) -> tuple[Point, Point, Point]:
    """The corners of an arrow's head, its point first."""
    x, y, turn = tip
    back = x - turn * (HEAD + 1)
    return (x, y), (back, y - 4.5), (back, y + 4.5)


_Stop = tuple[float, float, float]  # left, right and height of a stretch that runs level through a layer


def _stops(a: Box, b: Box, tie: bool, boxes: Mapping[str, Box], layout: Layout) -> list[_Stop]:  # noqa: FBT001
    """Where an edge passes the layers between its ends."""
    sides = {box.layer: (box.left, box.right) for box in boxes.values()}
    zero = a.y - layout.height[a.name]
    return [(*sides[layer], zero + height) for layer, height in layout.bends.get((a.name, b.name, tie), ())]


def _across(a: Box, b: Box, stops: Sequence[_Stop], shift: float, ends: tuple[str, str]) -> Route:
    """From one layer to a later one: it bends in the gutters and runs level through the layers it passes."""
    start = x, y = a.right + _ROOM[ends[0]], a.y + shift
    final = b.left - _ROOM[ends[1]]
    steps: list[Step] = []
    for left, right, level in [*stops, (final, final, b.y + shift)]:
        middle = (x + left) / 2
        steps.append(((middle, y), (middle, level), (left, level)))
        if right != left:
            steps.append(((right, level),))
        x, y = right, level
    sides = ((a.right, a.y + shift, -1), (b.left, b.y + shift, 1))
    return Route(start, tuple(steps), *_finished(ends, sides))


def _finished(ends: tuple[str, str], sides: Sequence[Tip]) -> tuple[tuple[Tip, ...], tuple[Point, ...]]:
    """The heads and the circles at the two sides where a line meets its boxes."""
    tips = tuple(side for end, side in zip(ends, sides, strict=True) if end == ">")
    rings = tuple((x - turn * RING, y) for end, (x, y, turn) in zip(ends, sides, strict=True) if end == "o")
    return tips, rings


def _same_layer(a: Box, b: Box, layout: Layout, ends: tuple[str, str]) -> Route:
    """Between two boxes of one layer: an arc in the gutter beside them."""
    right = a.layer == 0 and layout.layers > 1
    side, turn = (a.right, 1) if right else (a.left, -1)
    reach = side + turn * min(70.0, 30.0 + abs(a.y - b.y) / 6)
    first, last = (side + turn * _ROOM[end] for end in ends)
    sides = tuple((side, box.y, -turn) for box in (a, b))
    return Route((first, a.y), (((reach, a.y), (reach, b.y), (last, b.y)),), *_finished(ends, sides))
