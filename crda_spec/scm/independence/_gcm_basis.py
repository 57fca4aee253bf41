"""The columns of a table as the generalised covariance measure sees them: as ends of a test, and held fixed.

A number that is held fixed becomes a natural cubic spline with knots at quantiles: flexible in the middle and linear
beyond the outermost knots, so that no rare value bends a curve. A category or a truth value becomes one column per
label; rare labels are taken together, since nothing can be learned from a label with a handful of rows. Missing cells
are NaN and are left out by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from crda_spec.records import Array, IntArray

_KNOTS = (6, 4)  # of the richer and of the plainer spline: 5 and 3 columns
_MOST_LABELS = 8
_RAREST_LABEL = 10  # rows
_ROWS_A_TERM = 3  # the basis of a test has at most one column for so many rows
_MOST_PRODUCTS = 40
_FEW_VALUES = 12


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """One column, prepared."""

    is_numeric: bool
    values: Array  # (n,) as they are
    ends: Array  # (n, m): a number itself, in units of its spread, and its normal score; a category's labels but one
    bases: tuple[Array, ...]  # what it becomes when it is held fixed, the richest first; the last is linear
    pairings: tuple[Array, ...]  # what is multiplied with another column's, the richest first; the last is linear


def terms_of(values: Array, *, is_numeric: bool) -> Terms:
    """values: (n,), NaN where there is none."""
    if not is_numeric:
        labels = _labels(values)
        return Terms(is_numeric=False, values=values, ends=labels, bases=(labels,), pairings=(labels,))
    linear = _standardized(values)[:, None]
    ends = np.column_stack([linear, _present_scores(values)])
    splines = [_spline(linear[:, 0], knots) for knots in _KNOTS]
    if len(np.unique(values[np.isfinite(values)])) <= _FEW_VALUES:  # a count: each common value may have its own mean
        splines[0] = np.column_stack([linear, _labels(values)])
    pairing = np.column_stack([linear, (np.square(ends[:, 1]) - 1.0) / np.sqrt(2.0)])
    return Terms(is_numeric=True, values=values, ends=ends, bases=(*splines, linear), pairings=(pairing, linear))


def _present_scores(values: Array) -> Array:
    known = np.isfinite(values)
    scores = np.full(len(values), np.nan)
    scores[known] = normal_scores(values[known])
    return scores


def design(given: Sequence[Terms], rows: IntArray | None, count: int) -> Array:
    """The basis (count, p) of the columns that are held fixed: the richest that the number of rows can bear.

    Products of each two columns' terms come with it. Plainer products, then plainer splines are taken to make room;
    only where even straight lines leave none are products given up, and the splines are as rich as they can be.
    """
    if not given:
        return np.empty((count, 0))
    room = count / _ROWS_A_TERM
    levels = [[_at(terms.bases, level) for terms in given] for level in range(len(_KNOTS) + 1)]
    pairings = [list(combinations([_at(terms.pairings, level) for terms in given], 2)) for level in range(2)]
    for blocks in levels:
        for pairs in pairings:
            products = sum(a.shape[1] * b.shape[1] for a, b in pairs)
            if products <= _MOST_PRODUCTS and _width(blocks) + products <= room:
                return _joined(
                    [*blocks, *((a[:, :, None] * b[:, None, :]).reshape(len(a), -1) for a, b in pairs)], rows
                )
    return _joined(next((blocks for blocks in levels if _width(blocks) <= room), levels[-1]), rows)


def _at(choices: tuple[Array, ...], level: int) -> Array:
    return choices[min(level, len(choices) - 1)]


def _width(blocks: Sequence[Array]) -> int:
    return sum(block.shape[1] for block in blocks)


def _joined(blocks: Sequence[Array], rows: IntArray | None) -> Array:
    basis = np.concatenate(blocks, axis=1)
    return basis if rows is None else basis[rows]


def _standardized(values: Array) -> Array:
    """Mean 0 and standard deviation 1 over the present values; zeros for a constant."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.zeros(len(values))
    size = float(np.abs(known).max()) or 1.0  # so that no square overflows or vanishes
    scaled = values / size
    centred = scaled - float((known / size).mean())
    spread = float(np.nanstd(scaled))
    return np.asarray(centred / spread if spread > 1e-13 else np.zeros(len(values)), dtype=np.float64)


def _spline(x: Array, knots: int) -> Array:
    """The natural cubic spline basis (n, at most knots - 1) without its constant; fewer columns when values repeat."""
    known = x[np.isfinite(x)]
    places = np.unique(np.quantile(known, np.linspace(0.05, 0.95, knots))) if len(known) else np.empty(0)
    if len(places) < 3:
        return x[:, None]
    last, before = places[-1], places[-2]

    def bend(knot: float) -> Array:
        cubes = np.maximum(x - knot, 0.0) ** 3 - np.maximum(x - last, 0.0) ** 3
        return np.asarray(cubes / (last - knot), dtype=np.float64)

    curved = [bend(float(knot)) - bend(float(before)) for knot in places[:-2]]
    return np.column_stack([x, *(_standardized(column) for column in curved)])


def _labels(values: Array) -> Array:
    """One 0/1 column (n, m) for each common label but the commonest; the rare ones share a column."""
    known = values[np.isfinite(values)]
    codes, counts = np.unique(known, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    common = [float(codes[k]) for k in order[:_MOST_LABELS] if counts[k] >= _RAREST_LABEL]
    shown = [np.where(np.isfinite(values), values == code, np.nan) for code in common[1:]]
    if len(common) < len(codes):
        rare = ~np.isin(values, common)
        shown.append(np.where(np.isfinite(values), rare, np.nan))
    return np.column_stack(shown).astype(np.float64) if shown else np.zeros((len(values), 1))


def normal_scores(values: Array) -> Array:
    """Each value's rank, as the quantile of a standard normal; equal values share the mean of their ranks."""
    order = np.argsort(values)  # need not be stable: equal values get equal scores
    ranked = values[order]
    first = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    last = np.append(first[1:], len(values))
    mean_rank = np.repeat((first + last - 1) / 2.0, last - first)
    scores = np.empty(len(values))
    scores[order] = special.ndtri((mean_rank + 0.5) / len(values))
    return scores


__all__ = ["Terms", "design", "normal_scores", "terms_of"]
