"""Many tests at once: p-values adjusted so that one threshold serves them all.

Of 36 features that have nothing to do with the residual, about two fall below 0.05 by luck. What to do about it depends
on which mistake costs more. Carrying noise over on a feature that is tied to it is the costly mistake here, so the
unadjusted screen is the cautious one: every adjustment lets more features through.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np

from crda_spec.errors import Complaint, SpecError, did_you_mean, show
from crda_spec.records import Array

Adjustment = Literal["none", "bonferroni", "holm", "fdr_bh"]

ADJUSTMENTS: Final[tuple[Adjustment, ...]] = get_args(Adjustment)


def adjust(p_values: Array, method: Adjustment) -> Array:
    """The p-values of m tests, adjusted for their number; a test is significant where its own is at most alpha.

    p_values: (m,), each in [0, 1].  Returns (m,), in the same order, none below its p-value and none above 1.

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
        raise SpecError(_unknown(method))
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(ranked, 1.0)
    return adjusted


def _unknown(method: object) -> Complaint:
    return Complaint(
        code="unknown-adjustment",
        what=f"{show(method)} is no way to adjust p-values",
        hint=did_you_mean(str(method), ADJUSTMENTS),
    )
