"""What do the recipes give one model, on equal footing and without leaks?

    CRDA_DATA_DIR=/folder/of/tables python benchmarks/recipes.py [--quick] [--seeds N] [--workers N] ...

For each table and seed: about 1000 rows, 80 % to train, 20 % to test. One plain model against one augmented model of
the same kind and settings, the paper's modal ones. The figure is the change of the test MSE in percent, negative is
better, averaged over seeds, then over tables. For `mlp` and `xgb` (XGBoost):

- `..._paper`: Algorithm 1 as written, leaks removed, no gate.
- `..._distilled`: our recipe, no gate.
- `..._distilled_gated`: the same with its gate; where the gate does not accept, the plain model is used: 0 %.
- `..._distilled_expected`: the same models trained from several random states (`--restarts`), mean MSE against mean
  MSE: what one model may expect, where one pair of networks is mostly luck. The teacher is the same for all.
  `..._distilled_expected_gated`: with the gate's verdict.
- `..._distilled_cv`: what the gate saw: the change of the mean held-out MSE over its ten folds, ten plain models
  against ten augmented ones, each scored on rows it has not seen. One model's luck counts a tenth there; the teacher
  is a little weaker than the final one, and the test rows take no part.
- `..._plain_ensemble`: no augmentation, but ten models, each without a tenth of the rows, in place of one: not one
  model against one, but what the cost of a teacher would buy otherwise.
- `..._teacher`: the committee itself, many models of several kinds: what the student is taught.

Each with `..._worst_table` (the largest mean change of a table), `..._geometric` (the geometric mean over tables),
`..._better` (tables with a gain) and `..._se` (the standard error over seeds of the mean over tables). The same with
`_others` on tables that are not the paper's, some nearly noise-free and collinear (`_tables.py`). `..._tables` has the
means by table. Gates cost ten times as much, so they may run on fewer seeds than the rest
(`mlp_gated_seeds`, `xgb_gated_seeds`). The figures do not depend on the number of workers.

Finished pieces are kept in results/recipes.jsonl, and a run that was interrupted goes on from there; remove the file to
start anew.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import RESULTS, publish, say
from _tables import NINE, OTHERS, Bench
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import augment, fit_augmented, refit_with_seed
from crda_spec.data.sources.benchmark import BENCHMARKS
from crda_spec.gate.cross_validate import cross_validate, divisions, fold_models, restart_seeds
from crda_spec.gate.verdict import judge
from crda_spec.pipeline import Plan
from crda_spec.records import Predictor
from crda_spec.regressors import Fitter
from crda_spec.regressors.teachers import CrossfitTeacher, FoldContext
from crda_spec.spec.build import build_plan
from crda_spec.spec.check import load_spec

KINDS = {"mlp": "mlp", "xgb": "xgboost"}
KEPT = RESULTS / "recipes.jsonl"
Figures = dict[str, float]
Piece = tuple[str, str, int, str, bool]  # group, table, seed, kind, gated


def planned(bench: Bench, regressor: str, recipe: str, seed: int, rows: int, **more: object) -> Plan:
    """The plan of a spec that says nothing but table, regressor and recipe, unless it is told more."""
    spec = {
        "version": 1,
        "name": "recipes",
        "seed": seed,
        "recipe": recipe,
        "dataset": bench.dataset(rows),
        "regressor": {"kind": regressor},
        **more,
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.yaml"
        file.write_text(json.dumps(spec), encoding="utf-8")
        return build_plan(*load_spec(file))


def paper(plan: Plan) -> Figures:
    """Algorithm 1 on all training rows; no gate."""
    split, _ = plan.load()
    augmentation = augment(plan.procedure, split.train, FoldContext(seed=plan.seed))
    augmented = fit_augmented(augmentation, split.train)
    plain = np.mean(split.test.errors(augmentation.plain) ** 2)
    return {"paper": float(100 * (np.mean(split.test.errors(augmented) ** 2) / plain - 1))}


def distilled(plan: Plan, *, gated: bool, restarts: int) -> Figures:
    """Our recipe as the pipeline runs it, from several random states too, its teacher, ten plain models, the gate."""
    split, _ = plan.load()
    train, procedure, seed = split.train, plan.procedure, plan.seed
    repeats = divisions(plan.gate, train, seed=seed)
    models = fold_models(procedure, train, repeats[0])
    assert models.shares
    models.fit(models.first)
    augmentation = augment(procedure, train, models.on_all_rows())

    def cost(model: Predictor) -> float:
        return float(np.mean(split.test.errors(model) ** 2))

    plain, taught = [cost(augmentation.plain)], [cost(fit_augmented(augmentation, train))]
    fitter = Fitter(procedure.regressor, procedure.fill)
    ensemble = CrossfitTeacher(folds=10).teach(train, fitter, augmentation.plain, FoldContext(seed=seed))
    found = {
        "distilled": 100 * (taught[0] / plain[0] - 1),
        "plain_ensemble": 100 * (cost(ensemble) / plain[0] - 1),
        "teacher": 100 * (cost(augmentation.teacher) / plain[0] - 1),
    }
    for own in restart_seeds(seed, restarts)[1:]:
        again = refit_with_seed(augmentation, train, own)
        plain.append(cost(again.plain))
        taught.append(cost(fit_augmented(again, train)))
    found["distilled_expected"] = float(100 * (np.mean(taught) / np.mean(plain) - 1))
    if gated:
        done = cross_validate(procedure, train, repeats, models, plan.gate)
        verdict = judge(plan.gate, done.outcomes, train, seed=seed)
        found["accepted"] = float(verdict.accepted)
        found["distilled_cv"] = float(verdict.effect_percent or 0.0)
        found["distilled_gated"] = found["accepted"] * found["distilled"]
        found["distilled_expected_gated"] = found["accepted"] * found["distilled_expected"]
    return found


def pieces(args: argparse.Namespace) -> Iterator[Piece]:
    """(group, table, seed, kind, gated), seed by seed."""
    if args.quick:
        yield from (("nine", table, 1, kind, kind == "xgb") for table in args.nine[:1] for kind in args.kinds)
        yield from (("others", "collinear", 1, kind, False) for kind in args.kinds)
        return
    for seed in range(1, args.seeds + 1):
        gated = seed <= args.gated_seeds
        yield from (("nine", table, seed, kind, gated) for table in args.nine for kind in args.kinds)
        if seed <= args.other_seeds:
            gated = seed <= args.other_gated_seeds
            yield from (("others", table, seed, kind, gated) for table in OTHERS for kind in args.kinds)


def figures_of(piece: Piece, known: Figures, *, rows: int, restarts: int) -> tuple[Piece, Figures]:
    """What is known of a piece already, and what had to be measured, on one thread."""
    group, table, seed, kind, gated = piece
    bench = (NINE if group == "nine" else OTHERS)[table]
    figures = dict(known)
    with threadpool_limits(limits=1):
        if "paper" not in figures:
            figures |= paper(planned(bench, KINDS[kind], "paper", seed, rows))
        if "distilled" not in figures or (gated and "accepted" not in figures):
            plan = planned(bench, KINDS[kind], "distilled", seed, rows)
            figures |= distilled(plan, gated=gated, restarts=restarts)
    return piece, figures


def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Every piece, as far as it is in the file already from there."""
    lines = [] if args.quick or not KEPT.is_file() else KEPT.read_text(encoding="utf-8").splitlines()
    known = {(one["group"], one["table"], one["seed"], one["kind"]): one["figures"] for one in map(json.loads, lines)}
    todo, found = list(pieces(args)), {}
    rows, restarts = (300, 2) if args.quick else (1000, args.restarts)
    tasks = (delayed(figures_of)(piece, known.get(piece[:4], {}), rows=rows, restarts=restarts) for piece in todo)
    for piece, figures in Parallel(n_jobs=args.workers, return_as="generator_unordered")(tasks):
        group, table, seed, kind, _ = piece
        found[piece] = {"group": group, "table": table, "seed": seed, "kind": kind, "figures": figures}
        if not args.quick and figures != known.get(piece[:4]):
            _keep(found[piece])
        shown = ", ".join(f"{name} {value:+.1f}" for name, value in figures.items() if name != "accepted")
        say(f"[{len(found)}/{len(todo)}] {kind} {table}, seed {seed}: {shown}")
    return [found[piece] for piece in todo]


def _keep(piece: dict[str, Any]) -> None:
    """One line more; a later line for the same piece stands in for an earlier one."""
    RESULTS.mkdir(exist_ok=True)
    with KEPT.open("a", encoding="utf-8") as file:
        file.write(json.dumps(piece) + "\n")


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, then over tables, and what goes with them."""
    result: dict[str, Any] = {}
    ours = ("distilled", "distilled_gated", "distilled_expected", "distilled_expected_gated", "distilled_cv")
    arms = ("paper", *ours, "plain_ensemble", "teacher")
    for group, tail in (("nine", ""), ("others", "_others")):
        for kind in KINDS:
            for arm in arms:
                mine = [r for r in rows if r["group"] == group and r["kind"] == kind and arm in r["figures"]]
                if mine:
                    result |= {f"{kind}_{arm}{key}{tail}": value for key, value in _figures(mine, arm).items()}
            mine = [r["figures"] for r in rows if r["group"] == group and r["kind"] == kind]
            gates = [figures for figures in mine if "accepted" in figures]
            if gates:
                result[f"{kind}_accepted{tail}"] = round(float(np.mean([one["accepted"] for one in gates])), 3)
    return result


def _figures(mine: Sequence[dict[str, Any]], arm: str) -> dict[str, Any]:
    tables = list(dict.fromkeys(row["table"] for row in mine))
    seeds = sorted({row["seed"] for row in mine})
    means = {t: float(np.mean([row["figures"][arm] for row in mine if row["table"] == t])) for t in tables}
    changes = np.array(list(means.values()))
    by_seed = [np.mean([row["figures"][arm] for row in mine if row["seed"] == seed]) for seed in seeds]
    return {
        "": round(float(changes.mean()), 1),
        "_worst_table": round(float(changes.max()), 1),
        "_geometric": round(float(100 * (np.exp(np.log1p(changes / 100).mean()) - 1)), 1),
        "_better": int((changes < 0).sum()),
        "_se": round(float(np.std(by_seed, ddof=1) / np.sqrt(len(seeds))), 1) if len(seeds) > 1 else None,
        "_tables": {name: round(value, 1) for name, value in means.items()},
    }


def show(figures: dict[str, Any]) -> None:
    """The table for people."""
    say(f"\n{'mean change of test MSE, %':34}{'mean':>8}{'geom.':>8}{'worst':>8}{'better':>8}{'s.e.':>7}")
    for key in [key for key in figures if "_geometric" in key]:
        arm, tail = key.split("_geometric")
        part = {name: figures[f"{arm}_{name}{tail}"] for name in ("geometric", "worst_table", "better", "se", "tables")}
        error = "" if part["se"] is None else f"{part['se']:.1f}"
        better = f"{part['better']}/{len(part['tables'])}"
        say(
            f"{arm + tail:34}{figures[arm + tail]:+8.1f}{part['geometric']:+8.1f}{part['worst_table']:+8.1f}"
            f"{better:>8}{error:>7}"
        )


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--seeds", type=int, default=5, help="splits for each table")
    parser.add_argument("--gated-seeds", type=int, default=5, help="on how many of them the gate runs too")
    parser.add_argument("--other-seeds", type=int, default=2, help="splits for each table that is not the paper's")
    parser.add_argument("--other-gated-seeds", type=int, default=1, help="on how many of them the gate runs too")
    parser.add_argument("--restarts", type=int, default=3, help="random states of both models, for what one may expect")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="which students")
    parser.add_argument("--workers", type=int, default=1, help="how many processes")
    args = parser.parse_args()
    folder = Path(os.environ.get("CRDA_DATA_DIR", ""))
    args.nine = []
    for name in NINE:
        if (folder / BENCHMARKS[name].file).is_file():
            args.nine.append(name)
        else:
            say(f"{name}: skipped, {BENCHMARKS[name].file} is not in the folder that CRDA_DATA_DIR names")
    rows = measure(args)
    figures = {"seeds": len({row["seed"] for row in rows}), **summary(rows)}
    for kind in args.kinds:
        gates = {row["seed"] for row in rows if row["kind"] == kind and "accepted" in row["figures"]}
        figures[f"{kind}_gated_seeds"] = len(gates)
    show(figures)
    publish("recipes", figures, quick=args.quick)


if __name__ == "__main__":
    main()
