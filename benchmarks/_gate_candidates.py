"""Ten augmentations that cannot help: how often is the best of them accepted?

naive: every candidate is gated by itself on the same folds, and the one with the least mean loss is believed if its own
test passes. nested: as the gate does it, an inner cross-validation chooses inside every fold and one test judges
the choice. The candidates are null exactly (`rerolled` in `_gate_worlds.py`).
"""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
from _gate_runs import PARTS, Losses, losses_of
from _gate_worlds import TEN_NULLS, world
from _harness import say

from crda_spec.counterfactual.tuning.candidates import Candidates
from crda_spec.gate.tests import wilcoxon_p_value
from crda_spec.records import Array
from crda_spec.seeds import stream

RUNS, ROWS, ALPHA = 100, 300, 0.05
FILE = PARTS / "best_of_ten.jsonl"


def one_choice(seed: int, *, rows: int = ROWS) -> dict[str, bool]:
    """Whether the best of ten is accepted, chosen on the gate's own folds and chosen inside each fold."""
    train = world(rows, stream(seed, "candidates", rows))
    differences = [_differences(losses_of(one, train, (10, 1), seed=seed)) for one in TEN_NULLS.values()]
    best = min(differences, key=lambda difference: float(difference.mean()))
    first = next(iter(TEN_NULLS.values()))
    nested = losses_of(replace(first, tuner=Candidates(named=TEN_NULLS)), train, (10, 1), seed=seed)
    return {"naive": _accepts(best), "nested": _accepts(_differences(nested)), "one": _accepts(differences[0])}


def _differences(losses: Losses) -> Array:
    """(10,) augmented - plain, a number a fold."""
    results = [outcome.result for outcome in losses.outcomes(1)]
    return np.array([result.augmented - result.plain for result in results])


def _accepts(difference: Array) -> bool:
    return bool(difference.mean() < 0.0 and wilcoxon_p_value(difference, "less") < ALPHA)


def run_choices(*, until: float, runs: int = RUNS) -> bool:
    """Runs what is missing until the clock says so; whether all of it is there."""
    PARTS.mkdir(parents=True, exist_ok=True)
    for seed in range(len(kept_choices()), runs):
        if time.monotonic() > until:
            return False
        found = one_choice(seed)
        with FILE.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        if (seed + 1) % 10 == 0:
            say(f"best of ten: {seed + 1} of {runs}")
    return True


def kept_choices() -> list[dict[str, bool]]:
    """The runs that are there."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []
