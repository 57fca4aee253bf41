"""The 5x2cv paired t-test (Dietterich 1998): two folds, five times over.

The two halves of a repeat share no training row, so the spread within a repeat is an honest measure of the noise. The
numerator is the difference of the first half alone, as published: a mean over halves that overlap has a variance that
nobody knows. Each model is fitted on half of the rows, which is a smaller table than the one that is to be augmented.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.gate.tests._protocol import Gate, Paired

REPEATS = 5


class FiveByTwo(Gate):
    """Two folds, five times over: models of half of the rows. Five degrees of freedom."""

    kind: Literal["five_by_two"] = Field("five_by_two", description="Dietterich's 5x2cv paired t-test.")
    folds: Literal[2] = Field(2, description="Always 2.")
    repeats: Literal[5] = Field(5, description="Always 5.")

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Draws nothing. Ten differences, the two halves of a repeat next to each other."""
        from scipy.stats import t

        halves = paired.difference.reshape(REPEATS, 2)
        first, spread = float(halves[0, 0]), float(np.mean(halves.var(axis=1, ddof=1)))
        if spread == 0.0:
            return 0.0 if first < 0.0 else 1.0
        return float(t.cdf(first / np.sqrt(spread), df=REPEATS))
