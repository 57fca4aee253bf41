"""The marks that all plots of the report share: their style, a label and a line."""

from __future__ import annotations

from crda_spec.report.svg import element, paint, words

KIND = "crda-figure"
RULES = (
    paint(f".{KIND} text", fill="ink")
    + paint(f".{KIND} .soft", fill="soft")
    + paint(f".{KIND} .grid", stroke="grid")
    + paint(f".{KIND} .axis", stroke="line")
    + paint(f".{KIND} .before", fill="grey")
    + paint(f".{KIND} .after", fill="sky")
    + paint(f".{KIND} .outline", fill="none", stroke="sky")
    + paint(f".{KIND} .better", fill="sky", stroke="sky")
    + paint(f".{KIND} .worse", fill="orange", stroke="orange")
    + paint(f".{KIND} .mean", fill="ink", stroke="ink")
    + f".{KIND} text{{font-size:12px;stroke:none;unicode-bidi:isolate}}.{KIND} .outline{{stroke-width:2}}"
    + f".{KIND} .before{{opacity:.38}}.{KIND} line{{stroke-width:1}}.{KIND} line.better{{stroke-width:1.6}}"
    + f".{KIND} line.worse{{stroke-width:1.6;stroke-dasharray:5 3}}.{KIND} line.mean{{stroke-width:3}}"
)


def label(text: str, x: float, y: float, *, anchor: str = "middle", look: str = "") -> str:
    """Words at a point of their baseline."""
    return element("text", words(text), x=x, y=y, text_anchor=anchor, **({"class_": look} if look else {}))


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    """A straight line between two points."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=look)
