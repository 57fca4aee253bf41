"""A multi-layer perceptron (scikit-learn's), with early stopping on rows that we choose.

scikit-learn's own early stopping draws its validation rows from everything it is given, so in the augmented arm it
would watch synthetic rows, and perturbed copies of the rows it watches would be trained on. Driving it epoch by epoch
keeps the watched rows real, and the same in both arms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.neural_network import MLPRegressor

from crda_spec.records import Array
from crda_spec.regressors._protocol import Design, Stopping

_PATIENCE = 20  # epochs without a better training loss, when there is no early stopping


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Trained weights and nothing else: small to save, and quick to ask once an epoch."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]

    def predict(self, x: Array) -> Array:
        """x: (m, p). Returns (m,)."""
        hidden = x
        for layer, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = hidden @ weights + bias
            if layer < len(self.weights) - 1:
                hidden = np.maximum(hidden, 0.0)
        return np.asarray(hidden[:, 0], dtype=np.float64)


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
    stopping: Stopping | None = Stopping()

    def train(self, design: Design, *, seed: int) -> Network:
        """Trains until the watched rows (or the training loss) stop improving for a while; keeps the best weights."""
        trainer = MLPRegressor(
            hidden_layer_sizes=self.hidden_layer_sizes,
            alpha=self.alpha,
            learning_rate_init=self.learning_rate_init,
            batch_size=min(self.batch_size, len(design.y)),
            max_iter=1,
            random_state=seed,
        )
        patience = self.stopping.rounds if self.stopping is not None else _PATIENCE
        best, best_loss, waited = None, np.inf, 0
        for _ in range(self.max_iter):
            trainer.partial_fit(design.x, design.y, sample_weight=design.weight)
            loss = float(trainer.loss_)
            if self.stopping is not None and design.validation_x is not None and design.validation_y is not None:
                now = Network(tuple(trainer.coefs_), tuple(trainer.intercepts_))
                loss = float(np.mean((now.predict(design.validation_x) - design.validation_y) ** 2))
            waited = 0 if loss < best_loss - self.tol else waited + 1
            if best is None or loss < best_loss:
                best, best_loss = _copy(trainer), loss
            if waited >= patience:
                break
        assert best is not None  # noqa: S101 - there is at least one epoch
        return best


def _copy(trainer: MLPRegressor) -> Network:
    """The weights as they are now; training goes on in place."""
    return Network(
        tuple(layer.copy() for layer in trainer.coefs_), tuple(layer.copy() for layer in trainer.intercepts_)
    )
