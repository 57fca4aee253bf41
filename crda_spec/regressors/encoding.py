"""From a table's columns to a model's numbers, learnt from training rows only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crda_spec.records import Array, Column, Table

Fill = Literal["median", "mean"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoder:
    """Fills missing cells, gives each label a column of its own, standardises the rest, and scales the target."""

    fill: Array  # (d,) what replaces a missing value: median or mean of a number, the most frequent code otherwise
    center: Array  # (d,)
    scale: Array  # (d,) never 0
    labels: tuple[tuple[int, ...], ...]  # the codes of each category that the rows show; empty for a number or boolean
    target_center: float
    target_scale: float

    def encode(self, x: Array) -> Array:
        """x: (m, d) as in a Table. Returns (m, p), C-contiguous."""
        filled = np.where(np.isnan(x), self.fill, x)
        scaled = (filled - self.center) / self.scale
        if not any(self.labels):
            return scaled
        parts = [
            (filled[:, [position]] == np.array(codes)).astype(np.float64) if codes else scaled[:, [position]]
            for position, codes in enumerate(self.labels)
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def encode_target(self, y: Array) -> Array:
        """Y in its own unit -> standardised."""
        return (y - self.target_center) / self.target_scale

    def decode_target(self, y: Array) -> Array:
        """Standardised -> y in its own unit."""
        return y * self.target_scale + self.target_center


def fit_encoder(train: Table, *, fill: Fill) -> Encoder:
    """Learns the encoding from the real training rows, the same in both arms of a comparison.

    Rows count alike here, weighted or not: a centre and a scale are only units in which a model is told its numbers.
    """
    filler = np.array([_filler(column, values, fill) for column, values in zip(train.features, train.x.T, strict=True)])
    filled = np.where(np.isnan(train.x), filler, train.x)
    return Encoder(
        fill=filler,
        center=filled.mean(axis=0),
        scale=_spread(filled),
        labels=_shown_labels(train.features, filled),
        target_center=float(train.y.mean()),
        target_scale=float(_spread(train.y[:, None])[0]),
    )


def _spread(columns: Array) -> Array:
    """Standard deviations, 1 for a constant. Its values tell a constant: rounding may leave it a tiny deviation,
    which would send a value that differs a little to the end of the world.
    """
    deviation = columns.std(axis=0)
    return np.where((np.ptp(columns, axis=0) > 0) & (deviation > 0), deviation, 1.0)


def _shown_labels(columns: Sequence[Column], filled: Array) -> tuple[tuple[int, ...], ...]:
    """Only labels that these rows show: one that only held-out rows have must not even widen the model's input."""
    return tuple(
        tuple(np.unique(values).astype(np.int64).tolist()) if column.type == "category" else ()
        for column, values in zip(columns, filled.T, strict=True)
    )


def _filler(column: Column, values: Array, fill: Fill) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0
    if column.is_numeric:
        return float(np.median(known) if fill == "median" else known.mean())
    codes, counts = np.unique(known, return_counts=True)
    return float(codes[counts.argmax()])
