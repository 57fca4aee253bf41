"""More rows where the outcome is rare: SMOTER and SMOGN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows, mixed
from crda_spec.counterfactual.neighbours import nearest, reference_rows
from crda_spec.records import NOBODY, Array, IntArray
from crda_spec.strict import Positive


class Smoter(BaseAugmenter):
    """Rows between a rare row and one of its nearest rare neighbours, its outcome weighted by the two distances.

    Torgo et al. 2013, "SMOTE for regression". Rare is a row whose relevance reaches `threshold`; the relevance rises
    from 0 at the median to 1 at the whiskers of Tukey's box plot, on each side that has rows beyond its whisker. No
    frequent row is left out, as both arms of the gate keep all real rows. Where nothing is rare, no row is made.
    """

    kind: Literal["smoter"] = Field("smoter", description="Rows between rare rows and their rare neighbours.")
    threshold: float = Field(0.5, gt=0, le=1, description="The relevance from which on a row is rare.")
    neighbours: int = Field(5, ge=1, le=1000, description="How many rare neighbours are looked at.")

    search: ClassVar[Mapping[str, tuple[object, ...]]] = {"threshold": (0.5, 0.7, 0.9)}
    streams: ClassVar[bool] = False

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "between a row of rare outcome and one of its rare neighbours"

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        groups = [rows for rows in rare_rows(given.train.y, self.threshold) if len(rows) > 1]
        if not groups:
            nobody = np.empty(0, dtype=np.int64)
            return NewRows(x=given.train.x[nobody], label=np.empty(0), source=nobody)
        shares = np.diff(np.arange(len(groups) + 1) * count // len(groups)).tolist()
        parts = [self._between(given, rows, share, rng=rng) for rows, share in zip(groups, shares, strict=True)]
        x, y, source, partner = (np.concatenate(part) for part in zip(*parts, strict=True))
        return NewRows(x=x, label=y, source=source, partner=partner)

    def _between(
        self, given: Given, rows: IntArray, count: int, *, rng: np.random.Generator
    ) -> tuple[Array, Array, IntArray, IntArray]:
        """Cells, outcomes, sources and partners of `count` new rows from the rows of one side, all of them rare."""
        source, partner, _ = self._pairs(given.points()[rows], count, rng=rng)
        return _interpolated(given, rows[source], rows[partner], rng=rng)

    def _pairs(self, points: Array, count: int, *, rng: np.random.Generator) -> tuple[IntArray, IntArray, Array]:
        """(count,) a rare row, one of its nearest others, and how far apart they are."""
        source = rng.permutation(np.arange(count) % len(points))
        wanted = min(self.neighbours + 1, len(points))
        far, found = nearest(points, points, wanted)
        order = np.argsort(found == np.arange(len(points))[:, None], axis=1, kind="stable")[:, : wanted - 1]
        at = order[source, rng.integers(0, wanted - 1, size=count)]
        return source, found[source, at], far[source, at]


class Smogn(Smoter):
    """SMOTER where the neighbour is near, and Gaussian noise around the rare row where it is not.

    Branco, Torgo and Ribeiro 2017, "SMOGN: a pre-processing approach for imbalanced regression". Near is less than half
    the median distance from the row to the other rare ones of its side.
    """

    kind: Literal["smogn"] = Field("smogn", description="SMOTER near a rare row's neighbours, noise elsewhere.")  # type: ignore[assignment]
    sd: Positive = Field(0.02, le=10, description="The noise's size, in standard deviations of each column.")

    search: ClassVar[Mapping[str, tuple[object, ...]]] = {"threshold": (0.5, 0.7, 0.9), "sd": (0.01, 0.02, 0.05)}

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "between a row of rare outcome and a near rare neighbour, or that row with noise"

    def _between(
        self, given: Given, rows: IntArray, count: int, *, rng: np.random.Generator
    ) -> tuple[Array, Array, IntArray, IntArray]:
        """See `Smoter._between`."""
        train, points = given.train, given.points()[rows]
        local, partner, far = self._pairs(points, count, rng=rng)
        reach = _median_gaps(points, rng=rng) / 2.0
        x, y, source, partner = _interpolated(given, rows[local], rows[partner], rng=rng)
        size = np.minimum(self.sd, reach[local])
        noise, numbers = train.x[source], list(given.numbers)
        noise[:, numbers] += size[:, None] * given.spreads() * rng.standard_normal((count, len(numbers)))
        noisy_y = train.y[source] + size * float(train.y.std()) * rng.standard_normal(count)
        near = far < reach[local]
        return np.where(near[:, None], x, noise), np.where(near, y, noisy_y), source, np.where(near, partner, NOBODY)


def _median_gaps(points: Array, *, rng: np.random.Generator) -> Array:
    """(n,) the median distance from each row to the others; to a random sample of them where there are many."""
    from scipy.spatial.distance import cdist

    others = reference_rows(len(points), len(points), rng=rng)
    gaps = np.sort(cdist(points, points[others]), axis=1)
    own = np.isin(np.arange(len(points)), others)  # whose distance to itself comes first
    return np.where(own, np.median(gaps[:, 1:], axis=1), np.median(gaps, axis=1))


def _interpolated(
    given: Given, source: IntArray, partner: IntArray, *, rng: np.random.Generator
) -> tuple[Array, Array, IntArray, IntArray]:
    """A random place on the line between two rows; the outcome of the nearer one counts more, as the distances say."""
    share = rng.random(len(source))
    x, y = mixed(given, source, partner, share, rng=rng), given.train.y
    return x, share * y[source] + (1.0 - share) * y[partner], source, partner


def relevance(y: Array) -> Array:
    """(n,) how rare each outcome is: 0 at the median, 1 at and beyond a whisker with rows beyond it, smooth between.

    Ribeiro 2011: monotone cubic Hermite interpolation through these points with flat ends, which for two of them is
    3 t^2 - 2 t^3.
    """
    low, middle, high = np.quantile(y, [0.25, 0.5, 0.75])
    reach = 1.5 * (high - low)
    inside = y[(y >= low - reach) & (y <= high + reach)]
    found = np.zeros(len(y))
    for end, beyond in ((inside.min(), y < low - reach), (inside.max(), y > high + reach)):
        if beyond.any() and end != middle:
            t = np.clip((y - middle) / (end - middle), 0.0, 1.0)
            found = np.maximum(found, t * t * (3.0 - 2.0 * t))
        elif beyond.any():
            found = np.maximum(found, beyond.astype(np.float64))
    return found


def rare_rows(y: Array, threshold: float) -> tuple[IntArray, IntArray]:
    """The rows of rare outcome, below the median and above it."""
    rare, middle = relevance(y) >= threshold, float(np.median(y))
    return np.flatnonzero(rare & (y < middle)), np.flatnonzero(rare & (y > middle))
