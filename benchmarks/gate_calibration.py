"""How often does the gate accept what cannot help, what hurts, and what helps by a tenth?

    python benchmarks/gate_calibration.py [--quick] [--part NAME]

Augmentations that are null or harmful by construction, and one with a known gain (`_gate_worlds.py`), each on many
fresh tables; every gate test on the same folds, and the two published gates (`_published_gates.py`). The truth of each
run is the change of the error of the two final models on fresh rows.

- `false_accept`: share of runs of the null augmentations that the default gate accepts; `_interval`: 95 % (Wilson).
- `harm_accept`: the same of the harmful ones.  `power`: of the one that helps by a tenth, at 1000 rows.
- `..._published_research`, `..._published_package`: the same for the published gates.
- `tests`: all of these for every gate test; `..._NAME` for each augmentation by itself.
- `wrong`: among all runs, how often a gate accepted what made the final model worse on fresh rows.

A full run takes about a quarter of an hour of one core. `--part NAME` runs one augmentation, and goes on where it was
interrupted; what is kept is used by the next full run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from _gate_picture import draw
from _gate_worlds import SCENARIOS, truth, world
from _harness import publish, say
from _published_gates import published
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import Procedure, augment, fit_augmented
from crda_spec.gate.gate import FoldOutcome, Gate, repeats_of, run_fold
from crda_spec.gate.tests import TESTS, Bootstrap
from crda_spec.gate.verdict import paired_losses, passes, tested_p_value
from crda_spec.records import Table
from crda_spec.seeds import stream

RUNS = {"null": {1000: 100}, "harm": {1000: 100}, "gain": {1000: 200, 300: 100}, "open": {1000: 60}}
DEFAULT = "wilcoxon"
PARTS = Path(__file__).parent / "results" / "gate_calibration_parts"  # not kept in the repository


def gates() -> dict[str, Gate]:
    """Every test with ten folds; 5x2cv with its own; the corrected t-test also with three repeats."""
    found = {kind: Gate(test=test()) for kind, test in TESTS.items() if kind not in ("five_by_two", "bootstrap")}
    found["bootstrap"] = Gate(test=Bootstrap(resamples=999))
    found["five_by_two"] = Gate(test=TESTS["five_by_two"](), folds=2, repeats=5)
    return found


def outcomes_of(procedure: Procedure, train: Table, gate: Gate, seed: int) -> list[FoldOutcome]:
    return [
        run_fold(procedure, train, held, number, metric=gate.metric, seed=repeat.seed)
        for repeat in repeats_of(gate, train, seed=seed)
        for number, held in enumerate(repeat.held, start=1)
    ]


def one_run(procedure: Procedure, rows: int, seed: int) -> dict[str, Any]:
    """The true change in percent, and which gates accept."""
    rng = stream(seed, "calibration", rows)
    train, fresh = world(rows, rng), rng.normal(size=(10_000, 5))
    augmentation = augment(procedure, train, seed=seed, index=(0,))
    augmented = fit_augmented(augmentation, train, seed=seed, index=(0,))
    plain_error, new_error = (
        float(np.mean((model.predict(fresh) - truth(fresh)) ** 2)) + 1.0 for model in (augmentation.plain, augmented)
    )
    found: dict[str, Any] = {"change": 100.0 * (new_error / plain_error - 1.0)}
    by_layout: dict[tuple[int, int], list[FoldOutcome]] = {}
    for name, gate in gates().items():
        layout = (gate.folds, gate.repeats)
        if layout not in by_layout:
            by_layout[layout] = outcomes_of(procedure, train, gate, seed)
        outcomes = by_layout[layout]
        paired = paired_losses(outcomes, train)
        p = tested_p_value(gate, paired, seed=seed)
        found[name] = passes(gate, paired, [one.result for one in outcomes], p)
    for name, p in published(augmentation, train, seed=seed).items():
        found[f"published_{name}"] = p < 0.05
    return found


def part(name: str, *, quick: bool, more: bool = True) -> dict[str, list[dict[str, Any]]]:
    """By number of rows, all runs of one augmentation."""
    kept = PARTS / f"{name}.json"
    kind, procedures = SCENARIOS[name]
    found: dict[str, list[dict[str, Any]]] = {}
    if kept.exists() and not quick:
        found = json.loads(kept.read_text(encoding="utf-8"))
    for rows, runs in RUNS[kind].items():
        done = found.setdefault(str(rows), [])
        for seed in range(len(done), (2 if quick else runs) if more else 0):
            done.append(one_run(procedures[rows], rows, seed))
            if (seed + 1) % 10 == 0:
                say(f"{name}, {rows} rows: {seed + 1} of {runs}")
                PARTS.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def wilson(hits: int, runs: int) -> list[float]:
    """The 95 % interval of a share."""
    z, share = 1.96, hits / runs
    middle = (share + z**2 / (2 * runs)) / (1 + z**2 / runs)
    half = z * np.sqrt(share * (1 - share) / runs + z**2 / (4 * runs**2)) / (1 + z**2 / runs)
    return [round(float(middle - half), 4), round(float(middle + half), 4)]


def figures_of(parts: Mapping[str, Mapping[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    """The shares, pooled and one by one."""
    judges = [*gates(), "published_research", "published_package"]
    figures: dict[str, Any] = {"default": DEFAULT, "runs": {}, "true_change": {}, "tests": {}}
    for name, by_rows in parts.items():
        for rows, found in by_rows.items():
            changes = np.array([run["change"] for run in found])
            mean, error = changes.mean(), changes.std(ddof=1) / np.sqrt(len(changes))
            figures["runs"][f"{name}_{rows}"] = len(found)
            figures["true_change"][f"{name}_{rows}"] = [round(float(mean), 2), round(float(error), 2)]
    for judge in judges:
        told: dict[str, Any] = {}
        for key, kind, rows_wanted in (
            ("false_accept", "null", ("1000",)),
            ("harm_accept", "harm", ("1000",)),
            ("power", "gain", ("1000",)),
            ("power_300", "gain", ("300",)),
        ):
            pooled = [
                run[judge]
                for name, by_rows in parts.items()
                if SCENARIOS[name][0] == kind
                for rows in rows_wanted
                for run in by_rows.get(rows, ())
            ]
            if pooled:
                told[key] = round(float(np.mean(pooled)), 4)
                told[f"{key}_interval"] = wilson(int(np.sum(pooled)), len(pooled))
        every = [run for by_rows in parts.values() for found in by_rows.values() for run in found]
        told["wrong"] = round(float(np.mean([run[judge] and run["change"] > 0 for run in every])), 4)
        told["agreement"] = round(float(np.mean([run[judge] == (run["change"] < 0) for run in every])), 4)
        for name, by_rows in parts.items():
            for rows, found in by_rows.items():
                told[f"{name}_{rows}"] = round(float(np.mean([run[judge] for run in found])), 4)
        figures["tests"][judge] = told
    for key in ("false_accept", "harm_accept", "power", "power_300"):
        for suffix, judge in (("", DEFAULT), *((f"_{name}", name) for name in judges[-2:])):
            if key in figures["tests"][judge]:
                figures[f"{key}{suffix}"] = figures["tests"][judge][key]
                figures[f"{key}{suffix}_interval"] = figures["tests"][judge][f"{key}_interval"]
    return figures


def table_of(figures: Mapping[str, Any]) -> None:
    """For people."""
    columns = ("false_accept", "harm_accept", "power", "power_300", "wrong", "agreement")
    say(f"{'':20}" + "".join(f"{column:>14}" for column in columns))
    for judge, told in figures["tests"].items():
        say(f"{judge:20}" + "".join(f"{told.get(column, float('nan')):14.3f}" for column in columns))
    say("true change in percent: " + ", ".join(f"{k} {v[0]:+.1f}" for k, v in figures["true_change"].items()))


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--kept", action="store_true", help="run nothing, use the runs that are kept")
    parser.add_argument("--part", choices=sorted(SCENARIOS), help="run one augmentation and keep its runs")
    asked = parser.parse_args()
    with threadpool_limits(limits=1):
        if asked.part:
            part(asked.part, quick=False)
            return
        parts = {name: part(name, quick=asked.quick, more=not asked.kept) for name in SCENARIOS}
    figures = figures_of(parts)
    table_of(figures)
    if not asked.quick:
        draw(figures)
    publish("gate_calibration", figures, quick=asked.quick)


if __name__ == "__main__":
    main()
