"""Which rows should a committee label? The search behind `recipe: distilled`.

    CRDA_DATA_DIR=/folder/of/tables python benchmarks/recipe_study.py [--quick] [--workers N]

Two splits of each of the paper's nine tables, one of those of `_tables.py`, none of them a split on which `recipes.py`
judges. The committee is fitted once for each table and student; every variant then makes its rows, has them labelled
and trains one student on them. Figures: the change of the test MSE against one plain model in percent, by variant: mean
and geometric mean over the nine tables, tables that gain, every table, and the same over the others. Two splits say
little of a single table: look for variants that are good everywhere.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from _harness import publish, say
from _tables import NINE, OTHERS, Bench
from joblib import Parallel, delayed
from recipes import KINDS, planned
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import augment, fit_augmented
from crda_spec.data.catalogue import BENCHMARKS
from crda_spec.gate.gate import repeats_of
from crda_spec.gate.work import fit_singles, shared_models

_RESAMPLE = {"default": {"kind": "resample"}, "features_per_row": 1}
_ALIKE = {"default": {"kind": "resample", "weights": "neighbour"}, "features_per_row": 1}
_INTERPOLATE = {"default": {"kind": "interpolate", "partner": "any", "reach": 0.5}}
_NEAR = {"default": {"kind": "interpolate", "partner": "near", "reach": 1.0}}
_JITTER = {"default": {"kind": "jitter", "sd": 0.3}}
_GUARD = {"support": {"kind": "neighbours", "quantile": 0.95, "on_outside": "redraw"}}
_BARE = {"support": {"kind": "none"}, "features_per_row": "all", "unmoved": 0.0}  # what the recipe would fill in
_SPLITS = {"nine": (11, 12), "others": (11,)}

Variant = tuple[Mapping[str, Any], float, float, str]  # perturbation, factor, weight, what early stopping watches
VARIANTS: dict[str, dict[str, Variant]] = {
    "mlp": {
        "resample_4": (_RESAMPLE, 4.0, 1.0, "synthetic"),
        "resample_15": (_RESAMPLE, 15.0, 1.0, "synthetic"),
        "guarded_15": (_RESAMPLE | _GUARD, 15.0, 1.0, "synthetic"),
        "alike_15": (_ALIKE, 15.0, 1.0, "synthetic"),
        "interpolate_near_15": (_NEAR, 15.0, 1.0, "synthetic"),
        "relabelled_15": (_RESAMPLE | {"unmoved": 0.999}, 15.0, 1.0, "synthetic"),
        "guarded_15_unmoved": (_RESAMPLE | _GUARD | {"unmoved": 0.4}, 15.0, 1.0, "synthetic"),
        "guarded_30_unmoved": (_RESAMPLE | _GUARD | {"unmoved": 0.4}, 30.0, 1.0, "synthetic"),
        "guarded_15_unmoved_watch_real": (_RESAMPLE | _GUARD | {"unmoved": 0.4}, 15.0, 1.0, "real"),
    },
    "xgb": {
        "interpolate_10_light": (_INTERPOLATE, 10.0, 0.3, "synthetic"),
        "interpolate_10": (_INTERPOLATE, 10.0, 1.0, "synthetic"),
        "resample_10_light": (_RESAMPLE, 10.0, 0.3, "synthetic"),
        "jitter_guarded_10_light": (_JITTER | _GUARD, 10.0, 0.3, "synthetic"),
    },
}


def measure(bench: Bench, kind: str, rows: int, seed: int) -> dict[str, float]:
    """By variant, and of the teacher itself: the change in percent."""

    def plan_of(variant: Variant) -> Any:  # noqa: ANN401 - a plan
        perturbation, factor, weight, watch = variant
        told = {"factor": factor, "weight": weight, "watch": watch}
        return planned(
            bench, KINDS[kind], "distilled", seed, rows, counterfactual=told, perturbation=_BARE | dict(perturbation)
        )

    plans = {name: plan_of(variant) for name, variant in VARIANTS[kind].items()}
    first = next(iter(plans.values()))
    split, _ = first.load()
    train = split.train
    models = shared_models(first.procedure, train, repeats_of(first.gate, train, seed=seed)[0])
    assert models is not None
    fit_singles(models, jobs=1, advance=lambda: None)
    found = {}
    for name, plan in plans.items():
        made = augment(plan.procedure, train, seed=seed, index=(0,), around=models.around(None))
        plain = np.mean(split.test.errors(made.plain) ** 2)
        student = fit_augmented(made, train, seed=seed, index=(0,))
        found[name] = float(100 * (np.mean(split.test.errors(student) ** 2) / plain - 1))
        found["teacher"] = float(100 * (np.mean(split.test.errors(made.teacher) ** 2) / plain - 1))
    return found


def measured(table: str, kind: str, rows: int, seed: int) -> dict[str, float]:
    """The same on one thread, for a table by its name."""
    with threadpool_limits(limits=1):
        found = measure((NINE | OTHERS)[table], kind, rows, seed)
    shown = ", ".join(f"{name} {change:+.1f}" for name, change in found.items())
    say(f"{kind} {table}, split {seed}: {shown}")
    return found


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--workers", type=int, default=1, help="how many processes")
    asked = parser.parse_args()
    folder = Path(os.environ.get("CRDA_DATA_DIR", ""))
    nine = [name for name in NINE if (folder / BENCHMARKS[name].file).is_file()]
    tables = {"others": ["steps"]} if asked.quick else {"nine": nine, "others": list(OTHERS)}
    kinds, rows = (["xgb"], 200) if asked.quick else (list(VARIANTS), 1000)
    jobs = [
        (group, table, kind, seed)
        for group, names in tables.items()
        for table in names
        for kind in kinds
        for seed in _SPLITS[group]
    ]
    done = Parallel(n_jobs=asked.workers)(delayed(measured)(table, kind, rows, seed) for _, table, kind, seed in jobs)
    figures: dict[str, Any] = {}
    for kind in kinds:
        for group, names in tables.items():
            found = {
                table: [one for job, one in zip(jobs, done, strict=True) if job[:3] == (group, table, kind)]
                for table in names
            }
            for name in ("teacher", *VARIANTS[kind]) if found else ():
                means = {table: float(np.mean([one[name] for one in splits])) for table, splits in found.items()}
                changes, key = np.array(list(means.values())), f"{kind}_{name}_{group}"
                figures[key] = round(float(changes.mean()), 1)
                figures[f"{key}_geometric"] = round(float(100 * (np.exp(np.log1p(changes / 100).mean()) - 1)), 1)
                figures[f"{key}_better"] = f"{int((changes < 0).sum())} of {len(changes)}"
                figures[f"{key}_tables"] = {table: round(change, 1) for table, change in means.items()}
    publish("recipe_study", figures, quick=asked.quick)


if __name__ == "__main__":
    main()
