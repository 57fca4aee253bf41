"""Does the gate keep its level and power where the calibration study does not look?

It looks at one tree and plain rows. Here: XGBoost, two starts, the best of ten candidates, weighted rows, rows in time.

    python benchmarks/gate_levels.py [--quick] [--seconds N] [--workers N]

- `false_accept_best_of_ten`: ten candidates that cannot help, 300 rows; an inner cross-validation chooses inside every
  fold and one test judges the choice. `..._naive`: every candidate is gated by itself on the same folds, and the one
  with the least mean loss is believed if its own test passes.
- `false_accept_boosted_TEST`, `power_boosted_TEST`: XGBoost of 40 trees, which differ less from each other than single
  trees do.
- `false_accept_starts_TEST`, `power_starts_TEST`: both models of a fold trained twice (`gate.restarts: 2`).
- `false_accept_weighted_TEST`, `power_weighted_TEST`: rows whose weights are drawn from an exponential distribution.
- `false_accept_in_time_TEST`, `power_in_time_TEST`: folds that run forward over rows that are like their neighbours in
  time, features as well as noise (autocorrelation 0.7).

Each with `_interval` (95 %, Wilson) and `_runs`; 1000 rows but for the first. What cannot help are `halves` and
`rerolled` of `_gate_worlds.py`, which are null exactly, whatever rows weigh and however they follow each other. What
helps is `ten_percent`; what it gains here was not set to be a tenth and is told (`true_change_...`, percent, by the
mean held-out loss of both arms). XGBoost has its own two (`BOOSTED_NULL`, `BOOSTED_GAIN`). Runs are kept in
results/gate_levels_parts, and a study that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from _gate_runs import Losses, losses_of
from _gate_worlds import BOOSTED_GAIN, BOOSTED_NULL, COLUMNS, SCENARIOS, TEN_NULLS, truth, world
from _harness import RESULTS, publish, say, share
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from crda_spec.counterfactual.procedure import Procedure
from crda_spec.counterfactual.tuning import Candidates
from crda_spec.gate.cross_validate import FoldOutcome, divisions, run_fold
from crda_spec.gate.tests import TESTS, Gate, wilcoxon_p_value
from crda_spec.gate.verdict import paired_losses, passes, tested_p_value
from crda_spec.records import Array, Table
from crda_spec.seeds import stream

ALPHA = 0.05
PARTS = RESULTS / "gate_levels_parts"  # not kept in the repository
LIKENESS = 0.7  # of a row and the next one in time
PROCEDURES: dict[str, Procedure] = {
    **{name: SCENARIOS[name][2] for name in ("halves", "rerolled", "ten_percent")},
    "boosted_halves": BOOSTED_NULL,
    "boosted_gain": BOOSTED_GAIN,
}
NULLS, GAIN = ("halves", "rerolled"), ("ten_percent",)
GATES = {
    "boosted": {"wilcoxon": (10, 1), "clustered": (6, 2), "corrected_t": (10, 1), "bootstrap": (10, 1)},
    "starts": {"wilcoxon": (10, 1), "clustered": (6, 2), "corrected_t": (10, 1), "bootstrap": (10, 1)},
    "weighted": {"wilcoxon": (10, 1), "clustered": (6, 2), "corrected_t": (10, 1), "bootstrap": (10, 1)},
    "in_time": {"wilcoxon": (10, 1), "clustered": (10, 1), "corrected_t": (10, 1), "bootstrap": (10, 1)},
}
RUNS = {"boosted": 200, "starts": 150, "best_of_ten": 200, "weighted": 100, "in_time": 100}  # of each augmentation
Found = dict[str, Any]


def best_of_ten(name: str, seed: int, rows: int) -> Found:
    """Whether the best of ten is accepted, chosen on the gate's own folds and chosen inside each fold."""
    del name
    train = world(rows, stream(seed, "candidates", rows))
    differences = [_differences(losses_of(one, train, (10, 1), seed=seed)) for one in TEN_NULLS.values()]
    best = min(differences, key=lambda difference: float(difference.mean()))
    first = next(iter(TEN_NULLS.values()))
    nested = losses_of(replace(first, tuner=Candidates(named=TEN_NULLS)), train, (10, 1), seed=seed)
    return {"naive": _accepts(best), "nested": _accepts(_differences(nested))}


def _differences(losses: Losses) -> Array:
    """(10,) augmented - plain, a number a fold."""
    results = [outcome.result for outcome in losses.outcomes(1)]
    return np.array([result.augmented - result.plain for result in results])


def _accepts(difference: Array) -> bool:
    return bool(difference.mean() < 0.0 and wilcoxon_p_value(difference, "less") < ALPHA)


def boosted(name: str, seed: int, rows: int) -> Found:
    """Which gates accept this augmentation for XGBoost."""
    return _judged("boosted", name, world(rows, stream(seed, "boosted", rows)), seed)


def starts(name: str, seed: int, rows: int) -> Found:
    """Which gates accept this augmentation when they train every model twice."""
    return _judged("starts", name, world(rows, stream(seed, "starts", rows)), seed, starts=2)


def weighted(name: str, seed: int, rows: int) -> Found:
    """Which gates accept this augmentation of weighted rows."""
    rng = stream(seed, "weighted", rows)
    train = replace(world(rows, rng), weights=rng.exponential(size=rows) + 0.01)
    return _judged("weighted", name, train, seed)


def in_time(name: str, seed: int, rows: int) -> Found:
    """Which gates accept this augmentation of rows in the order of time."""
    rng = stream(seed, "in-time", rows)
    x, noise = _follow(rng, rows, len(COLUMNS)), _follow(rng, rows, 1)[:, 0]
    bare = world(rows, rng)
    train = replace(bare, x=x, y=truth(x) + noise, times=np.arange(rows))
    return _judged("in_time", name, train, seed)


def _follow(rng: np.random.Generator, rows: int, width: int) -> Array:
    """(rows, width) standard normal numbers, each like the one before it."""
    found = rng.normal(size=(rows, width))
    for row in range(1, rows):
        found[row] = LIKENESS * found[row - 1] + np.sqrt(1.0 - LIKENESS**2) * found[row]
    return found


def _judged(way: str, name: str, train: Table, seed: int, *, starts: int = 1) -> Found:
    procedure = PROCEDURES[name]
    outcomes: dict[tuple[int, int], list[FoldOutcome]] = {}
    told: Found = {}
    for kind, layout in GATES[way].items():
        gate = TESTS[kind]().model_copy(
            update={"folds": layout[0], "repeats": layout[1], "restarts": starts, "alpha": ALPHA}
        )
        if layout not in outcomes:
            outcomes[layout] = list(_folds(gate, procedure, train, seed))
        done = outcomes[layout]
        paired, results = paired_losses(done, train), [one.result for one in done]
        told[kind] = bool(passes(gate, paired, results, tested_p_value(gate, paired, seed=seed)))
    first = [one.result for one in outcomes[10, 1]]
    return told | {"plain": sum(one.plain for one in first), "augmented": sum(one.augmented for one in first)}


def _folds(gate: Gate, procedure: Procedure, train: Table, seed: int) -> Iterator[FoldOutcome]:
    for repeat in divisions(gate, train, seed=seed):
        for number in range(1, gate.folds + 1):
            yield run_fold(procedure, train, repeat, number, metric=gate.loss, restarts=gate.restarts)


# How a table is made and judged, what cannot help it and what does, its rows.
WAYS: Mapping[str, tuple[Callable[[str, int, int], Found], Sequence[str], Sequence[str], int]] = {
    "boosted": (boosted, ("boosted_halves",), ("boosted_gain",), 1000),
    "starts": (starts, NULLS, GAIN, 1000),
    "best_of_ten": (best_of_ten, ("rerolled",), (), 300),
    "weighted": (weighted, NULLS, GAIN, 1000),
    "in_time": (in_time, NULLS, GAIN, 1000),
}


def one_run(way: str, name: str, seed: int, rows: int) -> Found:
    """One table, one augmentation, judged."""
    work = WAYS[way][0]
    with threadpool_limits(limits=1), sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        return {"seed": seed, **work(name, seed, rows)}


def kept(way: str, name: str) -> list[Found]:
    """The runs that are there."""
    file = _file(way, name)
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def _file(way: str, name: str) -> Path:
    return PARTS / f"{way}-{name}.jsonl"


def measure(*, until: float, workers: int) -> bool:
    """Runs what is missing until the clock says so; whether all of it is there."""
    PARTS.mkdir(parents=True, exist_ok=True)
    for way, (_, nulls, gains, rows) in WAYS.items():
        for name in (*nulls, *gains):
            missing = list(range(len(kept(way, name)), RUNS[way]))
            for start in range(0, len(missing), 20):
                if time.monotonic() > until:
                    return False
                some = missing[start : start + 20]
                found = Parallel(n_jobs=workers)(delayed(one_run)(way, name, seed, rows) for seed in some)
                with _file(way, name).open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(one) + "\n" for one in found)
                say(f"{way}, {name}: {some[-1] + 1} of {RUNS[way]}")
    return True


def figures_of(runs: Mapping[tuple[str, str], Sequence[Found]]) -> dict[str, Any]:
    """Everything that is published."""
    choices = runs["best_of_ten", "rerolled"]
    figures: dict[str, Any] = {}
    for end, rule in (("", "nested"), ("_naive", "naive")):
        figures |= share(f"false_accept_best_of_ten{end}", [one[rule] for one in choices])
    for way, gates in GATES.items():
        _, nulls, gains, _ = WAYS[way]
        for kind in gates:
            for key, names in (("false_accept", nulls), ("power", gains)):
                figures |= share(f"{key}_{way}_{kind}", [one[kind] for name in names for one in runs[way, name]])
        for name in (*nulls, *gains):
            before, after = (sum(one[arm] for one in runs[way, name]) for arm in ("plain", "augmented"))
            figures[f"true_change_{way}_{name}"] = round(100.0 * (after / before - 1.0), 2)
    return figures


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after about this long, to go on later")
    parser.add_argument("--workers", type=int, default=1, help="how many processes")
    asked = parser.parse_args()
    every = [(way, name) for way, (_, nulls, gains, _) in WAYS.items() for name in (*nulls, *gains)]
    if asked.quick:
        runs = {(way, name): [one_run(way, name, seed, 120) for seed in range(2)] for way, name in every}
    else:
        whole = measure(until=time.monotonic() + asked.seconds, workers=asked.workers)
        runs = {(way, name): kept(way, name)[: RUNS[way]] for way, name in every}
        if not whole:
            say("there is more to run: call it again")
            return
    figures = figures_of(runs)
    for key, value in figures.items():
        if not key.endswith(("_interval", "_runs")):
            say(f"{key:44}{value:10.4f}  {figures.get(f'{key}_interval', '')}")
    publish("gate_levels", figures, quick=asked.quick)


if __name__ == "__main__":
    main()
