"""A table whose names and labels try everything: markup, formulas, line breaks, direction marks, length."""

import numpy as np
import pandas as pd

FORMULA, MARKUP, LINES, TURNED, LONG = (
    '=cmd|" /C calc"!A0',
    "<script>alert(1)</script>",
    "two\nlines",
    "rtl\u202eabc",
    "x" * 300,
)
TARGET = 'ta"rget <b>'
LABELS = ("=1+1", "<img src=x onerror=alert(2)>", "\u202eabc", "a" * 300, "two\nlines", "-2+3")


def hostile_table(rows=60):
    rng = np.random.default_rng(0)
    names = [
        FORMULA,
        MARKUP,
        LINES,
        TURNED,
        LONG,
        "a: b",
        "${HOME}",
        "no",
        "# c",
        "1e5",
        "it's",
        "{a}",
        "tab\there",
        "@x",
    ]
    table = pd.DataFrame({name: rng.normal(size=rows).round(3) for name in names})
    table["no"] = rng.choice(LABELS, rows)
    table[TARGET] = (2 * table[FORMULA] + table["a: b"] + 0.1 * rng.normal(size=rows)).round(4)
    return table
