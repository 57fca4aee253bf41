"""What matplotlib draws: figures in our style, as PNG or as SVG in the page's colours, and the causal graph as PNG.

Imported only when something is drawn, since matplotlib takes a third of a second to load. No pyplot, whose figures are
global state, and no font but the one that matplotlib brings: equal pictures are equal bytes with the same versions.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path as FilePath
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, get_font
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.textpath import TextToPath
from matplotlib.transforms import Affine2D, Transform
from matplotlib.typing import ColorType

from crda_spec.records import DrawnGraph, FeatureVerdict
from crda_spec.report.graph_scene import BOX_HEIGHT, HEAD, LOOKS, RING, UNMEASURED, Box, Line, Scene, scene
from crda_spec.report.svg import LIGHT, coordinate, drawing, element, text_width, words

KIND = "crda-figure"
POINTS = 72.0  # to the inch: one point of a figure is one pixel of the page
FONT_SIZE = 12.0
_DPI = 150.0  # of a PNG
STYLE: dict[Any, Any] = {  # ours and nobody else's, whatever the user's matplotlibrc says
    **{key: value for key, value in mpl.rcParamsDefault.items() if key != "backend"},
    "font.family": "DejaVu Sans",
    "font.size": FONT_SIZE,
    "figure.dpi": POINTS,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.edgecolor": LIGHT["line"],
    "axes.labelcolor": LIGHT["ink"],
    "axes.labelsize": FONT_SIZE,
    "axes.titlesize": FONT_SIZE,
    "axes.titlelocation": "left",
    "xtick.color": LIGHT["line"],
    "ytick.color": LIGHT["line"],
    "xtick.labelcolor": LIGHT["soft"],
    "ytick.labelcolor": LIGHT["soft"],
    "grid.color": LIGHT["grid"],
    "text.color": LIGHT["ink"],
    "text.parse_math": False,  # a `$` in a column's name is a `$`
    "legend.frameon": False,
    "legend.labelcolor": LIGHT["soft"],
    "legend.borderpad": 0.0,
    "legend.borderaxespad": 0.0,
    "legend.handlelength": 1.4,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.2,
}
_ANCHORS = {"left": (0.0, "start"), "center": (0.5, "middle"), "right": (1.0, "end")}
_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}


def png_bytes(figure: Figure) -> bytes:
    """A PNG on light ground. A letter that the font does not have becomes a box."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        return _saved(figure, dpi=_DPI)


def _saved(figure: Figure, **settings: Any) -> bytes:  # noqa: ANN401 - those of savefig
    """Without matplotlib's version among the metadata (and there is no date): equal pictures are equal bytes."""
    sink = io.BytesIO()
    FigureCanvasAgg(figure)  # attaches itself, so that savefig asks no global backend
    figure.savefig(sink, format="png", metadata={"Software": None}, **settings)
    return sink.getvalue()


def svg_text(figure: Figure, *, title: str, description: str) -> str:
    """The figure as SVG with text as text, and with colours that follow the page into the dark."""
    size = tuple(float(side) * POINTS for side in figure.get_size_inches())
    renderer = SvgRenderer(*size)
    with mpl.rc_context(STYLE):
        figure.draw(renderer)
    body = "\n".join(renderer.parts)
    # An attribute is the weakest of styles: it shows where variables are unknown, and the rule wins elsewhere.
    rules = "".join(
        f'.{KIND} [{kind}="{colour}"]{{{kind}:var(--{name})}}'
        for name, colour in LIGHT.items()
        for kind in ("fill", "stroke")
        if f'{kind}="{colour}"' in body
    )
    rules += f".{KIND} text{{font-size:{coordinate(FONT_SIZE)}px;unicode-bidi:isolate}}"
    return drawing([body], kind=KIND, size=(size[0], size[1]), title=title, description=description, rules=rules)


class SvgRenderer(RendererBase):
    """Writes paths and text and nothing else: no ids, clips, links or styles that could touch the page around.

    An artist's `gid` becomes the words that appear when a reader rests on it.
    """

    def __init__(self, width: float, height: float) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._size = (width, height)
        self._flip = Affine2D().scale(1.0, -1.0).translate(0.0, height)
        self._groups: list[bool] = []

    def get_canvas_width_height(self) -> tuple[float, float]:
        """In pixels of the page."""
        return self._size

    def points_to_pixels(self, points: Any) -> Any:  # noqa: ANN401 - a number or an array
        """They are the same."""
        return points

    def get_text_width_height_descent(self, s: str, prop: FontProperties, *_: object) -> tuple[float, float, float]:
        """A safe guess: nobody knows the font of the reader."""
        size = prop.get_size_in_points()
        return text_width(s, size), 0.95 * size, 0.21 * size

    def open_group(self, _: str, gid: str | None = None) -> None:
        """A group is written where it has something to say."""
        self._groups.append(bool(gid))
        if gid:
            self.parts.append(f"<g>{element('title', words(gid))}")

    def close_group(self, _: str) -> None:
        """Ends the group that was opened last."""
        if self._groups.pop():
            self.parts.append("</g>")

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, face: ColorType | None = None
    ) -> None:
        """Lines and areas."""
        self._add(gc, _way(path, transform + self._flip), face)

    def draw_markers(
        self,
        gc: GraphicsContextBase,
        marker: Path,
        shape: Transform,
        path: Path,
        trans: Transform,
        face: ColorType | None = None,
    ) -> None:
        """One element for all: hundreds of circles would be most of the page."""
        places = trans.transform(path.vertices)
        if np.array_equal(marker.vertices, Path.unit_circle().vertices):
            radius = shape.transform_path(marker).get_extents().width / 2
            r, w = coordinate(radius), coordinate(2 * radius)
            around = f"a{r} {r} 0 1 0 {w} 0a{r} {r} 0 1 0-{w} 0"  # six times shorter than the curves of the path
            ways = [f"M{_pairs(start)}{around}" for start in self._flip.transform(places - (radius, 0.0))]
        else:
            ways = [_way(marker, shape + Affine2D().translate(x, y) + self._flip) for x, y in places]
        self._add(gc, "".join(ways), face)

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: object = None,
        mtext: Text | None = None,
    ) -> None:
        """Words, held where they were asked for whatever the reader's font makes of their width."""
        share, anchor = _ANCHORS[mtext.get_horizontalalignment() if mtext is not None else "left"]
        size = prop.get_size_in_points()
        if angle:  # the only turn in use stands the words up, and their middle is where it was asked for
            share, anchor = 0.5, "middle"
        reach = share * text_width(s, size)
        x, y = x + reach * math.cos(math.radians(angle)), y - reach * math.sin(math.radians(angle))
        look: dict[str, str | float] = {"x": x, "y": y, "text_anchor": anchor, "fill": to_hex(gc.get_rgb())}
        if size != FONT_SIZE:
            look["font_size"] = size
        if angle:
            look["transform"] = f"rotate({coordinate(-angle)} {_pairs((x, y))})"
        self.parts.append(element("text", words(s), **look))

    def _add(self, gc: GraphicsContextBase, d: str, face: ColorType | None) -> None:
        look: dict[str, str | float] = {"d": d, "fill": "none" if face is None else to_hex(face)}
        if face is not None and (alpha := gc.get_alpha() if gc.get_forced_alpha() else to_rgba(face)[3]) < 1:
            look["fill_opacity"] = f"{alpha:.2g}"
        if stroked := gc.get_linewidth() > 0 and to_rgba(gc.get_rgb())[3] > 0:
            look |= {"stroke": to_hex(gc.get_rgb()), "stroke_width": gc.get_linewidth()}
            if gc.get_capstyle() == "round":
                look["stroke_linecap"] = "round"
            if (dashes := gc.get_dashes()[1]) is not None:
                look["stroke_dasharray"] = _pairs(np.asarray(dashes))
        if d and (stroked or face is not None):
            self.parts.append(element("path", **look))


def _way(path: Path, transform: Transform) -> str:
    """The `d` of a path."""
    steps = ((np.asarray(points), code) for points, code in path.iter_segments(transform, simplify=False))
    return "".join(_LETTERS[code] + ("" if code == Path.CLOSEPOLY else _pairs(points)) for points, code in steps)


def _pairs(numbers: Iterable[float]) -> str:
    return " ".join(coordinate(value) for value in numbers)


# --- the causal graph, for slides and papers

SCALE = 2.0  # pixels for each pixel of the SVG: sharp on a dense screen and on paper
LONGEST_SIDE = 20_000  # pixels; a wider or taller picture is drawn at a smaller scale
NO_GLYPH = "\N{WHITE SQUARE}"  # stands for a letter that the font does not have
_OPEN_SIGNS: dict[str, Path] = {
    "cross": Path([(-4, -4), (4, 4), (4, -4), (-4, 4)], [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO]),
    "path": Path([(-7, 0), (5, 0)]),
    "wave": Path([(-6, 0), (-3, -7), (0, 0), (3, 7), (6, 0)], [Path.MOVETO, *[Path.CURVE3] * 4]),
    "line": Path([(-7, -4), (-7, 4), (-7, 0), (7, 0), (7, -4), (7, 4)], [Path.MOVETO, Path.LINETO] * 3),
    "circled": Path.make_compound_path(Path([(-7, 0), (-1, 0)]), Path.circle((2.5, 0), radius=RING)),
    "square": Path([(-4, -4), (4, -4), (4, 4), (-4, 4), (-4, -4)], closed=True),
    "ring": Path.circle(radius=4.0),
}
_FULL_SIGNS: dict[str, Path] = {
    "dot": Path.circle(radius=5.0),
    "diamond": Path([(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0), (0.0, -6.0)], closed=True),
}


def graph_png(graph: DrawnGraph, verdicts: Sequence[FeatureVerdict]) -> bytes:
    """The graph as `graph_svg` draws it, on a light ground, at twice its size.

    Letters are drawn as outlines: no user's setting of hinting or TeX, and no `$` taken for mathematics, gets between a
    column's name and what is read.
    """
    placed = scene(graph, verdicts)
    scale = min(SCALE, LONGEST_SIDE / max(placed.width, placed.height))
    # One unit of the drawing is a point, so that widths of lines need no conversion.
    width, height = placed.width / POINTS, placed.height / POINTS
    figure = Figure(figsize=(width, height), dpi=POINTS * scale, facecolor=LIGHT["ground"], linewidth=0)
    # From the drawing's points, counted from the upper left corner, to the figure's.
    paper = Affine2D().scale(1 / POINTS, -1 / POINTS).translate(0, height) + figure.dpi_scale_trans
    for order, artist in enumerate(_artists(placed)):
        # An artist's own shift, if it has one, comes first; then the paper's place in the figure.
        artist.set(transform=artist.get_transform() + paper, zorder=order)
        figure.add_artist(artist)
    return _saved(figure, dpi="figure", facecolor="auto")


def _artists(placed: Scene) -> Iterator[Artist]:
    """Everything, in the order in which it covers what came before."""
    for line in placed.lines:
        yield from _edge(line)
    for box in placed.boxes:
        yield from _box(box)
    for entry in placed.legend:
        if entry.look:
            yield _sign(entry.look, entry.x + 7, entry.y)
        yield _words(entry.text, entry.x + (19 if entry.look else 0), entry.y + 4, size=12.0, colour="soft")


def _edge(line: Line) -> Iterator[Artist]:
    colour = LIGHT["orange" if line.witness else "purple" if line.noisy else "line"]
    width, dash = (3.2, 8.0) if line.witness else (1.6, 6.0)
    points, codes = [line.route.start], [Path.MOVETO]
    for step in line.route.steps:
        points += step
        codes += [Path.LINETO] if len(step) == 1 else [Path.CURVE4] * 3
    look = {"edgecolor": colour, "linewidth": width, "capstyle": "butt"}
    yield PathPatch(Path(points, codes), fill=False, linestyle=_dashes(width, dash) if line.dashed else "solid", **look)
    for x, y, turn in line.route.tips:
        back = x - turn * (HEAD + 1)
        yield Polygon([(x, y), (back, y - 4.5), (back, y + 4.5)], closed=True, facecolor=colour, edgecolor="none")
    for middle in line.route.rings:
        yield PathPatch(Path.circle(middle, radius=RING), facecolor=LIGHT["ground"], edgecolor=colour, linewidth=1.6)


def _dashes(width: float, on: float) -> tuple[float, tuple[float, float]]:
    """Dashes as matplotlib counts them: in widths of the line."""
    return (0.0, (on / width, 4.0 / width))


def _box(box: Box) -> Iterator[Artist]:
    colour, hidden = LOOKS[box.look][0], box.look in UNMEASURED
    yield FancyBboxPatch(
        (box.left, box.top),
        box.width,
        BOX_HEIGHT,
        boxstyle=f"round,pad=0,rounding_size={15 if hidden else 5}",
        facecolor=LIGHT[f"{colour}-tint"],
        edgecolor=LIGHT[colour],
        linewidth=1.5,
        linestyle=_dashes(1.5, 5.0) if hidden else "solid",
    )
    yield _sign(box.look, box.left + 16, box.y)
    yield _words(box.label, box.x + 9, box.y + 4.5, size=13.0, colour="ink", centred_in=box.width - 38)


def _sign(look: str, x: float, y: float) -> Artist:
    """The small sign in a box, the same in the legend."""
    colour, mark = LOOKS[look]
    ink, place = LIGHT[colour], Affine2D().translate(x, y)
    if mark in _FULL_SIGNS:
        return PathPatch(_FULL_SIGNS[mark], facecolor=ink, edgecolor="none", transform=place)
    style: dict[str, Any] = {"linewidth": 3.2 if mark == "path" else 2.0}
    style |= {} if mark == "ring" else {"capstyle": "round"}
    return PathPatch(_OPEN_SIGNS[mark], fill=False, edgecolor=ink, transform=place, **style)


def _words(text: str, x: float, y: float, *, size: float, colour: str, centred_in: float | None = None) -> Artist:
    """A line of text on its baseline; one that is centred shrinks until it fits its room."""
    font = FilePath(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    known = get_font(str(font)).get_charmap()
    drawable = "".join(letter if ord(letter) in known else NO_GLYPH for letter in text)
    letters = TextToPath()
    points, codes = letters.get_text_path(FontProperties(fname=font), drawable, ismath=False)
    outline = np.asarray(points, dtype=np.float64).reshape(-1, 2) * (size / letters.FONT_SCALE)
    width = float(outline[:, 0].max(initial=0.0))
    fit = 1.0 if centred_in is None or width <= centred_in else centred_in / width
    left = x if centred_in is None else x - fit * width / 2
    place = Affine2D().scale(fit, -fit).translate(left, y)  # letters grow upwards, the drawing downwards
    path = Path(outline, codes if len(outline) else None)
    return PathPatch(path, facecolor=LIGHT[colour], edgecolor="none", transform=place)
