"""How names and numbers are written: for the terminal, the drawings and the page alike.

Column names come from other people's files. A name may hold control characters, line breaks or marks that reverse
the direction of the text around them; `shown` turns each into a visible escape, so that what is read is what is there.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence

# Format characters that ordinary words need: the zero-width (non-)joiner of Persian, Hindi and of joined emoji.
_JOINERS = "\u200c\u200d"
# Cc control, Cf format (direction marks), Cs lone surrogates, Cn unassigned, Co private, Zl and Zp line separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}

# By `causal.badge`: the class of a feature, and whether the data contradict the graph that gives it.
CLASS_WORDS: Mapping[str, str] = {
    "irrelevant": "irrelevant",
    "cause": "cause",
    "blocked": "blocked",
    "doubted irrelevant": "irrelevant, doubted",
    "doubted cause": "cause, doubted",
}


# By `VerdictReason`: why the run ended as it did, to stand after a colon.
REASON_WORDS: Mapping[str, str] = {
    "improved": "the held-out error fell",
    "not_significant": "there is no convincing gain",
    "no_gain_worth_having": "a gain worth having is ruled out",
    "worse": "the held-out error rose",
    "cannot_pass": "no result of the folds ahead could have made it pass",
    "gate_disabled": "the spec switches the gate off",
    "unstable_partition": "the features that may move changed from fold to fold",
    "no_perturbable_features": "no feature may move",
    "graph_falsified": "the data contradict the declared graph",
    "no_new_rows": "the augmenter made no row",
    "off_support": "all of them lay off the data or broke a rule, and were left out",
}


def shown(text: str, *, keep: str = "") -> str:
    """The text with every unseen character written as an escape; those in `keep` stay as they are."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate({ord(letter): _visible(letter) for letter in set(text).difference(keep)})


def _visible(letter: str) -> str:
    if unicodedata.category(letter) not in _UNSEEN or letter in _JOINERS:
        return letter
    code = ord(letter)
    return _ESCAPES.get(letter) or (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")


def shorten(text: str, width: int, *, gap: str = "…") -> str:
    """At most `width` characters: the middle gives way, since names often differ only at their ends."""
    if len(text) <= width:
        return text
    tail = (width - len(gap)) // 3
    return text[: width - len(gap) - tail] + gap + text[len(text) - tail :]


def number(value: float, digits: int = 4) -> str:
    """A measured number with four significant digits; whole digits are never rounded away below a million."""
    if not math.isfinite(value):
        return {math.inf: "inf", -math.inf: "-inf"}.get(value, "n/a")
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if exponent > -5 and abs(value) < 999_999.5:
        return f"{value:.{max(0, digits - 1 - exponent)}f}"
    return f"{value:.{digits - 1}e}"


def setting(value: float) -> str:
    """A number that someone chose, without zeros that say nothing: 1, 0.25, 1e-05."""
    return f"{value:.4g}"


def setting_text(value: object) -> str:
    """A setting of any kind, as short as it can be written."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return " ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return setting(value)


def percent(value: float) -> str:
    """A change in percent, without the percent sign: always signed, one decimal, two below a tenth of a percent."""
    if not math.isfinite(value):
        return number(value)
    if abs(value) >= 9999.95:
        return f"{value:+.3e}"
    text = f"{value:+.2f}" if abs(value) < 0.095 else f"{value:+.1f}"
    return text if float(text) else "0.0"


def share(value: float) -> str:
    """A share in percent, with two digits that count: `19 %`, `4.2 %`."""
    if not math.isfinite(value):
        return "n/a"
    hundred = 100.0 * value
    if 0 < hundred < 0.01:
        return "less than 0.01 %"
    return f"{hundred:.0f} %" if hundred >= 9.95 else f"{hundred:.2g} %"


def change(plain: float, augmented: float) -> float | None:
    """The change from the plain to the augmented loss in percent; None where the plain loss is zero."""
    return 100.0 * (augmented - plain) / plain if plain > 0 else None


def between(interval: tuple[float, float]) -> str:
    """An interval of a change in percent: `-18.1 to -2.9`."""
    return f"{percent(interval[0])} to {percent(interval[1])}"


def p_value(value: float, digits: int = 4) -> str:
    """`p = 0.0312`, or a bound where more digits would say nothing."""
    bounded = p_number(value, digits)
    return f"p {bounded}" if bounded.startswith("<") else f"p = {bounded}"


def p_number(value: float, digits: int = 4) -> str:
    """The same in a table, whose header says that it is a p-value."""
    return "< 0.0001" if value < 1e-4 else number(value, digits)


def count(amount: int, noun: str) -> str:
    """`1 row`, `2 rows`: the noun takes a plain s."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def listed(words: tuple[str, ...], limit: int = 6) -> str:
    """`a, b and c`; a long list is cut and says by how many."""
    if len(words) > limit:
        return f"{', '.join(words[:limit])} and {len(words) - limit} more"
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def named(names: Sequence[str], most: int = 4) -> str:
    """`a`, `a and b`, `a, b and c`; of a longer list the first ones, so that with the count it has `most` parts."""
    parts = list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def in_unit(name: str, unit: str | None) -> str:
    """A column's name with its unit, as an axis carries it."""
    return f"{shown(name)} ({shown(unit)})" if unit else shown(name)


def wrapped(text: str, width: int, first: int = 0, margin: int | None = None) -> list[str]:
    """Lines of at most `width` columns, the first indented by `first`, the others by `margin` (None: by as much).

    A path or name that does not fit stays whole, so that it can be copied.
    """
    start, rest = " " * first, " " * (first if margin is None else margin)
    return textwrap.TextWrapper(width, start, rest, break_long_words=False, break_on_hyphens=False).wrap(text)
