"""How does a certificate's cost grow with the number of features?

    python benchmarks/certificate.py [--quick]

Random graphs with two causes a node, a latent for every ten features and a few effects of the target: the graph is
built and checked from its text, every feature gets its verdict, reason, witness and lemma, and remedies are computed
for the blocked ones. `seconds_1000` and `peak_mb_1000`: for 1000 features. `growth_exponent`: the slope of log seconds
over log features from 100 to 1000. Seconds are the processor's: the clock's when nothing else runs.

`seconds_1000_<shape>`, `peak_mb_1000_<shape>`: the same for graphs of 1000 features that were made to be costly. All
features share a hidden cause with the target (`confounded`); 500 causes and 500 effects of the target (`effects`),
or each effect with a latent that it shares with a cause (`tied_effects`); one latent behind everything (`latent`); and
a chain in which each two neighbours share a hidden cause (`chain`), where the witness paths alone name a million nodes.
"""

from __future__ import annotations

import math
import statistics
import time
import tracemalloc
from itertools import pairwise

import numpy as np
from _harness import arguments, publish, say

from crda_spec.scm.certificate import graph_certificate
from crda_spec.scm.formats import from_edges
from crda_spec.seeds import stream

SIZES = (10, 30, 100, 300, 1000)
Written = tuple[list[str], list[str], list[str]]  # columns, latents and arrows


def written_graph(features: int, *, rng: np.random.Generator) -> Written:
    """Columns, latents and arrows of a random graph in causal order."""
    columns = [f"x{number}" for number in range(features)]
    latents = [f"u{number}" for number in range(features // 10)]
    effects = set(columns[-max(1, features // 50) :])
    edges = {(columns[int(rng.integers(at))], columns[at]) for at in range(1, features) for _ in range(2)}
    edges |= {(latent, str(name)) for latent in latents for name in rng.choice(columns, 2, replace=False)}
    edges |= {(latent, "y") for latent in latents[::2]}
    edges |= {(name, "y") for name in columns[::3] if name not in effects}
    edges |= {("y", name) for name in effects}
    return [*columns, "y"], latents, sorted(f"{tail} -> {head}" for tail, head in edges)


def costly_graphs(features: int) -> dict[str, Written]:
    """Graphs in which every feature is blocked, most of them in a way that is dear to explain."""
    names = [f"x{number}" for number in range(features)]
    columns = [*names, "y"]
    half = features // 2
    causes, effects = names[:half], names[half:]
    from_all = [f"{name} -> y" for name in names]
    both_ways = [*(f"{name} -> y" for name in causes), *(f"y -> {name}" for name in effects)]
    latents = [f"u{number}" for number in range(half)]
    ties = [f"u{number} -> {name}" for side in (causes, effects) for number, name in enumerate(side)]
    steps = list(pairwise(columns))
    return {
        "confounded": (columns, [], [*from_all, *(f"{name} <-> y" for name in names)]),
        "effects": (columns, [], both_ways),
        "tied_effects": (columns, latents, [*both_ways, *ties]),
        "latent": (columns, ["u"], [*from_all, *(f"u -> {name}" for name in columns)]),
        "chain": (columns, [], [f"{a} {mark} {b}" for a, b in steps for mark in ("->", "<->")]),
    }


def measure(written: Written) -> tuple[float, int]:
    """Seconds for one certificate, and the number of features that may move."""
    columns, latents, edges = written
    started = time.process_time()
    graph = from_edges(edges, columns=columns, target="y", latents=latents)
    certificate = graph_certificate(graph, columns[:-1])
    return time.process_time() - started, len(certificate.largest)


def peak_mb(written: Written) -> float:
    """The memory that one certificate takes at most."""
    tracemalloc.start()
    measure(written)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return round(peak, 1)


def random_graph(features: int, seed: int) -> Written:
    """The graph of one run."""
    return written_graph(features, rng=stream(seed, "certificate-benchmark", features))


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    repeats = 1 if quick else 5
    seconds = {}
    for features in SIZES:
        runs = [measure(random_graph(features, seed)) for seed in range(repeats)]
        seconds[features] = statistics.median(run[0] for run in runs)
        say(f"{features:5d} features: {seconds[features]:.4f} s, {runs[0][1]} may move")
    figures = {
        "seconds_1000": round(seconds[1000], 4),
        "growth_exponent": round(math.log(seconds[1000] / seconds[100]) / math.log(10), 2),
        "peak_mb_1000": peak_mb(random_graph(SIZES[-1], 0)),
    }
    for shape, written in costly_graphs(SIZES[-1]).items():
        figures[f"seconds_1000_{shape}"] = round(statistics.median(measure(written)[0] for _ in range(repeats)), 4)
        if not quick:  # tracing memory makes a run ten times slower
            figures[f"peak_mb_1000_{shape}"] = peak_mb(written)
        say(f" 1000 features, {shape}: {figures[f'seconds_1000_{shape}']:.4f} s")
    publish("certificate", figures, quick=quick)


if __name__ == "__main__":
    main()
