"""P-values from shuffled residuals, with no more shuffles than the answer needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crda_spec.records import Array, IntArray
from crda_spec.seeds import stream

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
