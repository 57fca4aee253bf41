"""What else would one pick? Our students and committees beside the boosted trees that people reach for.

    CRDA_DATA_DIR=/folder/of/tables python benchmarks/peers.py [--quick] [--rows N ...] [--splits N] [--no-tuned] ...

The paper's nine tables, 100, 300 and up to 1000 training rows, the rest of at most 1400 rows are test rows; no graph,
so `recipe: distilled`, with its gate. Every model gets the same training rows, one thread and no test row. By name:

- `plain_mlp`, `plain_xgboost`: one model with the paper's settings, no augmentation.
- `ours_mlp`, `ours_xgboost`: what `crda-run` hands over, one model: augmented if its gate accepts, else plain.
- `ours`: of these two the one with the smaller held-out loss in its gate.  `ours_committee`: the teacher of the mlp's
  run, many models.
- `catboost`, `lightgbm`, `xgboost`, `random_forest`: with their libraries' defaults.
- `..._tuned`: the best of 20 settings drawn at random, by threefold cross-validation on the training rows.

Figures: `change_NAME_ROWS`: the mean over tables and splits of log(test MSE / test MSE of plain_mlp), as a change in
percent (a geometric mean), negative is better; `..._se`: its standard error over tables, in log points.
`ours_vs_NAME_ROWS`: ours against that peer, likewise, and `ours_better_than_NAME_ROWS`: on how many tables.
`seconds_NAME_ROWS`: to fit, search or gate included.  `milliseconds_a_thousand_rows_NAME`: to predict.
`megabytes_NAME`: pickled.  `tables_ROWS`: the changes by table.

Finished cells are kept in results/peers.jsonl, and a run that was interrupted goes on from there; remove the file to
start anew. A peer whose package is not installed is left out, and said.
"""

from __future__ import annotations

import argparse
import json
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from _harness import RESULTS, publish, say
from _tables import NINE
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from crda_spec.pipeline import Plan, run
from crda_spec.records import Array, Predictor, RunResult
from crda_spec.report.progress import Silent
from crda_spec.seeds import stream
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

MOST_ROWS = 1400
TRIALS, TUNING_FOLDS = 20, 3
KEPT = RESULTS / "peers.jsonl"


@dataclass(frozen=True, order=True)
class Cell:
    """One table, cut once."""

    rows: int
    split: int
    table: str


Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Peer:
    """A regressor of another package: how it is made, and where its settings are looked for."""

    package: str
    make: Callable[[Settings, int], Any]
    draw: Callable[[np.random.Generator], Settings]


def _log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _catboost(settings: Settings, seed: int) -> Any:  # noqa: ANN401
    from catboost import CatBoostRegressor

    fixed = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": seed}
    return CatBoostRegressor(**fixed, **settings)


def _lightgbm(settings: Settings, seed: int) -> Any:  # noqa: ANN401
    from lightgbm import LGBMRegressor

    return LGBMRegressor(verbose=-1, n_jobs=1, random_state=seed, **settings)


def _xgboost(settings: Settings, seed: int) -> Any:  # noqa: ANN401
    from xgboost import XGBRegressor

    return XGBRegressor(n_jobs=1, random_state=seed, **settings)


def _forest(settings: Settings, seed: int) -> Any:  # noqa: ANN401
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_jobs=1, random_state=seed, **settings)


PEERS = {
    "catboost": Peer(
        "catboost",
        _catboost,
        lambda rng: {
            "iterations": int(rng.choice([300, 600, 1000])),
            "depth": int(rng.integers(3, 8)),
            "learning_rate": _log(rng, 0.02, 0.2),
            "l2_leaf_reg": _log(rng, 1, 10),
        },
    ),
    "lightgbm": Peer(
        "lightgbm",
        _lightgbm,
        lambda rng: {
            "n_estimators": int(rng.choice([100, 300, 600, 1000])),
            "num_leaves": int(rng.choice([4, 7, 15, 31])),
            "learning_rate": _log(rng, 0.01, 0.2),
            "min_child_samples": int(rng.choice([3, 5, 10, 20])),
            "subsample": float(rng.uniform(0.6, 1)),
            "subsample_freq": 1,
            "colsample_bytree": float(rng.uniform(0.5, 1)),
            "reg_lambda": _log(rng, 1e-3, 10),
        },
    ),
    "xgboost": Peer(
        "xgboost",
        _xgboost,
        lambda rng: {
            "n_estimators": int(rng.choice([100, 300, 600, 1000])),
            "max_depth": int(rng.integers(2, 8)),
            "learning_rate": _log(rng, 0.01, 0.2),
            "min_child_weight": _log(rng, 0.5, 10),
            "subsample": float(rng.uniform(0.6, 1)),
            "colsample_bytree": float(rng.uniform(0.5, 1)),
            "reg_lambda": _log(rng, 1e-3, 10),
        },
    ),
    "random_forest": Peer(
        "sklearn",
        _forest,
        lambda rng: {
            "n_estimators": 200,
            "min_samples_leaf": int(rng.choice([1, 2, 5])),
            "max_features": float(rng.choice([0.33, 0.67, 1.0])),
        },
    ),
}
TUNED = ("catboost", "lightgbm", "xgboost")
OURS = ("ours", "ours_mlp", "ours_xgboost", "ours_committee")


def tuned(peer: Peer, x: Array, y: Array, seed: int) -> Any:  # noqa: ANN401
    """The best of some settings drawn at random, by cross-validation on these rows, fitted on all of them."""
    rng = stream(seed, "peer settings")
    folds = rng.permutation(np.arange(len(y)) % TUNING_FOLDS)

    def loss(settings: Settings) -> float:
        parts = [(folds != fold, folds == fold) for fold in range(TUNING_FOLDS)]
        models = [(peer.make(settings, seed).fit(x[train], y[train]), held) for train, held in parts]
        return float(np.mean(np.concatenate([(y[held] - model.predict(x[held])) ** 2 for model, held in models])))

    return peer.make(min((peer.draw(rng) for _ in range(TRIALS)), key=loss), seed).fit(x, y)


def planned(cell: Cell, kind: str) -> Plan:
    """A spec that says nothing but table and regressor."""
    bench = NINE[cell.table]
    rows = min(bench.rows, MOST_ROWS)
    test = 1.0 - min(cell.rows, round(0.8 * rows)) / rows
    spec = {
        "version": 1,
        "name": "peers",
        "seed": cell.split,
        "dataset": {**bench.dataset(rows), "split": {"kind": "fraction", "test": test}},
        "regressor": {"kind": kind},
        "output": {"diagnostics": False, "intervals": None},
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.yaml"
        file.write_text(json.dumps(spec), encoding="utf-8")
        return replace(build_plan(*load_spec(file)), jobs=1)


def held_out_loss(result: RunResult) -> float:
    """Of the arm that the run hands over, in its gate; infinite where there was none."""
    losses = [(fold.plain, fold.augmented) for fold in result.verdict.folds]
    return float(np.mean(losses, axis=0)[int(result.verdict.uses_augmented)]) if losses else np.inf


def run_cell(cell: Cell, peers: tuple[str, ...], *, tune: bool) -> dict[str, Any]:
    """Test MSE, seconds, milliseconds for a thousand rows and megabytes, by name; whether our gates accepted."""
    figures: dict[str, Any] = {}
    with threadpool_limits(limits=1):
        runs, seconds = {}, {}
        for kind in ("mlp", "xgboost"):
            start = time.perf_counter()
            runs[kind] = run(planned(cell, kind), progress=Silent())
            seconds[kind] = time.perf_counter() - start
        split = runs["mlp"].split
        train, test = split.train, split.test
        assert np.array_equal(train.row_ids, runs["xgboost"].split.train.row_ids)

        def measure(name: str, model: Predictor, spent: float) -> None:
            start = time.perf_counter()
            mse = float(np.mean(test.errors(model) ** 2))
            asked = time.perf_counter() - start
            size = len(pickle.dumps(model)) / 1e6
            figures[name] = {"mse": mse, "seconds": spent, "ms": 1e6 * asked / len(test), "mb": size}

        for kind, result in runs.items():
            # What the score compared with: the plain model, by the same rows.
            score = result.score
            figures[f"plain_{kind}"] = {"mse": score.plain, "seconds": None, "ms": None, "mb": None}
            figures[f"accepted_{kind}"] = result.verdict.uses_augmented
            measure(f"ours_{kind}", result.model, seconds[kind])
        chosen = min(runs, key=lambda kind: held_out_loss(runs[kind]))
        measure("ours", runs[chosen].model, sum(seconds.values()))
        measure("ours_committee", runs["mlp"].teacher, runs["mlp"].cost.seconds)
        figures["chosen"] = chosen
        for name in peers:
            peer = PEERS[name]
            start = time.perf_counter()
            model = peer.make({}, cell.split).fit(train.x, train.y)
            measure(name, model, time.perf_counter() - start)
            if tune and name in TUNED:
                start = time.perf_counter()
                model = tuned(peer, train.x, train.y, cell.split)
                measure(f"{name}_tuned", model, time.perf_counter() - start)
    return figures


def summary(done: Mapping[Cell, Mapping[str, Any]]) -> dict[str, Any]:
    """Means over tables and splits, by the number of training rows."""
    figures: dict[str, Any] = {"cells": len(done), "splits": len({cell.split for cell in done})}
    sizes = sorted({cell.rows for cell in done})
    for rows in sizes:
        mine = {cell: found for cell, found in done.items() if cell.rows == rows}
        names = [
            name
            for name in next(iter(mine.values()))
            if all(isinstance(found.get(name), dict) for found in mine.values())
        ]
        logs = {name: _by_table(mine, name, "plain_mlp") for name in names}
        for name in names:
            if name == "plain_mlp":
                continue
            figures |= _change(f"change_{name}_{rows}", logs[name])
            spent = [found[name]["seconds"] for found in mine.values() if found[name]["seconds"] is not None]
            if spent:
                figures[f"seconds_{name}_{rows}"] = round(float(np.mean(spent)), 2)
            if name not in OURS:
                against = {table: logs["ours"][table] - logs[name][table] for table in logs[name]}
                figures |= _change(f"ours_vs_{name}_{rows}", against)
                figures[f"ours_better_than_{name}_{rows}"] = sum(one < 0 for one in against.values())
        figures[f"accepted_{rows}"] = {
            kind: round(float(np.mean([found[f"accepted_{kind}"] for found in mine.values()])), 2)
            for kind in ("mlp", "xgboost")
        }
        figures[f"tables_{rows}"] = {
            name: {table: round(100 * float(np.expm1(one)), 1) for table, one in logs[name].items()} for name in names
        }
    most = [found for cell, found in done.items() if cell.rows == sizes[-1]]
    for name in [name for name, value in most[0].items() if isinstance(value, dict) and value["ms"] is not None]:
        figures[f"milliseconds_a_thousand_rows_{name}"] = round(float(np.median([one[name]["ms"] for one in most])), 1)
        figures[f"megabytes_{name}"] = round(float(np.median([one[name]["mb"] for one in most])), 2)
    return figures


def _by_table(done: Mapping[Cell, Mapping[str, Any]], name: str, base: str) -> dict[str, float]:
    tables: dict[str, list[float]] = {}
    for cell, found in done.items():
        tables.setdefault(cell.table, []).append(float(np.log(found[name]["mse"] / found[base]["mse"])))
    return {table: float(np.mean(values)) for table, values in tables.items()}


def _change(key: str, logs: Mapping[str, float]) -> dict[str, float]:
    values = list(logs.values())
    found = {key: round(100 * float(np.expm1(np.mean(values))), 1)}
    if len(values) > 1:
        found[f"{key}_se"] = round(float(np.std(values, ddof=1) / len(values) ** 0.5), 3)
    return found


def table(figures: Mapping[str, Any]) -> str:
    """What a person reads."""
    sizes = sorted(int(key.removeprefix("tables_")) for key in figures if key.startswith("tables_"))
    names = [name for name in figures[f"tables_{sizes[-1]}"] if name != "plain_mlp"]
    lines = [f"{'test MSE against plain_mlp, %':32}" + "".join(f"{size:>10}" for size in sizes) + f"{'seconds':>10}"]
    for name in names:
        changes = [figures.get(f"change_{name}_{size}") for size in sizes]
        spent = figures.get(f"seconds_{name}_{sizes[-1]}")
        cells = [*("-" if one is None else f"{one:+.1f}" for one in changes), "-" if spent is None else f"{spent:.1f}"]
        lines.append(f"{name:32}" + "".join(f"{cell:>10}" for cell in cells))
    return "\n".join(lines)


def kept() -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Cells that an earlier run has finished."""
    for line in KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else ():
        found = json.loads(line)
        yield Cell(**found["cell"]), found["figures"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--no-tuned", action="store_true", help="leave out the searches, which cost most")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--finished", action="store_true", help="nothing new: the figures of all cells that are kept")
    asked = parser.parse_args()
    peers = tuple(name for name, peer in PEERS.items() if find_spec(peer.package))
    for name, peer in PEERS.items():
        if name not in peers:
            say(f"{name}: left out, the package is not installed (pip install {peer.package})")
    tables = ["energy_efficiency"] if asked.quick else list(NINE)
    rows, splits = ([100], 1) if asked.quick else (asked.rows, asked.splits)
    cells = [Cell(size, split, name) for split in range(1, splits + 1) for size in rows for name in tables]
    done = {} if asked.quick else dict(kept())
    todo = [] if asked.finished else [cell for cell in cells if cell not in done]
    tasks = (delayed(run_cell)(cell, peers, tune=not (asked.no_tuned or asked.quick)) for cell in todo)
    results = Parallel(n_jobs=asked.workers, return_as="generator")(tasks)
    for number, (cell, found) in enumerate(zip(todo, results, strict=True), start=1):
        done[cell] = found
        if not asked.quick:
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"cell": vars(cell), "figures": found}) + "\n")
        base = found["plain_mlp"]["mse"]
        shown = {name: f"{100 * (one['mse'] / base - 1):+.1f}" for name, one in found.items() if isinstance(one, dict)}
        say(f"[{number}/{len(todo)}] {cell.table}, {cell.rows} rows, split {cell.split}: {shown}")
    figures = summary(done if asked.finished else {cell: done[cell] for cell in cells})
    say(table(figures))
    publish("peers", figures, quick=asked.quick)


if __name__ == "__main__":
    main()
