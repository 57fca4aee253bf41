"""What a prediction error costs: row by row, and over the rows of a fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from crda_spec.records import Array, relative, weighted_mean

MetricKind = Literal["mse", "rmse", "mae", "r2", "pinball"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One loss. `quantile` is read by pinball alone."""

    kind: MetricKind = "mse"
    quantile: float = 0.5

    @property
    def name(self) -> str:
        """As records and tables say it."""
        return {"r2": "1-r2", "pinball": f"pinball {self.quantile:g}"}.get(self.kind, self.kind)

    @property
    def row_power(self) -> int:
        """A fold's loss goes with the mean loss of its rows to the power 1 / row_power."""
        return 2 if self.kind == "rmse" else 1

    def row_losses(self, errors: Array) -> Array:
        """errors: (m,) y - prediction. Returns (m,), what each row costs."""
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks looks whether the loss is finite
            if self.kind == "mae":
                return np.abs(errors)
            if self.kind == "pinball":
                return np.maximum(self.quantile * errors, (self.quantile - 1.0) * errors)
            return errors**2

    def loss(self, errors: Array, *, spread: float, weights: Array | None = None) -> float:
        """The loss of a set of rows.

        errors: (m,) y - prediction.  spread: the (weighted) variance of their y, which r2 compares with.
        weights: (m,) how much each row counts; None: all the same.
        """
        return self.mean(self.row_losses(errors), spread=spread, weights=weights)

    def mean(self, losses: Array, *, spread: float, weights: Array | None = None) -> float:
        """The same from what each row costs. losses: (m,)."""
        with np.errstate(over="ignore"):
            mean = weighted_mean(losses, weights)
        if self.kind == "rmse":
            return float(np.sqrt(mean))
        if self.kind == "r2":
            return mean / spread if spread > 0.0 else (0.0 if mean == 0.0 else float("inf"))
        return mean

    def change(self, before: Array, after: Array) -> Array:
        """Change in percent between sums of row losses, as this metric sees it; 0 where both are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = after / before
            if self.kind == "rmse":
                ratio = np.sqrt(ratio)
            return np.where(before == after, 0.0, 100.0 * (ratio - 1.0))


MSE = Metric()


def charged(losses: Array, weights: Array | None) -> Array:
    """What each row adds: its loss times its weight, relative to the mean weight of these rows.

    The mean of what rows add is their weighted mean loss. So whoever asks how sure that mean is treats what rows add
    as it would treat losses: a row and its weight are drawn together, and E[w (after - before)] = 0 says exactly that
    the weighted loss does not change. The common factor drops out of every ratio, studentised or relative.

    losses, weights: (m,).  Returns (m,).
    """
    relative_weights = relative(weights)
    with np.errstate(over="ignore"):
        return losses if relative_weights is None else relative_weights * losses


def named_metric(name: str) -> Metric:
    """The metric that records call by this name."""
    kind, _, quantile = name.partition(" ")
    kinds: dict[str, MetricKind] = {"mse": "mse", "rmse": "rmse", "mae": "mae", "1-r2": "r2", "pinball": "pinball"}
    return Metric(kind=kinds[kind], quantile=float(quantile) if quantile else 0.5)
