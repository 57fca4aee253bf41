"""Anchor data augmentation: rows moved towards or away from the centre of their cluster, outcomes with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows, sources_of
from crda_spec.records import Array, IntArray
from crda_spec.strict import Positive

_STEPS = 100  # of Lloyd's algorithm at most


class Ada(BaseAugmenter):
    """x' = (x + (sqrt(gamma) - 1) c) / sqrt(gamma), y' the same, c the centre of the row's cluster.

    Schneider, Goshtasbpour and Perez-Cruz 2023, "Anchor data augmentation": the anchor is the cluster of features and
    outcome that k-means gives a row, so that its projection is the cluster's mean. gamma > 1 draws a row towards it,
    gamma < 1 away from it. A category stays.
    """

    kind: Literal["ada"] = Field(
        "ada", description="Anchor data augmentation: rows moved to or from their cluster's centre."
    )
    gammas: tuple[Positive, ...] = Field(
        (0.5, 0.75, 1.5, 2.0), min_length=1, description="The strengths; each new row draws one of them."
    )
    anchors: int = Field(10, ge=1, le=10_000, description="The number of clusters.")

    search: ClassVar[Mapping[str, tuple[object, ...]]] = {"anchors": (5, 8, 10, 12)}
    learns: ClassVar[bool] = True
    streams: ClassVar[bool] = False

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "moved along the line to its cluster's centre (anchor data augmentation)"

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        train, numbers = given.train, list(given.numbers)
        spread = float(train.y.std()) or 1.0
        together = np.column_stack([given.points(), (train.y - train.y.mean()) / spread])
        cluster = clusters(together, min(self.anchors, len(train)), rng=rng)
        source = sources_of(len(train), count, rng=rng)
        keep = 1.0 / np.sqrt(np.array(self.gammas)[rng.integers(0, len(self.gammas), size=count)])
        x, own = train.x[source], cluster[source]
        for at in numbers:
            x[:, at] = keep * x[:, at] + (1.0 - keep) * _means(train.x[:, at], cluster)[own]
        y = keep * train.y[source] + (1.0 - keep) * _means(train.y, cluster)[own]
        return NewRows(x=x, label=y, source=source)


def _means(values: Array, cluster: IntArray) -> Array:
    """The mean of each cluster's known values; 0 where it knows none, as then no row of it does."""
    known = ~np.isnan(values)
    size = np.bincount(cluster[known], minlength=cluster.max() + 1)
    total = np.bincount(cluster[known], weights=values[known], minlength=cluster.max() + 1)
    return np.asarray(total / np.maximum(size, 1), dtype=np.float64)


def clusters(points: Array, count: int, *, rng: np.random.Generator) -> IntArray:
    """(n,) a cluster of each row: k-means by Lloyd's algorithm from a k-means++ start (Arthur, Vassilvitskii 2007)."""
    centers = points[[int(rng.integers(len(points)))]]
    gap = ((points - centers[0]) ** 2).sum(axis=1)
    while len(centers) < count and gap.sum() > 0.0:
        at = int(np.searchsorted(np.cumsum(gap), rng.random() * gap.sum(), side="right"))
        centers = np.vstack([centers, points[min(at, len(points) - 1)]])
        gap = np.minimum(gap, ((points - centers[-1]) ** 2).sum(axis=1))
    own = np.zeros(len(points), dtype=np.int64)
    for _ in range(_STEPS):
        far = (centers**2).sum(axis=1) - 2.0 * points @ centers.T
        found = far.argmin(axis=1)
        size = np.bincount(found, minlength=len(centers))
        sums = np.zeros_like(centers)
        np.add.at(sums, found, points)
        centers = np.where(size[:, None] > 0, sums / np.maximum(size, 1)[:, None], centers)
        if np.array_equal(found, own):
            break
        own = found.astype(np.int64)
    return own
