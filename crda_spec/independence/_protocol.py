"""What a screen is: one question, asked of each feature by itself. Does it depend on the residual?

Below it what all screens share: columns made ready, labels judged as one feature, p-values from shuffles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from crda_spec.records import Array, IntArray, read_only
from crda_spec.seeds import stream

if TYPE_CHECKING:
    import numpy as np


BoolArray = npt.NDArray[np.bool_]
Evidence = tuple[Array, Array, IntArray]  # statistic, p-value and permutations, each (k,)
LEAST_ROWS = 6  # with fewer, no shuffle of the rows is rare enough to mean anything


def standardized(x: Array, present: BoolArray) -> Array:
    """Columns with mean 0 and length 1 over their present rows, 0 elsewhere; all 0 for a constant.

    Each column is first brought to size 1, and once more after centring, so that no square overflows or vanishes.
    """
    if not len(x):
        return np.zeros(x.shape)
    rows = np.maximum(present.sum(axis=0), 1)
    filled = np.where(present, x, 0.0)
    size = np.abs(filled).max(axis=0)
    filled = filled / np.where(size > 0, size, 1.0)
    centred = np.where(present, filled - filled.sum(axis=0) / rows, 0.0)
    # A constant over its own size is exactly 1, and so is its mean: its centred values are 0 without rounding errors.
    spread = np.abs(centred).max(axis=0)
    centred = centred / np.where(spread > 0, spread, 1.0)
    length = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    result: Array = centred / np.where(length > 0, length, 1.0)
    return result


def ranks(x: Array) -> Array:
    """The rank of each value in its column, from 1; equal values share the mean of their ranks.  x, result: (n, d)."""
    result = np.empty(x.shape)
    for j in range(x.shape[1]):
        ascending = np.sort(x[:, j])
        below = np.searchsorted(ascending, x[:, j], side="left")
        result[:, j] = (below + np.searchsorted(ascending, x[:, j], side="right") + 1) / 2.0
    return result


def screened(x: Array, z: Array, test: Callable[[Array, Array], Evidence]) -> ScreenResult:
    """Asks `test` about every column that can be asked about; the others get statistic 0 and p-value 1.

    `test` is given columns that miss no value, (m, k), and the residual in the same rows, (m,); all have mean 0,
    length 1 and at least two different values. It is called once for each pattern of missing cells.
    """
    d = x.shape[1]
    statistic, p_value = np.zeros(d), np.ones(d)
    rows, permutations = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    for columns, present in _patterns(np.isfinite(x) & np.isfinite(z)[:, None]):
        rows[columns] = present.sum()
        if present.sum() < LEAST_ROWS:
            continue
        whole = np.ones((int(present.sum()), 1), dtype=np.bool_)
        a = standardized(x[np.ix_(present, columns)], np.broadcast_to(whole, (len(whole), len(columns))))
        b = standardized(z[present, None], whole)[:, 0]
        varies = a.any(axis=0)
        if varies.any() and b.any():
            asked = columns[varies]
            statistic[asked], p_value[asked], permutations[asked] = test(np.ascontiguousarray(a[:, varies]), b)
    return ScreenResult(statistic, p_value, rows, permutations)


def _patterns(present: BoolArray) -> Iterator[tuple[IntArray, BoolArray]]:
    """Columns that miss the same rows, with the rows that they have: nearly always one pattern for all."""
    if not present.shape[1]:
        return
    masks, pattern = np.unique(present, axis=1, return_inverse=True)
    for number in range(masks.shape[1]):
        yield np.flatnonzero(pattern.reshape(-1) == number), masks[:, number]


@dataclass(frozen=True, slots=True, eq=False)
class ScreenResult:
    """The evidence for each feature, in the order of x's columns. Never NaN.

    What a screen cost is told by `rows` and `permutations`, which repeat from run to run; seconds do not, and stand
    in the benchmark (`benchmarks/screens.py`).
    """

    statistic: Array  # (d,) its size says how strong the dependence is; 0 means none was seen
    p_value: Array  # (d,) under independence; 1 where nothing could be tested
    rows: IntArray  # (d,) rows in which neither the feature nor the residual was missing
    permutations: IntArray  # (d,) shuffles of the residual that the p-value rests on; 0 where a formula gave it

    def __post_init__(self) -> None:
        for array in (self.statistic, self.p_value, self.rows, self.permutations):
            read_only(array)


class Screen(Protocol):
    """A marginal test of independence. Pure: reads x, z and rng, keeps nothing.

    A screen that shuffles draws one seed from `rng` for the whole table, and shuffles every feature alike. So neither
    the order of the features nor the presence of another one changes what is said of a feature.
    """

    @property
    def name(self) -> str:
        """The screen's `kind` in a spec."""
        ...

    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  rng: for the screens that shuffle.  Returns d lines of evidence."""
        ...


def grouped(result: ScreenResult, owner: IntArray, features: int) -> ScreenResult:
    """The evidence for each feature, from that for each of its columns.

    result: of c columns.  owner: (c,) the feature, from 0, to which each column belongs.  features: how many there are.

    A feature is as dependent as its most dependent column, and its p-value is the smallest times their number: labels
    of one category exclude each other, so their tests are tied, and Bonferroni's correction holds however they are.
    Rows are those of the strongest column; permutations add up. A feature without a column has shown nothing.
    """
    statistic, p_value = np.zeros(features), np.ones(features)
    rows, permutations = np.zeros(features, dtype=np.int64), np.zeros(features, dtype=np.int64)
    for position in range(features):
        mine = np.flatnonzero(owner == position)
        if not len(mine):
            continue
        strongest = mine[np.abs(result.statistic[mine]).argmax()]
        statistic[position] = result.statistic[strongest]
        p_value[position] = min(1.0, float(result.p_value[mine].min()) * len(mine))
        rows[position] = result.rows[strongest]
        permutations[position] = result.permutations[mine].sum()
    return ScreenResult(statistic, p_value, rows, permutations)


_FIRST_ROUND = 4  # shuffles before the first look; each later round doubles what was drawn
_ROUNDING = 1e-9  # a shuffled statistic this close to the observed one (relatively) counts as equal to it


def drawn_seed(rng: np.random.Generator) -> int:
    """One seed for a whole table, so that each feature meets the same shuffles whatever stands beside it."""
    return int(rng.integers(2**62))


def near(p_value: Array, alpha: float, *, factor: float = 2.0) -> IntArray:
    """Positions of the p-values that an approximation leaves too close to alpha to decide on."""
    return np.flatnonzero((p_value >= alpha / factor) & (p_value <= alpha * factor))


def shuffled_p_value(
    observed: Array,
    null: Callable[[IntArray, IntArray], Array],
    *,
    seed: int,
    n: int,
    most: int,
    enough: int,
) -> tuple[Array, IntArray]:
    """One-sided p-values of k statistics that are large under dependence, and the shuffles that each rests on.

    observed: (k,).  null(orders, which): the statistics of the columns `which`, (b, len(which)), when the residual's n
    rows are taken in each of the b orders.  most: the shuffles at which to stop.  enough: or as soon as this many of
    them reached the observed statistic (Besag and Clifford 1991): a feature that is plainly independent ends early,
    and under independence P(p <= alpha) <= alpha holds at any n.
    """
    k = len(observed)
    reached, used, p_value = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64), np.ones(k)
    rng = stream(seed, "screen-shuffles", n)
    bar = observed - _ROUNDING * np.abs(observed)
    open_ = np.arange(k)
    done, step = 0, min(_FIRST_ROUND, most)
    while step and len(open_):
        orders = rng.permuted(np.tile(np.arange(n), (step, 1)), axis=1)
        hits = reached[open_] + np.cumsum(null(orders, open_) >= bar[open_], axis=0)
        first_enough = np.argmax(hits >= enough, axis=0)
        stops = hits[-1] >= enough
        used[open_] = done + np.where(stops, first_enough + 1, step)
        p_value[open_] = np.where(stops, enough / np.maximum(used[open_], 1), (hits[-1] + 1) / (done + step + 1))
        reached[open_] = hits[-1]
        open_ = open_[~stops]
        done += step
        step = min(done, most - done)
    return p_value, used
