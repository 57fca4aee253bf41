"""Who should teach what, and at which places? The search behind `recipe: distilled`.

    CRDA_DATA_DIR=/folder/of/tables python benchmarks/recipe_study.py [--quick] [--splits N] [--workers N] ...

Splits of the paper's nine tables and of those of `_tables.py`, none of them a split on which `recipes.py` judges. The
first variant of each kind of student is the recipe; each of the others changes something in it. The committee is
fitted once for each table and student; every variant then makes its rows, has them labelled and trains one student on
them. Figures: the change of the test MSE against one plain model in percent, by variant: mean and geometric mean over
the nine tables, tables that gain, every table, and the same over the others. Few splits say little of a single table:
look for variants that are good everywhere. Who sits on the committee is the question of `committees.py`.

Finished pieces are kept in results/recipe_study.jsonl, and a run that was interrupted goes on from there; remove the
file to start anew.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import RESULTS, publish, say
from _tables import NINE, OTHERS, Bench
from joblib import Parallel, delayed
from recipes import KINDS, planned
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import augment, fit_augmented
from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.gate.cross_validate import divisions, fold_models
from crda_spec.regressors.teachers import FoldModelCache

_KEPT = RESULTS / "recipe_study.jsonl"
_SPLITS = (11, 12)  # recipes.py judges on 1 to 5
_BARE = {"support": {"kind": "none"}, "copy_fraction": 0.0}
_NEIGHBOUR = {"default": {"kind": "resample", "weights": "neighbour"}}
_NEAR = {"default": {"kind": "interpolate", "partner": "near", "reach": 1.0}, "features_per_row": "all"}
_ANY = {"default": {"kind": "interpolate", "partner": "any", "reach": 0.5}, "features_per_row": "all"}
_JITTER = {"default": {"kind": "jitter", "sd": 0.1}, "features_per_row": "all"}
_RESAMPLE = {"default": {"kind": "resample"}, "features_per_row": 1}
_GUARD = {"support": {"kind": "neighbours", "on_outside": "redraw"}}

# By name: what a variant says instead of the recipe, in `counterfactual` and in `perturbation`.
Variant = tuple[Mapping[str, Any], Mapping[str, Any]]
VARIANTS: dict[str, dict[str, Variant]] = {
    "mlp": {
        "recipe": ({}, {}),
        "factor_4": ({"factor": 4.0}, {}),
        "weight_0.3": ({"weight": 0.3}, {}),
        "watch_real": ({"watch": "real"}, {}),
        "own_kind_teaches": ({"teacher": {"kind": "crossfit"}}, {}),
        "retention_0.5": ({"retention": 0.5}, {}),  # with noise only what the screens let pass may move
        "retention_1": ({"retention": 1.0}, {}),
        "all_move": ({}, {"copy_fraction": 0.0}),
        "all_move_unguarded": ({}, _BARE),
        "none_moves": ({}, {"copy_fraction": 0.999}),
        "resampled_from_a_similar_row": ({}, _NEIGHBOUR),
        "interpolated_near": ({}, _NEAR | _BARE),
        "interpolated_any": ({}, _ANY | _BARE),
        "jittered_0.1": ({}, _JITTER | _BARE),
        "jittered_0.1_guarded": ({}, _JITTER),
    },
    "xgb": {
        "recipe": ({}, {}),
        "factor_4": ({"factor": 4.0}, {}),
        "factor_15": ({"factor": 15.0}, {}),
        "weight_1": ({"weight": 1.0}, {}),
        "watch_real": ({"watch": "real"}, {}),
        "own_kind_teaches": ({"teacher": {"kind": "crossfit"}}, {}),
        "retention_0.5": ({"retention": 0.5}, {}),  # with noise only what the screens let pass may move
        "retention_1": ({"retention": 1.0}, {}),
        "none_moves": ({}, {"copy_fraction": 0.999}),
        "interpolated_near": ({}, _NEAR),
        "interpolated_any_guarded": ({}, _GUARD),
        "resampled": ({}, _RESAMPLE),
        "resampled_guarded": ({}, _RESAMPLE | _GUARD),
        "jittered_0.1": ({}, _JITTER),
        "jittered_0.1_guarded": ({}, _JITTER | _GUARD),
    },
}


def measure(bench: Bench, kind: str, rows: int, seed: int, known: Mapping[str, float]) -> dict[str, float]:
    """By variant, and of the teacher itself: the change in percent. What is known is not measured again."""
    shared: dict[str, FoldModelCache] = {}  # by the kind of teacher
    found = dict(known)
    for name, (told, moved) in VARIANTS[kind].items():
        if name in known:
            continue
        plan = planned(bench, KINDS[kind], "distilled", seed, rows, counterfactual=told, perturbation=moved)
        split, _ = plan.load()
        train, teacher = split.train, plan.procedure.teacher.kind
        if teacher not in shared:
            models = fold_models(plan.procedure, train, divisions(plan.gate, train, seed=seed)[0])
            assert models is not None
            models.fit(models.first)
            shared[teacher] = models
        made = augment(plan.procedure, train, shared[teacher].on_all_rows())
        plain = np.mean(split.test.errors(made.plain) ** 2)
        student = fit_augmented(made, train)
        found[name] = float(100 * (np.mean(split.test.errors(student) ** 2) / plain - 1))
        if name == "recipe":
            found["teacher"] = float(100 * (np.mean(split.test.errors(made.teacher) ** 2) / plain - 1))
    return found


Job = tuple[str, str, str, int]  # group, table, kind of student, split


def measured(job: Job, rows: int, known: Mapping[str, float]) -> tuple[Job, dict[str, float]]:
    """The same on one thread, for a table by its name."""
    _, table, kind, seed = job
    with threadpool_limits(limits=1):
        return job, measure((NINE | OTHERS)[table], kind, rows, seed, known)


def everything(jobs: Sequence[Job], rows: int, *, workers: int, keep: bool) -> dict[Job, dict[str, float]]:
    """All jobs, as far as they are in the file already from there."""
    lines = _KEPT.read_text(encoding="utf-8").splitlines() if keep and _KEPT.is_file() else []
    kept = {tuple(job): found for job, found in map(json.loads, lines)}
    done = {job: kept[job] for job in jobs if set(VARIANTS[job[2]]) <= set(kept.get(job, ()))}
    tasks = (delayed(measured)(job, rows, kept.get(job, {})) for job in jobs if job not in done)
    for job, found in Parallel(n_jobs=workers, return_as="generator_unordered")(tasks):
        done[job] = found
        if keep:
            with _KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps([job, found]) + "\n")
        _, table, kind, seed = job
        shown = ", ".join(f"{name} {change:+.1f}" for name, change in found.items())
        say(f"[{len(done)}/{len(jobs)}] {kind} {table}, split {seed}: {shown}")
    return done


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--splits", type=int, choices=(1, 2), default=2, help="of each table")
    parser.add_argument("--groups", nargs="+", choices=("nine", "others"), default=("nine", "others"), help="of tables")
    parser.add_argument("--workers", type=int, default=1, help="how many processes")
    asked = parser.parse_args()
    folder = Path(os.environ.get("CRDA_DATA_DIR", ""))
    nine = [name for name in NINE if (folder / BENCHMARKS[name].file).is_file()]
    groups = {"nine": nine, "others": list(OTHERS)}
    tables = {"others": ["steps"]} if asked.quick else {group: groups[group] for group in asked.groups}
    kinds, rows = (["xgb"], 200) if asked.quick else (list(VARIANTS), 1000)
    jobs = [
        (group, table, kind, seed)
        for seed in _SPLITS[: 1 if asked.quick else asked.splits]
        for group, names in tables.items()
        for table in names
        for kind in kinds
    ]
    done = everything(jobs, rows, workers=asked.workers, keep=not asked.quick)
    figures: dict[str, Any] = {"splits": len({job[3] for job in jobs})}
    for kind in kinds:
        for group, names in tables.items():
            for name in ("teacher", *VARIANTS[kind]) if names else ():
                means = {
                    table: float(np.mean([done[job][name] for job in jobs if job[:3] == (group, table, kind)]))
                    for table in names
                }
                changes, key = np.array(list(means.values())), f"{kind}_{name}_{group}"
                figures[key] = round(float(changes.mean()), 1)
                figures[f"{key}_geometric"] = round(float(100 * (np.exp(np.log1p(changes / 100).mean()) - 1)), 1)
                figures[f"{key}_better"] = f"{int((changes < 0).sum())} of {len(changes)}"
                figures[f"{key}_tables"] = {table: round(change, 1) for table, change in means.items()}
                say(f"{key:46}{figures[key]:+8.1f}{figures[f'{key}_geometric']:+8.1f}  {figures[f'{key}_better']}")
    publish("recipe_study", figures, quick=asked.quick)


if __name__ == "__main__":
    main()
