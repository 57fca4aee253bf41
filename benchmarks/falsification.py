"""How often are right graphs refuted, and wrong ones?

    python benchmarks/falsification.py [--quick]

Small right graphs: two ends (`w`, `y`) that owe the same function to the given columns, in shapes that splines follow
badly, 300 and 2000 rows. `DESIGN` holds the shapes on which the second opinion was designed (with other seeds),
`FRESH` those that no setting was chosen by, `BEYOND` one that is known to deceive it: `refuted_<shape>_<rows>`.

Larger graphs: such shapes within graphs of four to eight features, with seeds that nothing was chosen by. Right ones
(`within_<shape>_<rows>`), the same without the arrow `w -> y` (`arrow_...`) and with a hidden cause of w and y that the
graph denies (`hidden_...`).

Wrong graphs of the five worlds, an arrow missing, replaced or turned, 1000 and 200 rows: `found_<rows>`.

All are shares of samples at alpha 0.05; `first_...`: the same for the first test alone; `..._interval`: the exact 95 %
interval of a share. `refuted_design`, `refuted_fresh`, `within`, `arrow_<rows>`, `hidden_<rows>`: means over
shapes. `explained_<rows>`: of the wrong graphs that were found, the share that is no longer contradicted with the
suggested edges added. `seconds_50`: a wrong graph of fifty features, 1000 rows, with 100 permutations, processor time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from itertools import product

import numpy as np
from _falsification_graphs import around
from _falsification_shapes import BEYOND, DESIGN, FRESH, WITHIN, Shape, Tie, table_of
from _harness import arguments, publish, say
from scipy import stats
from threadpoolctl import threadpool_limits

from crda_spec.data.worlds import WORLDS
from crda_spec.independence import Gcm, adjust
from crda_spec.records import Array, Table
from crda_spec.scm.falsify import Falsify
from crda_spec.scm.formats import from_edges
from crda_spec.scm.graph import CausalGraph
from crda_spec.scm.implied import implications
from crda_spec.seeds import stream

ALPHA = 0.05
SEED = 20_000  # beyond all seeds that were looked at while the test was designed
SEED_WITHIN = 9_000
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


def asked(graph: CausalGraph, table: Table) -> tuple[bool, bool, bool]:
    """Whether the first test alone refutes the graph, whether both do, and whether the suggested edges explain it."""
    gcm = Gcm.of_table(table)
    at = {name: position for position, name in enumerate(gcm.names)}
    queries = [
        (at[each.first], at[each.second], tuple(at[name] for name in each.given))
        for each in implications(graph, table.names).statements()
    ]
    first = adjust(np.array([result.p_value for result in gcm.tests(queries)]), "holm") <= ALPHA
    test = Falsify(alpha=ALPHA, permutations=0, on_falsified="warn").test
    found = test(graph, table, rng=stream(0, "falsification-benchmark"))
    return bool(first.any()), found.outcome == "falsified", found.outcome == "falsified" and found.explained


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
        latents=world.hidden,
        noise_parents=world.noise_parents(),
    )
    tables = (table_of(world.draw_columns(rows, seed=SEED + number), world.target) for number in range(samples))
    return np.array([asked(graph, table) for table in tables], dtype=np.float64)


def within(name: str, shape: Shape, rows: int, samples: int, tie: Tie) -> Array:
    """(samples, 3): what is found of graphs of four to eight features around a shape."""
    answers = []
    for number in range(samples):
        rng = stream(SEED_WITHIN + number, f"falsification-within-{name}-{tie}", rows)
        columns, graph = around(shape, rng, rows, 4 + number % 5, tie)
        answers.append(asked(graph, table_of(columns, "y")))
    return np.array(answers, dtype=np.float64)


def cell(key: str, answers: Array) -> dict[str, object]:
    """The figures of one setting, printed as they come."""
    first, both, _ = answers.mean(axis=0)
    samples = len(answers)
    low, high = stats.binomtest(round(both * samples), samples).proportion_ci(method="exact")
    line = f"{key:40s}{samples:5d} samples  first {first:6.1%}  both {both:6.1%}  ({low:.1%} to {high:.1%})"
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    return {
        f"first_{key}": round(float(first), 3),
        key: round(float(both), 3),
        f"{key}_interval": [round(float(low), 3), round(float(high), 3)],
    }


def right_graphs(samples: Mapping[int, int]) -> dict[str, object]:
    """All figures about small right graphs."""
    figures: dict[str, object] = {}
    for group, shapes in (("design", DESIGN), ("fresh", FRESH), ("beyond", BEYOND)):
        shares = []
        for (name, shape), (rows, count) in product(shapes.items(), samples.items()):
            answers = right(name, shape, rows, count)
            figures |= cell(f"refuted_{name}_{rows}", answers)
            shares.append(answers[:, 1].mean())
        figures[f"refuted_{group}"] = round(float(np.mean(shares)), 4)
    return figures


def larger_graphs(samples: Mapping[int, int], wrong_samples: Mapping[int, int]) -> dict[str, object]:
    """All figures about graphs of four to eight features."""
    figures: dict[str, object] = {}
    kinds: tuple[tuple[str, Tie, Mapping[int, int]], ...] = (
        ("within", "none", samples),
        ("arrow", "arrow", wrong_samples),
        ("hidden", "hidden", wrong_samples),
    )
    for word, tie, counts in kinds:
        for rows, count in counts.items():
            found = [within(name, shape, rows, count, tie) for name, shape in WITHIN.items()]
            for name, answers in zip(WITHIN, found, strict=True):
                figures |= cell(f"{word}_{name}_{rows}", answers)
            figures |= cell(f"{word}_{rows}", np.concatenate(found))
    figures["within"] = round(float(np.mean([figures[f"within_{rows}"] for rows in samples])), 4)
    return figures


def wrong_graphs(samples: Mapping[int, int]) -> dict[str, object]:
    """All figures about wrong graphs of the worlds."""
    figures: dict[str, object] = {}
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


def fifty_features() -> dict[str, object]:
    """The processor time of a wrong graph with many statements: every second arrow of a random one is not drawn."""
    rng = stream(SEED_WITHIN, "falsification-fifty")
    columns: dict[str, np.ndarray] = {}
    arrows: list[str] = []
    for number in range(51):
        parents = [f"x{k}" for k in rng.permutation(number)[:3]]
        columns[f"x{number}"] = rng.normal(size=1000) + sum((columns[parent] for parent in parents), np.zeros(1000))
        arrows += [f"{parent} -> x{number}" for parent in parents]
    graph = from_edges(arrows[::2], columns=tuple(columns), target="x50")
    started = time.process_time()
    test = Falsify(alpha=ALPHA, permutations=100, on_falsified="warn").test
    found = test(graph, table_of(columns, "x50"), rng=stream(0, "falsification-benchmark"))
    seconds = time.process_time() - started
    say(f"fifty features: {found.outcome}, {len(found.statements)} of {found.implied} statements, {seconds:.1f} s")
    return {"seconds_50": round(seconds, 2), "statements_50": found.implied}


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    with threadpool_limits(limits=1):
        figures = fifty_features()
        say("graphs of four to eight features ...")
        figures |= larger_graphs(*(({300: 1}, {300: 1}) if quick else ({300: 120, 2000: 60}, {300: 40, 2000: 20})))
        say("small right graphs ...")
        figures |= right_graphs({300: 1} if quick else {300: 100, 2000: 40})
        say("wrong graphs of the worlds ...")
        figures |= wrong_graphs({1000: 1} if quick else {1000: 20, 200: 20})
    publish("falsification", figures, quick=quick)


if __name__ == "__main__":
    main()
