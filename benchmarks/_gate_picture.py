"""The calibration study as a picture: for every gate, how often it accepts what cannot help, what hurts, what helps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "gate_calibration.svg"
GROUPS = (
    ("false_accept", "cannot help", "#d55e00"),
    ("harm_accept", "hurts", "#555555"),
    ("power", "helps by a tenth, 1000 rows", "#0072b2"),
)
_LEFT, _WIDTH, _BAR, _GAP = 190, 420, 11, 14


def draw(figures: Mapping[str, Any]) -> None:
    """Writes the picture: bars with their 95 % intervals, the level of 5 % as a line."""
    rows = list(figures["tests"].items())
    block = _BAR * len(GROUPS) + _GAP
    height = 60 + block * len(rows)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 60} {height + 30}" '
            'font-family="sans-serif" font-size="12" role="img">'
        ),
        "<title>How often each gate accepts</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for number, (_, words, colour) in enumerate(GROUPS):
        x = 20 + 190 * number
        parts.append(f'<rect x="{x}" y="12" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="22">what {words}</text>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LEFT + _WIDTH * share
        parts.append(f'<line x1="{x}" x2="{x}" y1="36" y2="{height}" stroke="#dddddd"/>')
        parts.append(f'<text x="{x}" y="{height + 18}" text-anchor="middle">{share:.0%}</text>')
    level = _LEFT + _WIDTH * 0.05
    parts.append(f'<line x1="{level}" x2="{level}" y1="36" y2="{height}" stroke="#d55e00" stroke-dasharray="4 3"/>')
    for row, (name, told) in enumerate(rows):
        top = 44 + row * block
        parts.append(f'<text x="{_LEFT - 10}" y="{top + 20}" text-anchor="end">{name.replace("_", " ")}</text>')
        for number, (key, _, colour) in enumerate(GROUPS):
            if key not in told:
                continue
            y, (low, high) = top + number * _BAR, told[f"{key}_interval"]
            parts.append(
                f'<rect x="{_LEFT}" y="{y}" width="{_WIDTH * told[key]:.1f}" height="{_BAR - 2}" fill="{colour}"/>'
                f'<line x1="{_LEFT + _WIDTH * low:.1f}" x2="{_LEFT + _WIDTH * high:.1f}" y1="{y + 4.5}" '
                f'y2="{y + 4.5}" stroke="#000000"/>'
            )
    PICTURE.write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")
