"""Sets of the gate's folds such that a few models, each leaving out one set, serve the teacher inside every fold.

Inside outer fold j a teacher needs models that have not seen Fj, and every other row must be unseen by one of them. A
model that leaves out a whole set B of folds will do inside each fold of B, where it is the one that has not seen the
other folds of B. So the sets that contain j must part the other folds among them, for every j: any two folds lie
together in exactly one set. Pairs do that, and cost K(K-1)/2 models. The lines of a finite plane do it with far fewer:
with 10 folds 12 sets of three or four folds, in place of 45 pairs. The price is that a model sees fewer rows.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, count

Block = tuple[int, ...]  # numbers of folds, counted from 1, in ascending order

_LEAST_SEEN = 0.65  # of the rows inside an outer fold: members that see fewer teach too little


@cache
def fold_blocks(folds: int) -> tuple[Block, ...]:
    """Any two of the folds 1..`folds` lie together in exactly one block; pairs where folds are too few for a plane."""
    lines = _plane(folds)
    largest = max((len(line) for line in lines), default=folds)
    if folds - largest < _LEAST_SEEN * (folds - 1):
        return tuple(combinations(range(1, folds + 1), 2))
    return lines


def _plane(points: int) -> tuple[Block, ...]:
    """The lines of the smallest projective plane of prime order with as many points, cut down to these points.

    The plane's affine points come first, then those at infinity: the fewer of the latter, the shorter the lines.
    """
    order = next(q for q in count(2) if _is_prime(q) and q * q + q + 1 >= points)
    affine = {(x, y): x * order + y for x in range(order) for y in range(order)}
    infinity = [order * order + slope for slope in range(order + 1)]
    lines = [
        {affine[x, (slope * x + shift) % order] for x in range(order)} | {infinity[slope]}
        for slope in range(order)
        for shift in range(order)
    ]
    lines += [{affine[x, y] for y in range(order)} | {infinity[order]} for x in range(order)]
    lines.append(set(infinity))
    kept = [tuple(sorted(point + 1 for point in line if point < points)) for line in lines]
    return tuple(sorted(line for line in kept if len(line) > 1))


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))
