"""Who should sit on the usual committee? Kinds of models alone and together, on rows that they have not seen.

    CRDA_DATA_DIR=/folder/of/tables python benchmarks/committees.py [--quick] [--workers N]

Two splits of the paper's nine tables and of the eight others of `_tables.py`, none of them a split on which
`recipes.py` judges, and of each the training rows alone. Every kind predicts them out of fold (5 folds); a committee is
weighed on these predictions by non-negative least squares, as in a run. Figures: the change of the mean squared error
out of fold against one plain mlp in percent, by kind and by committee: mean over splits, then over tables (`_nine`,
`_others`), each table (`_tables`), and the seconds of one fit. A committee's weights are fitted to the rows that judge
it, three or four numbers to some 800 rows.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from _harness import publish, say
from _tables import NINE, OTHERS
from joblib import Parallel, delayed
from recipes import planned
from threadpoolctl import threadpool_limits

from crda_spec.data.folds import folds
from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.records import Array, Table
from crda_spec.regressors import Fitter, GaussianProcess, Mlp, RandomForest, Regressor, Ridge, Svr, Xgboost
from crda_spec.regressors.teachers.committee import stacking_weights
from crda_spec.seeds import stream

KINDS: dict[str, Regressor] = {
    "mlp": Mlp(),
    "wide": Mlp(averaging=0.99, hidden_layer_sizes=(256, 128)),
    "xgboost": Xgboost(),
    "ridge": Ridge(),
    "svr": Svr(),
    "random_forest": RandomForest(),
    "gaussian_process": GaussianProcess(),
    "gp_matern": GaussianProcess(kernel="matern"),
    "gp_rbf": GaussianProcess(kernel="rbf"),
}
COMMITTEES = {
    "xgboost_wide": ("xgboost", "wide"),
    "xgboost_wide_ridge": ("xgboost", "wide", "ridge"),
    "xgboost_wide_svr": ("xgboost", "wide", "svr"),
    "xgboost_wide_forest": ("xgboost", "wide", "random_forest"),
    "usual": ("xgboost", "wide", "gaussian_process"),
    "usual_matern": ("xgboost", "wide", "gp_matern"),
    "usual_rbf": ("xgboost", "wide", "gp_rbf"),
    "usual_and_ridge": ("xgboost", "wide", "gaussian_process", "ridge"),
    "usual_without_trees": ("wide", "gaussian_process"),
    "usual_without_network": ("xgboost", "gaussian_process"),
}
_SPLITS = (11, 12)


def out_of_fold(train: Table, kind: Regressor, *, seed: int) -> tuple[Array, float]:
    """Each row's prediction by a model that has not seen it, and the seconds of a fit."""
    held, predicted, fitter = folds(len(train), 5, rng=stream(seed, "committees")), np.empty(len(train)), Fitter(kind)
    for number, rows in enumerate(held):
        model = fitter.fit(train.take(np.setdiff1d(np.arange(len(train)), rows)), seed=number)
        predicted[rows] = model.predict(train.x[rows])
    return predicted, fitter.seconds / len(held)


def measured(table: str, seed: int, rows: int) -> dict[str, tuple[float, float]]:
    """By kind and committee: the change in percent, and the seconds of one fit of each of its kinds."""
    plan = planned((NINE | OTHERS)[table], "mlp", "distilled", seed, rows)
    train = plan.load()[0].train
    with threadpool_limits(limits=1):
        started = time.perf_counter()
        words = {name: out_of_fold(train, kind, seed=seed) for name, kind in KINDS.items()}
    plain = np.mean((train.y - words["mlp"][0]) ** 2)
    found = {}
    for name, members in {**{name: (name,) for name in KINDS}, **COMMITTEES}.items():
        said = [words[member][0] for member in members]
        mixed = np.column_stack(said) @ stacking_weights(train, said)
        change = float(100 * (np.mean((train.y - mixed) ** 2) / plain - 1))
        found[name] = (change, sum(words[member][1] for member in members))
    shown = ", ".join(f"{name} {found[name][0]:+.1f}" for name in ("xgboost_wide_ridge", "usual"))
    say(f"{table}, split {seed}: {shown} ({time.perf_counter() - started:.0f} s)")
    return found


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--workers", type=int, default=1, help="how many processes")
    asked = parser.parse_args()
    folder = Path(os.environ.get("CRDA_DATA_DIR", ""))
    nine = [name for name in NINE if (folder / BENCHMARKS[name].file).is_file()]
    groups = {"others": ["steps"]} if asked.quick else {"nine": nine, "others": list(OTHERS)}
    splits, rows = (_SPLITS[:1], 300) if asked.quick else (_SPLITS, 1000)
    jobs = [(group, table, seed) for group, names in groups.items() for table in names for seed in splits]
    done = Parallel(n_jobs=asked.workers)(delayed(measured)(table, seed, rows) for _, table, seed in jobs)
    figures: dict[str, Any] = {}
    for name in (*KINDS, *COMMITTEES):
        for group, names in groups.items():
            means = {
                table: float(np.mean([one[name][0] for job, one in zip(jobs, done, strict=True) if job[1] == table]))
                for table in names
            }
            if means:
                figures[f"{name}_{group}"] = round(float(np.mean(list(means.values()))), 1)
                figures[f"{name}_{group}_tables"] = {table: round(change, 1) for table, change in means.items()}
        figures[f"{name}_seconds"] = round(float(np.mean([one[name][1] for one in done])), 2)
    say(f"\n{'change of MSE out of fold, %':28}" + "".join(f"{group:>9}" for group in groups) + f"{'seconds':>9}")
    for name in (*KINDS, *COMMITTEES):
        changes = "".join(f"{figures.get(f'{name}_{group}', float('nan')):+9.1f}" for group in groups)
        say(f"{name:28}{changes}{figures[f'{name}_seconds']:9.2f}")
    publish("committees", figures, quick=asked.quick)


if __name__ == "__main__":
    main()
