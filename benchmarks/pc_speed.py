"""How fast is our PC, beside causal-learn's and pgmpy's, and how does it grow?

    python benchmarks/pc_speed.py [--quick]

One core, Fisher's z, the stable variant, sets of up to three columns; the same run times all three, and the links must
be equal. `speedup_causal_learn_38`, `speedup_pgmpy_38`: on the satellite table's 36 features, its target and a
residual (CRDA_DATA_DIR, synthetic columns of the same shape when it is not there; `satellite` says which).
`seconds_full_1000`, `seconds_local_1000`: the whole skeleton, and one column's neighbours, of 1000 columns in a random
sparse graph (one cause a column on average, 5000 rows), from their correlation matrix: the median of five such graphs,
and the slowest. `peak_mb`: of the full search. Seconds are the processor's, on one core: the clock's when nothing else
runs, and comparable when something does. Ours are medians; the other two are run once, since they take so long.
Needs the dev extra. `--quick` takes 12 columns and 500 rows for the comparison.
"""

from __future__ import annotations

import os
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import arguments, publish, say
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from threadpoolctl import threadpool_limits

from crda_spec.discovery.skeleton import Skeleton, neighbours, skeleton_of
from crda_spec.independence import correlation_matrix
from crda_spec.independence.conditional import PartialCorrelation
from crda_spec.seeds import stream

ALPHA, DEPTH = 0.05, 3
Links = set[tuple[int, int]]


def pc_skeleton(correlation: np.ndarray, n: int, *, alpha: float, max_depth: int = DEPTH) -> Skeleton:
    """The skeleton of all columns, from the correlations of n rows."""
    return skeleton_of(PartialCorrelation.of(correlation, n), len(correlation), alpha=alpha, max_depth=max_depth)


def sparse_columns(d: int, n: int, *, causes: float, rng: np.random.Generator) -> np.ndarray:
    """Linear columns, each with a few earlier ones as causes, in shuffled order."""
    x = rng.normal(size=(n, d))
    for j in range(1, d):
        parents = rng.choice(j, min(j, int(rng.poisson(causes))), replace=False)
        x[:, j] += x[:, parents] @ (rng.uniform(0.3, 1.0, len(parents)) * rng.choice([-1.0, 1.0], len(parents)))
    return x[:, rng.permutation(d)]


def satellite(*, quick: bool) -> tuple[np.ndarray, bool]:
    """36 features, the target and an out-of-fold residual, 3218 rows; and whether they are the real ones."""
    rng = stream(0, "pc-speed")
    file = Path(os.environ.get("CRDA_DATA_DIR", "")) / "294_satellite_image.csv"
    rows, features = (500, 10) if quick else (3218, 36)
    if not file.exists():
        return sparse_columns(features + 2, rows, causes=4.0, rng=rng), False
    table = pd.read_csv(file).to_numpy(dtype=np.float64)
    table = table[rng.permutation(len(table))[:rows]]
    x, y = table[:, :features], table[:, -1]
    residual = y - cross_val_predict(KNeighborsRegressor(10), x, y, cv=5)
    return np.column_stack([x, y, residual]), True


def ours(x: np.ndarray) -> Links:
    found = pc_skeleton(*correlation_matrix(x), alpha=ALPHA, max_depth=DEPTH)
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(found.adjacent)), strict=True)}


def causal_learns(x: np.ndarray) -> Links:
    from causallearn.utils.cit import CIT
    from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery

    started = time.process_time()
    graph = skeleton_discovery(x, ALPHA, CIT(x, "fisherz"), stable=True, show_progress=False, max_k=DEPTH).G.graph
    SECONDS["causal-learn"] = time.process_time() - started
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(graph)), strict=True)}


def pgmpys(x: np.ndarray) -> Links:
    from pgmpy.causal_discovery import PC

    frame = pd.DataFrame(x, columns=[f"x{number:03d}" for number in range(x.shape[1])])
    started = time.process_time()
    search = PC(
        variant="stable", ci_test="fisher_z", significance_level=ALPHA, max_cond_vars=DEPTH, show_progress=False
    ).fit(frame)
    SECONDS["pgmpy"] = time.process_time() - started
    return {(min(a, b), max(a, b)) for a, b in ((int(a[1:]), int(b[1:])) for a, b in search.skeleton_.edges())}


SECONDS: dict[str, float] = {}


def runs(work: Callable[[], object], repeats: int) -> list[float]:
    """Processor seconds of each of several runs."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return seconds


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = measure(quick=quick)
    publish("pc_speed", figures, quick=quick)


def measure(*, quick: bool) -> dict[str, float | bool]:
    """All figures."""
    x, real = satellite(quick=quick)
    links = ours(x)
    own = runs(lambda: ours(x), 10)
    equal = True
    for name, search in (("causal-learn", causal_learns), ("pgmpy", pgmpys)):
        differ = links ^ search(x)
        equal = equal and not differ
        say(f"  {name}: {SECONDS[name]:.2f} s, {len(differ)} links differ")
        own += runs(lambda: ours(x), 10)  # before, between and after, so that a busy machine is busy for all three
    seconds = statistics.median(own)
    say(f"{x.shape[1]} columns, {len(x)} rows, {len(links)} links: ours {seconds:.4f} s")
    full, local, tests, peak = [], [], [], 0.0
    for world in range(1 if quick else 5):
        correlation, n = correlation_matrix(sparse_columns(1000, 5000, causes=1.0, rng=stream(world, "pc-speed", 1000)))
        full.append(statistics.median(runs(lambda: pc_skeleton(correlation, n, alpha=0.01), 3)))  # noqa: B023
        local.append(statistics.median(runs(lambda: neighbours(correlation, n, 500, alpha=0.01), 5)))  # noqa: B023
        tracemalloc.start()
        tests.append(pc_skeleton(correlation, n, alpha=0.01).tests)
        peak = max(peak, tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
        say(f"1000 columns: full {full[-1]:.3f} s ({tests[-1]:,} tests), local {local[-1]:.4f} s")
    return {
        "speedup_causal_learn_38": round(SECONDS["causal-learn"] / seconds, 1),
        "speedup_pgmpy_38": round(SECONDS["pgmpy"] / seconds, 1),
        "seconds_ours_38": round(seconds, 5),
        "seconds_full_1000": round(statistics.median(full), 3),
        "seconds_full_1000_slowest": round(max(full), 3),
        "seconds_local_1000": round(statistics.median(local), 4),
        "tests_full_1000_most": max(tests),
        "peak_mb": round(peak, 1),
        "satellite": real,
        "links_equal": equal,
    }


if __name__ == "__main__":
    main()
