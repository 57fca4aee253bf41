"""The few SVG words that every drawing here is made of: escaped elements, a palette for light and dark, text widths."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

from crda_spec.report.words.numbers import shown

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

# Okabe and Ito's palette, which stays distinct for every common kind of colour blindness, each hue with a tint to
# fill a box; the dark values are the same hues, lifted until they read on a dark ground.
_PALETTE = {  # by name: on a light ground, on a dark one
    "ground": ("#ffffff", "#14181f"),
    "ink": ("#1c2430", "#e8ecf1"),
    "soft": ("#5b6675", "#a3aebb"),
    "line": ("#8a94a3", "#7c8796"),
    "grid": ("#e3e7ec", "#2b323d"),
    "green": ("#00795a", "#3ecfa5"),
    "green-tint": ("#dcf3ec", "#12352c"),
    "sky": ("#1f78b4", "#6cbcf0"),
    "sky-tint": ("#e0f0fa", "#142f43"),
    "orange": ("#b84a00", "#ff9a5c"),
    "orange-tint": ("#fdeadd", "#43250f"),
    "purple": ("#9c4a7c", "#e79cc8"),
    "purple-tint": ("#f8e8f1", "#3d2133"),
    "grey": ("#6b7685", "#9aa5b3"),
    "grey-tint": ("#eef0f3", "#262c35"),
    "gold": ("#8a6d00", "#ecd04a"),
    "gold-tint": ("#fbf3cf", "#3a3212"),
}
LIGHT = {name: light for name, (light, _) in _PALETTE.items()}
DARK = {name: dark for name, (_, dark) in _PALETTE.items()}


def element(tag: str, content: str = "", /, **attributes: str | float) -> str:
    """One element. `content` is markup that is already escaped; attribute values are escaped here.

    `class_` is written `class`, and an underscore inside a name is written as a hyphen (`stroke_width`).
    """
    written = ""
    for key, value in attributes.items():
        text = coordinate(value) if isinstance(value, int | float) else escape(shown(value), quote=True)
        written += f' {_attribute(key)}="{text}"'
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-") if key != "viewBox" else key


def coordinate(value: float) -> str:
    """A length with at most one decimal: enough for the eye, and the same bytes everywhere."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def words(text: str) -> str:
    """Text as it may stand between two tags."""
    return escape(shown(text), quote=False)


def drawing(
    parts: Iterable[str],
    *,
    kind: str,
    size: tuple[float, float],
    title: str,
    description: str,
    rules: str = "",
    role: str = "img",
) -> str:
    """A whole, self-contained picture with a name and a description for those who cannot see it.

    `kind` is the class that scopes the style: several pictures may stand in one page and share it.
    `role` is "group" for a picture with parts that can be reached one by one.
    """
    width, height = size
    head = element("title", words(title)) + element("desc", words(description))
    body = "\n".join(parts)
    return element(
        "svg",
        f"{head}\n<style>{palette(f'.{kind}')}.{kind}{{font:13px {FONT}}}{rules}</style>\n{body}\n",
        xmlns="http://www.w3.org/2000/svg",
        class_=kind,
        role=role,
        aria_label=f"{title}. {description}",
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        width=width,
        height=height,
    )


def palette(selector: str) -> str:
    """The colours as variables: light, and dark on screens that ask for it, never on paper."""
    light, dark = (";".join(f"--{name}:{colour}" for name, colour in one.items()) for one in (LIGHT, DARK))
    return f"{selector}{{{light}}}@media screen and (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"


def paint(selector: str, **colours: str) -> str:
    """A style rule whose colours come from the palette, with the light value first for viewers without variables."""
    body = "".join(
        f"{_attribute(key)}:{LIGHT[name]};{_attribute(key)}:var(--{name});" if name in LIGHT else f"{key}:{name};"
        for key, name in colours.items()
    )
    return f"{selector}{{{body}}}"


def text_width(text: str, size: float = 13.0) -> float:
    """A safe guess of a text's width in pixels: no font is loaded to measure it."""
    return size * sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in ("W", "F"):
        return 1.05
    if letter in "iljtfI.,:;'|! ":
        return 0.36
    return 0.84 if letter in "mwMW@%" else (0.70 if letter.isupper() else 0.60)
