"""The causal graph as a PNG, for slides and papers: the same picture as the SVG, drawn by matplotlib alone.

No system graphviz, no pyplot (whose figures are global state) and no fonts but the one that matplotlib brings, so that
equal graphs give equal bytes on machines with the same versions. Letters are drawn as outlines: no user's setting of
hinting or TeX, and no `$` taken for mathematics, gets between a column's name and what is read.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path as FilePath

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, get_font
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.textpath import TextToPath
from matplotlib.transforms import Affine2D, Transform

from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.report.graph_scene import (
    BOX_HEIGHT,
    LOOKS,
    RING,
    UNMEASURED,
    Box,
    Entry,
    Line,
    Route,
    Scene,
    head,
    scene,
)
from crda_spec.report.svg import LIGHT

SCALE = 2.0  # pixels for each pixel of the SVG: sharp on a dense screen and on paper
LONGEST_SIDE = 20_000  # pixels; a wider or taller picture is drawn at a smaller scale
_INCH = 72.0  # one unit of the drawing is a point, so that widths of lines need no conversion
NO_GLYPH = "\N{WHITE SQUARE}"  # stands for a letter that the font does not have
_OPEN_SIGNS: dict[str, Path] = {
    "cross": Path([(-4, -4), (4, 4), (4, -4), (-4, 4)], [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO]),
    "bar": Path([(-5, 0), (5, 0)]),
    "path": Path([(-7, 0), (5, 0)]),
    "wave": Path([(-6, 0), (-3, -7), (0, 0), (3, 7), (6, 0)], [Path.MOVETO, *[Path.CURVE3] * 4]),
    "line": Path([(-7, -4), (-7, 4), (-7, 0), (7, 0), (7, -4), (7, 4)], [Path.MOVETO, Path.LINETO] * 3),
    "circled": Path.make_compound_path(Path([(-7, 0), (-1, 0)]), Path.circle((2.5, 0), radius=RING)),
    "square": Path([(-4, -4), (4, -4), (4, 4), (-4, 4), (-4, -4)], closed=True),
}


def graph_png(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict]) -> bytes:
    """The graph as `graph_svg` draws it, on a light ground, at twice its size."""
    placed = scene(graph, verdicts)
    scale = min(SCALE, LONGEST_SIDE / max(placed.width, placed.height))
    figure = Figure(
        figsize=(placed.width / _INCH, placed.height / _INCH), dpi=_INCH * scale, facecolor=LIGHT["ground"], linewidth=0
    )
    paper = _paper(figure, placed)
    for artist in _artists(placed):
        # An artist's own shift, if it has one, comes first; then the paper's place in the figure.
        artist.set_transform(artist.get_transform() + paper)
        figure.add_artist(artist)
    written = io.BytesIO()
    FigureCanvasAgg(figure)  # attaches itself, so that savefig asks no global backend
    # Without its own version among the metadata (and there is no date): equal pictures are equal bytes.
    figure.savefig(written, format="png", dpi="figure", facecolor="auto", metadata={"Software": None})
    return written.getvalue()


def _paper(figure: Figure, placed: Scene) -> Transform:
    """From the drawing's points, counted from the upper left corner, to the figure's."""
    return Affine2D().scale(1 / _INCH, -1 / _INCH).translate(0, placed.height / _INCH) + figure.dpi_scale_trans


def _artists(placed: Scene) -> list[Artist]:
    """Everything, in the order in which it covers what came before."""
    drawn: list[Artist] = []
    for line in placed.lines:
        drawn += _edge(line)
    for box in placed.boxes:
        drawn += _box(box)
    for entry in placed.legend:
        drawn += _entry(entry)
    for order, artist in enumerate(drawn):
        artist.set_zorder(order)
    return drawn


def _edge(line: Line) -> list[Artist]:
    colour, width = LIGHT[line.colour], 3.2 if line.witness else 1.6
    dash = _dashes(width, 8.0 if line.witness else 6.0, 4.0) if line.dashed else "solid"
    way = PathPatch(_way(line.route), fill=False, edgecolor=colour, linewidth=width, linestyle=dash, capstyle="butt")
    heads = [Polygon(head(tip), closed=True, facecolor=colour, edgecolor="none") for tip in line.route.tips]
    rings = [
        PathPatch(Path.circle(at, radius=RING), facecolor=LIGHT["ground"], edgecolor=colour, linewidth=1.6)
        for at in line.route.rings
    ]
    return [_unplaced(artist) for artist in (way, *heads, *rings)]


def _way(route: Route) -> Path:
    points, codes = [route.start], [Path.MOVETO]
    for step in route.steps:
        points += step
        codes += [Path.LINETO] if len(step) == 1 else [Path.CURVE4] * 3
    return Path(points, codes)


def _dashes(width: float, on: float, off: float) -> tuple[float, tuple[float, float]]:
    """Dashes as matplotlib counts them: in widths of the line."""
    return (0.0, (on / width, off / width))


def _box(box: Box) -> list[Artist]:
    colour, mark = LOOKS[box.look]
    hidden = box.look in UNMEASURED
    frame = FancyBboxPatch(
        (box.left, box.top),
        box.width,
        BOX_HEIGHT,
        boxstyle=f"round,pad=0,rounding_size={15 if hidden else 5}",
        facecolor=LIGHT[f"{colour}-tint"],
        edgecolor=LIGHT[colour],
        linewidth=1.5,
        linestyle=_dashes(1.5, 5.0, 4.0) if hidden else "solid",
    )
    label = _words(box.label, box.x + 9, box.y + 4.5, size=13.0, colour="ink", centred_in=box.width - 38)
    return [_unplaced(frame), _sign(mark, colour, box.left + 16, box.y), label]


def _entry(entry: Entry) -> list[Artist]:
    if not entry.look:
        return [_words(entry.text, entry.x, entry.y + 4, size=12.0, colour="soft")]
    colour, mark = LOOKS[entry.look]
    return [
        _sign(mark, colour, entry.x + 7, entry.y),
        _words(entry.text, entry.x + 19, entry.y + 4, size=12.0, colour="soft"),
    ]


def _sign(mark: str, colour: str, x: float, y: float) -> Artist:
    """The small sign in a box, the same in the legend."""
    ink, at = LIGHT[colour], Affine2D().translate(x, y)
    if mark in _OPEN_SIGNS:
        wide = 3.2 if mark == "path" else 2.0
        return _unplaced(PathPatch(_OPEN_SIGNS[mark], fill=False, edgecolor=ink, linewidth=wide, capstyle="round"), at)
    if mark == "ring":
        return _unplaced(PathPatch(Path.circle(radius=4.0), fill=False, edgecolor=ink, linewidth=2.0), at)
    if mark == "diamond":
        corners = [(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)]
        return _unplaced(Polygon(corners, closed=True, facecolor=ink, edgecolor="none"), at)
    return _unplaced(PathPatch(Path.circle(radius=5.0), facecolor=ink, edgecolor="none"), at)


def _words(text: str, x: float, y: float, *, size: float, colour: str, centred_in: float | None = None) -> Artist:
    """A line of text on its baseline; one that is centred shrinks until it fits its room."""
    outline, width = _outline(text, size)
    fit = 1.0 if centred_in is None or width <= centred_in else centred_in / width
    left = x if centred_in is None else x - fit * width / 2
    place = Affine2D().scale(fit, -fit).translate(left, y)  # letters grow upwards, the drawing downwards
    return _unplaced(PathPatch(outline, facecolor=LIGHT[colour], edgecolor="none"), place)


def _outline(text: str, size: float) -> tuple[Path, float]:
    """The outlines of a line of text, starting at 0, and its width."""
    known = get_font(str(font_file())).get_charmap()
    drawable = "".join(letter if ord(letter) in known else NO_GLYPH for letter in text)
    letters = TextToPath()
    points, codes = letters.get_text_path(FontProperties(fname=font_file()), drawable, ismath=False)
    if not len(points):
        return Path(np.empty((0, 2))), 0.0
    scaled = np.asarray(points, dtype=np.float64) * (size / letters.FONT_SCALE)
    return Path(scaled, codes), float(scaled[:, 0].max())


@cache
def font_file() -> FilePath:
    """The font that matplotlib brings."""
    return FilePath(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


def _unplaced(artist: Artist, shift: Transform | None = None) -> Artist:
    """Replaces whatever transform the artist thinks of by its own shift, if any."""
    artist.set_transform(Affine2D() if shift is None else shift)
    return artist
