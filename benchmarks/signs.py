"""What do declared signs give a committee and its student, and what does a wrong one cost?

    python benchmarks/signs.py [--quick]

Worlds of crda_spec/bench/known_worlds.yaml in which some causes act in one direction. 150 training rows, 2000 test
rows, no gate, XGBoost as the student, `recipe: certified` with the right graph. Figures: the change of the test MSE
against the same recipe without signs, in percent, negative is better, the mean over worlds and seeds, each with `_se`.

- `teacher_right`, `student_right`: every sign declared as it is.
- `teacher_wrong`, `student_wrong`: the first sign the wrong way round, the others right.
- `student_held_right`, `student_held_wrong`: the student holds the signs too (`regressor.monotone: true`). The plain
  model does the same; it is the augmented model without signs that it is compared with.
- `tree_right`, `tree_wrong`: one plain XGBoost with signs against one without: what nothing hedges.
- `passed_right`, `passed_wrong`: the share of cells, in percent, in which the committee follows signs at all.
- `contradicted_wrong`: the share of wrong signs that the training rows are found to contradict.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _harness import arguments, publish, say
from known_graph import WORLDS, Cell, change, graphs, planned
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import augment, fit_augmented
from crda_spec.gate.cross_validate import divisions, fold_models
from crda_spec.gate.describe import describe_signs

SIGNS = {
    "smooth_proxies": {"c4": "increasing"},
    "junk_columns": {"c1": "increasing", "c5": "increasing"},
    "hidden_confounder": {"c1": "increasing"},
    "near_linear": {"c1": "increasing", "c4": "increasing", "c5": "decreasing", "c6": "increasing"},
}
TURNED = {"increasing": "decreasing", "decreasing": "increasing"}
ROWS = 150


def run_cell(world: str, seed: int, *, rows: int) -> dict[str, float]:
    """All figures of one table."""
    cell = Cell("judge", world, rows, seed, "xgb", wrong=False)
    [(_, graph)] = graphs(WORLDS["judge"][world], seed=seed, wrong=False)
    found: dict[str, Any] = {}
    made: dict[str, Any] = {}
    first, way = next(iter(SIGNS[world].items()))
    for name, signs in (("none", {}), ("right", SIGNS[world]), ("wrong", {**SIGNS[world], first: TURNED[way]})):
        for held in (False, True) if signs else (False,):
            more = {"causal": {"graph": graph, "monotone": signs}} if signs else {"causal": {"graph": graph}}
            regressor = {"kind": "xgboost", "monotone": True} if held else {"kind": "xgboost"}
            plan = planned(WORLDS["judge"][world], graph, "certified", cell, {**more, "regressor": regressor})
            split, _ = plan.load()
            train = split.train
            models = fold_models(plan.procedure.on(train), train, divisions(plan.gate, train, seed=plan.seed)[0])
            models.fit(models.first)
            augmented = augment(plan.procedure, train, models.on_all_rows())
            student = fit_augmented(augmented, train)
            if name == "none":
                made = {"teacher": augmented.teacher, "student": student, "tree": augmented.plain}
                continue
            tail = f"held_{name}" if held else name
            found[f"student_{tail}"] = change(split.test, student, made["student"])
            if held:
                found[f"tree_{name}"] = change(split.test, augmented.plain, made["tree"])
                continue
            found[f"teacher_{name}"] = change(split.test, augmented.teacher, made["teacher"])
            members = augmented.teacher.signs
            found[f"passed_{name}"] = 100.0 * (members is not None and members.passed)
            if name == "wrong":
                told = {one.name: one.contradicted for one in describe_signs(train, plan.procedure.signs)}
                found["contradicted_wrong"] = 100.0 * told[first]
    return found


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    cells: list[dict[str, float]] = []
    with threadpool_limits(limits=1):
        for seed in range(1, 2 if quick else 4):
            for world in list(SIGNS)[: 1 if quick else None]:
                found = run_cell(world, seed, rows=ROWS)
                cells.append(found)
                say(f"{world}, seed {seed}: " + ", ".join(f"{key} {value:+.1f}" for key, value in found.items()))
    figures: dict[str, Any] = {"cells": len(cells), "rows": ROWS}
    for key in cells[0]:
        values = [found[key] for found in cells]
        figures[key] = round(float(np.mean(values)), 1)
        if not key.startswith(("passed", "contradicted")) and len(values) > 1:
            figures[f"{key}_se"] = round(float(np.std(values, ddof=1) / len(values) ** 0.5), 1)
    publish("signs", figures, quick=quick)


if __name__ == "__main__":
    main()
