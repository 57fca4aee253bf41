"""A second opinion on a statement that the generalised covariance measure calls violated.

The measure (`gcm`) mistakes what its splines cannot follow for dependence: where both ends hang on a threshold, a wave
or an interaction of the given columns, what is left of the one goes with what is left of the other. This test asks the
same question in a way that such functions disturb little, and its answer is needed only where the measure says no.

1. **More flexible regressions.** Beside the splines, ridge regressions on kernels of the given columns: products of
   (1 + kernel of one column), so that interactions of any order have a place. Generalised cross-validation picks the
   best for each end. A kernel is known by its values at a sample of rows (Williams and Seeger 2001).
2. **Pairs of like rows.** Rows are paired that have the same labels and nearly the same numbers in the given columns,
   and the ends are compared by their differences within pairs: whatever function of the given columns the regressions
   missed cancels (Yatchew 1997, "An elementary estimator of the partial linear model"). The differences of one end,
   trimmed or not, are symmetric about 0 and independent of the other's, so their products have mean 0. The test looks
   where the measure saw most, at the same guises of the ends, and counts both directions.
3. **A stricter look at rough ground.** Where differences of both ends grow with the distance of the rows, the missed
   functions vary at the scale of the pairs themselves, as with many cells. Then the closest pairs alone must agree,
   more narrowly trimmed. Each end is looked at by itself for this, so it does not favour either answer.

The p-value is the largest of all these looks, on the residuals of splines and of kernels, so it is right if one is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from crda_spec.independence.gcm import Gcm, Query, Residuals, Ridge, Terms, normal_scores, scores_of, studentised
from crda_spec.records import Array, IntArray
from crda_spec.seeds import stream

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
    """The pairs of n rows, of equal labels (n, k) and near in their numbers (n, d), which are on comparable scales.

    The two nearest rows of all are paired first, then the two nearest of those that are left, and so on; a row without
    a partner of equal labels stays alone. Then the same once more with pairs that are new, since one difference a row
    uses only half of what its rows know, two use two thirds.
    """
    kind = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1) if labels.shape[1] else np.zeros(len(numbers))
    points = np.column_stack([numbers, kind * _APART, rng.permutation(len(numbers)) * _TIE_BREAK])
    closest = _disjoint(points, np.empty((0, 2), dtype=np.intp))
    again = _disjoint(points, closest)
    far, _ = _neighbours(points, [_FAR_NEIGHBOUR + 1])
    return Matching(closest, np.concatenate([closest, again]), far)


def _disjoint(points: Array, excluded: IntArray) -> IntArray:
    """Pairs that share no row, the nearest first, none of them among the excluded.

    Only ten neighbours of a row are considered at a time; rows that lost all of theirs look again among themselves.
    """
    size = len(points)
    free = np.arange(size, dtype=np.intp)
    pairs, distances = [np.empty((0, 2), dtype=np.intp)], [np.empty(0)]
    for _ in range(_MOST_ROUNDS):
        candidates, apart = _neighbours(points[free], range(2, _NEIGHBOURS + 2))
        # One number for each two rows, in whichever order.
        keys = (pairs.min(axis=1) * size + pairs.max(axis=1) for pairs in (free[candidates], excluded))
        new = ~np.isin(*keys)
        candidates, apart = candidates[new], apart[new]
        taken = _nearest_first(candidates, apart, len(free))
        if not len(taken):
            break
        pairs.append(free[candidates[taken]])
        distances.append(apart[taken])
        free = np.delete(free, candidates[taken].ravel())
    return np.concatenate(pairs)[np.argsort(np.concatenate(distances), kind="stable")]


def _neighbours(points: Array, ranks: Sequence[int]) -> tuple[IntArray, Array]:
    """Each point with those of its neighbours that have these ranks (1 is the point itself) and equal labels.

    (n, d) -> pairs (m, 2) and their distances (m,). Where there are fewer points than that, the last ones will do.
    """
    from scipy.spatial import cKDTree

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


_FEWEST_PAIRS = 10
_MOST_LANDMARKS = 200
_ROWS_A_LANDMARK = 2
_CLIPPED = 4.0  # spreads from the median: no rare value may stretch a kernel's scale
_MAIN_EFFECT = 0.3  # how much of a product of kernels does not depend on one of its columns
# Scale of the columns, shape of the kernel and its width, in units of that scale.
_KERNELS = (
    ("spread", "smooth", 3.0),
    ("spread", "smooth", 1.0),
    ("score", "smooth", 1.5),
    ("rank", "smooth", 0.1),
    ("rank", "rough", 0.3),
)
_LARGEST = 3.0  # robust standard deviations of a difference that noise may reach
_ROUGH = 0.5  # standard errors by which differences of both ends must grow with distance to count as rough ground
_CLOSEST = 0.3  # the share of pairs that is believed there
_LARGEST_THERE = 2.5  # robust standard deviations that a difference may reach there


def second_opinion(gcm: Gcm, query: Query) -> float:
    """The p-value of the statement; 1 where there are too few like rows to tell.

    query: as in `Gcm.tests`. Without given columns there is no function to miss, and the measure's own p-value stands.
    Pure: the same answer for the same rows, whatever else is asked, and whichever end comes first.
    """
    i, j, given = query
    i, j = min(i, j), max(i, j)
    ends = gcm.ends((i, j, given))
    if not given:
        return ends.compare(i, j).p_value
    plain = ends.score(i), ends.score(j)
    if ends.count < 2 * _FEWEST_PAIRS or plain[0] is None or plain[1] is None:
        return 1.0
    # Where the measure saw most: the guise of either end, and the sign of their product.
    t, _ = studentised(plain[0], plain[1], ends.groups)
    row, column = np.unravel_index(int(np.abs(t).argmax()), t.shape)
    guises = plain[0].guises[int(row)], plain[1].guises[int(column)]
    held = _Held.of([gcm.terms[column] for column in ends.given], ends.rows)
    flexible = partial(_best_residuals, [ends.ridge, *held.kernel_ridges()])
    richer = [scores_of(gcm.terms[column], ends.rows, flexible) for column in (i, j)]
    views = []
    for a, b in (plain, richer):
        if a is None or b is None or guises[0] not in a.guises or guises[1] not in b.guises:
            return 1.0  # the kernels leave nothing of an end: the given columns determine it
        views.append((a.guise(guises[0]), b.guise(guises[1])))
    numeric = gcm.terms[i].is_numeric, gcm.terms[j].is_numeric
    return max(_looks(held, views, numeric, float(np.sign(t[row, column])), ends.groups))


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """The given columns on the rows of a test."""

    scores: Array  # (n, d) the numbers' normal scores
    spreads: Array  # (n, d) the numbers in units of their spread about the median
    labels: Array  # (n, k) the categories' codes

    @classmethod
    def of(cls, given: Sequence[Terms], rows: IntArray | None) -> _Held:
        at = slice(None) if rows is None else rows
        numbers = [terms.ends[at, 0] for terms in given if terms.is_numeric]
        codes = [terms.values[at] for terms in given if not terms.is_numeric]
        nothing = np.empty((len((numbers or codes)[0]), 0))
        return cls(
            np.column_stack([nothing, *map(normal_scores, numbers)]),
            np.column_stack([nothing, *map(_in_spreads, numbers)]),
            np.column_stack([nothing, *codes]),
        )

    def kernel_ridges(self) -> Iterator[Ridge]:
        """A regression on each of the kernels."""
        from scipy import special

        count = len(self.scores)
        size = min(count // _ROWS_A_LANDMARK, _MOST_LANDMARKS)
        # A fixed seed: which rows stand for the rest is no part of the inference, and every call must agree.
        chosen = np.sort(stream(0, "second opinion: landmarks", count).choice(count, size=size, replace=False))
        scales = {"spread": self.spreads, "score": self.scores, "rank": special.ndtr(self.scores)}
        for scale, shape, width in _KERNELS:
            numbers = scales[scale] / width
            across = _kernel(numbers, numbers[chosen], self.labels, self.labels[chosen], rough=shape == "rough")
            weights, axes = np.linalg.eigh(across[chosen])
            kept = weights > weights[-1] * 1e-7
            yield Ridge.of(across @ (axes[:, kept] / np.sqrt(weights[kept])))


def _in_spreads(values: Array) -> Array:
    low, middle, high = np.quantile(values, [0.16, 0.5, 0.84])
    spread = (high - low) / 2.0 or float(values.std()) or 1.0
    return np.asarray(np.clip((values - middle) / spread, -_CLIPPED, _CLIPPED), dtype=np.float64)


def _kernel(numbers: Array, at: Array, labels: Array, labels_at: Array, *, rough: bool) -> Array:
    """(n, d), (m, d), (n, k), (m, k) -> (n, m): one factor a column, 1 where two rows agree in it."""
    product = np.ones((len(numbers), len(at)))
    for column in range(numbers.shape[1]):
        distance = np.abs(numbers[:, column][:, None] - at[:, column])
        alike = np.exp(-distance if rough else -np.square(distance) / 2.0)
        product *= (_MAIN_EFFECT + alike) / (_MAIN_EFFECT + 1.0)
    for column in range(labels.shape[1]):
        same = labels[:, column][:, None] == labels_at[:, column]
        product *= (_MAIN_EFFECT + same) / (_MAIN_EFFECT + 1.0)
    return product


def _best_residuals(ridges: Sequence[Ridge], targets: Array) -> Residuals:
    """For each target those of the regression that generalised cross-validation expects most of."""
    fits = [ridge.residuals(targets) for ridge in ridges]
    best = np.argmin([fit.unexplained for fit in fits], axis=0)
    return Residuals(
        np.column_stack([fits[k].values[:, m] for m, k in enumerate(best)]),
        np.ones((len(best), 0)),  # of no use across bases, and a test by pairs needs none
        np.array([fits[k].unexplained[m] for m, k in enumerate(best)]),
        np.array([fits[k].alive[m] for m, k in enumerate(best)]),
    )


def _looks(
    held: _Held, views: Sequence[tuple[Array, Array]], numeric: tuple[bool, bool], sign: float, groups: IntArray | None
) -> Iterator[float]:
    """The p-values of all looks; one of 1 where there are too few pairs."""
    found = matching(held.scores, held.labels, rng=stream(0, "second opinion: ties", len(held.scores)))
    if len(found.closest) < _FEWEST_PAIRS:
        yield 1.0
        return
    rough = held.scores.shape[1] > 0 and all(_growth(end, found.closest, found.far) > _ROUGH for end in views[0])
    closest = found.closest[: max(int(_CLOSEST * len(found.closest)), _FEWEST_PAIRS)]
    for pairs, largest in ((found.near, _LARGEST), (closest, _LARGEST_THERE))[: 1 + rough]:
        for view in views:
            a, b = (_differences(end, pairs) for end in view)
            a, b = (_trimmed(end, largest) if number else end for end, number in zip((a, b), numeric, strict=True))
            yield _one_look(a * b, pairs, sign, groups)


def _differences(end: Array, pairs: IntArray) -> Array:
    return np.asarray(end[pairs[:, 0]] - end[pairs[:, 1]], dtype=np.float64)


def _trimmed(differences: Array, largest: float) -> Array:
    """Those too large for noise set to 0, at equal distance on both sides, so that they stay symmetric."""
    from scipy import special

    size = np.abs(differences)
    return np.where(size <= largest * np.median(size) / special.ndtri(0.75), differences, 0.0)


def _growth(end: Array, near: IntArray, far: IntArray) -> float:
    """By how many standard errors the ranks of far pairs' differences exceed those of near pairs' (Mann-Whitney)."""
    from scipy import special

    if not len(far):
        return 0.0
    sizes = np.abs(np.concatenate([_differences(end, near), _differences(end, far)]))
    ranks = special.ndtr(normal_scores(sizes))
    gap = float(ranks[len(near) :].mean() - ranks[: len(near)].mean())
    return gap / float(np.sqrt((1.0 / len(near) + 1.0 / len(far)) / 12.0))


def _one_look(products: Array, pairs: IntArray, sign: float, groups: IntArray | None) -> float:
    """The p-value of products of differences (m,), both directions counted."""
    from scipy import special

    units, variance = _uncertainty(products, pairs, groups)
    if not variance > 0.0:
        return 1.0
    t = sign * float(products.sum()) / np.sqrt(variance)
    return min(1.0, 2.0 * float(special.stdtr(max(units - 1, 1), -t)))


def _uncertainty(products: Array, pairs: IntArray, groups: IntArray | None) -> tuple[int, float]:
    """The number of independent units, and the variance of the products' sum.

    With groups, pairs that share a group are not independent: all products of such pairs are added up, each once (the
    variance estimate for dyads of Aronow, Samii and Assenova 2015).
    """
    alone = float(np.square(products).sum())
    codes, ends = np.unique(pairs if groups is None else groups[pairs], return_inverse=True)
    ends = np.sort(ends.reshape(-1, 2), axis=1)
    apart = ends[:, 0] != ends[:, 1]
    by_group = np.bincount(ends[:, 0], products, len(codes)) + np.bincount(ends[apart, 1], products[apart], len(codes))
    dyads = np.unique(ends[apart], axis=0, return_inverse=True)[1].reshape(-1)
    by_dyad = np.bincount(dyads, products[apart]) if apart.any() else np.zeros(1)
    return len(codes), max(float(np.square(by_group).sum() - np.square(by_dyad).sum()), alone)
