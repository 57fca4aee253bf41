"""A multi-layer perceptron, with early stopping on real rows that are the same in both arms.

scikit-learn's own early stopping draws its validation rows from everything it is given, so in the augmented arm it
would watch synthetic rows, and perturbed copies of the rows it watches would be trained on. Our own loop watches the
rows that `fit.py` sets aside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crda_spec.records import Array, IntArray
from crda_spec.regressors._protocol import Design, Stopping
from crda_spec.regressors.network import Network, Trainer, initial_network
from crda_spec.seeds import stream

_PATIENCE = 20  # epochs without a better training loss, when there is no early stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class Mlp:
    """ReLU layers trained with Adam; defaults are the paper's modal best values."""

    kind: ClassVar[str] = "mlp"

    hidden_layer_sizes: tuple[int, ...] = (128, 64, 32)
    alpha: float = 0.0004
    learning_rate_init: float = 0.00942
    tol: float = 0.00009
    batch_size: int = 32
    max_iter: int = 1000
    averaging: float | None = None  # decay of a running mean of the weights, which then is the model
    stopping: Stopping | None = Stopping()

    def train(self, design: Design, *, seed: int) -> Network:
        """Trains until the watched rows (or the training loss) stop improving for a while; keeps the best weights."""
        rng = stream(seed, "network")
        sizes = (design.x.shape[1], *self.hidden_layer_sizes, 1)
        start = initial_network(sizes, rng=rng)
        trainer = Trainer(start, learning_rate=self.learning_rate_init, penalty=self.alpha, averaging=self.averaging)
        # Weights with mean 1 over all rows, not within a batch: a batch of light rows must make a small step.
        weight = None if design.weight is None else design.weight / design.weight.mean()
        rounds = self.stopping.rounds if self.stopping is not None else _PATIENCE
        best, best_loss, waited = start, np.inf, 0
        for _ in range(self.max_iter):
            parts = _parts(rng.permutation(len(design.y)), design.looks, self.batch_size)
            for part in parts:
                loss = trainer.epoch(design.x, design.y, weight, part, self.batch_size)
                if self.stopping is not None and design.validation_x is not None and design.validation_y is not None:
                    with np.errstate(over="ignore", invalid="ignore"):
                        error = trainer.network().predict(design.validation_x) - design.validation_y
                        loss = _mean_square(error, design.validation_weight)
                # What is gained in a pass counts, however often it is looked at: each look may bring a part of it.
                waited = 0 if loss < best_loss - self.tol / len(parts) else waited + 1
                if loss < best_loss:
                    best, best_loss = trainer.snapshot(), loss
                if waited >= rounds * len(parts):
                    return best
        return best


def _parts(order: IntArray, looks: int, batch: int) -> list[IntArray]:
    """One pass in parts of whole batches: the steps are those of the pass, with looks between them."""
    step = batch * math.ceil(len(order) / (batch * looks))
    return [order[start : start + step] for start in range(0, len(order), step)]


def _mean_square(error: Array, weight: Array | None) -> float:
    """Of the watched rows, each counted by its weight."""
    if weight is None:
        return float(error @ error) / len(error)
    return float((weight * error) @ error) / float(weight.sum())
