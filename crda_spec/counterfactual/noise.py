"""How noise enters the outcome: added (the paper), or of a size that depends on x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from crda_spec.records import Array, NoiseKind, NoiseScale, Table
from crda_spec.scm.mechanisms import Inputs, SmoothMean, fit_mean

__all__ = ["NOISE_MODELS", "Additive", "LocationScale", "NoiseModel", "SmoothScale"]


class NoiseModel(Protocol):
    """y = g(x) + s(x) * noise; members differ in what they let s be."""

    kind: ClassVar[NoiseKind]
    needs_unseen: ClassVar[bool]  # whether `fit` must be given residuals of rows that the model has not seen

    def fit(self, train: Table, residual: Array) -> NoiseScale | None:
        """The size of the noise at any x, or None where it is 1 everywhere.

        residual: (n,) y - g(x) of each training row; NaN where it is not known.
        """
        ...


@dataclass(frozen=True, slots=True)
class Additive:
    """y = g(x) + noise."""

    kind: ClassVar[NoiseKind] = "additive"
    needs_unseen: ClassVar[bool] = False

    def fit(self, train: Table, residual: Array) -> None:
        """Nothing to fit."""
        del train, residual


_MOST_ROWS = 10_000  # to learn s from: the cost grows faster than the rows, and a smooth function needs no more
_TINY = 1e-3  # of the mean |r|: what is nearer to zero says nothing more of the size
_OUTLIER = 6.0  # times the fitted size: one wild row may pull this much and no more
_FEWEST = 10  # rows, below which any trend in their sizes is chance


@dataclass(frozen=True, slots=True, eq=False)
class SmoothScale:
    """s(x), kept between two bounds: beyond the training rows' own sizes a trend is only a guess."""

    log_size: SmoothMean
    level: float  # added to the logarithm, so that the standardised residuals have mean square 1
    lowest: float
    highest: float

    def at(self, x: Array) -> tuple[Array, int]:
        """x: (m, d). Returns (m,), and how many were brought back inside the bounds."""
        size = self._unbounded(x)
        return np.clip(size, self.lowest, self.highest), int(((size < self.lowest) | (size > self.highest)).sum())

    def _unbounded(self, x: Array) -> Array:
        return np.asarray(np.exp(np.clip(self.log_size.predict(x) + self.level, -600.0, 600.0)))


@dataclass(frozen=True, slots=True)
class EvenScale:
    """One size for all rows: there was nothing to learn one from."""

    size: float = 1.0

    def at(self, x: Array) -> tuple[Array, int]:
        """x: (m, d). Returns (m,)."""
        return np.full(len(x), self.size), 0


@dataclass(frozen=True, slots=True)
class LocationScale:
    """y = g(x) + s(x) * z. quantiles: of the fitted sizes at the training rows; outside of them s is held."""

    kind: ClassVar[NoiseKind] = "location_scale"
    needs_unseen: ClassVar[bool] = True

    quantiles: tuple[float, float] = (0.01, 0.99)

    def fit(self, train: Table, residual: Array) -> SmoothScale | EvenScale:
        """residual: (n,) of rows that the model has not seen; rows where it is NaN are left out."""
        known = np.flatnonzero(np.isfinite(residual))
        known = known[np.linspace(0, len(known) - 1, min(len(known), _MOST_ROWS)).round().astype(np.int64)]
        size = np.abs(residual[known])
        if len(known) < _FEWEST or not size.any():
            return EvenScale(float(np.sqrt(np.mean(size**2))) if size.any() else 1.0)
        x = train.x[known]
        inputs = Inputs.learn(x, train.features)
        shape = _scored(inputs, x, size, fit_mean(inputs, x, np.log(np.maximum(size, _TINY * size.mean()))))
        logs = shape.predict(x)
        level = 0.5 * float(np.log(np.mean((size / np.exp(logs)) ** 2)))
        lowest, highest = np.exp(np.quantile(logs, self.quantiles) + level)
        return SmoothScale(log_size=shape, level=level, lowest=float(lowest), highest=float(highest))


def _scored(inputs: Inputs, x: Array, size: Array, start: SmoothMean) -> SmoothMean:
    """One step of Fisher scoring for E|r| = exp(f(x)): with this link and variance, all rows weigh alike."""
    log_size = start.predict(x)
    log_size = log_size + np.log(np.mean(size / np.exp(log_size)))
    working = log_size + np.minimum(size / np.exp(log_size), _OUTLIER) - 1.0
    return fit_mean(inputs, x, working)


NOISE_MODELS: dict[str, type[Additive | LocationScale]] = {member.kind: member for member in (Additive, LocationScale)}
