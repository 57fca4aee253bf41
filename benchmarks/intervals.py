"""How sure is it? Prediction intervals at 90 %, on the paper's nine tables and in worlds whose noise is known.

    CRDA_DATA_DIR=/folder/of/tables python benchmarks/intervals.py [--quick] [--splits N] [--rows N ...] [--kinds K ...]

Tables: `recipe: distilled`, about as many training rows as asked for, the rest of at most 1400 rows are test rows.
Worlds: `recipe: certified`, the graph and the noise's parents declared, 2000 test rows. Ours are the intervals of the
model that the run hands over, whichever its gate chose. The peers are around the plain model of the same kind, settings
and rows: mapie's CV+ (absolute errors, the gate's own folds), and crepes, calibrated on
the same out-of-fold errors: one width, or normalised by the mean error of the 25 nearest rows (leave-one-out), scaled
to [0, 1] as it does by default, or not; of these three the one that does best on the test rows on average.

Figures, means over tables and splits unless they say otherwise:

- `coverage_90`: share of the test rows inside, tables.  `coverage_90_worst_table`: the least of the tables' means.
- `score_vs_crepes`, `score_vs_mapie`: change of the mean interval score against that peer, in percent, tables (mean of
  logarithms; negative is better).  `score_vs_better_peer`: against the better of the two on each table and split.
- `score_vs_constant`: worlds, against intervals of one width around the same model.
- `coverage_large_noise`: worlds, test rows with the largest third of the true size of the noise.
  `coverage_large_noise_constant`: the same with one width.
- `coverage_90_residuals`, `coverage_90_cv_plus`, and `width_...`, `score_...` of cv_plus relative to residuals, in
  percent: the two forms side by side, tables and worlds.  `same_model_vs_...`: ours around the plain model.
- `tables`, `worlds`: by name.

Finished cells are kept in results/intervals.jsonl, and a run that was interrupted goes on from there; remove the file
to start anew.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from _harness import RESULTS, publish, say
from _tables import NINE
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, RegressorMixin
from threadpoolctl import threadpool_limits

from crda_spec.data.equations import read_equations
from crda_spec.gate.intervals import bounds_at, calibrate, size_sources
from crda_spec.pipeline import Plan, run
from crda_spec.records import Array, Predictor, RunResult, Table
from crda_spec.regressors import Fitter
from crda_spec.regressors.fit import student_seed
from crda_spec.regressors.intervals import Intervals, mean_interval_loss
from crda_spec.report.progress import Silent
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

LEVEL = 0.9
KINDS = {"mlp": "mlp", "xgb": "xgboost"}
MOST_ROWS = 1400
TEST_ROWS = 2000
CREPES = ("crepes_scaled", "crepes_unscaled", "crepes_standard")
KEPT = RESULTS / "intervals.jsonl"


@dataclass(frozen=True)
class World:
    """Equations, and the true size of the noise of each row by its columns."""

    equations: Mapping[str, str]
    parents: tuple[str, ...]
    size: Callable[[Mapping[str, Array]], Array]


WORLDS = {
    "one_parent": World(
        {
            "a": "normal(0, 1)",
            "b": "normal(0, 1)",
            "c": "uniform(-2, 2)",
            "z": "uniform(0, 1)",
            "e1": "a + normal(0, 0.7)",
            "e2": "b + normal(0, 0.7)",
            "y": "2 * sin(a) + b * c + (0.2 + 2 * z) * normal(0, 1)",
        },
        ("z",),
        lambda x: 0.2 + 2 * x["z"],
    ),
    "exponential": World(
        {
            "a": "normal(0, 1)",
            "b": "uniform(-1, 1)",
            "z": "normal(0, 1)",
            "j1": "normal(0, 1)",
            "j2": "normal(0, 1)",
            "j3": "uniform(0, 1)",
            "y": "a + 2 * b ** 2 + 0.5 * z + exp(0.7 * z) * normal(0, 0.6)",
        },
        ("z",),
        lambda x: 0.6 * np.exp(0.7 * x["z"]),
    ),
    "two_parents": World(
        {
            "a": "normal(0, 1)",
            "z1": "normal(0, 1)",
            "z2": "uniform(0, 2)",
            "b": "0.5 * z1 + normal(0, 1)",
            "e1": "a + normal(0, 0.5)",
            "j1": "normal(0, 1)",
            "y": "1.5 * a + sin(2 * b) + (0.3 + abs(z1) * z2) * normal(0, 1)",
        },
        ("z1", "z2"),
        lambda x: 0.3 + np.abs(x["z1"]) * x["z2"],
    ),
    "many_columns": World(
        {
            **{f"j{number}": "normal(0, 1)" for number in range(1, 9)},
            "a": "normal(0, 1)",
            "b": "normal(0, 1)",
            "z": "uniform(-1, 1)",
            "y": "a * b + z + j1 + (0.2 + 1.5 * (z > 0)) * normal(0, 1)",
        },
        ("z",),
        lambda x: 0.2 + 1.5 * (x["z"] > 0),
    ),
}


@dataclass(frozen=True, order=True)
class Cell:
    """One table or world, and one kind of student."""

    group: str
    name: str
    rows: int
    seed: int
    kind: str


def planned(cell: Cell) -> Plan:
    """The plan of a spec that says nothing but table, graph, regressor and that fold models are kept."""
    spec: dict[str, Any] = {
        "version": 1,
        "name": "intervals",
        "seed": cell.seed,
        "regressor": {"kind": KINDS[cell.kind]},
        "output": {"intervals": {"form": "cv_plus"}, "diagnostics": False},
    }
    if cell.group == "tables":
        bench = NINE[cell.name]
        rows = min(bench.rows, MOST_ROWS)
        test = 1.0 - min(cell.rows, round(0.8 * rows)) / rows
        spec |= {"recipe": "distilled", "dataset": {**bench.dataset(rows), "split": {"kind": "fraction", "test": test}}}
    else:
        world = WORLDS[cell.name]
        equations, _ = read_equations(world.equations)
        edges = [f"{parent} -> {each.name}" for each in equations for parent in each.parents]
        tied = {name for edge in edges for name in edge.split(" -> ")}
        source = {"kind": "synthetic", "equations": dict(world.equations)}
        split = {"kind": "source", "source": {**source, "rows": TEST_ROWS}}
        unrelated = [name for name in world.equations if name not in tied]
        graph = {"kind": "edges", "edges": edges, "unrelated": unrelated, "noise": list(world.parents)}
        spec |= {
            "recipe": "certified",
            "dataset": {"source": {**source, "rows": cell.rows}, "target": "y", "split": split},
            "causal": {"graph": graph},
        }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.yaml"
        file.write_text(json.dumps(spec), encoding="utf-8")
        return build_plan(*load_spec(file))


class OurPlain(RegressorMixin, BaseEstimator):
    """The plain model as scikit-learn's tools want it."""

    def __init__(self, plan: Plan | None = None, like: Table | None = None) -> None:
        self.plan, self.like = plan, like

    def __sklearn_clone__(self) -> OurPlain:
        return OurPlain(self.plan, self.like)

    def fit(self, X: Array, y: Array) -> OurPlain:
        """X: (n, d), as numbers."""
        assert self.plan is not None
        assert self.like is not None
        ids = np.arange(len(y))
        rows = replace(self.like, x=np.array(X), y=np.array(y), row_ids=ids, groups=None, weights=None)
        fitter = Fitter(self.plan.procedure.regressor, self.plan.procedure.fill)
        self.model_ = fitter.fit(rows, seed=student_seed(self.plan.seed, (0,)))
        return self

    def predict(self, X: Array) -> Array:
        """X: (m, d). Returns (m,)."""
        return self.model_.predict(np.array(X))


def mapie_bounds(plan: Plan, result: RunResult, x: Array) -> tuple[Array, Array]:
    from mapie.regression import CrossConformalRegressor
    from sklearn.model_selection import PredefinedSplit

    train = result.split.train
    folds = PredefinedSplit(result.gate_fold - 1)
    learner = CrossConformalRegressor(OurPlain(plan, train), confidence_level=LEVEL, method="plus", cv=folds)
    learner.fit_conformalize(train.x, train.y)
    _, bounds = learner.predict_interval(x)
    return bounds[:, 0, 0], bounds[:, 1, 0]


def crepes_bounds(result: RunResult, plain: Predictor, x: Array) -> dict[str, tuple[Array, Array]]:
    from crepes import ConformalRegressor
    from crepes.extras import DifficultyEstimator

    assert result.gate_errors is not None
    errors, predicted, found = result.gate_errors.plain, plain.predict(x), {}
    for name in CREPES:
        own, new = None, None
        if name != "crepes_standard":
            difficulty = DifficultyEstimator()
            difficulty.fit(X=result.split.train.x, residuals=errors, scaler=name == "crepes_scaled", oob=True)
            own, new = difficulty.apply(), difficulty.apply(x)
        learner = ConformalRegressor().fit(residuals=errors, sigmas=own)
        bounds = learner.predict_int(predicted, sigmas=new, confidence=LEVEL)
        found[name] = (bounds[:, 0], bounds[:, 1])
    return found


def run_cell(cell: Cell) -> dict[str, Any]:
    """Coverage, width and score of each way."""
    with threadpool_limits(limits=1):
        plan = replace(planned(cell), jobs=1)
        result = run(plan, progress=Silent())
        split, errors = result.split, result.gate_errors
        if errors is None:
            return {"abstained": True}
        train, test = split.train, split.test._rows  # noqa: SLF001 - a benchmark may look
        arm = "augmented" if result.verdict.uses_augmented else "plain"
        boundary = plan.procedure.on(train).partitioner.boundary(train.names)
        sources = size_sources(train, plan.noise_parents, boundary)
        plain: Predictor = result.model if arm == "plain" else OurPlain(plan, train).fit(train.x, train.y).model_

        def ours(arm: Any, model: Predictor, asked: Intervals) -> tuple[Array, Array]:  # noqa: ANN401
            band = calibrate(train, errors.of(arm), result.gate_fold, sources, asked=asked)
            assert band is not None
            return bounds_at(band, model, result.fold_models, test.x, LEVEL)

        ways = {
            "residuals": ours(arm, result.model, Intervals()),
            "cv_plus": ours(arm, result.model, Intervals(form="cv_plus")),
            "constant": ours(arm, result.model, Intervals(width="constant")),
            "same_model": ours("plain", plain, Intervals()),
            **crepes_bounds(result, plain, test.x),
            "mapie": mapie_bounds(plan, result, test.x),
        }
        found: dict[str, Any] = {"accepted": arm == "augmented", "train_rows": len(train), "test_rows": len(test)}
        rows = {"all": np.ones(len(test), dtype=bool)}
        if cell.group == "worlds":
            size = WORLDS[cell.name].size({name: test.x[:, at] for at, name in enumerate(test.names)})
            rows["large"] = size >= np.quantile(size, 2 / 3)
        for part, chosen in rows.items():
            for way, (low, high) in ways.items():
                y = test.y[chosen]
                found[f"{part}_{way}"] = mean_interval_loss(y - low[chosen], high[chosen] - y, LEVEL, None)
        return found


def _change(found: list[Mapping[str, Any]], one: str, others: tuple[str, ...], at: int = 2) -> float:
    """In percent, the mean of logarithms; against the better of the others."""
    ratios = [np.log(cell[f"all_{one}"][at] / min(cell[f"all_{other}"][at] for other in others)) for cell in found]
    return round(100.0 * float(np.expm1(np.mean(ratios))), 1)


def _coverage(found: list[Mapping[str, Any]], way: str, part: str = "all") -> float:
    return round(100.0 * float(np.mean([cell[f"{part}_{way}"][0] for cell in found])), 1)


def summary(done: Mapping[Cell, dict[str, Any]]) -> dict[str, Any]:
    """Means over tables, worlds and splits."""
    usable = {cell: found for cell, found in done.items() if "abstained" not in found}
    figures: dict[str, Any] = {
        "cells": len(usable),
        "splits": len({cell.seed for cell in usable}),
        "sizes": sorted({cell.rows for cell in usable}),
        "kinds": sorted({cell.kind for cell in usable}),
    }
    for group in ("tables", "worlds"):  # the way of crepes that does best on average
        mine = [found for cell, found in usable.items() if cell.group == group]
        best = min(CREPES, key=lambda way: np.mean([np.log(found[f"all_{way}"][2]) for found in mine] or [0.0]))
        figures[f"crepes_{group}"] = best
        for found in mine:
            found["all_crepes"] = found[f"all_{best}"]
    tables = [found for cell, found in usable.items() if cell.group == "tables"]
    worlds = [found for cell, found in usable.items() if cell.group == "worlds"]
    named: dict[str, dict[str, list[Mapping[str, Any]]]] = {"tables": {}, "worlds": {}}
    for cell, found in usable.items():
        named[cell.group].setdefault(cell.name, []).append(found)
    if tables:
        per_table = [_coverage(found, "residuals") for found in named["tables"].values()]
        figures |= {
            "coverage_90": _coverage(tables, "residuals"),
            "coverage_90_worst_table": min(per_table),
            "score_vs_crepes": _change(tables, "residuals", ("crepes",)),
            "score_vs_mapie": _change(tables, "residuals", ("mapie",)),
            "score_vs_better_peer": _change(tables, "residuals", ("crepes", "mapie")),
            "same_model_vs_crepes": _change(tables, "same_model", ("crepes",)),
            "same_model_vs_mapie": _change(tables, "same_model", ("mapie",)),
            "coverage_90_crepes": _coverage(tables, "crepes"),
            "coverage_90_mapie": _coverage(tables, "mapie"),
            "accepted": round(float(np.mean([found["accepted"] for found in tables])), 2),
        }
    if worlds:
        figures |= {
            "score_vs_constant": _change(worlds, "residuals", ("constant",)),
            "coverage_worlds": _coverage(worlds, "residuals"),
            "coverage_large_noise": _coverage(worlds, "residuals", "large"),
            "coverage_large_noise_constant": _coverage(worlds, "constant", "large"),
            "worlds_score_vs_crepes": _change(worlds, "residuals", ("crepes",)),
            "worlds_score_vs_mapie": _change(worlds, "residuals", ("mapie",)),
        }
    every = [*tables, *worlds]
    figures |= {
        "coverage_90_residuals": _coverage(every, "residuals"),
        "coverage_90_cv_plus": _coverage(every, "cv_plus"),
        "width_cv_plus_vs_residuals": _change(every, "cv_plus", ("residuals",), 1),
        "score_cv_plus_vs_residuals": _change(every, "cv_plus", ("residuals",)),
    }
    for group, parts in named.items():
        figures[group] = {
            name: {
                "coverage": _coverage(found, "residuals"),
                "coverage_cv_plus": _coverage(found, "cv_plus"),
                "vs_constant": _change(found, "residuals", ("constant",)),
                "vs_crepes": _change(found, "residuals", ("crepes",)),
                "vs_mapie": _change(found, "residuals", ("mapie",)),
            }
            for name, found in sorted(parts.items())
        }
    return figures


def kept() -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Cells that an earlier run has finished."""
    for line in KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else ():
        found = json.loads(line)
        yield Cell(**found["cell"]), found["figures"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--finished", action="store_true", help="nothing new: the figures of all cells that are kept")
    asked = parser.parse_args()
    groups = {"tables": list(NINE), "worlds": list(WORLDS)}
    if asked.quick:
        groups, asked.rows, asked.splits, asked.kinds = {"worlds": ["one_parent"]}, [100], 1, ["xgb"]
    cells = [
        Cell(group, name, rows, seed, kind)
        for seed in range(1, asked.splits + 1)
        for rows in asked.rows
        for kind in asked.kinds
        for group, names in groups.items()
        for name in names
    ]
    done = {} if asked.quick else dict(kept())
    todo = [] if asked.finished else [cell for cell in cells if cell not in done]
    results = Parallel(n_jobs=asked.workers, return_as="generator")(delayed(run_cell)(cell) for cell in todo)
    for number, (cell, found) in enumerate(zip(todo, results, strict=True), start=1):
        done[cell] = found
        if not asked.quick:
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"cell": vars(cell), "figures": found}) + "\n")
        told = {
            way: [round(float(one), 3) for one in found.get(f"all_{way}", ())]
            for way in ("residuals", "crepes", "mapie")
        }
        say(f"[{number}/{len(todo)}] {cell.kind} {cell.name}, {cell.rows} rows, split {cell.seed}: {told}")
    figures = summary(done if asked.finished else {cell: done[cell] for cell in cells})
    publish("intervals", figures, quick=asked.quick)


if __name__ == "__main__":
    main()
