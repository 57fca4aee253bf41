"""The tables on which recipes are judged: the paper's nine, and others on which rows off the data do harm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crda_spec.data.sources.benchmark import BENCHMARKS

_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Bench:
    """A table as the `dataset` section of a spec."""

    source: Mapping[str, Any]
    target: str
    rows: int

    def dataset(self, rows: int) -> dict[str, Any]:
        """At most this many rows; repeated rows stay together."""
        said: dict[str, Any] = {"source": dict(self.source), "target": self.target, "duplicates": {"kind": "keep"}}
        return said | ({"sample": rows} if rows < self.rows else {})


NINE = {
    name: Bench({"kind": "benchmark", "name": name}, table.target, table.rows) for name, table in BENCHMARKS.items()
}


def _drawn(y: str, hidden: tuple[str, ...] = (), **equations: str) -> Bench:
    source = {"kind": "synthetic", "rows": _ROWS, "equations": {**equations, "y": y}, "hidden": list(hidden)}
    return Bench(source, "y", _ROWS)


_UNIFORM = {f"x{number}": "uniform(0, 1)" for number in range(1, 11)}
_NORMAL = {f"x{number}": "normal(0, 1)" for number in range(1, 9)}

OTHERS = {
    # Three hidden numbers behind nine columns, hardly any noise: every column is tied to the others.
    "collinear": _drawn(
        "sin(u) + v * w + normal(0, 0.01)",
        ("u", "v", "w"),
        u="normal(0, 1)",
        v="normal(0, 1)",
        w="normal(0, 1)",
        x1="u + normal(0, 0.02)",
        x2="v + normal(0, 0.02)",
        x3="w + normal(0, 0.02)",
        x4="u + v + normal(0, 0.02)",
        x5="u - v + normal(0, 0.02)",
        x6="v + w + normal(0, 0.02)",
        x7="u - w + normal(0, 0.02)",
        x8="u + v + w + normal(0, 0.02)",
        x9="u - 2 * v + normal(0, 0.02)",
    ),
    # Columns on a curve, and an outcome that hangs on how far a row is off it.
    "curved": _drawn(
        "2 * x1 + x4 * x1 + 5 * (x2 - x1 ** 2) + normal(0, 0.02)",
        x1="uniform(-2, 2)",
        x2="x1 ** 2 + normal(0, 0.05)",
        x3="sin(2 * x1) + normal(0, 0.05)",
        x4="uniform(-1, 1)",
        x5="x4 * x1",
        x6="normal(0, 1)",
    ),
    # The small difference of two columns that are almost the same decides.
    "difference": _drawn(
        "10 * (x2 - x1) + abs(x3) + normal(0, 0.01)",
        x1="normal(0, 1)",
        x2="x1 + normal(0, 0.1)",
        x3="normal(0, 1)",
        x4="normal(0, 1)",
        x5="normal(0, 1)",
    ),
    # Steps and corners, which trees have right and smooth teachers have not.
    "steps": _drawn(
        "2 * (x1 > 0.25) + (x1 > 0.6) + 2 * (x2 > 0.5) * (x3 > 0.3) + round(3 * x4) + normal(0, 0.3)",
        **dict.fromkeys(("x1", "x2", "x3", "x4", "x5", "x6"), "uniform(0, 1)"),
    ),
    "linear": _drawn("x1 + 2 * x2 + 3 * x3 - x4 - 2 * x5 + x6 + normal(0, 0.01)", **_NORMAL),
    "friedman": _drawn(
        "10 * sin(3.1415927 * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5 + normal(0, 1)", **_UNIFORM
    ),
    "noisy": _drawn("x1 + sin(2 * x2) + normal(0, 2)", **_NORMAL),
    "diabetes": Bench({"kind": "sklearn", "name": "diabetes"}, "progression", 442),
}
