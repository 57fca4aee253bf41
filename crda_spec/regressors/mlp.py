"""A multi-layer perceptron, with early stopping on real rows that are the same in both arms.

scikit-learn's own early stopping draws its validation rows from everything it is given, so in the augmented arm it
would watch synthetic rows, and perturbed copies of the rows it watches would be trained on. Our own loop watches the
rows that `fit.py` sets aside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.records import Array, IntArray
from crda_spec.regressors._protocol import BaseRegressor, Choice, Design, EarlyStopping, LogUniform, Space
from crda_spec.seeds import stream
from crda_spec.strict import NonNegative, Positive

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8  # Kingma and Ba 2015, and scikit-learn's defaults


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Trained weights and nothing else: ReLU layers, then one linear output."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    epochs: int = 0  # after which these were the weights; a network that was read back does not know

    def predict(self, x: Array) -> Array:
        """x: (m, p). Returns (m,)."""
        hidden = x
        for layer, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = hidden @ weights
            hidden += bias
            if layer < len(self.weights) - 1:
                np.maximum(hidden, 0.0, out=hidden)
        return np.asarray(hidden[:, 0], dtype=np.float64)


def initial_network(sizes: Sequence[int], *, rng: np.random.Generator) -> Network:
    """Glorot's uniform start for layers of these sizes, input and output included."""
    shapes = [(into, out, np.sqrt(6.0 / (into + out))) for into, out in pairwise(sizes)]
    return Network(
        tuple(rng.uniform(-bound, bound, (into, out)) for into, out, bound in shapes),
        tuple(rng.uniform(-bound, bound, out) for _, out, bound in shapes),
    )


class Trainer:
    """Adam on the squared error with an L2 penalty, half of both, as scikit-learn counts them."""

    def __init__(self, start: Network, *, learning_rate: float, penalty: float, averaging: float | None = None) -> None:
        """Lays all parameters into one vector, so that a step of Adam is a handful of calls.

        averaging: the decay of a running mean of the weights over the steps; None keeps no mean.
        """
        self._shapes = [layer.shape for layer in start.weights]
        self._flat = np.concatenate([layer.ravel() for layer in (*start.weights, *start.biases)])
        self._weights, self._biases = self._views(self._flat)
        self._gradient = np.empty_like(self._flat)
        self._weight_gradients, self._bias_gradients = self._views(self._gradient)
        self._first = np.zeros_like(self._flat)
        self._second = np.zeros_like(self._flat)
        self._scratch = np.empty_like(self._flat)
        self._penalised = sum(layer.size for layer in start.weights)
        self._rate, self._penalty, self._steps = learning_rate, penalty, 0
        self._decay, self._mean = averaging, np.zeros_like(self._flat)

    def _views(self, flat: Array) -> tuple[list[Array], list[Array]]:
        """The parameters of each layer inside one vector: all weights, then all biases."""
        sizes = [*(into * out for into, out in self._shapes), *(out for _, out in self._shapes)]
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        layers = len(self._shapes)
        return [part.reshape(shape) for part, shape in zip(parts[:layers], self._shapes, strict=True)], parts[layers:]

    def network(self) -> Network:
        """The weights as they are now; training goes on in place, so these are the live ones. Or their running mean."""
        if self._decay is not None:
            return self.snapshot()
        return Network(tuple(self._weights), tuple(self._biases))

    def snapshot(self) -> Network:
        """A copy of the weights as they are now, or of their running mean."""
        if self._decay is not None and self._steps:
            # The mean starts at zero; this division takes that start out of it (as Adam does with its moments).
            weights, biases = self._views(self._mean / (1.0 - self._decay**self._steps))
            return Network(tuple(weights), tuple(biases))
        return Network(tuple(layer.copy() for layer in self._weights), tuple(bias.copy() for bias in self._biases))

    def epoch(self, x: Array, y: Array, weight: Array | None, order: IntArray, batch: int) -> float:
        """One pass over the rows in this order; returns the mean loss of its batches, rows counted alike."""
        x, y = x[order], y[order]
        weight = None if weight is None else weight[order]
        total = 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # a network that runs away has a loss that says so
            for start in range(0, len(y), batch):
                stop = start + batch
                rows = None if weight is None else weight[start:stop]
                total += self._step(x[start:stop], y[start:stop], rows) * len(y[start:stop])
        return total / len(y)

    def _step(self, x: Array, y: Array, weight: Array | None) -> float:
        """Back-propagation of one batch, then Adam."""
        hidden = [x]
        last = len(self._weights) - 1
        for layer, (weights, bias) in enumerate(zip(self._weights, self._biases, strict=True)):
            out = hidden[-1] @ weights
            out += bias
            if layer < last:
                np.maximum(out, 0.0, out=out)
            hidden.append(out)
        error = hidden.pop()[:, 0] - y
        scaled = error if weight is None else error * weight
        size = len(y)
        weights = self._flat[: self._penalised]
        loss = 0.5 * float(scaled @ error) / size + 0.5 * self._penalty * float(weights @ weights) / size
        delta = (scaled / size)[:, None]
        for layer in range(last, -1, -1):
            np.matmul(hidden[layer].T, delta, out=self._weight_gradients[layer])
            np.sum(delta, axis=0, out=self._bias_gradients[layer])
            if layer:
                delta = delta @ self._weights[layer].T
                delta *= hidden[layer] > 0
        self._gradient[: self._penalised] += (self._penalty / size) * weights
        self._adam()
        return loss

    def _adam(self) -> None:
        self._steps += 1
        gradient, first, second, scratch = self._gradient, self._first, self._second, self._scratch
        first *= _BETA1
        np.multiply(gradient, 1.0 - _BETA1, out=scratch)
        first += scratch
        second *= _BETA2
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1.0 - _BETA2
        second += scratch
        np.sqrt(second, out=scratch)
        scratch += _EPSILON
        np.divide(first, scratch, out=scratch)
        scratch *= self._rate * np.sqrt(1.0 - _BETA2**self._steps) / (1.0 - _BETA1**self._steps)
        self._flat -= scratch
        if self._decay is not None:
            self._mean *= self._decay
            np.multiply(self._flat, 1.0 - self._decay, out=scratch)
            self._mean += scratch


_PATIENCE = 20  # epochs without a better training loss, when there is no early stopping


class Mlp(BaseRegressor):
    """ReLU layers trained with Adam; defaults are the modal best values and the space that of the paper's appendix."""

    space: ClassVar[Space] = {
        "hidden_layer_sizes": Choice(((128, 64, 32), (128, 64), (64, 32), (64,))),
        "alpha": LogUniform(1e-5, 1e-3),
        "learning_rate_init": LogUniform(1e-3, 1e-2),
        "tol": LogUniform(1e-5, 1e-4),
    }

    kind: Literal["mlp"] = Field("mlp", description="A multi-layer perceptron (ReLU, Adam).")
    hidden_layer_sizes: tuple[Annotated[int, Field(ge=1, le=10_000)], ...] = Field(
        (128, 64, 32), min_length=1, max_length=10, description="Units of each hidden layer."
    )
    alpha: NonNegative = Field(0.0004, description="L2 penalty on the weights.")
    learning_rate_init: Positive = Field(0.00942, description="Adam's step size.")
    tol: NonNegative = Field(0.00009, description="The least improvement that counts as one.")
    batch_size: int = Field(32, ge=1, description="Rows of a gradient step.")
    max_iter: int = Field(1000, ge=1, description="Epochs at most.")
    averaging: float | None = Field(
        None,
        gt=0,
        lt=1,
        description=(
            "The model is a running mean of the weights over the steps, with this decay; 0.99 looks back about 100 "
            "steps. null: the weights as the last step left them, as in the paper."
        ),
    )
    early_stopping: EarlyStopping | None = Field(EarlyStopping(), description="When to stop early; null: never.")

    def train(self, design: Design, *, seed: int) -> Network:
        """Trains until the watched rows (or the training loss) stop improving for a while; keeps the best weights."""
        rng = stream(seed, "network")
        sizes = (design.x.shape[1], *self.hidden_layer_sizes, 1)
        start = initial_network(sizes, rng=rng)
        trainer = Trainer(start, learning_rate=self.learning_rate_init, penalty=self.alpha, averaging=self.averaging)
        # Weights with mean 1 over all rows, not within a batch: a batch of light rows must make a small step.
        weight = None if design.weight is None else design.weight / design.weight.mean()
        rounds = self.early_stopping.rounds if self.early_stopping is not None else _PATIENCE
        best, best_loss, waited = start, np.inf, 0
        for epoch in range(1, self.max_iter + 1):
            parts = _parts(rng.permutation(len(design.y)), design.looks, self.batch_size)
            for part in parts:
                loss = trainer.epoch(design.x, design.y, weight, part, self.batch_size)
                if self.early_stopping and design.validation_x is not None and design.validation_y is not None:
                    with np.errstate(over="ignore", invalid="ignore"):
                        error = trainer.network().predict(design.validation_x) - design.validation_y
                        loss = _mean_square(error, design.validation_weight)
                # What is gained in a pass counts, however often it is looked at: each look may bring a part of it.
                waited = 0 if loss < best_loss - self.tol / len(parts) else waited + 1
                if loss < best_loss:
                    best, best_loss = replace(trainer.snapshot(), epochs=epoch), loss
                if waited >= rounds * len(parts):
                    return best
        return best

    def refit(self, stopped: Network, design: Design, *, seed: int) -> Network:
        """As many epochs as `stopped` had; of the weights after each, those that err least on the rows trained on.

        Not the last: weights wander from epoch to epoch, and early stopping had chosen among them
        (docs/evidence/teachers.md).
        """
        watched = replace(
            design, validation_x=design.x, validation_y=design.y, validation_weight=design.weight, looks=1
        )
        patient = {"max_iter": stopped.epochs, "early_stopping": EarlyStopping(rounds=stopped.epochs + 1)}
        return self.model_copy(update=patient).train(watched, seed=seed)


def _parts(order: IntArray, looks: int, batch: int) -> list[IntArray]:
    """One pass in parts of whole batches: the steps are those of the pass, with looks between them."""
    step = batch * math.ceil(len(order) / (batch * looks))
    return [order[start : start + step] for start in range(0, len(order), step)]


def _mean_square(error: Array, weight: Array | None) -> float:
    """Of the watched rows, each counted by its weight."""
    if weight is None:
        return float(error @ error) / len(error)
    return float((weight * error) @ error) / float(weight.sum())
