"""A t-test on per-row losses that knows that the rows of a fold share their two models.

The mean difference of all held-out rows errs for two reasons. Rows are a sample: that error is read off the rows, each
counted once with its mean over the repeats (whole groups, where rows belong together). And each fold's pair of models
is one draw of what fitting can lead to: that error is what the folds' means differ by beyond what their rows explain,
estimated by the method of moments within each repeat, so that a row that is scored twice cannot pass for two.

Few folds and two repeats make the most of a number of fits: every row is scored twice, and both errors shrink. Folds
of one repeat share training rows, which no test of one table can see; how far that matters is measured in
benchmarks/gate_calibration.py.

A weighted row comes as its difference times its relative weight. The mean of these is the weighted mean; how unequal
the weights are is part of how these vary, within a fold and between folds, so both errors allow for it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.gate.tests._protocol import Gate, Paired
from crda_spec.records import Array, IntArray


class Clustered(Gate):
    """Every held-out row speaks, and rows of a fold know that they share their models. Few folds, two repeats.

    As many degrees of freedom as there are pairs of models, less one.
    """

    kind: Literal["clustered"] = Field(
        "clustered",
        description="A t-test on the held-out rows' losses that allows for what the models of a fold have in common.",
    )
    folds: int = Field(6, ge=2, le=100, description="How many folds; the whole procedure is refitted in each.")
    repeats: int = Field(2, ge=1, le=20, description="How often the rows are divided into folds anew.")

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """Draws nothing. No variance at all: 0 when the rows gained, 1 when they did not."""
        from scipy.stats import t

        difference, pairs = paired.row_difference, len(paired.difference)
        mean = float(difference.mean())
        rows = error_of_mean(difference, paired.units)
        each = paired.each_augmented - paired.each_plain
        beyond = [_beyond_rows(one, folds, paired.units) for one, folds in zip(each, paired.fold_of, strict=True)]
        variance = rows + max(0.0, float(np.mean(beyond))) / pairs
        if variance == 0.0:
            return 0.0 if mean < 0.0 else 1.0
        return float(t.cdf(mean / np.sqrt(variance), df=pairs - 1))


def error_of_mean(values: Array, units: IntArray) -> float:
    """The variance of the mean of values that are drawn in units; 0 when there is one unit, which tells nothing.

    values, units: (m,).
    """
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
