"""What a screen is: one question, asked of each feature by itself. Does it depend on the residual?

Below it what all screens share: columns made ready, labels judged as one feature, p-values from shuffles, and p-values
of many tests adjusted so that one threshold serves them all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field

from crda_spec.errors import Complaint, SpecError, did_you_mean, show
from crda_spec.records import Array, IntArray, Table, read_only
from crda_spec.seeds import stream
from crda_spec.strict import Fraction, Strict

BoolArray = npt.NDArray[np.bool_]
Evidence = tuple[Array, Array, IntArray]  # statistic, p-value and permutations, each (k,)
LEAST_ROWS = 6  # with fewer, no shuffle of the rows is rare enough to mean anything


def standardized(x: Array, present: BoolArray) -> Array:
    """Columns with mean 0 and length 1 over their present rows, 0 elsewhere; all 0 for a constant."""
    if not len(x):
        return np.zeros(x.shape)
    # Each column is brought to size 1, and once more after centring, so that no square overflows or vanishes.
    rows = np.maximum(present.sum(axis=0), 1)
    filled = np.where(present, x, 0.0)
    size = np.abs(filled).max(axis=0)
    filled = filled / np.where(size > 0, size, 1.0)
    centred = np.where(present, filled - filled.sum(axis=0) / rows, 0.0)
    # A constant over its own size is exactly 1, and so is its mean: its centred values are 0 without rounding errors.
    spread = np.abs(centred).max(axis=0)
    centred = centred / np.where(spread > 0, spread, 1.0)
    length = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    return np.asarray(centred / np.where(length > 0, length, 1.0))


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
    masks, pattern = np.unique(np.isfinite(x) & np.isfinite(z)[:, None], axis=1, return_inverse=True)
    for number, present in enumerate(masks.T):  # nearly always one pattern for all
        columns = np.flatnonzero(pattern.reshape(-1) == number)
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


@dataclass(frozen=True, slots=True, eq=False)
class ScreenResult:
    """The evidence for each feature, in the order of x's columns. Never NaN."""

    statistic: Array  # (d,) its size says how strong the dependence is; 0 means none was seen
    p_value: Array  # (d,) under independence; 1 where nothing could be tested
    rows: IntArray  # (d,) rows in which neither the feature nor the residual was missing
    permutations: IntArray  # (d,) shuffles of the residual that the p-value rests on; 0 where a formula gave it

    def __post_init__(self) -> None:
        for array in (self.statistic, self.p_value, self.rows, self.permutations):
            read_only(array)


Adjustment = Literal["none", "bonferroni", "holm", "fdr_bh"]
ADJUSTMENTS: Final[tuple[Adjustment, ...]] = get_args(Adjustment)


class BaseScreen(Strict):
    """A marginal test of independence, and when its evidence keeps a feature fixed. Reads x, z and rng, keeps nothing.

    A screen that shuffles draws one seed from `rng` for the whole table, and shuffles every feature alike. So neither
    the order of the features nor the presence of another one changes what is said of a feature.
    """

    alpha: Fraction = Field(0.05, description="A p-value at most this small keeps the feature fixed.")
    adjust: Adjustment = Field(
        "none",
        description=(
            "Correction of the p-values for the number of features. none is the strictest screen: more features "
            "stay fixed."
        ),
    )

    @abstractmethod
    def __call__(self, x: Array, z: Array, *, rng: np.random.Generator) -> ScreenResult:
        """x: (n, d) features.  z: (n,) residuals.  rng: for the screens that shuffle.  Returns d lines of evidence."""

    def failure(self, statistic: float, p_value: float) -> Literal["significant", "large"] | None:
        """Why this evidence keeps a feature fixed; None when it does not."""
        if p_value <= self.alpha:
            return "significant"
        return "large" if self.limit is not None and abs(statistic) >= self.limit else None

    @property
    def limit(self) -> float | None:
        """The size of the statistic that keeps a feature fixed, for the screens that have one."""
        return getattr(self, "threshold", None)


def numbers(table: Table) -> tuple[Array, IntArray]:
    """Columns that correlations make sense for, and the feature each belongs to: a category gives one a label."""
    parts, owner = [], []
    for position, column in enumerate(table.features):
        values = table.x[:, position]
        codes = np.unique(values[~np.isnan(values)]) if column.type == "category" else np.empty(0)
        if len(codes) > 2:
            known = np.where(np.isnan(values)[:, None], np.nan, values[:, None] == codes)
            parts.append(known.astype(np.float64))
        elif len(codes):  # of two labels one tells the other; as a column of codes it would depend on unused labels
            parts.append(np.where(np.isnan(values), np.nan, values == codes[-1])[:, None])
        else:
            parts.append(values[:, None])
        owner += [position] * parts[-1].shape[1]
    return np.concatenate(parts, axis=1), np.array(owner, dtype=np.int64)


def grouped(result: ScreenResult, owner: IntArray, features: int) -> ScreenResult:
    """The evidence for each feature, from that for each of its columns.  owner: (c,) the feature of each, from 0.

    A feature is as dependent as its most dependent column, and its p-value is the smallest times their number: labels
    of one category exclude each other, so their tests are tied, and Bonferroni's correction holds however they are.
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


def shuffled_p_value(
    observed: Array, null: Callable[[IntArray, IntArray], Array], *, seed: int, n: int, most: int, enough: int
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


def adjust(p_values: Array, method: Adjustment) -> Array:
    """The p-values (m,) of m tests, adjusted for their number; a test is significant where its own is at most alpha.

    Carrying noise over on a feature that is tied to it is the costly mistake, so the unadjusted screen is the cautious
    one: every adjustment lets more features through.

    - `none`: as they are. Each test errs alone with probability alpha.
    - `bonferroni`: m times each. The chance of even one false alarm is at most alpha, however the tests depend.
    - `holm`: Bonferroni's promise with more power: the k-th smallest counts m - k + 1 times (Holm 1979).
    - `fdr_bh`: of all alarms at most a share alpha is false on average, for independent or positively dependent tests
      (Benjamini and Hochberg 1995).
    """
    p = np.asarray(p_values, dtype=np.float64)
    m = len(p)
    if method == "none":
        return p.copy()
    if method == "bonferroni":
        return np.minimum(p * m, 1.0)
    order = np.argsort(p, kind="stable")
    ranked = p[order]
    if method == "holm":
        # Adjusted values may not fall as p-values rise: a test is rejected only after all smaller ones were.
        ranked = np.maximum.accumulate(ranked * np.arange(m, 0, -1.0))
    elif method == "fdr_bh":
        # m / k is one division, so that the largest p-value, times m / m, stays itself to the last digit.
        ranked = np.minimum.accumulate((ranked * (m / np.arange(1.0, m + 1)))[::-1])[::-1]
    else:
        raise SpecError(
            Complaint(
                code="unknown-adjustment",
                what=f"{show(method)} is no way to adjust p-values",
                hint=did_you_mean(str(method), ADJUSTMENTS),
            )
        )
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(ranked, 1.0)
    return adjusted
