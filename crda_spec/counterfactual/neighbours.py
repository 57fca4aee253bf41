"""Which training rows are near which, in any set of features.

Numbers count in standard deviations; two labels are alike (0) or different (1), so that a rare label is no farther away
than a frequent one. A missing number is read as the mean, a missing label as none of the labels.

Cost: with n rows to compare, a search is held to about 5e8 distances. Above 22 000 rows the neighbours are therefore
looked for among a random sample of the training rows (drawn from a named stream, never fewer than 1000): a neighbour is
then a near row, not the nearest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from crda_spec.records import NOBODY, Array, IntArray, Table
from crda_spec.seeds import stream

_DISTANCES = 500_000_000  # of one search
_LEAST_REFERENCE = 1_000
_TREE_DIMENSIONS = 8  # above which a tree visits nearly every row, and a matrix product is faster
_BLOCK = 1_000_000  # distances held in memory at once: few enough to stay near the processor
_TIE = 1e-6  # standard deviations: breaks ties at random, or labels alone would always give the same few neighbours


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Space:
    """Rows as points, between which distances mean something. Learnt from training rows."""

    center: Array  # (d,)
    scale: Array  # (d,) never 0
    codes: tuple[Array, ...]  # of each category or boolean, the codes that the rows show; empty for a number

    @classmethod
    def learn(cls, train: Table) -> Space:
        """From the known cells of the training rows."""
        center, scale = np.zeros(len(train.features)), np.ones(len(train.features))
        codes: list[Array] = []
        for position, (column, values) in enumerate(zip(train.features, train.x.T, strict=True)):
            known = values[~np.isnan(values)]
            codes.append(np.empty(0) if column.is_numeric else np.unique(known))
            if column.is_numeric and len(known):
                center[position] = known.mean()
                # A constant is told by its values: rounding may leave it a tiny deviation.
                scale[position] = known.std() if np.ptp(known) > 0 and known.std() > 0 else 1.0
        return cls(center=center, scale=scale, codes=tuple(codes))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The positions of the numeric features."""
        return tuple(position for position, codes in enumerate(self.codes) if not len(codes))

    def encode(self, x: Array, positions: Sequence[int] | None = None) -> Array:
        """x: (m, d) as in a table. Returns (m, p), the features at these positions (None: all of them)."""
        chosen = range(len(self.codes)) if positions is None else positions
        parts: list[Array] = [np.empty((len(x), 0))]
        for position in chosen:
            values, codes = x[:, position], self.codes[position]
            if len(codes):
                parts.append((values[:, None] == codes) * np.sqrt(0.5))
            else:
                parts.append(np.nan_to_num((values - self.center[position]) / self.scale[position], nan=0.0)[:, None])
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Nearness:
    """The neighbours of the training rows, each set of features searched once, when it is first asked for."""

    train: Table
    seed: int
    index: tuple[int, ...]
    _found: dict[tuple[tuple[int, ...], int], IntArray] = field(default_factory=dict)

    def neighbours(self, positions: tuple[int, ...], count: int) -> IntArray:
        """(n, k) training rows near each training row in these features, never the row itself; k is at most `count`."""
        key = (positions, count)
        if key not in self._found:
            self._found[key] = self._search(positions, count)
        return self._found[key]

    def partner(self, source: IntArray, uniform: Array, *, positions: tuple[int, ...], count: int | None) -> IntArray:
        """(m,) another training row for each source row: one of its `count` neighbours in these features, or any row.

        uniform: (m,) numbers in [0, 1), one for each row. Without features to compare, or with count None, every other
        row is as likely. The row itself stands in where there is no other. A source of NOBODY is no training row: then
        all of them are others, and nobody's neighbours are known.
        """
        strangers = source == NOBODY
        if len(self.train) < 2:
            return np.where(strangers, 0, source).astype(np.int64)
        if count is None or not positions:
            own = ~strangers
            other = (uniform * (len(self.train) - own)).astype(np.int64)
            any_other: IntArray = other + (own & (other >= source))
            return any_other
        near = self.neighbours(positions, count)
        chosen: IntArray = near[source, (uniform * near.shape[1]).astype(np.int64)]
        return chosen

    def _search(self, positions: tuple[int, ...], count: int) -> IntArray:
        points = Space.learn(self.train).encode(self.train.x, positions)
        points = points + _TIE * stream(self.seed, "nearness-ties", *self.index).standard_normal(points.shape)
        rows = np.arange(len(points))
        reference = reference_rows(len(points), len(points), rng=stream(self.seed, "nearness-rows", *self.index))
        wanted = min(count + 1, len(reference))
        near = reference[nearest(points[reference], points, wanted)[1]]
        # The row itself goes last, whether it was found or not; one more was asked for, so it can be cut off.
        order = np.argsort(near == rows[:, None], axis=1, kind="stable")
        return np.take_along_axis(near, order, axis=1)[:, : wanted - 1]


def reference_rows(rows: int, queries: int, *, rng: np.random.Generator) -> IntArray:
    """The rows among which neighbours are looked for: all of them, or a sample that bounds the cost; ascending."""
    most = max(_LEAST_REFERENCE, _DISTANCES // max(1, queries))
    if rows <= most:
        return np.arange(rows)
    return np.sort(rng.choice(rows, size=most, replace=False))


def nearest(reference: Array, queries: Array, count: int) -> tuple[Array, IntArray]:
    """The distances (m, count) to the nearest reference rows, ascending, and their positions (m, count)."""
    if reference.shape[1] <= _TREE_DIMENSIONS:
        from scipy.spatial import cKDTree

        distance, found = cKDTree(reference).query(queries, k=list(range(1, count + 1)))
        return np.asarray(distance, dtype=np.float64), np.asarray(found, dtype=np.int64)
    lengths = (reference**2).sum(axis=1)
    step = max(1, _BLOCK // len(reference))
    blocks = [_nearest_in(reference, lengths, queries[at : at + step], count) for at in range(0, len(queries), step)]
    empty = (np.empty((0, count)), np.empty((0, count), dtype=np.int64))
    distances, positions = zip(*(blocks or [empty]), strict=True)
    return np.concatenate(distances), np.concatenate(positions)


def _nearest_in(reference: Array, lengths: Array, queries: Array, count: int) -> tuple[Array, IntArray]:
    """By one matrix product; the few that are left are measured exactly, as the product cancels digits."""
    rough = queries @ (-2.0 * reference.T)
    rough += lengths  # the query's own length changes no order
    if count > 2:
        near = np.argpartition(rough, count - 1, axis=1)[:, :count]
    else:  # a tenth of the time of a partition
        near = rough.argmin(axis=1)[:, None]
        if count == 2:
            np.put_along_axis(rough, near, np.inf, axis=1)
            near = np.column_stack([near, rough.argmin(axis=1)])
    exact = np.sqrt(((reference[near] - queries[:, None, :]) ** 2).sum(axis=2))
    order = np.argsort(exact, axis=1, kind="stable")
    return np.take_along_axis(exact, order, axis=1), np.take_along_axis(near, order, axis=1)
