"""Several columns, one feature: a category is screened by its labels and judged as a whole."""

from __future__ import annotations

import numpy as np

from crda_spec.records import IntArray
from crda_spec.scm.independence._protocol import ScreenResult


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
