"""Abduction: the noise of each training row, given what the teacher predicts for it.

Noise is added (the paper), or of a size that depends on x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.records import Abduction, Array, Column, Residuals, Table, Teacher
from crda_spec.scm.mechanisms import Inputs, MeanDesign, SmoothMean
from crda_spec.strict import Fraction, Strict


class Additive(Strict):
    """The paper's noise: added, of one size."""

    needs_unseen: ClassVar[bool] = False  # whether `fit` must be given residuals of rows that the model has not seen

    kind: Literal["additive"] = Field("additive", description="y = g(x) + noise, as in the paper.")

    def fit(self, train: Table, residual: Array) -> None:
        """Nothing to fit."""


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
        size = np.exp(np.clip(self.log_size.predict(x) + self.level, -600.0, 600.0))
        return np.clip(size, self.lowest, self.highest), int(((size < self.lowest) | (size > self.highest)).sum())


@dataclass(frozen=True, slots=True)
class EvenScale:
    """One size for all rows: there was nothing to learn one from."""

    size: float = 1.0

    def at(self, x: Array) -> tuple[Array, int]:
        """x: (m, d). Returns (m,)."""
        return np.full(len(x), self.size), 0


class LocationScale(Strict):
    """Noise whose size depends on the features."""

    needs_unseen: ClassVar[bool] = True

    kind: Literal["location_scale"] = Field(
        "location_scale",
        description=(
            "y = g(x) + s(x) * noise: the size s of the noise is fitted to residuals of rows that the teacher's "
            "members have not seen, and a moved row carries its noise at the size that is usual at its new place."
        ),
    )
    quantiles: tuple[Fraction, Fraction] = Field(
        (0.01, 0.99),
        description=(
            "The fitted size is held between these two quantiles of its values at the training rows; how many rows "
            "that changed is recorded."
        ),
    )

    def fit(self, train: Table, residual: Array, designs: Designs | None = None) -> SmoothScale | EvenScale:
        """The size of the noise at any x.  residual: (n,) of unseen rows; those where it is NaN are left out.

        designs: what earlier fits on the same rows left behind, for whoever fits several times.
        """
        known = np.flatnonzero(np.isfinite(residual))
        known = known[np.linspace(0, len(known) - 1, min(len(known), _MOST_ROWS)).round().astype(np.int64)]
        size = np.abs(residual[known])
        if len(known) < _FEWEST or not size.any():
            return EvenScale(float(np.sqrt(np.mean(size**2))) if size.any() else 1.0)
        x = train.x[known]
        design = _design(x, train.features, {} if designs is None else designs)
        log_size = design.fit(np.log(np.maximum(size, _TINY * size.mean()))).predict(x)
        log_size = log_size + np.log(np.mean(size / np.exp(log_size)))
        # One step of Fisher scoring for E|r| = exp(f(x)): with this link and variance, all rows weigh alike.
        shape = design.fit(log_size + np.minimum(size / np.exp(log_size), _OUTLIER) - 1.0)
        logs = shape.predict(x)
        level = 0.5 * float(np.log(np.mean((size / np.exp(logs)) ** 2)))
        lowest, highest = np.exp(np.quantile(logs, self.quantiles) + level)
        return SmoothScale(log_size=shape, level=level, lowest=float(lowest), highest=float(highest))


Designs = dict[tuple[bytes, tuple[Column, ...]], MeanDesign]  # by rows and columns


def _design(x: Array, features: tuple[Column, ...], known: Designs) -> MeanDesign:
    key = (x.tobytes(), features)
    if key not in known:
        known[key] = MeanDesign(Inputs.learn(x, features), x)
    return known[key]


NoiseModel = Annotated[Additive | LocationScale, Field(discriminator="kind")]

_ADDITIVE = Additive()


def abduct(train: Table, teacher: Teacher, *, residuals: Residuals, noise: NoiseModel = _ADDITIVE) -> Abduction:
    """z_i = (y_i - g(x_i)) / s(x_i), g the teacher as fitted or members that have not seen row i.

    s is 1 for additive noise. A scale is always learnt from rows unseen: a flexible model has small residuals where it
    has learnt rows by heart, which says nothing of the noise there.
    """
    predicted = teacher.in_sample if residuals == "in_sample" else _unseen(teacher)
    residual = train.y - predicted
    scale_model = noise.fit(train, train.y - _unseen(teacher) if noise.needs_unseen else residual)
    if scale_model is None:
        return Abduction(noise=residual, residuals=residuals, model=noise.kind)
    scale, clipped = scale_model.at(train.x)
    return Abduction(
        noise=residual / scale,
        residuals=residuals,
        model=noise.kind,
        scale=scale,
        scale_model=scale_model,
        scale_clipped=clipped,
    )


def _unseen(teacher: Teacher) -> Array:
    if teacher.out_of_fold is None:
        raise ValueError(f"a {teacher.kind} teacher has no out-of-fold predictions")
    return teacher.out_of_fold
