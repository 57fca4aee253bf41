"""The gate's three t-tests. Folds share training rows and rows share models, so each widens the usual error in its way.

`CorrectedT` (Nadeau and Bengio 2003), on fold losses: folds share most of their training rows, so their losses are not
independent and the usual t-test accepts too often, the more so with repeats. The correction widens the variance of the
mean from s^2 / J to s^2 (1/J + held / trained), J being the number of folds over all repeats.

`FiveByTwo` (Dietterich 1998), on fold losses: the two halves of a repeat share no training row, so the spread within a
repeat is an honest measure of the noise. The numerator is the difference of the first half alone, as published: a mean
over halves that overlap has a variance that nobody knows. Each model is fitted on half of the rows, which is a smaller
table than the one that is to be augmented.

`Clustered`, on per-row losses: the mean difference of all held-out rows errs for two reasons. Rows are a sample: that
error is read off the rows, each counted once with its mean over the repeats (whole groups, where rows belong together).
And each fold's pair of models is one draw of what fitting can lead to: that error is what the folds' means differ by
beyond what their rows explain, estimated by the method of moments within each repeat, so that a row that is scored
twice cannot pass for two. Few folds and two repeats make the most of a number of fits: every row is scored twice, and
both errors shrink. Folds of one repeat share training rows, which no test of one table can see; how far that matters is
measured in benchmarks/gate_calibration.py. Weighted rows: docs/design/gate.md.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.gate.tests._protocol import Gate, Paired
from crda_spec.records import Array, IntArray


class CorrectedT(Gate):
    """A t-test that knows that folds share their training rows. J - 1 degrees of freedom."""

    kind: Literal["corrected_t"] = Field(
        "corrected_t", description="The corrected resampled t-test of Nadeau and Bengio."
    )
    repeats: int = Field(1, ge=1, le=20, description="How often the rows are divided into folds anew.")

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Draws nothing. All folds equal: 0 when they gained, 1 when they did not."""
        difference, count = paired.folds.difference, len(paired.train_rows)
        mean, variance = float(difference.mean()), float(difference.var(ddof=1))
        widened = variance * (1.0 / count + float(np.mean(paired.held_rows / paired.train_rows)))
        return _chance(mean, widened, count - 1)


class FiveByTwo(Gate):
    """Two folds, five times over: models of half of the rows. Five degrees of freedom."""

    kind: Literal["five_by_two"] = Field("five_by_two", description="Dietterich's 5x2cv paired t-test.")
    folds: Literal[2] = Field(2, description="Always 2.")
    repeats: Literal[5] = Field(5, description="Always 5.")

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Draws nothing. Ten differences, the two halves of a repeat next to each other."""
        halves = paired.folds.difference.reshape(self.repeats, 2)
        return _chance(float(halves[0, 0]), float(np.mean(halves.var(axis=1, ddof=1))), self.repeats)


class Clustered(Gate):
    """Every held-out row speaks, and rows of a fold know that they share their models. Few folds, two repeats."""

    kind: Literal["clustered"] = Field(
        "clustered",
        description="A t-test on the held-out rows' losses that allows for what the models of a fold have in common.",
    )
    folds: int = Field(6, ge=2, le=100, description="How many folds; the whole procedure is refitted in each.")
    repeats: int = Field(2, ge=1, le=20, description="How often the rows are divided into folds anew.")

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Draws nothing. No variance at all: 0 when the rows gained, 1 when they did not."""
        difference, pairs = paired.rows.difference, len(paired.train_rows)
        rows = error_of_mean(difference, paired.units)
        repeats = zip(paired.each.difference, paired.fold_of, strict=True)
        beyond = [_beyond_rows(one, folds, paired.units) for one, folds in repeats]
        variance = rows + max(0.0, float(np.mean(beyond))) / pairs
        return _chance(float(difference.mean()), variance, pairs - 1)


def _chance(mean: float, variance: float, freedom: int) -> float:
    """Student's probability of a mean this low or lower, where the true one is 0."""
    from scipy.stats import t

    if variance == 0.0:
        return 0.0 if mean < 0.0 else 1.0
    return float(t.cdf(mean / np.sqrt(variance), df=freedom))


def error_of_mean(values: Array, units: IntArray) -> float:
    """The variance of the mean of values (m,) drawn in units (m,); 0 when there is one unit, which tells nothing."""
    present, member = np.unique(units, return_inverse=True)
    if len(present) < 2:
        return 0.0
    sums = np.bincount(member, values - values.mean())
    return float((sums**2).sum()) * len(present) / (len(present) - 1) / len(values) ** 2


def _beyond_rows(difference: Array, folds: IntArray, units: IntArray) -> float:
    """How much more the folds' means vary than their rows make them; below 0 by chance."""
    held = [folds == fold for fold in np.unique(folds)]
    means = np.array([difference[rows].mean() for rows in held])
    explained = [error_of_mean(difference[rows], units[rows]) for rows in held]
    return float(means.var(ddof=1) - np.mean(explained))
