"""How much does a run cost beside the fits of its regressors? And how does the published package compare?

    CRDA_DATA_DIR=... python benchmarks/overhead.py [--quick]

`overhead_ratio`: a whole run on one worker (read, certify or discover, augment, gate, refit, score, write every file),
imports aside, divided by the sum of all its regressor fits, that of the report's control included. Concrete strength,
the paper's XGBoost.

`speedup_vs_crda`: with the package `crda` installed beside ours, its time for the same table, regressor and number of
folds divided by ours. Both on one worker and without early stopping, which `crda` cannot use. null when it is absent.

`cpu_distilled_vs_paper`, `cpu_certified_vs_paper`: CPU seconds of a whole run on one worker, report and files included,
divided by those of `recipe: paper` on the same table (1000 training rows, 20 features of which half are irrelevant),
with xgboost and ten folds. `..._4000`: the same on 4000 rows. `..._40_features`: on 1000 rows of 40 features.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from _harness import arguments, publish, say

from crda_spec.audit.files import finish_run
from crda_spec.pipeline import run
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.report.progress import Silent
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

SPEC = """\
version: 1
name: overhead
recipe: {recipe}
dataset:
  source: {{kind: benchmark, name: concrete_strength}}
  target: Concrete compressive strength
regressor: {regressor}
gate: {{kind: wilcoxon, folds: {folds}}}
execution: {{jobs: 1}}
"""
RECIPES = ("distilled", "certified")
FIXED = "{kind: xgboost, n_estimators: 300, learning_rate: 0.05, early_stopping: null}"


def timed_run(folder: Path, text: str, seed: int) -> tuple[float, float, int]:
    """Seconds of the whole run, seconds of its fits, number of fits."""
    spec_file = folder / "spec.yaml"
    spec_file.write_text(text, encoding="utf-8")
    fits: list[float] = []
    fit = Fitter.fit

    def timed_fit(fitter: Fitter, *rows: Any, **settings: Any) -> FittedModel:  # noqa: ANN401 - those of Fitter.fit
        before = fitter.seconds
        model = fit(fitter, *rows, **settings)
        fits.append(fitter.seconds - before)
        return model

    with patch.object(Fitter, "fit", timed_fit):
        started = time.perf_counter()
        spec, draft = load_spec(spec_file, overrides=[f"seed={seed}"])
        result = run(build_plan(spec, draft), progress=Silent())
        finish_run(result, spec=spec, draft=draft, folder=folder / f"run-{time.monotonic_ns()}")
        whole = time.perf_counter() - started
    return whole, sum(fits), len(fits)


def world(rows: int, features: int, recipe: str) -> str:
    """A spec of a made-up table: half of the features are causes, the others effects of these."""
    causes = [f"c{number}" for number in range(features // 2)]
    equations = dict.fromkeys(causes, "normal(0, 1)")
    equations |= {f"e{cause}": f"{cause} + normal(0, 0.7)" for cause in causes}
    linear = " + ".join(f"0.5 * {cause}" for cause in causes[3:])
    equations["y"] = f"c0 * c1 + sin(2 * c2) + {linear} + normal(0, 1)"
    edges = [f"{cause} -> {head}" for cause in causes for head in ("y", f"e{cause}")]
    source = {"kind": "synthetic", "equations": equations}
    spec = {
        "version": 1,
        "name": "cpu",
        "recipe": recipe,
        "dataset": {
            "source": {**source, "rows": rows},
            "target": "y",
            "split": {"kind": "source", "source": {**source, "rows": 1000}},
        },
        "causal": {"graph": {"kind": "edges", "edges": edges}},
        "regressor": {"kind": "xgboost"},
        "execution": {"jobs": 1},
    }
    return json.dumps(spec)


def cpu_ratios(folder: Path, rows: int, features: int) -> dict[str, float]:
    """By recipe: CPU seconds of a run, divided by those of `paper`."""
    seconds = {}
    for recipe in ("paper", *RECIPES):
        started = time.process_time()
        timed_run(folder, world(rows, features, recipe), 0)
        seconds[recipe] = time.process_time() - started
    told = ", ".join(f"{recipe} {spent:.1f} s" for recipe, spent in seconds.items())
    say(f"{rows} rows, {features} features: {told}")
    return {recipe: round(seconds[recipe] / seconds["paper"], 2) for recipe in RECIPES}


def crda_seconds(folder: Path, seed: int) -> float:
    """The published package on the same table, with the same regressor; its gate has ten folds."""
    from crda import CRDA, Config
    from xgboost import XGBRegressor

    table = Path(os.environ["CRDA_DATA_DIR"]) / "ConcreteCompressiveStrength.csv"
    started = time.perf_counter()
    config = Config(
        dataset=str(table),
        dataset_name="concrete",
        random_seed=seed,
        aug_data_size_factor=1.25,
        max_n_features_to_perturb=2,
        max_perturb_percent=0.7,
        min_perturb_percent=-0.7,
        results_dir=str(folder / "crda"),
    )
    model = XGBRegressor(
        n_estimators=300,
        learning_rate=0.05,
        max_depth=6,
        min_child_weight=5,
        subsample=0.7,
        colsample_bytree=0.7,
        reg_lambda=0.03981,
        tree_method="hist",
        n_jobs=1,
        random_state=seed,
    )
    CRDA(config).run(model)
    return time.perf_counter() - started


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    repeats = 1 if quick else 5
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paper = SPEC.format(recipe="paper", regressor="{kind: xgboost}", folds=10)
        timed_run(folder, paper, 99)  # warm up: the first run pays for lazy parts of the libraries
        ratios = []
        for seed in range(repeats):
            whole, fits, count = timed_run(folder, paper, seed)
            ratios.append(whole / fits)
            say(f"seed {seed}: run {whole:.2f} s, {count} fits {fits:.2f} s, ratio {whole / fits:.3f}")
        figures["overhead_ratio"] = round(statistics.median(ratios), 3)
        figures["overhead_ratio_worst"] = round(max(ratios), 3)
        figures["speedup_vs_crda"] = None
        if importlib.util.find_spec("crda") is not None:
            fixed = SPEC.format(recipe="paper", regressor=FIXED, folds=10)
            timed_run(folder, fixed, 99)
            pairs = []
            for seed in range(1 if quick else 3):
                ours, _, count = timed_run(folder, fixed, seed)
                theirs = crda_seconds(folder, seed)
                pairs.append(theirs / ours)
                say(f"seed {seed}: ours {ours:.2f} s ({count} fits), crda {theirs:.2f} s, ratio {theirs / ours:.1f}")
            figures["speedup_vs_crda"] = round(statistics.median(pairs), 1)
        tables = {"": (200, 8)} if quick else {"": (1000, 20), "_4000": (4000, 20), "_40_features": (1000, 40)}
        for tail, (rows, features) in tables.items():
            found = cpu_ratios(folder, rows, features)
            figures |= {f"cpu_{recipe}_vs_paper{tail}": ratio for recipe, ratio in found.items()}
    publish("overhead", figures, quick=quick)


if __name__ == "__main__":
    main()
