"""Is our network loop worth its lines? Epochs of ours against scikit-learn's, same sizes, one thread, one run.

    python benchmarks/mlp_speed.py [--quick]

`speedup_mlp_smallest` and `speedup_mlp_median`: scikit-learn's seconds for an epoch divided by ours, over four shapes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from _harness import arguments, publish, say
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

from crda_spec.regressors.mlp import Trainer, initial_network
from crda_spec.seeds import stream

SHAPES = ((400, 8, (128, 64, 32)), (1500, 8, (128, 64, 32)), (1500, 36, (128, 64, 32)), (400, 8, (32, 16)))


def seconds(epoch: Callable[[], object], epochs: int) -> float:
    """The median time of an epoch."""
    times = []
    for _ in range(epochs):
        started = time.perf_counter()
        epoch()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    epochs = 10 if quick else 100
    rng = stream(0, "mlp-speed")
    ratios = []
    with threadpool_limits(limits=1):
        for rows, features, layers in SHAPES:
            x = rng.normal(size=(rows, features))
            y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
            theirs = MLPRegressor(hidden_layer_sizes=layers, batch_size=32, random_state=0)
            ours = Trainer(
                initial_network((features, *layers, 1), rng=rng),
                learning_rate=theirs.learning_rate_init,
                penalty=theirs.alpha,
            )
            theirs_time = seconds(lambda m=theirs, a=x, b=y: m.partial_fit(a, b), epochs)
            ours_time = seconds(lambda m=ours, a=x, b=y: m.epoch(a, b, None, rng.permutation(len(b)), 32), epochs)
            ratios.append(theirs_time / ours_time)
            say(
                f"{rows} rows, {features} features, layers {layers}: scikit-learn {1000 * theirs_time:.1f} ms, "
                f"ours {1000 * ours_time:.1f} ms an epoch, ratio {ratios[-1]:.2f}"
            )
    figures = {
        "speedup_mlp_smallest": round(min(ratios), 2),
        "speedup_mlp_median": round(statistics.median(ratios), 2),
    }
    publish("mlp_speed", figures, quick=quick)


if __name__ == "__main__":
    main()
