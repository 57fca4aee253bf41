"""A studentised paired bootstrap on per-row losses.

Ten fold losses throw away how the rows inside a fold differ. Here every held-out row speaks: the mean difference over
its standard error is compared with the same ratio in resamples of the centred differences, so that skewed and
heavy-tailed losses get the reference distribution they have, not the normal one. Rows of a group are drawn together.

What it does not see: rows of one fold share their models, and folds share training rows. How far that moves its level
is measured in benchmarks/gate_calibration.py. Weighted rows: docs/design/gate.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field

from crda_spec.errors import Complaint, DataError
from crda_spec.gate.score import FEWEST_UNITS, resampled_sums
from crda_spec.gate.tests._protocol import Gate, Paired
from crda_spec.records import Array


class Bootstrap(Gate):
    """Every held-out row speaks, not only every fold. The p-value is never less than 1 / (resamples + 1)."""

    kind: Literal["bootstrap"] = Field(
        "bootstrap", description="A studentised paired bootstrap of the held-out rows' losses."
    )
    resamples: int = Field(1999, ge=99, le=99_999, description="How many resamples.")
    repeats: int = Field(1, ge=1, le=20, description="How often the rows are divided into folds anew.")

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """The share of resamples at least as far on the gaining side, the data themselves counted as one of them."""
        sums = np.bincount(paired.units, paired.rows.difference)
        if len(sums) < FEWEST_UNITS:
            what = f"the bootstrap needs at least {FEWEST_UNITS} held-out rows or groups, but there are {len(sums)}"
            hint = "use kind: wilcoxon, or more data"
            raise DataError(Complaint(code="too-few-rows", path="gate.kind", what=what, hint=hint))
        seen = _ratio(np.array([[sums.sum(), (sums**2).sum()]]), len(sums))[0]
        if not np.isfinite(seen):
            return 1.0 / (self.resamples + 1) if seen < 0 else 1.0
        centred = sums - sums.mean()
        columns = np.stack([centred, centred**2], axis=1)
        as_far = sum(
            int((_ratio(block, len(sums)) <= seen).sum()) for block in resampled_sums(columns, self.resamples, rng)
        )
        return (1 + as_far) / (self.resamples + 1)

    def _cannot_accept(self) -> Iterator[Complaint]:
        patterns, sides = (2, "two-sided") if self.alternative == "two-sided" else (1, "one-sided")
        least = patterns / (self.resamples + 1)
        if least < self.alpha:
            return
        what = (
            f"this gate can never accept: with {self.resamples} resamples the smallest {sides} p-value is "
            f"{patterns}/{self.resamples + 1} = {least:g}, which is not below alpha = {self.alpha:g}"
        )
        hint = f"use at least {int(patterns / self.alpha) + 1} resamples"
        yield Complaint(code="gate-cannot-accept", path="gate.resamples", what=what, hint=hint)


def _ratio(drawn: Array, count: int) -> Array:
    """Mean over its standard error, from sums and sums of squares. drawn: (b, 2). Returns (b,)."""
    mean = drawn[:, 0] / count
    variance = np.maximum(drawn[:, 1] / count - mean**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0.0, 0.0, mean / np.sqrt(variance / count))
