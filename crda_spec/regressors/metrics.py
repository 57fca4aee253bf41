"""What a prediction error costs: row by row, and over the rows of a fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from crda_spec.records import Arm, Array, IntArray, relative, weighted_mean
from crda_spec.regressors.intervals import (
    cross_conformal_losses,
    cross_crps,
    crps,
    interval_losses,
    largest_half_width,
)

MetricKind = Literal["mse", "rmse", "mae", "r2", "pinball", "interval_score", "crps"]
INTERVAL_LEVEL = 0.9  # of the intervals that `interval_score` scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOutErrors:
    """Errors on rows unseen, which tell how far a prediction of the same arm may be off."""

    errors: Array  # (n,) y - prediction
    weights: Array | None = None  # (n,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One loss. `quantile` is read by pinball alone.

    interval_score and crps judge how sure a prediction is too: its interval, or its distribution, is the prediction
    plus errors that the same arm made on rows unseen. In the gate these are the errors of the other folds
    (`cross_losses`), elsewhere those of all folds (`given`).
    """

    kind: MetricKind = "mse"
    quantile: float = 0.5
    held_out: Mapping[Arm, HeldOutErrors] | None = field(default=None, compare=False, repr=False)

    @property
    def needs_errors(self) -> bool:
        """Whether an error alone has no cost: other rows' errors are needed."""
        return self.kind in ("interval_score", "crps")

    def given(self, held_out: Mapping[Arm, HeldOutErrors] | None) -> Metric:
        """The same with these errors of each arm; the squared error where they are needed and there are none."""
        if not self.needs_errors:
            return self
        return MSE if held_out is None else replace(self, held_out=held_out)

    def cross_losses(self, errors: Array, fold: IntArray, weights: Array | None) -> Array:
        """(n,) what each held-out row costs, by the errors that the other folds' rows have. errors, fold: (n,)."""
        if self.kind == "crps":
            return cross_crps(errors, fold, weights=weights)
        return cross_conformal_losses(errors, np.ones(len(errors)), fold, INTERVAL_LEVEL, weights=weights)

    @property
    def name(self) -> str:
        """As records and tables say it."""
        names = {"r2": "1-r2", "pinball": f"pinball {self.quantile:g}", "interval_score": "interval score"}
        return names.get(self.kind, self.kind)

    @property
    def row_power(self) -> int:
        """A fold's loss goes with the mean loss of its rows to the power 1 / row_power."""
        return 2 if self.kind == "rmse" else 1

    def row_losses(self, errors: Array, arm: Arm = "plain") -> Array:
        """errors: (m,) y - prediction, by a model of this arm. Returns (m,), what each row costs."""
        if self.needs_errors:
            return self._spread_losses(errors, arm)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks looks whether the loss is finite
            if self.kind == "mae":
                return np.abs(errors)
            if self.kind == "pinball":
                return np.maximum(self.quantile * errors, (self.quantile - 1.0) * errors)
            return errors**2

    def _spread_losses(self, errors: Array, arm: Arm) -> Array:
        if self.held_out is None:
            raise ValueError(f"{self.name} needs errors on rows unseen")
        known = self.held_out[arm]
        if self.kind == "crps":
            return crps(errors, known.errors, known.weights)
        half = largest_half_width(known.errors, INTERVAL_LEVEL, known.weights)
        return interval_losses(errors + half, half - errors, INTERVAL_LEVEL)

    def loss(self, errors: Array, *, spread: float, weights: Array | None = None, arm: Arm = "plain") -> float:
        """The loss of a set of rows.

        errors: (m,) y - prediction.  spread: the (weighted) variance of their y, which r2 compares with.
        weights: (m,) how much each row counts; None: all the same.
        """
        return self.mean(self.row_losses(errors, arm), spread=spread, weights=weights)

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
    kind, _, quantile = ("interval_score", "", "") if name == "interval score" else name.partition(" ")
    kinds: dict[str, MetricKind] = {
        "mse": "mse",
        "rmse": "rmse",
        "mae": "mae",
        "1-r2": "r2",
        "pinball": "pinball",
        "interval_score": "interval_score",
        "crps": "crps",
    }
    return Metric(kind=kinds[kind], quantile=float(quantile) if quantile else 0.5)
