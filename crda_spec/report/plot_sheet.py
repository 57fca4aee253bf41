"""What every figure that is written as a file shares: the sheet, the house's style, names as the font can draw them.

The colours are told apart by everybody. No pyplot (its figures are global state), no font but the one that matplotlib
brings, no user's settings, no date: equal results give equal bytes on machines with the same versions.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font

from crda_spec.report.graph_png import NO_GLYPH, font_file
from crda_spec.report.svg import LIGHT
from crda_spec.report.wording import shorten, shown

_DPI = 150
_RULES: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "svg.fonttype": "path",  # looks the same where the font is not installed
    "svg.hashsalt": "crda-spec",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": LIGHT["line"],
    "axes.labelcolor": LIGHT["ink"],
    "xtick.color": LIGHT["soft"],
    "ytick.color": LIGHT["soft"],
    "text.color": LIGHT["ink"],
    "text.parse_math": False,  # a `$` in a column's name is a `$`
}


@contextmanager
def house_style() -> Iterator[None]:
    """Our settings and nobody else's, inside a `with`."""
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the user's matplotlibrc says
        mpl.rcParams.update(_RULES)
        yield


def written(figure: Figure, kind: str) -> bytes:
    """The bytes of an SVG or PNG file."""
    sink = io.BytesIO()
    nobody = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(sink, format=kind, dpi=_DPI, metadata=nobody)
    figure.set_layout_engine("none")  # its parts are in place now: the next format need not look again
    return sink.getvalue()


def sheet(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor=LIGHT["ground"])
    FigureCanvasAgg(figure)  # attaches itself, so that savefig asks no global backend
    return figure


def readable(text: str, longest: int = 48) -> str:
    """A name as the font can draw it, with a square for each letter it does not have."""
    known = get_font(str(font_file())).get_charmap()
    return "".join(letter if ord(letter) in known else NO_GLYPH for letter in shorten(shown(text), longest))
