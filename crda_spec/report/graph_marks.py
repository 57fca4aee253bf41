"""The SVG marks a causal graph is drawn with: boxes, edges and the legend, once everything has its place."""

from __future__ import annotations

from crda_spec.records import FeatureVerdict
from crda_spec.report.graph_boxes import BOX_HEIGHT, Box
from crda_spec.report.graph_routes import HEAD, RING, Route, Tip
from crda_spec.report.graph_scene import LOOKS, MEANINGS, UNMEASURED, Entry, Line
from crda_spec.report.svg import coordinate, element, paint, words
from crda_spec.report.wording import shown

RULES = (
    paint(".crda-graph .ground", fill="ground")
    + paint(".crda-graph text", fill="ink")
    + paint(".crda-graph .note", fill="soft")
    + paint(".crda-graph .edge", fill="none", stroke="line")
    + paint(".crda-graph .edge.noisy", stroke="purple")
    + paint(".crda-graph .edge.witness", stroke="orange")
    + paint(".crda-graph .head", fill="line")
    + paint(".crda-graph .head.noisy", fill="purple")
    + paint(".crda-graph .head.witness", fill="orange")
    + ".crda-graph .edge{stroke-width:1.6}.crda-graph .tie{stroke-dasharray:6 4}"
    + ".crda-graph .witness{stroke-width:3.2}.crda-graph .tie.witness{stroke-dasharray:8 4}"
    + ".crda-graph text{unicode-bidi:isolate}.crda-graph .note{font-size:12px}"
    + ".crda-graph rect{stroke-width:1.5}.crda-graph .unmeasured rect{stroke-dasharray:5 4}"
    + ".crda-graph .open{stroke-width:2;stroke-linecap:round}.crda-graph .thick{stroke-width:3.2}"
    + "".join(
        paint(f".crda-graph .{colour} rect", fill=f"{colour}-tint", stroke=colour)
        + paint(f".crda-graph .{colour} .mark", fill=colour)
        + paint(f".crda-graph .{colour} .open", fill="none", stroke=colour)
        for colour in ("green", "sky", "orange", "purple", "grey", "gold")
    )
)

# Only for pictures with circles, so that the others need not carry it.
RING_RULES = (
    paint(".crda-graph .end", fill="ground", stroke="line")
    + paint(".crda-graph .end.noisy", stroke="purple")
    + paint(".crda-graph .end.witness", stroke="orange")
    + ".crda-graph .end{stroke-width:1.6}"
)


def box_mark(box: Box, verdict: FeatureVerdict | None) -> str:
    """A node: its box, its label, and what a pointer that rests on it is told."""
    colour, mark = LOOKS[box.look]
    inside = [
        element("title", words(about_box(box, verdict))),
        element(
            "rect",
            x=box.left,
            y=box.top,
            width=box.width,
            height=BOX_HEIGHT,
            rx=15 if box.look in UNMEASURED else 5,
        ),
        _sign(mark, box.left + 16, box.y),
        element("text", words(box.label), x=box.x + 9, y=box.y + 4.5, text_anchor="middle"),
    ]
    return element("g", "".join(inside), class_=f"{colour}{' unmeasured' if box.look in UNMEASURED else ''}")


def about_box(box: Box, verdict: FeatureVerdict | None) -> str:
    """A node in words: its name, what it is, and of a feature why it may or may not move."""
    about = f"{shown(box.name)}: {MEANINGS[box.look]}"
    if verdict is not None:
        about += f". {verdict.reason}" + (f" Warning: {verdict.warning}" if verdict.warning else "")
    return about


def _sign(mark: str, x: float, y: float) -> str:
    """The small sign in a box, the same in the legend."""
    lines = {
        "cross": f"M{coordinate(x - 4)} {coordinate(y - 4)}l8 8m0-8l-8 8",
        "bar": f"M{coordinate(x - 5)} {coordinate(y)}h10",
        "path": f"M{coordinate(x - 7)} {coordinate(y)}h12",
        "wave": f"M{coordinate(x - 6)} {coordinate(y)}q3-7 6 0t6 0",
        "line": f"M{coordinate(x - 7)} {coordinate(y)}m0-4v8m0-4h14m0-4v8",
        "circled": f"M{coordinate(x - 7)} {coordinate(y)}h6m0 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
        "square": f"M{coordinate(x - 4)} {coordinate(y - 4)}h8v8h-8z",
    }
    if mark in lines:
        return element("path", class_="open thick" if mark == "path" else "open", d=lines[mark])
    if mark == "ring":
        return element("circle", class_="open", cx=x, cy=y, r=4)
    if mark == "diamond":
        return element("path", class_="mark", d=f"M{coordinate(x)} {coordinate(y - 6)}l6 6l-6 6l-6-6z")
    return element("circle", class_="mark", cx=x, cy=y, r=5)


def edge_mark(line: Line) -> str:
    """One edge: an arrow, a dashed arc with two heads for a hidden common cause, or a line without a known end."""
    look = f"{' noisy' if line.noisy else ''}{' witness' if line.witness else ''}"
    drawn = element("path", class_=f"edge{' tie' if line.dashed else ''}{look}", d=_path(line.route))
    rings = (element("circle", class_=f"end{look}", cx=x, cy=y, r=RING) for x, y in line.route.rings)
    heads = (element("path", class_=f"head{look}", d=_head(tip)) for tip in line.route.tips)
    return drawn + "".join((*heads, *rings))


def _path(route: Route) -> str:
    """A route in SVG's words."""
    path = f"M{coordinate(route.start[0])} {coordinate(route.start[1])}"
    for step in route.steps:
        if len(step) == 1:
            path += f"H{coordinate(step[0][0])}"
        else:
            path += "C" + " ".join(f"{coordinate(x)} {coordinate(y)}" for x, y in step)
    return path


def _head(tip: Tip) -> str:
    x, y, turn = tip
    return f"M{coordinate(x)} {coordinate(y)}l{coordinate(-turn * (HEAD + 1))} -4.5v9z"


def legend_mark(entry: Entry) -> str:
    """One line of the legend."""
    if not entry.look:
        return element("text", words(entry.text), class_="note", x=entry.x, y=entry.y + 4)
    colour, mark = LOOKS[entry.look]
    text = element("text", words(entry.text), class_="note", x=entry.x + 19, y=entry.y + 4)
    return element("g", _sign(mark, entry.x + 7, entry.y) + text, class_=colour)
