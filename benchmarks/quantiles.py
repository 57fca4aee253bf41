"""Do new rows help a student that predicts a quantile, and does the noise have to be carried?

    python benchmarks/quantiles.py [--quick]

XGBoost with `objective: quantile`, `quantile: 0.9`, no gate. Two worlds whose graph is known and whose noise is larger
for some rows (100 and 300 training rows, 2000 test rows, the right graph, so `recipe: certified`) and two of the nine
tables (300 training rows of 1000, no graph, so `recipe: distilled` and its screens). Figures: the change of the test
pinball loss against the plain quantile student, in percent, negative is better; the mean over seeds, each with `_se`.

- `..._goal`: `goal: quantiles`: all noise, that of a row alike (`matched`), on certified moves only.
- `..._own`: the same with the noise of the row that was changed.
- `..._half`, `..._none`: the same with retention 0.5 and 0.
- `..._scaled`: `goal: quantiles` with `noise: {kind: location_scale}`.
- `..._coverage_plain`, `_goal`, `_none`: the share of test rows, in percent, at or below what is predicted (right: 90).
- `..._rows`: the share of runs, in percent, in which some feature may move at all; without new rows the change is 0.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from _harness import arguments, publish, say
from _tables import NINE
from known_graph import graphs
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import augment, fit_augmented
from crda_spec.gate.cross_validate import divisions, fold_models
from crda_spec.pipeline import Plan
from crda_spec.records import HeldOut, Predictor
from crda_spec.regressors.metrics import Metric
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

LEVEL = 0.9
METRIC = Metric(kind="pinball", quantile=LEVEL)
TEST_ROWS = 2000
WORLDS: dict[str, dict[str, Any]] = {
    "wide": {  # noise that grows with a cause
        "target": "y",
        "noise": ["c4"],
        "equations": {
            "c1": "normal(0, 1)",
            "c2": "normal(0, 1)",
            "c3": "uniform(-2, 2)",
            "c4": "normal(0, 1)",
            "e1": "c1 + normal(0, 0.6)",
            "e2": "c2 + normal(0, 0.6)",
            "e3": "c3 + normal(0, 0.8)",
            "y": "2 * sin(c1) + c2 * c3 + 0.8 * c4 + exp(0.6 * c4) * normal(0, 1)",
        },
    },
    "skewed": {  # a long tail above, longer for some rows
        "target": "y",
        "noise": ["c3"],
        "equations": {
            "c1": "normal(0, 1)",
            "c2": "normal(0, 1)",
            "c3": "uniform(0, 2)",
            "a1": "normal(0, 1)",
            "c4": "0.8 * a1 + normal(0, 0.6)",
            "e1": "c1 + c2 + normal(0, 1)",
            "j1": "normal(0, 1)",
            "j2": "uniform(0, 1)",
            "y": "1.5 * c1 + 0.7 * c2 ** 2 + tanh(c4) + (0.3 + c3) * exponential(1)",
        },
    },
}
TABLES = ("concrete_strength", "house_price")
VARIANTS: dict[str, dict[str, Any]] = {
    "goal": {},
    "own": {"residual_draw": "own"},
    "half": {"retention": 0.5},
    "none": {"retention": 0.0},
    "scaled": {"noise": {"kind": "location_scale"}},
}


def planned(spec: Mapping[str, Any], seed: int, more: Mapping[str, Any]) -> Plan:
    """The plan of a spec that says nothing but table, graph, goal and quantile, unless it is told more."""
    said = {"version": 1, "name": "quantiles", "seed": seed, "goal": "quantiles", **spec}
    said["regressor"] = {"kind": "xgboost", "quantile": LEVEL}
    said["counterfactual"] = dict(more)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.yaml"
        file.write_text(json.dumps(said), encoding="utf-8")
        return build_plan(*load_spec(file))


def world_spec(name: str, rows: int) -> dict[str, Any]:
    """A world with its right graph, the parents of its noise among it."""
    world = WORLDS[name]
    [(_, graph)] = graphs(world, seed=0, wrong=False)
    source = {"kind": "synthetic", "equations": world["equations"]}
    split = {"kind": "source", "source": {**source, "rows": TEST_ROWS}}
    dataset = {"source": {**source, "rows": rows}, "target": world["target"], "split": split}
    return {"dataset": dataset, "causal": {"graph": {**graph, "noise": world["noise"]}}}


def table_spec(name: str, rows: int) -> dict[str, Any]:
    """One of the nine tables, `rows` of a sample of 1000 to train on."""
    return {"dataset": {**NINE[name].dataset(1000), "split": {"kind": "fraction", "test": 1 - rows / 1000}}}


def run_cell(spec: Mapping[str, Any], seed: int, variants: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """All figures of one table: every variant has the same teachers and the same plain student."""
    found: dict[str, float] = {}
    first = planned(spec, seed, {})
    split, _ = first.load()
    train = split.train
    models = fold_models(first.procedure.on(train), train, divisions(first.gate, train, seed=seed)[0])
    models.fit(models.first)
    context = models.on_all_rows()
    assert context.plain is not None
    found["coverage_plain"] = coverage(split.test, context.plain)
    for name, more in variants.items():
        made = augment(planned(spec, seed, more).procedure, train, context)
        student = fit_augmented(made, train)
        found[name] = change(split.test, student, context.plain)
        if name == "goal":
            found["rows"] = 100.0 * (made.counterfactuals is not None)
        if name in ("goal", "none"):
            found[f"coverage_{name}"] = coverage(split.test, student)
    return found


def change(test: HeldOut, model: Predictor, plain: Predictor) -> float:
    """Of the pinball loss, from the plain student's, in percent."""
    before, after = (float(METRIC.row_losses(test.errors(one)).mean()) for one in (plain, model))
    return 100.0 * (after / before - 1.0)


def coverage(test: HeldOut, model: Predictor) -> float:
    """The share of rows at or below what is predicted, in percent."""
    return 100.0 * float((test.errors(model) <= 0).mean())


def cells(*, quick: bool) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Name, spec and seed of each run."""
    for seed in range(1, 2 if quick else 5):
        for name in list(WORLDS)[: 1 if quick else None]:
            for rows in (100,) if quick else (100, 300):
                yield f"{name}_{rows}", world_spec(name, rows), seed
        for name in () if quick else TABLES:
            yield name, table_spec(name, 300), seed


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    done: dict[str, list[dict[str, float]]] = {}
    with threadpool_limits(limits=1):
        for name, spec, seed in cells(quick=quick):
            found = run_cell(spec, seed, VARIANTS)
            done.setdefault(name, []).append(found)
            say(f"{name}, seed {seed}: " + ", ".join(f"{key} {value:+.1f}" for key, value in found.items()))
    figures: dict[str, Any] = {"level": LEVEL, "seeds": len(next(iter(done.values())))}
    for name, found in done.items():
        for key in found[0]:
            values = [one[key] for one in found]
            figures[f"{name}_{key}"] = round(float(np.mean(values)), 1)
            if key in VARIANTS and len(values) > 1:
                figures[f"{name}_{key}_se"] = round(float(np.std(values, ddof=1) / len(values) ** 0.5), 1)
    publish("quantiles", figures, quick=quick)


if __name__ == "__main__":
    main()
