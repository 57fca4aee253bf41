"""The boxes of a causal graph: one for each node, where the layout wants it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crda_spec.report.layout import Layout
from crda_spec.report.svg import text_width
from crda_spec.report.wording import shorten, shown

BOX_HEIGHT = 30.0
ROW = 44.0
MARGIN = 24.0
NARROWEST = 560.0
_LONGEST_LABEL = 24


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

    @property
    def top(self) -> float:
        """The upper side."""
        return self.y - BOX_HEIGHT / 2


def placed_boxes(names: Sequence[str], layout: Layout, looks: Mapping[str, str]) -> tuple[dict[str, Box], float, float]:
    """The boxes of the laid-out nodes, all of one layer equally wide, and the width and height they need."""
    labels = {name: _label(name) for name in names}
    widths = [60.0] * layout.layers
    for name in names:
        level = layout.layer[name]
        widths[level] = max(widths[level], _width(labels[name]))
    # Steep edges need room to turn: the taller the drawing, the wider the gutters between its layers.
    gutter = min(190.0, 72.0 + layout.bottom / 9)
    needed = sum(widths) + gutter * (len(widths) - 1) + 2 * MARGIN
    start = MARGIN + max(0.0, (NARROWEST - needed) / 2)
    middles = [start + sum(widths[:level]) + gutter * level + widths[level] / 2 for level in range(len(widths))]
    boxes = {
        name: Box(
            name=name,
            label=labels[name],
            look=looks[name],
            layer=layout.layer[name],
            x=middles[layout.layer[name]],
            y=MARGIN + BOX_HEIGHT / 2 + layout.height[name],
            width=widths[layout.layer[name]],
        )
        for name in names
    }
    return boxes, max(needed, NARROWEST), 2 * MARGIN + BOX_HEIGHT + layout.bottom


def loose_boxes(
    names: Sequence[str], looks: Mapping[str, str], width: float, bottom: float
) -> tuple[tuple[Box, ...], float]:
    """Boxes of the nodes that no edge touches, in lines below the graph, and their lower end."""
    boxes: list[Box] = []
    x, y = MARGIN, bottom + BOX_HEIGHT / 2
    for name in names:
        label = _label(name)
        wide = _width(label)
        if x > MARGIN and x + wide > width - MARGIN:
            x, y = MARGIN, y + ROW - 6
        boxes.append(Box(name=name, label=label, look=looks[name], layer=0, x=x + wide / 2, y=y, width=wide))
        x += wide + 12
    return tuple(boxes), (y + BOX_HEIGHT / 2 + MARGIN if names else bottom)


def _label(name: str) -> str:
    return shorten(shown(name), _LONGEST_LABEL)


def _width(label: str) -> float:
    """The width that a label and the mark beside it need."""
    return text_width(label) + 46.0
