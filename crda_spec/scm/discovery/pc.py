"""PC-stable's skeleton from one correlation matrix, and the same for one column's neighbours.

See `discovery.skeleton` for the search, and `discovery.partial` for what happens with copies, constants and few rows.

What an empty neighbourhood does *not* say: a column without links need not be independent of the others. Collinear
columns explain each other away: each link is cut given the others, although together they predict the column well. PC
alone certifies nothing; marginal screens stand beside it.

The residual Z is searched as one more column beside the features. The target Y must not be among them: Z is a
function of features and Y, and Y given features *is* Z.

A depth with more tests than the budget has left is not begun: `budget_hit`, and its links stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from crda_spec.records import Array, IntArray, read_only
from crda_spec.scm.discovery._protocol import ConditionalTest
from crda_spec.scm.discovery.constraints import BoolArray, Constraints
from crda_spec.scm.discovery.partial import PartialCorrelation, tidy
from crda_spec.scm.discovery.skeleton import (
    DEFAULT_BUDGET,
    DEFAULT_DEPTH,
    LinkSearch,
    SeparatingSets,
    Separator,
)
from crda_spec.scm.independence.fisher_z import fisher_z


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Skeleton:
    """Which columns stay linked, and what cut the other links."""

    adjacent: BoolArray  # (d, d), symmetric
    separating: SeparatingSets  # (i, j), i < j -> the set, ascending, that cut their link
    p_values: Array  # (d, d), symmetric: the largest p-value of any test of the pair, 0 where none was possible
    statistics: Array  # (d, d), symmetric: that test's statistic, |partial correlation| for Fisher's z
    depth_reached: int  # the size of the largest sets tried, -1 when nothing could be tested
    tests: int
    budget_hit: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours:
    """Which columns stay linked to one column, and what cut the other links."""

    target: int
    linked: tuple[int, ...]
    separating: Mapping[int, tuple[int, ...]]  # column -> the set that cut its link
    p_values: Array  # (d,) the largest p-value of any test with the column, 0 where none was possible
    depth_reached: int
    tests: int
    budget_hit: bool


def pc_skeleton(
    correlation: Array,
    n: int,
    *,
    alpha: float,
    max_depth: int = DEFAULT_DEPTH,
    budget: int = DEFAULT_BUDGET,
    separator: Separator = "strongest",
    constraints: Constraints | None = None,
) -> Skeleton:
    """The skeleton of all columns.

    correlation: (d, d).  n: the rows it was computed from.  alpha: links with a p-value above it are cut.
    max_depth: the largest set that a test conditions on.  budget: the number of tests that may be spent.
    """
    return skeleton_of(
        PartialCorrelation.of(correlation, n),
        len(correlation),
        alpha=alpha,
        max_depth=max_depth,
        budget=budget,
        separator=separator,
        constraints=constraints,
    )


def skeleton_of(
    test: ConditionalTest,
    d: int,
    *,
    alpha: float,
    max_depth: int = DEFAULT_DEPTH,
    budget: int = DEFAULT_BUDGET,
    separator: Separator = "strongest",
    constraints: Constraints | None = None,
) -> Skeleton:
    """The skeleton of d columns by any test; see `pc_skeleton` for the arguments."""
    search = LinkSearch(test, d, alpha=alpha, separator=separator, constraints=constraints)
    search.run(max_depth, budget)
    return Skeleton(
        adjacent=read_only(search.linked),
        separating=SeparatingSets(read_only(search.empty), search.separating),
        p_values=read_only(search.p_values),
        statistics=read_only(search.sizes),
        depth_reached=search.depth,
        tests=search.tests,
        budget_hit=search.budget_hit,
    )


def neighbours(
    correlation: Array,
    n: int,
    target_index: int,
    *,
    alpha: float,
    max_depth: int = DEFAULT_DEPTH,
    budget: int = DEFAULT_BUDGET,
) -> Neighbours:
    """The neighbours of one column, without the skeleton of the rest.

    Only sets among the column's own current neighbours are tried, where the full search also tries those of the
    other end: a few links more may stay. See `pc_skeleton` for the arguments.
    """
    d = len(correlation)
    target = range(d)[target_index]
    others = np.delete(np.arange(d), target)
    if not len(others) or n <= 3 or max_depth < 0 or len(others) > budget:
        return _untested(target, others, budget_hit=len(others) > budget and n > 3)
    p_values = np.zeros(d)
    # Without sets only one row of the matrix counts; with them, only columns that still have a link.
    row = (np.asarray(correlation[target], dtype=np.float64) + np.asarray(correlation)[:, target]) / 2.0
    p_values[others] = fisher_z(np.clip(np.where(np.isfinite(row), row, 0.0), -1.0, 1.0)[others], n, 0)
    separating: dict[int, tuple[int, ...]] = dict.fromkeys(others[p_values[others] > alpha].tolist(), ())
    kept = np.array([target, *(j for j in others.tolist() if j not in separating)])
    test = PartialCorrelation(tidy(np.asarray(correlation)[np.ix_(kept, kept)]), n)
    search = LinkSearch(test, len(kept), alpha=alpha, centres=[0])
    search.depth, search.tests = 0, len(others)
    search.run(max_depth, budget, first=1)
    p_values[kept] = np.maximum(p_values[kept], search.p_values[0])
    separating |= {int(kept[j]): tuple(kept[list(held)].tolist()) for (_, j), held in search.separating.items()}
    return Neighbours(
        target=target,
        linked=tuple(kept[search.linked[0]].tolist()),
        separating=MappingProxyType(dict(sorted(separating.items()))),
        p_values=read_only(p_values),
        depth_reached=search.depth,
        tests=search.tests,
        budget_hit=search.budget_hit,
    )


def _untested(target: int, others: IntArray, *, budget_hit: bool) -> Neighbours:
    """Every link stays, because nothing could be tested."""
    return Neighbours(
        target=target,
        linked=tuple(others.tolist()),
        separating=MappingProxyType({}),
        p_values=read_only(np.zeros(len(others) + 1)),
        depth_reached=-1,
        tests=0,
        budget_hit=budget_hit,
    )
