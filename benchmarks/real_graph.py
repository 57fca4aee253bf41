"""Does a graph from the literature pay on a real table? Cells of Sachs et al. (2005), and their consensus graph.

    python benchmarks/real_graph.py [--quick]        (needs: pip install --no-deps cdt)

Eleven proteins in 7466 cells (examples/sachs), eight of them predicted in turn from the ten others, 100 and 200
training rows, 2000 test rows, no gate. The graph describes the cell, and is only nearly right for the table, whose
rows come from nine experiments. Figures: the change of the test MSE against one plain model of all columns, in
percent, negative is better; the mean over targets and splits. For `mlp` and `xgb`, each with `_100` and `_200`:

- `..._plain_boundary`: no augmentation, but a model of the boundary's columns alone.
- `..._distilled`: the recipe without a graph.  `..._certified`: the recipe with it.
- `..._committee`, `..._hedged`: what teaches the one and the other.
- `graph_points_...`: certified minus distilled, and its standard error over targets and splits (`..._se`).
- `turned_points_...`: the same with every arrow of the graph turned round.
- `trusted_...`: the share of cells in which the trust test passes, in percent.

Knobs were chosen with these cells among the study's, on splits 101 to 103; these are other splits of the same cells.
"""

from __future__ import annotations

import runpy
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from _harness import arguments, publish, say
from known_graph import KINDS, change, models_of
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import augment, fit_augmented
from crda_spec.pipeline import Plan
from crda_spec.regressors import Fitter
from crda_spec.regressors.fit import student_seed
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

EXAMPLE = Path(__file__).parents[1] / "examples" / "sachs"
TARGETS = ("akt", "erk", "mek", "raf", "jnk", "p38", "pip2", "pkc")
SIZES, SPLITS, TEST_ROWS = (100, 200), (1, 2), 2000


def planned(folder: Path, target: str, kind: str, recipe: str, seed: int, *, turned: bool = False) -> Plan:
    """The example's spec, with another target, student and recipe."""
    spec = yaml.safe_load((EXAMPLE / "spec.yaml").read_text(encoding="utf-8"))
    spec |= {"seed": seed, "recipe": recipe, "regressor": {"kind": KINDS[kind]}}
    spec["dataset"]["target"] = target
    if turned:
        spec["causal"]["graph"]["edges"] = [edge.replace("->", "<-") for edge in spec["causal"]["graph"]["edges"]]
    file = folder / "spec.yaml"
    file.write_text(yaml.safe_dump(spec), encoding="utf-8")
    return build_plan(*load_spec(file))


def run_cell(folder: Path, target: str, kind: str, seed: int) -> dict[str, float]:
    """All figures of one target and student on the cells in the folder."""
    plan = planned(folder, target, kind, "certified", seed)
    split, _ = plan.load()
    train, test = split.train, split.test
    known = models_of(plan, train, None)
    context = known.on_all_rows()
    plain = context.plain
    assert plain is not None
    columns = train.positions(plan.procedure.partitioner.boundary(train.names))
    fitter = Fitter(plan.procedure.regressor, plan.procedure.fill)
    other = augment(planned(folder, target, kind, "distilled", seed).procedure, train, context)
    made = augment(plan.procedure, train, context)
    backwards = planned(folder, target, kind, "certified", seed, turned=True)
    wrong = augment(backwards.procedure, train, models_of(backwards, train, known).on_all_rows())
    return {
        "plain_boundary": change(test, fitter.fit(train, seed=student_seed(seed, (0,)), columns=columns), plain),
        "distilled": change(test, fit_augmented(other, train), plain),
        "certified": change(test, fit_augmented(made, train), plain),
        "committee": change(test, other.teacher, plain),
        "hedged": change(test, made.teacher, plain),
        "turned": change(test, fit_augmented(wrong, train), plain),
        "trusted": 100.0 * (made.teacher.trust is None or made.teacher.trust.passed),
    }


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    example = runpy.run_path(str(EXAMPLE / "get_data.py"))
    if find_spec(example["PACKAGE"]) is None:
        say("skipped: the package cdt, which holds the table, is not installed: pip install --no-deps cdt")
        publish("real_graph", {"skipped": "the package cdt is not installed"}, quick=True)
        return
    cells, figures = example["table"](), {}
    for kind in KINDS:
        for size in SIZES[: 1 if quick else None]:
            found: list[dict[str, float]] = []
            for seed in SPLITS[: 1 if quick else None]:
                order = np.random.default_rng(seed).permutation(len(cells))
                with tempfile.TemporaryDirectory() as name, threadpool_limits(limits=1):
                    folder = Path(name)
                    cells.iloc[order[:size]].to_csv(folder / "cells.csv", index=False)
                    cells.iloc[order[size : size + TEST_ROWS]].to_csv(folder / "more_cells.csv", index=False)
                    for target in TARGETS[: 1 if quick else None]:
                        found.append(run_cell(folder, target, kind, seed))
                        told = ", ".join(f"{key} {value:+.1f}" for key, value in found[-1].items())
                        say(f"{kind} {target}, {size} rows, split {seed}: {told}")
            figures |= summary(found, kind, size)
    publish("real_graph", figures, quick=quick)


def summary(found: list[dict[str, float]], kind: str, size: int) -> dict[str, Any]:
    """Means over targets and splits."""
    figures: dict[str, Any] = {
        f"{kind}_{key}_{size}": round(float(np.mean([one[key] for one in found])), 1)
        for key in ("plain_boundary", "distilled", "certified", "committee", "hedged", "trusted")
    }
    for name, key in (("graph_points", "certified"), ("turned_points", "turned")):
        points = [one[key] - one["distilled"] for one in found]
        figures[f"{name}_{kind}_{size}"] = round(float(np.mean(points)), 1)
        if len(points) > 1:
            figures[f"{name}_{kind}_{size}_se"] = round(float(np.std(points, ddof=1) / len(points) ** 0.5), 1)
    return figures


if __name__ == "__main__":
    main()
