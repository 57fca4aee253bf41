"""Sets of the gate's folds such that a few models, each leaving out one set, serve the teacher inside every fold.

Inside outer fold j a teacher needs models that have not seen Fj, and every other row must be unseen by one of them. A
model that leaves out a whole set B of folds will do inside each fold of B, where it has not seen the other folds of B
either. So any two folds must lie together in one set at least. Pairs do that, and cost K(K-1)/2 models. Ten sets do it
for any number of folds: part the folds into five groups, and leave out any two groups together. The price is that a
model sees fewer rows: with ten folds two thirds of those inside an outer fold.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

Block = tuple[int, ...]  # numbers of folds, counted from 1, in ascending order

_FEWEST = 7  # folds: with fewer, pairs cost little more, and sets would leave a model too few rows
_GROUPS = 5


@cache
def fold_blocks(folds: int) -> tuple[Block, ...]:
    """Any two of the folds 1..`folds` lie together in some block; pairs where folds are too few for blocks."""
    numbers = range(1, folds + 1)
    if folds < _FEWEST:
        return tuple(combinations(numbers, 2))
    groups = [numbers[start::_GROUPS] for start in range(_GROUPS)]
    return tuple(tuple(sorted((*one, *other))) for one, other in combinations(groups, 2))
