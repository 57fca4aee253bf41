"""How often are right graphs refuted, and wrong ones?

    python benchmarks/falsification.py [--quick]

Right graphs: two ends (`w`, `y`) that owe the same function to the given columns, in shapes that splines follow badly,
300 and 2000 rows. `DESIGN` holds the shapes on which the second opinion was designed (with other seeds), `FRESH` those
that no setting was chosen by, `BEYOND` one that is known to deceive it. Wrong graphs: the five worlds with an arrow
missing, replaced or turned, 1000 and 200 rows. `refuted_<shape>_<rows>` and `found_<rows>`: shares of samples at alpha
0.05; `first_...`: the same for the first test alone. `refuted_design`, `refuted_fresh`: means over shapes and rows.
`explained_<rows>`: of the wrong graphs that were found, the share that is no longer contradicted with the suggested
edges added.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from _harness import arguments, publish, say
from threadpoolctl import threadpool_limits

from crda_spec.data.worlds.world import WORLDS
from crda_spec.records import Array, Column, Table
from crda_spec.scm.falsify import falsify
from crda_spec.scm.formats import from_edges
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.implied import implications
from crda_spec.scm.independence import Gcm, adjust
from crda_spec.seeds import stream

ALPHA = 0.05
SEED = 20_000  # beyond all seeds that were looked at while the test was designed
Columns = Mapping[str, np.ndarray]
Rng = np.random.Generator


@dataclass(frozen=True)
class Shape:
    """A function of given columns that both ends owe something to."""

    given: Callable[[Rng, int], Columns]
    shared: Callable[..., Array]
    noise: float = 0.4

    def draw(self, rng: Rng, n: int) -> Columns:
        """The given columns and the two ends."""
        held = self.given(rng, n)
        signal = self.shared(**held)
        return {**held, "w": signal + self.noise * rng.normal(size=n), "y": signal + self.noise * rng.normal(size=n)}


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

    def draw(self, rng: Rng, n: int) -> Columns:
        """Both ends are straight on the scale of logarithms."""
        a, b, e, f = np.exp(rng.normal(size=(4, n)) * np.array([1, 1, 0.3, 0.3])[:, None])
        return {"a": a, "b": b, "w": a * b * e, "y": a / b * f}


class Wild(Shape):
    """Cause and noise without a mean."""

    def draw(self, rng: Rng, n: int) -> Columns:
        """Three Cauchy columns, added."""
        a, e, f = rng.standard_cauchy(size=(3, n))
        return {"a": a, "w": a + e, "y": a + f}


class Chance(Shape):
    """A count of 0 or 1 whose odds follow a wave, and the wave itself."""

    def draw(self, rng: Rng, n: int) -> Columns:
        """The shared function is 2 sin(2a)."""
        a = rng.normal(size=n)
        chance = 1 / (1 + np.exp(-3 * np.sin(2 * a)))
        return {
            "a": a,
            "w": (rng.uniform(size=n) < chance).astype(int),
            "y": 2 * np.sin(2 * a) + 0.3 * rng.normal(size=n),
        }


class Counts(Shape):
    """Two counts whose rate follows a wave."""

    def draw(self, rng: Rng, n: int) -> Columns:
        """Poisson."""
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
    "chance": Chance(*UNUSED),
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
# World, arrows that are left out, arrows that are put in.
WRONG = [
    ("clinical_recovery", "age -> comorbidities", ""),
    ("crop_yield", "rain -> sunshine", ""),
    ("crop_yield", "soil -> soil_ph", ""),
    ("crop_yield", "soil -> fertilizer", ""),
    ("bidding_war", "area -> rooms", ""),
    ("bidding_war", "neighbourhood -> area", ""),
    ("bidding_war", "neighbourhood -> age", ""),
    ("home_energy", "outside_temperature -> solar_gain", ""),
    ("home_energy", "occupants -> setpoint", ""),
    ("clinical_recovery", "therapy_hours -> recovery", "recovery -> therapy_hours"),
    ("clinical_recovery", "bmi -> recovery", "age -> bmi"),
    ("crop_yield", "seed_density -> grain_yield", "rain -> seed_density"),
    ("paper_synthetic", "x1 -> y", "y -> x1"),
    ("paper_synthetic", "x1 -> y", "x2 -> x1"),
    ("paper_synthetic", "x3 -> y", "x2 -> x3"),
]


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


def asked(graph: CausalGraph, table: Table) -> tuple[bool, bool, bool]:
    """Whether the first test alone refutes the graph, whether both do, and whether the suggested edges explain it."""
    gcm = Gcm.of_table(table)
    at = {name: position for position, name in enumerate(gcm.names)}
    queries = [
        (at[each.first], at[each.second], tuple(at[name] for name in each.given))
        for each in implications(graph, table.names).statements()
    ]
    first = adjust(np.array([result.p_value for result in gcm.tests(queries)]), "holm") <= ALPHA
    found = falsify(
        graph, table, alpha=ALPHA, permutations=0, on_falsified="warn", rng=stream(0, "falsification-benchmark")
    )
    return bool(first.any()), found.outcome == "falsified", "no longer contradict" in found.sentence


def right(name: str, shape: Shape, rows: int, samples: int) -> Array:
    """(samples, 3): what is found of a graph that is right."""
    answers = []
    for number in range(samples):
        columns = shape.draw(stream(SEED + number, f"falsification-{name}", rows), rows)
        causes = " ".join(column for column in columns if column not in ("w", "y"))
        graph = from_edges([f"{{{causes}}} -> {{w y}}"], columns=tuple(columns), target="y")
        answers.append(asked(graph, table_of(columns, "y")))
    return np.array(answers, dtype=np.float64)


def wrong(case: tuple[str, str, str], rows: int, samples: int) -> Array:
    """(samples, 3): what is found of a graph that is wrong."""
    name, without, adding = case
    world = WORLDS[name]
    graph = from_edges(
        [*(edge for edge in world.edges() if edge != without), *([adding] if adding else [])],
        columns=(*world.features(), world.target),
        target=world.target,
        latents=world.latent(),
        noise_parents=world.noise_parents(),
    )
    tables = (table_of(world.draw_columns(rows, seed=SEED + number), world.target) for number in range(samples))
    return np.array([asked(graph, table) for table in tables], dtype=np.float64)


def right_graphs(samples: Mapping[int, int]) -> dict[str, float]:
    """All figures about right graphs."""
    figures: dict[str, float] = {}
    for group, shapes in (("design", DESIGN), ("fresh", FRESH), ("beyond", BEYOND)):
        shares = []
        for name, shape in shapes.items():
            for rows, count in samples.items():
                first, both, _ = right(name, shape, rows, count).mean(axis=0)
                figures[f"first_refuted_{name}_{rows}"] = round(float(first), 3)
                figures[f"refuted_{name}_{rows}"] = round(float(both), 3)
                shares.append(both)
                sys.stdout.write(f"{group:8s}{name:22s}{rows:6d} rows  first {first:6.1%}  both {both:6.1%}\n")
                sys.stdout.flush()
        figures[f"refuted_{group}"] = round(float(np.mean(shares)), 4)
    return figures


def wrong_graphs(samples: Mapping[int, int]) -> dict[str, float]:
    """All figures about wrong graphs."""
    figures: dict[str, float] = {}
    for rows, count in samples.items():
        found = []
        for case in WRONG:
            found.append(wrong(case, rows, count))
            first, both, _ = found[-1].mean(axis=0)
            sys.stdout.write(f"wrong   {' '.join(case):75s}{rows:6d} rows  first {first:6.1%}  both {both:6.1%}\n")
            sys.stdout.flush()
        first, both, explained = np.concatenate(found).mean(axis=0)
        figures |= {
            f"first_found_{rows}": round(float(first), 4),
            f"found_{rows}": round(float(both), 4),
            f"explained_{rows}": round(float(explained / both), 4) if both else 0.0,
        }
    return figures


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    with threadpool_limits(limits=1):
        say("right graphs ...")
        figures = right_graphs({300: 4} if quick else {300: 100, 2000: 40})
        say("wrong graphs ...")
        figures |= wrong_graphs({1000: 1} if quick else {1000: 20, 200: 20})
    publish("falsification", figures, quick=quick)


if __name__ == "__main__":
    main()
