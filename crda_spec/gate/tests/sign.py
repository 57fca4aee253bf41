"""The sign test on paired fold losses: how many folds gained, whatever the size of the gain.

Folds without any difference are left out, as in Wilcoxon's test. It needs the least of the losses (no symmetry), and
has the least power.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.gate.tests._protocol import Curtailed, Paired
from crda_spec.records import Array


class Sign(Curtailed):
    """How many folds gained, whatever the size of the gain. Exact: under the null, the losing folds are binomial."""

    kind: Literal["sign"] = Field("sign", description="The sign test: assumes least, and sees least.")

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Exact; draws nothing."""
        return _p_value(paired.difference)

    def least_p_value(self, difference: Array, ahead: int, *, enough: float) -> float:
        """The smallest p-value that `ahead` more folds can lead to: all of them win."""
        del enough  # there is only one future to look at
        return _p_value(np.concatenate([difference, np.full(ahead, -1.0)]))


def _p_value(difference: Array) -> float:
    from scipy.stats import binom

    moved = difference[difference != 0.0]
    return float(binom.cdf(int((moved > 0).sum()), len(moved), 0.5)) if len(moved) else 1.0
