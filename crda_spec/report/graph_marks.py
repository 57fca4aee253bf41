"""The marks a causal graph is drawn with: boxes, edges and the legend, once everything has its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crda_spec.records import FeatureVerdict
from crda_spec.report.layout import Layout
from crda_spec.report.svg import coordinate, element, paint, text_width, words
from crda_spec.report.wording import STATUS_WORDS, count, shown

BOX_HEIGHT = 30.0
_HEAD = 8.0  # the length of an arrow's head
_TIE_SHIFT = 8.0  # a tie runs this much above an edge between the same nodes

# The look of a box: (colour, the mark inside it). The mark says the same as the colour, for those who see no colour.
_LOOKS: dict[str, tuple[str, str]] = {
    "direct_cause": ("green", "dot"),
    "irrelevant": ("sky", "ring"),
    "screened": ("sky", "dot"),
    "blocked": ("orange", "cross"),
    "kept": ("grey", "bar"),
    "target": ("gold", "diamond"),
    "noise": ("purple", "wave"),
    "latent": ("purple", "ring"),
    "unused": ("grey", "ring"),
}
_MEANINGS: dict[str, str] = {
    **STATUS_WORDS,
    "target": "target",
    "noise": "noise of the target",
    "latent": "not measured",
    "unused": "not a feature of the model",
}
_UNMEASURED = ("noise", "latent")
RULES = (
    paint(".crda-graph .ground", fill="ground")
    + paint(".crda-graph text", fill="ink")
    + paint(".crda-graph .note", fill="soft")
    + paint(".crda-graph .edge", fill="none", stroke="line")
    + paint(".crda-graph .edge.noisy", stroke="purple")
    + paint(".crda-graph .head", fill="line")
    + paint(".crda-graph .head.noisy", fill="purple")
    + ".crda-graph .edge{stroke-width:1.6}.crda-graph .tie{stroke-dasharray:6 4}"
    + ".crda-graph text{unicode-bidi:isolate}.crda-graph .note{font-size:12px}"
    + ".crda-graph rect{stroke-width:1.5}.crda-graph .unmeasured rect{stroke-dasharray:5 4}"
    + ".crda-graph .open{stroke-width:2;stroke-linecap:round}"
    + "".join(
        paint(f".crda-graph .{colour} rect", fill=f"{colour}-tint", stroke=colour)
        + paint(f".crda-graph .{colour} .mark", fill=colour)
        + paint(f".crda-graph .{colour} .open", fill="none", stroke=colour)
        for colour in ("green", "sky", "orange", "purple", "grey", "gold")
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node on the paper: the middle of its box, its width, its layer, and how it looks."""

    name: str
    label: str
    look: str
    layer: int
    x: float
    y: float
    width: float

    @property
    def left(self) -> float:
        """Where edges from causes end."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Where edges to effects start."""
        return self.x + self.width / 2


def box_width(label: str) -> float:
    """The width that a label and the mark beside it need."""
    return text_width(label) + 46.0


def box_mark(box: Box, verdict: FeatureVerdict | None) -> str:
    """A node: its box, its label, and what a pointer that rests on it is told."""
    colour, mark = _LOOKS[box.look]
    about = f"{shown(box.name)}: {_MEANINGS[box.look]}"
    if verdict is not None:
        about += f". {verdict.reason}" + (f" Warning: {verdict.warning}" if verdict.warning else "")
    inside = [
        element("title", words(about)),
        element(
            "rect",
            x=box.left,
            y=box.y - BOX_HEIGHT / 2,
            width=box.width,
            height=BOX_HEIGHT,
            rx=15 if box.look in _UNMEASURED else 5,
        ),
        _sign(mark, box.left + 16, box.y),
        element("text", words(box.label), x=box.x + 9, y=box.y + 4.5, text_anchor="middle"),
    ]
    return element("g", "".join(inside), class_=f"{colour}{' unmeasured' if box.look in _UNMEASURED else ''}")


def _sign(mark: str, x: float, y: float) -> str:
    """The small sign in a box, the same in the legend."""
    lines = {
        "cross": f"M{coordinate(x - 4)} {coordinate(y - 4)}l8 8m0-8l-8 8",
        "bar": f"M{coordinate(x - 5)} {coordinate(y)}h10",
        "wave": f"M{coordinate(x - 6)} {coordinate(y)}q3-7 6 0t6 0",
    }
    if mark in lines:
        return element("path", class_="open", d=lines[mark])
    if mark == "ring":
        return element("circle", class_="open", cx=x, cy=y, r=4)
    if mark == "diamond":
        return element("path", class_="mark", d=f"M{coordinate(x)} {coordinate(y - 6)}l6 6l-6 6l-6-6z")
    return element("circle", class_="mark", cx=x, cy=y, r=5)


def edge_mark(edge: tuple[str, str, str], boxes: Mapping[str, Box], layout: Layout, roles: Mapping[str, str]) -> str:
    """One edge: an arrow, a dashed arc with two heads for a hidden common cause, or a plain line without direction."""
    start, end, mark = edge
    a, b = boxes[start], boxes[end]
    if a.layer > b.layer:
        a, b = b, a  # drawn from left to right, whichever way it points
    tie = mark == "<->"
    heads = (tie or (mark == "->" and a.name == end), tie or (mark == "->" and b.name == end))
    noisy = " noisy" if tie or any(roles[name] in _UNMEASURED for name in (start, end)) else ""
    if a.layer == b.layer:
        path, tips = _same_layer(a, b, layout, heads)
    else:
        path, tips = _across(a, b, _stops(a, b, tie, boxes, layout), -_TIE_SHIFT if tie else 0.0, heads)
    drawn = element("path", class_=f"edge{' tie' if tie else ''}{noisy}", d=path)
    return drawn + "".join(element("path", class_=f"head{noisy}", d=_head(*tip)) for tip in tips)


_Stop = tuple[float, float, float]  # left, right and height of a stretch that runs level through a layer


def _stops(a: Box, b: Box, tie: bool, boxes: Mapping[str, Box], layout: Layout) -> list[_Stop]:  # noqa: FBT001
    """Where an edge passes the layers between its ends."""
    sides = {box.layer: (box.left, box.right) for box in boxes.values()}
    zero = a.y - layout.height[a.name]
    return [(*sides[layer], zero + height) for layer, height in layout.bends.get((a.name, b.name, tie), ())]


_Tip = tuple[float, float, int]  # where an arrow ends, and +1 when it points right, -1 when left


def _across(a: Box, b: Box, stops: Sequence[_Stop], shift: float, heads: tuple[bool, bool]) -> tuple[str, list[_Tip]]:
    """From one layer to a later one: it bends in the gutters and runs level through the layers it passes."""
    x, y = a.right + (_HEAD if heads[0] else 0.0), a.y + shift
    path = f"M{coordinate(x)} {coordinate(y)}"
    final = b.left - (_HEAD if heads[1] else 0.0)
    for left, right, level in [*stops, (final, final, b.y + shift)]:
        middle = coordinate((x + left) / 2)
        path += f"C{middle} {coordinate(y)} {middle} {coordinate(level)} {coordinate(left)} {coordinate(level)}"
        if right != left:
            path += f"H{coordinate(right)}"
        x, y = right, level
    tips = [(a.right, a.y + shift, -1)] if heads[0] else []
    return path, tips + ([(b.left, b.y + shift, 1)] if heads[1] else [])


def _same_layer(a: Box, b: Box, layout: Layout, heads: tuple[bool, bool]) -> tuple[str, list[_Tip]]:
    """Between two boxes of one layer: an arc in the gutter beside them."""
    right = a.layer == 0 and layout.layers > 1
    side, turn = (a.right, 1) if right else (a.left, -1)
    reach = side + turn * min(70.0, 30.0 + abs(a.y - b.y) / 6)
    ends = [side + turn * (_HEAD if head else 0.0) for head in heads]
    path = (
        f"M{coordinate(ends[0])} {coordinate(a.y)}C{coordinate(reach)} {coordinate(a.y)} "
        f"{coordinate(reach)} {coordinate(b.y)} {coordinate(ends[1])} {coordinate(b.y)}"
    )
    return path, [(side, box.y, -turn) for box, head in zip((a, b), heads, strict=True) if head]


def _head(x: float, y: float, turn: int) -> str:
    back = coordinate(-turn * (_HEAD + 1))
    return f"M{coordinate(x)} {coordinate(y)}l{back} -4.5v9z"


def legend(looks: Sequence[str], *, hidden: int, width: float, top: float) -> tuple[list[str], float]:
    """What the colours and marks mean, for those that occur, and how many nodes are not drawn; and its lower end."""
    parts: list[str] = []
    x, y = 24.0, top + 8
    for look in [look for look in _LOOKS if look in looks]:
        meaning = _MEANINGS[look]
        needed = 30 + text_width(meaning, 12.0)
        if x > 24.0 and x + needed > width - 24:
            x, y = 24.0, y + 22
        sign = _sign(_LOOKS[look][1], x + 7, y)
        text = element("text", words(meaning), class_="note", x=x + 19, y=y + 4)
        parts.append(element("g", sign + text, class_=_LOOKS[look][0]))
        x += needed + 14
    if hidden:
        y += 24
        note = f"{count(hidden, 'more node')} not drawn: only the neighbours of the noise and the target are."
        parts.append(element("text", words(note), class_="note", x=24, y=y + 4))
    return parts, y + 24
