"""The shapes that two columns may owe to what is given, for `falsification.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crda_spec.records import Array, Column, Table

Columns = Mapping[str, np.ndarray]
Rng = np.random.Generator
# What a graph that draws only arrows from the given columns leaves out: nothing, `w -> y`, or a hidden cause of both.
Tie = Literal["none", "arrow", "hidden"]


@dataclass(frozen=True)
class Shape:
    """A function of given columns that both ends, w and y, owe something to."""

    given: Callable[[Rng, int], Columns]
    shared: Callable[..., Array]
    noise: float = 0.4

    def draw(self, rng: Rng, n: int, tie: Tie = "none") -> Columns:
        """The given columns and the two ends. A tie explains half of what the given columns leave of y."""
        held = self.given(rng, n)
        signal = self.shared(**held)
        e, f = self.noise * rng.normal(size=(2, n))
        if tie == "hidden":
            u = self.noise * rng.normal(size=n)
            e, f = (e + u) / np.sqrt(2), (f + u) / np.sqrt(2)
        w = signal + e
        return {**held, "w": w, "y": signal + (tie == "arrow") * w + f}


def normal(*names: str) -> Callable[[Rng, int], Columns]:
    """Standard normal columns."""
    return lambda rng, n: {name: rng.normal(size=n) for name in names}


def uniform(low: float, high: float, *names: str) -> Callable[[Rng, int], Columns]:
    """Columns that are uniform between two values."""
    return lambda rng, n: {name: rng.uniform(low, high, size=n) for name in names}


def labelled(labels: int) -> Callable[[Rng, int], Columns]:
    """A category k and a number a."""
    return lambda rng, n: {"k": rng.integers(0, labels, n).astype(str).astype(object), "a": rng.normal(size=n)}


def by_label(k: np.ndarray, values: list[float]) -> Array:
    """A value for each label."""
    return np.asarray(np.array(values)[k.astype(int)], dtype=np.float64)


class Multiplied(Shape):
    """Products and ratios of positive causes and positive noise."""

    def draw(self, rng: Rng, n: int, tie: Tie = "none") -> Columns:
        """Both ends are straight on the scale of logarithms."""
        a, b, e, f = rng.normal(size=(4, n)) * np.array([1, 1, 0.3, 0.3])[:, None]
        if tie == "hidden":
            u = 0.3 * rng.normal(size=n)
            e, f = (e + u) / np.sqrt(2), (f + u) / np.sqrt(2)
        w = a + b + e
        return {"a": np.exp(a), "b": np.exp(b), "w": np.exp(w), "y": np.exp(a - b + (tie == "arrow") * w + f)}


class Wild(Shape):
    """Cause and noise without a mean."""

    def draw(self, rng: Rng, n: int, tie: Tie = "none") -> Columns:
        """Cauchy columns, added."""
        a, e, f = rng.standard_cauchy(size=(3, n))
        u = rng.standard_cauchy(size=n) if tie == "hidden" else np.zeros(n)
        w = a + e + u
        return {"a": a, "w": w, "y": a + f + u + (tie == "arrow") * w}


class Chance(Shape):
    """A count of 0 or 1 whose odds follow a function of the given columns, and that function itself."""

    def draw(self, rng: Rng, n: int, tie: Tie = "none") -> Columns:
        """The ends are tied through the odds."""
        held = self.given(rng, n)
        signal = self.shared(**held)
        u = rng.normal(size=n) if tie == "hidden" else np.zeros(n)
        w = (rng.uniform(size=n) < 1 / (1 + np.exp(-1.5 * signal - 2 * u))).astype(int)
        extra = self.noise * (u + (tie == "arrow") * 2 * w)
        return {**held, "w": w, "y": signal + self.noise * rng.normal(size=n) + extra}


class Counts(Shape):
    """Two counts whose rate follows a wave."""

    def draw(self, rng: Rng, n: int, tie: Tie = "none") -> Columns:
        """Poisson."""
        if tie != "none":
            raise NotImplementedError("only right graphs are drawn with counts")
        a = rng.normal(size=n)
        w, y = rng.poisson(np.exp(1 + np.sin(3 * a)), size=(2, n))
        return {"a": a, "w": w, "y": y}


CELLS = np.array([[3, 1, -2, 0], [1, 4, -1, 2], [0, -3, 2, 1], [-2, 3, 0, 1.0]])
UNUSED = (normal("a"), lambda a: a)

DESIGN: dict[str, Shape] = {
    "step": Shape(normal("a"), lambda a: 2.0 * (a > 0.3), 0.3),
    "wave_2": Shape(uniform(-3, 3, "a"), lambda a: np.sin(2 * a), 0.3),
    "wave_3": Shape(uniform(-3, 3, "a"), lambda a: np.sin(3 * a), 0.3),
    "larger_of_two": Shape(normal("a", "b"), lambda a, b: a + np.maximum(b - a, 0), 0.2),
    "cells": Shape(uniform(0, 1, "a", "b"), lambda a, b: CELLS[(4 * a).astype(int), (4 * b).astype(int)], 0.5),
    "square_by_label": Shape(labelled(6), lambda k, a: by_label(k, [-2, -1, 0, 1, 2, 3]) * a**2, 0.3),
    "product_of_three": Shape(normal("a", "b", "c"), lambda a, b, c: a * b * c, 0.5),
    "lognormal": Multiplied(*UNUSED),
    "chance": Chance(normal("a"), lambda a: 2 * np.sin(2 * a), 0.3),
    "cauchy": Wild(*UNUSED),
    "band": Shape(normal("a", "b"), lambda a, b: 2.0 * (np.abs(a - b) > 1)),
    "sawtooth": Shape(uniform(0, 4, "a"), lambda a: 2 * (a % 1.0), 0.3),
    "and_of_two": Shape(normal("a", "b"), lambda a, b: 2.0 * ((a > 0) & (b > 0.5))),
}
FRESH: dict[str, Shape] = {
    "floor": Shape(uniform(0, 5, "a"), lambda a: a - a % 1.0),
    "threshold_by_label": Shape(labelled(4), lambda k, a: 2.0 * (a > by_label(k, [-1, -0.3, 0.4, 1.0]))),
    "saturating": Shape(lambda rng, n: {"a": rng.exponential(size=n)}, lambda a: 3 * (1 - np.exp(-4 * a)), 0.2),
    "ring": Shape(uniform(-2, 2, "a", "b"), lambda a, b: 2.0 * (np.abs(a**2 + b**2 - 1.25) < 0.75)),
    "wave_of_product": Shape(normal("a", "b"), lambda a, b: np.sin(2 * a * b), 0.3),
    "spike": Shape(normal("a"), lambda a: 4 * np.exp(-((a - 0.7) ** 2) / 0.01), 0.3),
    "counts": Counts(*UNUSED),
    "smaller_times_sign": Shape(normal("a", "b"), lambda a, b: np.sign(a) * np.minimum(np.abs(a), np.abs(b)), 0.3),
    "exclusive_or": Shape(normal("a", "b"), lambda a, b: 2.0 * ((a > 0.2) ^ (b > -0.4))),
    "wedge": Shape(normal("a", "b"), lambda a, b: 2 * np.maximum(a - np.abs(b), 0), 0.3),
    "two_waves": Shape(uniform(-3, 3, "a", "b"), lambda a, b: np.sin(2 * a) + np.sin(3 * b)),
}
BEYOND: dict[str, Shape] = {
    "four_given": Shape(normal("a", "b", "c", "d"), lambda a, b, c, d: 2.0 * ((a > 0) & (b > 0)) + c * d, 0.5),
}
# The shapes that are set into larger graphs.
WITHIN: dict[str, Shape] = {
    "linear": Shape(normal("a", "b"), lambda a, b: a - b, 0.7),
    **{name: DESIGN[name] for name in ("step", "wave_2", "larger_of_two", "cells", "square_by_label")},
    **{name: DESIGN[name] for name in ("product_of_three", "lognormal", "cauchy")},
    "logit": Chance(normal("a", "b"), lambda a, b: a + b, 0.7),
}


def table_of(columns: Columns, target: str) -> Table:
    """The columns as a table; objects are categories."""
    codes, contracts = {}, {}
    for name, values in columns.items():
        if values.dtype == object:
            labels, found = np.unique(values.astype(str), return_inverse=True)
            codes[name], contracts[name] = found, Column(name=name, type="category", labels=tuple(labels))
        else:
            codes[name] = values
            contracts[name] = Column(name=name, type="integer" if values.dtype.kind == "i" else "continuous")
    features = [name for name in columns if name != target]
    return Table(
        features=tuple(contracts[name] for name in features),
        target=contracts[target],
        row_ids=np.arange(len(codes[target])),
        x=np.column_stack([codes[name] for name in features]).astype(np.float64),
        y=codes[target].astype(np.float64),
    )
