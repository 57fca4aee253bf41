"""Rows that are nearly alike, in pairs: between two such rows an unknown function of what they share cancels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from crda_spec.records import Array, IntArray

_APART = 1e4  # between rows with different labels: farther than any two normal scores can be
_TIE_BREAK = 1e-7  # rows that are exactly alike are paired at random, not all with the same few
_NEIGHBOURS = 10  # of a row, that are considered for its partner
_MOST_ROUNDS = 6
_FAR_NEIGHBOUR = 12


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """Pairs of rows that are alike, and pairs that are a little farther apart to compare them with."""

    closest: IntArray  # (m, 2), no row twice; the nearest first
    near: IntArray  # (k, 2): those, and as many again with every row's next best partner
    far: IntArray  # (l, 2): each row and its twelfth neighbour


def matching(numbers: Array, labels: Array, *, rng: np.random.Generator) -> Matching:
    """The pairs of n rows, of equal labels and near in their numbers.

    numbers: (n, d), on comparable scales.  labels: (n, k).

    The two nearest rows of all are paired first, then the two nearest of those that are left, and so on; a row without
    a partner of equal labels stays alone. Then the same once more with pairs that are new, since one difference a row
    uses only half of what its rows know, two use two thirds.
    """
    points = _points(numbers, labels, rng)
    closest = _disjoint(points, np.empty((0, 2), dtype=np.intp))
    again = _disjoint(points, closest)
    far, _ = _neighbours(points, [_FAR_NEIGHBOUR + 1])
    return Matching(closest, np.concatenate([closest, again]), far)


def _disjoint(points: Array, excluded: IntArray) -> IntArray:
    """Pairs that share no row, the nearest first, none of them among the excluded.

    Only the ten nearest neighbours of a row are considered at a time; rows that lost all of theirs look again among
    themselves.
    """
    size = len(points)
    free = np.arange(size, dtype=np.intp)
    pairs, distances = [np.empty((0, 2), dtype=np.intp)], [np.empty(0)]
    known = _key(excluded, size)
    for _ in range(_MOST_ROUNDS):
        candidates, apart = _neighbours(points[free], range(2, _NEIGHBOURS + 2))
        new = ~np.isin(_key(free[candidates], size), known)
        candidates, apart = candidates[new], apart[new]
        taken = _nearest_first(candidates, apart, len(free))
        if not len(taken):
            break
        pairs.append(free[candidates[taken]])
        distances.append(apart[taken])
        free = np.delete(free, candidates[taken].ravel())
    return np.concatenate(pairs)[np.argsort(np.concatenate(distances), kind="stable")]


def _key(pairs: IntArray, size: int) -> IntArray:
    """(m, 2) -> (m,): one number for each two rows, in whichever order."""
    return np.asarray(pairs.min(axis=1) * size + pairs.max(axis=1), dtype=np.intp)


def _neighbours(points: Array, ranks: Sequence[int]) -> tuple[IntArray, Array]:
    """Each point with those of its neighbours that have these ranks (1 is the point itself) and equal labels.

    (n, d) -> pairs (m, 2) and their distances (m,). Where there are fewer points than that, the last ones will do.
    """
    wanted = sorted({min(rank, len(points)) for rank in ranks} - {0, 1})
    if not wanted:
        return np.empty((0, 2), dtype=np.intp), np.empty(0)
    distance, neighbour = (np.asarray(found).ravel() for found in cKDTree(points).query(points, k=wanted))
    pairs = np.column_stack([np.repeat(np.arange(len(points)), len(wanted)), neighbour])
    alike = distance < _APART / 2
    return np.asarray(pairs[alike], dtype=np.intp), distance[alike]


def _nearest_first(candidates: IntArray, distances: Array, count: int) -> IntArray:
    """Which candidate pairs are taken, none of them sharing a row: a loop, since each choice hangs on those before."""
    used = bytearray(count)
    taken = []
    ordered = np.argsort(distances, kind="stable")
    for position, (a, b) in zip(ordered.tolist(), candidates[ordered].tolist(), strict=True):
        if a != b and not used[a] and not used[b]:
            used[a] = used[b] = 1
            taken.append(position)
    return np.array(taken, dtype=np.intp)


def _points(numbers: Array, labels: Array, rng: np.random.Generator) -> Array:
    kind = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1) if labels.shape[1] else np.zeros(len(numbers))
    return np.column_stack([numbers, kind * _APART, rng.permutation(len(numbers)) * _TIE_BREAK])


__all__ = ["Matching", "matching"]
