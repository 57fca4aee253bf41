"""The few SVG words that every drawing here is made of: escaped elements, a palette for light and dark, text widths."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from html import escape

from crda_spec.report.words.numbers import shown

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

# Okabe and Ito's palette, which stays distinct for every common kind of colour blindness, each hue with a tint to
# fill a box; the dark values are the same hues, lifted until they read on a dark ground.
LIGHT: dict[str, str] = {
    "ground": "#ffffff",
    "ink": "#1c2430",
    "soft": "#5b6675",
    "line": "#8a94a3",
    "grid": "#e3e7ec",
    "green": "#00795a",
    "green-tint": "#dcf3ec",
    "sky": "#1f78b4",
    "sky-tint": "#e0f0fa",
    "orange": "#b84a00",
    "orange-tint": "#fdeadd",
    "purple": "#9c4a7c",
    "purple-tint": "#f8e8f1",
    "grey": "#6b7685",
    "grey-tint": "#eef0f3",
    "gold": "#8a6d00",
    "gold-tint": "#fbf3cf",
}
DARK: dict[str, str] = {
    "ground": "#14181f",
    "ink": "#e8ecf1",
    "soft": "#a3aebb",
    "line": "#7c8796",
    "grid": "#2b323d",
    "green": "#3ecfa5",
    "green-tint": "#12352c",
    "sky": "#6cbcf0",
    "sky-tint": "#142f43",
    "orange": "#ff9a5c",
    "orange-tint": "#43250f",
    "purple": "#e79cc8",
    "purple-tint": "#3d2133",
    "grey": "#9aa5b3",
    "grey-tint": "#262c35",
    "gold": "#ecd04a",
    "gold-tint": "#3a3212",
}


def element(tag: str, content: str = "", /, **attributes: str | float) -> str:
    """One element. `content` is markup that is already escaped; attribute values are escaped here.

    `class_` is written `class`, and an underscore inside a name is written as a hyphen (`stroke_width`).
    """
    written = "".join(f' {_attribute(key)}="{_value(value)}"' for key, value in attributes.items())
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-") if key != "viewBox" else key


def _value(value: str | float) -> str:
    return coordinate(value) if isinstance(value, int | float) else escape(shown(value), quote=True)


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
    label = f"{title}. {description}"
    return element(
        "svg",
        f"{head}\n<style>{palette(f'.{kind}')}.{kind}{{font:13px {FONT}}}{rules}</style>\n{body}\n",
        xmlns="http://www.w3.org/2000/svg",
        class_=kind,
        role=role,
        aria_label=label,
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        width=width,
        height=height,
    )


def palette(selector: str) -> str:
    """The colours as variables: light, and dark on screens that ask for it, never on paper."""
    return (
        f"{selector}{{{_variables(LIGHT)}}}"
        f"@media screen and (prefers-color-scheme:dark){{{selector}{{{_variables(DARK)}}}}}"
    )


def _variables(palette: Mapping[str, str]) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in palette.items())


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
