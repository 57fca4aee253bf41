"""The corrected resampled t-test (Nadeau and Bengio 2003) on paired fold losses.

Folds share most of their training rows, so their losses are not independent and the usual t-test accepts too often,
the more so with repeats. The correction widens the variance of the mean from s^2 / J to s^2 (1/J + held / trained),
J being the number of folds over all repeats.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.gate.tests._protocol import Gate, Paired


class CorrectedT(Gate):
    """A t-test that knows that folds share their training rows. J - 1 degrees of freedom."""

    kind: Literal["corrected_t"] = Field(
        "corrected_t", description="The corrected resampled t-test of Nadeau and Bengio."
    )
    repeats: int = Field(1, ge=1, le=20, description="How often the rows are divided into folds anew.")

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Draws nothing. All folds equal: 0 when they gained, 1 when they did not."""
        from scipy.stats import t

        difference, count = paired.difference, len(paired.difference)
        mean, variance = float(difference.mean()), float(difference.var(ddof=1))
        widened = variance * (1.0 / count + float(np.mean(paired.held_rows / paired.train_rows)))
        if widened == 0.0:
            return 0.0 if mean < 0.0 else 1.0
        return float(t.cdf(mean / np.sqrt(widened), df=count - 1))
