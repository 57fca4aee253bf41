"""What figures are drawn on: matplotlib in our style, written as PNG, or as SVG in the page's colours.

Imported only when something is drawn, since matplotlib takes a third of a second to load.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Transform
from matplotlib.typing import ColorType

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
    sink = io.BytesIO()
    FigureCanvasAgg(figure)  # attaches itself, so that savefig asks no global backend
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(sink, format="png", dpi=_DPI, metadata={"Software": None})
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
            ways = [f"M{_pairs(self._flip.transform((x - radius, y)))}{around}" for x, y in places]
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
        ismath: object = None,  # noqa: ARG002 - never: a `$` is a `$`
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
