"""Does the expert's graph pay? `certified` against `distilled` in worlds whose graph is known, right and wrong.

    python benchmarks/known_graph.py [--quick] [--study] [--seeds N] [--wrong-seeds N] [--workers N] [--rows N ...]
        [--kinds mlp xgb] [--finished]

Worlds of crda_spec/bench/known_worlds.yaml with 4 to 16 irrelevant features (effects of causes, causes of causes,
chance), 100, 200 and 400 training rows, 2000 test rows, no gate. Figures: the change of the test MSE against one plain
model of all columns, in percent, negative is better; the mean over worlds and seeds. For `mlp` and `xgb`:

- `..._plain_boundary`: no augmentation, but a model of the boundary's columns alone: what selecting columns gives.
- `..._distilled`: the recipe without a graph.  `..._certified`: the recipe with it.
- each with `_100`, `_200`, `_400` (rows), and `_shift`: the same models on test rows whose irrelevant features were
  shuffled, each by itself.
- `graph_points_...`: certified minus distilled.  `..._se`: its standard error over worlds and seeds.
- `..._wrong_<kind>`: certified minus distilled under a wrong graph: `lost` (the arrow of a cause into y is missing),
  `extra` (an irrelevant feature gets one), `turned` (a cause's arrow points the other way), `undrawn` (hidden causes
  are left out of the graph; only worlds that have one).
- `trusted_...`: the share of cells in which the trust test passes, by graph.

Knobs were chosen with `--study`, on other worlds and seeds; those judge nothing. Finished cells are kept in
results/known_graph.jsonl, and a run that was interrupted goes on from there; remove the file to start anew.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from _harness import RESULTS, publish, say
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from crda_spec.bench import tables
from crda_spec.counterfactual.procedure import augment, fit_augmented
from crda_spec.data.equations import read_equations
from crda_spec.data.raw import read_catalogue
from crda_spec.gate.cross_validate import divisions, fold_models
from crda_spec.pipeline import Plan
from crda_spec.records import HeldOut, Predictor, Table
from crda_spec.regressors import Fitter
from crda_spec.regressors.fit import student_seed
from crda_spec.regressors.teachers import FoldModelCache
from crda_spec.seeds import stream
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

WORLDS = read_catalogue(Path(tables.__file__).with_name("known_worlds.yaml"))
KINDS = {"mlp": "mlp", "xgb": "xgboost"}
WRONG = ("lost", "extra", "turned", "undrawn")
SIZES = (100, 200, 400)
TEST_ROWS = 2000
KEPT = RESULTS / "known_graph.jsonl"


@dataclass(frozen=True, order=True)
class Cell:
    """One table, one kind of student, all graphs."""

    part: str
    world: str
    rows: int
    seed: int
    kind: str
    wrong: bool  # wrong graphs too


def edges_of(world: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Who stands in whose equation."""
    equations, complaints = read_equations(world["equations"])
    assert not complaints
    return [(parent, each.name) for each in equations for parent in each.parents]


def graphs(world: Mapping[str, Any], *, seed: int, wrong: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The right graph, and wrong ones; which arrow is wrong changes with the seed."""
    edges, target, hidden = edges_of(world), world["target"], list(world.get("hidden", ()))
    names = [name for name in world["equations"] if name not in hidden]

    def drawn(arrows: list[tuple[str, str]], latent: list[str]) -> dict[str, Any]:
        tied = {name for arrow in arrows for name in arrow}
        return {
            "kind": "edges",
            "edges": [f"{tail} -> {head}" for tail, head in arrows],
            "latent": latent,
            "unrelated": [name for name in names if name not in tied],
        }

    yield "right", drawn(edges, hidden)
    if not wrong:
        return
    causes = [tail for tail, head in edges if head == target and tail not in hidden]
    effects = {head for tail, head in edges if tail == target}
    others = [name for name in names if name not in {target, *causes, *effects}]
    rng = stream(seed, "wrong graphs")
    lost = str(rng.choice(causes))
    yield "lost", drawn([edge for edge in edges if edge != (lost, target)], hidden)
    yield "extra", drawn([*edges, (str(rng.choice(others)), target)], hidden)
    leaves = [name for name in causes if not any(head == name for _, head in edges)]
    turned = str(rng.choice(leaves or causes))
    flipped = [(target, turned) if edge == (turned, target) else edge for edge in edges]
    yield "turned", drawn(acyclic(flipped, target), hidden)
    if hidden:
        yield "undrawn", drawn([edge for edge in edges if edge[0] not in hidden], [])


def acyclic(edges: list[tuple[str, str]], target: str) -> list[tuple[str, str]]:
    """Without the arrows that would lead back into the target from its new effect."""
    below, added = {target}, True
    while added:
        more = {head for tail, head in edges if tail in below} - below
        below, added = below | more, bool(more)
    return [edge for edge in edges if not (edge[1] == target and edge[0] in below)]


def planned(
    world: Mapping[str, Any], graph: Mapping[str, Any], recipe: str, cell: Cell, more: Mapping[str, Any] | None = None
) -> Plan:
    """The plan of a spec that says nothing but table, graph, regressor and recipe, unless it is told more."""
    source = {"kind": "synthetic", "equations": world["equations"], "hidden": list(world.get("hidden", ()))}
    spec = {
        "version": 1,
        "name": "known-graph",
        "seed": cell.seed,
        "recipe": recipe,
        "dataset": {
            "source": {**source, "rows": cell.rows},
            "target": world["target"],
            "split": {"kind": "source", "source": {**source, "rows": TEST_ROWS}},
        },
        "causal": {"graph": dict(graph)},
        "regressor": {"kind": KINDS[cell.kind]},
        **(more or {}),
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.yaml"
        file.write_text(json.dumps(spec), encoding="utf-8")
        return build_plan(*load_spec(file))


def models_of(plan: Plan, train: Table, known: FoldModelCache | None) -> FoldModelCache:
    """The fold models of a plan on all rows; those of all columns are the same for every graph."""
    procedure = plan.procedure.on(train)
    cache = fold_models(procedure, train, divisions(plan.gate, train, seed=plan.seed)[0])
    if known is not None:
        shared = len(plan.procedure.teacher.learners)
        cache.models = {key: model for key, model in known.models.items() if key.learner < shared}
    cache.fit([key for key in cache.first if key not in cache.models])
    return cache


def run_cell(cell: Cell, variants: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, float]:
    """All figures of one table and student. variants: other certified recipes to look at, by name (a study)."""
    world = WORLDS[cell.part][cell.world]
    figures: dict[str, float] = {}
    with threadpool_limits(limits=1):
        known: FoldModelCache | None = None
        for name, graph in graphs(world, seed=cell.seed, wrong=cell.wrong):
            plan = planned(world, graph, "certified", cell)
            split, _ = plan.load()
            train = split.train
            known = models_of(plan, train, known)
            plain = known.on_all_rows().plain
            assert plain is not None
            irrelevant = [one for one in train.names if one not in plan.procedure.partitioner.boundary(train.names)]

            def scores(model: Predictor, key: str, *, split=split, plain=plain, irrelevant=irrelevant) -> None:  # noqa: ANN001
                figures[key] = change(split.test, model, plain)
                if key in ("plain_boundary", "distilled", "certified"):
                    shifted = split.test.shuffled(irrelevant, rng=stream(cell.seed, "shift"))
                    figures[f"{key}_shift"] = change(shifted, model, plain)

            if name == "right":
                columns = train.positions(plan.procedure.partitioner.boundary(train.names))
                fitter = Fitter(plan.procedure.regressor, plan.procedure.fill)
                scores(fitter.fit(train, seed=student_seed(plan.seed, (0,)), columns=columns), "plain_boundary")
                other = planned(world, graph, "distilled", cell)
                scores(fit_augmented(augment(other.procedure, train, known.on_all_rows()), train), "distilled")
            made = augment(plan.procedure, train, known.on_all_rows())
            key = "certified" if name == "right" else f"wrong_{name}"
            scores(fit_augmented(made, train), key)
            trust = made.teacher.trust
            figures[f"trusted_{name}"] = float(trust is not None and trust.passed)
            if name == "right":
                scores(made.teacher, "teacher")
            for label, more in (variants or {}).items():
                again = planned(world, graph, "certified", cell, more)
                found = augment(again.procedure, train, known.on_all_rows())
                scores(fit_augmented(found, train), f"{key}|{label}")
    return figures


def change(test: HeldOut, model: Predictor, plain: Predictor) -> float:
    """Of the MSE, from the plain model's, in percent."""
    before, after = (float(np.mean(test.errors(one) ** 2)) for one in (plain, model))
    return 100.0 * (after / before - 1.0)


def summary(done: Mapping[Cell, Mapping[str, float]]) -> dict[str, Any]:
    """Means over worlds and seeds."""
    figures: dict[str, Any] = {}
    for kind in KINDS:
        mine = {cell: found for cell, found in done.items() if cell.kind == kind}
        for size in (None, *SIZES):
            cells = {cell: found for cell, found in mine.items() if size in (None, cell.rows)}
            tail = "" if size is None else f"_{size}"
            for key in ("plain_boundary", "distilled", "certified", "teacher"):
                figures |= _mean(f"{kind}_{key}{tail}", [found[key] for found in cells.values()])
            points = [found["certified"] - found["distilled"] for found in cells.values()]
            figures |= _mean(f"graph_points_{kind}{tail}", points, error=True)
            for wrong in WRONG:
                worse = [one[f"wrong_{wrong}"] - one["distilled"] for one in cells.values() if f"wrong_{wrong}" in one]
                figures |= _mean(f"{kind}_wrong_{wrong}{tail}", worse, error=True)
        for key in ("plain_boundary", "distilled", "certified"):
            figures |= _mean(f"{kind}_{key}_shift", [found[f"{key}_shift"] for found in mine.values()])
        for graph in ("right", *WRONG):
            asked = [found[f"trusted_{graph}"] for found in mine.values() if f"trusted_{graph}" in found]
            figures |= _mean(f"trusted_{kind}_{graph}", [100 * one for one in asked])
        worlds = sorted({cell.world for cell in mine})
        figures[f"{kind}_worlds"] = {
            world: {
                key: round(float(np.mean([one[key] for cell, one in mine.items() if cell.world == world])), 1)
                for key in ("plain_boundary", "distilled", "certified")
            }
            for world in worlds
        }
    return figures


def counts(cells: Collection[Cell]) -> dict[str, int]:
    """How many seeds each size of each kind has, and how many of them with wrong graphs."""
    found = {}
    for kind in KINDS:
        for size in SIZES:
            mine = [cell for cell in cells if (cell.kind, cell.rows) == (kind, size)]
            found[f"seeds_{kind}_{size}"] = len({cell.seed for cell in mine})
            found[f"wrong_seeds_{kind}_{size}"] = len({cell.seed for cell in mine if cell.wrong})
    return found


def _mean(key: str, values: list[float], *, error: bool = False) -> dict[str, float]:
    if not values:
        return {}
    mean = {key: round(float(np.mean(values)), 1)}
    if error and len(values) > 1:
        mean[f"{key}_se"] = round(float(np.std(values, ddof=1) / len(values) ** 0.5), 1)
    return mean


def table(figures: Mapping[str, Any]) -> str:
    """What a person reads."""
    lines = [f"{'change of test MSE, %':34}" + "".join(f"{f'{kind} {size}':>10}" for kind in KINDS for size in SIZES)]
    rows = [(f"{{kind}}_{key}", key) for key in ("plain_boundary", "distilled", "certified", "teacher")]
    rows += [("graph_points_{kind}", "certified - distilled")]
    rows += [(f"{{kind}}_wrong_{wrong}", f"wrong graph, {wrong}: minus distilled") for wrong in WRONG]
    for key, words in rows:
        values = [figures.get(f"{key.format(kind=kind)}_{size}") for kind in KINDS for size in SIZES]
        lines.append(f"{words:34}" + "".join(f"{'-' if value is None else f'{value:+.1f}':>10}" for value in values))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--study", action="store_true", help="the worlds and seeds on which knobs are chosen")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--wrong-seeds", type=int, default=10, help="seeds with wrong graphs too, which cost most")
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--finished", action="store_true", help="nothing new: the figures of all cells that are kept")
    asked = parser.parse_args()
    part, first = ("study", 101) if asked.study else ("judge", 1)
    seeds = range(first, first + (1 if asked.quick else asked.seeds))
    worlds = list(WORLDS[part])[: 1 if asked.quick else None]
    sizes = [100] if asked.quick else asked.rows
    cells = [
        Cell(part, world, rows, seed, kind, wrong=seed - first < asked.wrong_seeds)
        for seed in seeds
        for rows in sizes
        for world in worlds
        for kind in asked.kinds
    ]
    keep = not asked.quick and not asked.study
    done = dict(kept()) if keep else {}
    cells = [replace(cell, wrong=True) if replace(cell, wrong=True) in done else cell for cell in cells]
    todo = [] if asked.finished else [cell for cell in cells if cell not in done]
    results = Parallel(n_jobs=asked.workers, return_as="generator")(delayed(run_cell)(cell) for cell in todo)
    for number, (cell, found) in enumerate(zip(todo, results, strict=True), start=1):
        done[cell] = found
        if keep:
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"cell": vars(cell), "figures": found}) + "\n")
        told = ", ".join(f"{key} {found[key]:+.1f}" for key in ("plain_boundary", "distilled", "certified"))
        say(f"[{number}/{len(todo)}] {cell.kind} {cell.world}, {cell.rows} rows, seed {cell.seed}: {told}")
    done = done if asked.finished else {cell: done[cell] for cell in cells}
    figures = counts(done) | summary(done)
    say(table(figures))
    publish("known_graph", figures, quick=not keep)


def kept() -> Iterator[tuple[Cell, dict[str, float]]]:
    """Cells that an earlier run has finished; of a cell with and without wrong graphs, the one with them."""
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else ()
    found = [(Cell(**one["cell"]), one["figures"]) for one in map(json.loads, lines)]
    more = {replace(cell, wrong=False) for cell, _ in found if cell.wrong}
    yield from ((cell, figures) for cell, figures in found if cell not in more)


if __name__ == "__main__":
    main()
