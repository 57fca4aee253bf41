"""How does a certificate's cost grow with the number of features?

    python benchmarks/certificate.py [--quick]

Random graphs with two causes a node, a latent for every ten features and a few effects of the target: the graph is
built and checked from its text, every feature gets its verdict, reason, witness and lemma, and remedies are computed
for the blocked ones. `seconds_1000` and `peak_mb_1000`: for 1000 features. `growth_exponent`: the slope of log seconds
over log features from 100 to 1000.
"""

from __future__ import annotations

import math
import statistics
import time
import tracemalloc

import numpy as np
from _harness import arguments, publish, say

from crda_spec.scm.certificate import graph_certificate
from crda_spec.scm.formats import from_edges
from crda_spec.seeds import stream

SIZES = (10, 30, 100, 300, 1000)


def written_graph(features: int, *, rng: np.random.Generator) -> tuple[list[str], list[str], list[str]]:
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


def measure(features: int, seed: int) -> tuple[float, int]:
    """Seconds for one certificate, and the number of features that may move."""
    columns, latents, edges = written_graph(features, rng=stream(seed, "certificate-benchmark", features))
    started = time.perf_counter()
    graph = from_edges(edges, columns=columns, target="y", latents=latents)
    certificate = graph_certificate(graph, columns[:-1])
    return time.perf_counter() - started, len(certificate.largest)


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    repeats = 1 if quick else 5
    seconds = {}
    for features in SIZES:
        runs = [measure(features, seed) for seed in range(repeats)]
        seconds[features] = statistics.median(run[0] for run in runs)
        say(f"{features:5d} features: {seconds[features]:.4f} s, {runs[0][1]} may move")
    tracemalloc.start()
    measure(SIZES[-1], 0)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    figures = {
        "seconds_1000": round(seconds[1000], 4),
        "growth_exponent": round(math.log(seconds[1000] / seconds[100]) / math.log(10), 2),
        "peak_mb_1000": round(peak, 1),
    }
    publish("certificate", figures, quick=quick)


if __name__ == "__main__":
    main()
