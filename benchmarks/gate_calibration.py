"""How often does the gate accept what cannot help, what hurts, and what helps by a tenth?

    python benchmarks/gate_calibration.py [--quick] [--seconds N] [--kept]

Augmentations that are null or harmful by construction, and two with a known gain (`_gate_worlds.py`), each on many
fresh tables; every gate test on the same held-out rows (`_gate_judges.py`), and the two published gates. The truth of
each run is the change of the error of the two final models on 10 000 fresh rows.

- `false_accept`: share of the runs of all null augmentations that the default gate accepts; `_interval`: 95 % (Wilson).
- `harm_accept`: of the harmful ones.  `power`: of the tree that gains a tenth.
- `..._published_research`, `..._published_package`: the same for the published gates.
- `tests`: all of these for every gate test; `..._NAME` for each augmentation by itself.
- `trade_off`: for every test, number of folds and repeats: fits, false accepts and power.
- `wrong`: among all runs, how often a gate accepted what made the final model worse on fresh rows.

A full run takes about an hour and a half of one core. It goes on where it was interrupted: `--seconds N` ends it
after about that long, and `--kept` runs nothing and tells what is there. `gate_levels.py` looks at XGBoost, candidates,
weights and rows in time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import sklearn
from _gate_judges import Judge, judged, judged_piece, judges, trade_off
from _gate_picture import draw
from _gate_runs import PUBLISHED, one_run, pieces, run_part
from _gate_worlds import SCENARIOS
from _harness import publish, say, share
from threadpoolctl import threadpool_limits

DEFAULT = "wilcoxon"
KEYS = {"false_accept": ("null", 1000), "harm_accept": ("harm", 1000), "power": ("gain", 1000)}
MORE_KEYS = {"power_300": ("gain", 300)}
_FEW_ROWS = 120
Judged = dict[str, list[dict[str, Any]]]  # by augmentation and rows, as `halves_1000`


def measure(*, seconds: float) -> bool:
    """Runs what is missing; whether all of it is there."""
    until = time.monotonic() + seconds
    return all(run_part(name, until=until) for name in SCENARIOS)


def kept(panel: Mapping[str, Judge]) -> Judged:
    """What the judges say of all runs that are there."""
    found: Judged = {}
    for name, (_, by_rows, _) in SCENARIOS.items():
        for rows in by_rows:
            files = pieces(name, rows)
            found[f"{name}_{rows}"] = [one for file in files for one in judged_piece(file, panel)]
            say(f"judged {name}, {rows} rows: {len(found[f'{name}_{rows}'])} runs")
    return {name: runs for name, runs in found.items() if runs}


def quickly(panel: Mapping[str, Judge]) -> Judged:
    """The same code on very few and small tables, under the names of the large ones."""
    found: Judged = {}
    for name, (_, by_rows, _) in SCENARIOS.items():
        runs = [judged(one_run(name, _FEW_ROWS, seed), panel, seed=seed) for seed in range(2)]
        found |= {f"{name}_{rows}": runs for rows in by_rows}
    return found


def _of(found: Judged, kind: str, rows: int) -> list[dict[str, Any]]:
    """The runs of all augmentations of a kind."""
    parts = {name: name.rpartition("_") for name in found}
    return [
        run
        for name, (which, _, n) in parts.items()
        if SCENARIOS[which][0] == kind and int(n) == rows
        for run in found[name]
    ]


def told_of(judge: str, found: Judged) -> dict[str, Any]:
    """All shares of one judge, pooled and one by one."""
    told: dict[str, Any] = {}
    for key, (kind, rows) in {**KEYS, **MORE_KEYS}.items():
        told |= share(key, (run[judge] for run in _of(found, kind, rows)))
    every = [run for runs in found.values() for run in runs if run[judge] is not None]
    worse = [run["after"] > run["before"] for run in every]
    told["wrong"] = round(float(np.mean([run[judge] and bad for run, bad in zip(every, worse, strict=True)])), 4)
    told["agreement"] = round(float(np.mean([run[judge] != bad for run, bad in zip(every, worse, strict=True)])), 4)
    for name, runs in found.items():
        told |= share(name, (run[judge] for run in runs))
    return told


def truths(found: Judged) -> dict[str, list[float]]:
    """The change of the mean error on fresh rows in percent, and its standard error."""
    told = {}
    for name, runs in found.items():
        before, after = (np.array([run[when] for run in runs]) for when in ("before", "after"))
        error = (after - before).std(ddof=1) / np.sqrt(len(runs)) / before.mean()
        told[name] = [round(100.0 * float(after.mean() / before.mean() - 1.0), 2), round(100.0 * float(error), 2)]
    return told


def figures_of(found: Judged, panels: Iterable[Mapping[str, Judge]]) -> dict[str, Any]:
    """Everything that is published."""
    shown, more = panels
    names = [*shown, *(f"published_{name}" for name in PUBLISHED)]
    tests = {name: told_of(name, found) for name in names}
    figures: dict[str, Any] = {"default": DEFAULT, "runs": {name: len(runs) for name, runs in found.items()}}
    figures |= {"true_change": truths(found)}
    for key in (*KEYS, *MORE_KEYS):
        for suffix, judge in (("", DEFAULT), *((f"_{name}", name) for name in names if name.startswith("published_"))):
            figures |= {
                f"{key}{suffix}{end}": tests[judge][f"{key}{end}"]
                for end in ("", "_interval", "_runs")
                if f"{key}{end}" in tests[judge]
            }
    figures["tests"] = tests
    figures["trade_off"] = {
        name: {
            "fits": judge.fits,
            **{key: value for key, value in told_of(name, found).items() if not key.endswith("_runs")},
        }
        for name, judge in more.items()
    }
    return figures


def table_of(figures: Mapping[str, Any]) -> None:
    """For people."""
    columns = (*KEYS, *MORE_KEYS, "wrong", "agreement")
    say(f"{'':24}" + "".join(f"{column:>14}" for column in columns))
    for judge, told in {**figures["tests"], **figures["trade_off"]}.items():
        say(f"{judge:24}" + "".join(f"{told.get(column, float('nan')):14.3f}" for column in columns))
    say("true change in percent: " + ", ".join(f"{k} {v[0]:+.1f}" for k, v in figures["true_change"].items()))


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="end within a minute; figures are not kept")
    parser.add_argument("--kept", action="store_true", help="run nothing, use the runs that are kept")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after about this long, to go on later")
    asked = parser.parse_args()
    panels = judges(), trade_off()
    panel = {**panels[0], **panels[1]}
    with threadpool_limits(limits=1), sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        if asked.quick:
            found = quickly(panel)
        else:
            if not asked.kept and not measure(seconds=asked.seconds):
                say("there is more to run: call it again")
                return
            found = kept(panel)
    figures = figures_of(found, panels)
    table_of(figures)
    if not asked.quick:
        draw(figures)
    publish("gate_calibration", figures, quick=asked.quick)


if __name__ == "__main__":
    main()
