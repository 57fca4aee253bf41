"""Right and wrong graphs of four to eight features around a shape, for `falsification.py`."""

from __future__ import annotations

import numpy as np
from _falsification_shapes import Rng, Shape, Tie

from crda_spec.records import Array
from crda_spec.scm.formats import from_edges
from crda_spec.scm.graph import CausalGraph

_CURVES = {
    "line": lambda v: v,
    "bend": np.tanh,
    "square": lambda v: np.minimum(v**2, 9.0),
    "threshold": lambda v: 1.5 * (v > 0.2),
}


def around(shape: Shape, rng: Rng, n: int, features: int, tie: Tie) -> tuple[dict[str, np.ndarray], CausalGraph]:
    """The shape's columns, and others that stem from them or stand alone until there are so many features.

    The graph draws every arrow but what `tie` hides from it. Each further column has no cause (one in four), or one or
    two of the features before it, by a line, a bend, a square or a threshold, and normal noise.
    """
    columns = dict(shape.draw(rng, n, tie))
    causes = [name for name in columns if name not in ("w", "y")]
    edges = [f"{{{' '.join(causes)}}} -> {{w y}}"]
    while len(columns) - 1 < features:
        name = f"e{len(columns)}"
        before = [other for other in columns if other != "y"]
        count = 0 if rng.uniform() < 0.25 else int(rng.integers(1, 3))
        parents = [before[position] for position in rng.permutation(len(before))[:count]]
        value = rng.normal(size=n)
        for parent in parents:
            curve = list(_CURVES.values())[int(rng.integers(len(_CURVES)))]
            value = value + curve(_number(columns[parent]))
        columns[name] = value
        edges.append(f"{{{' '.join(parents)}}} -> {name}" if parents else f"{name} -> y")
        if not parents:  # a column that no edge names would not be tested
            columns["y"] = _with(columns["y"], value)
    return columns, from_edges(edges, columns=tuple(columns), target="y")


def _with(y: np.ndarray, cause: Array) -> np.ndarray:
    """One more cause of the target, of the size of its middle half."""
    low, high = np.quantile(y, [0.25, 0.75])
    return y + 0.2 * (high - low) * cause


def _number(values: np.ndarray) -> Array:
    """A column in units of its middle two thirds, for curves to act on; labels by their order."""
    numbers = np.unique(values, return_inverse=True)[1].astype(np.float64) if values.dtype == object else values
    low, middle, high = np.quantile(numbers, [0.16, 0.5, 0.84])
    return np.asarray((numbers - middle) / ((high - low) / 2 or 1.0), dtype=np.float64)
