"""A studentised paired bootstrap on per-row losses.

Ten fold losses throw away how the rows inside a fold differ. Here every held-out row speaks: the mean difference over
its standard error is compared with the same ratio in resamples of the centred differences, so that skewed and
heavy-tailed losses get the reference distribution they have, not the normal one. Rows of a group are drawn together.

What it does not see: rows of one fold share their models, and folds share training rows. How far that moves its level
is measured in benchmarks/gate_calibration.py.

A weighted row comes as its difference times its relative weight, and is drawn as often as any other: a resample then
has other weights too, as another sample of rows would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crda_spec.errors import Complaint, DataError
from crda_spec.gate.metrics import FEWEST_UNITS, resampled_sums
from crda_spec.gate.tests._protocol import Paired
from crda_spec.records import Array


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """`resamples` bound the p-value from below: it is never less than 1 / (resamples + 1)."""

    resamples: int = 1999
    kind: ClassVar[str] = "bootstrap"

    def p_value(self, paired: Paired, *, rng: np.random.Generator) -> float:
        """The share of resamples at least as far on the gaining side, the data themselves counted as one of them."""
        sums = np.bincount(paired.units, paired.row_difference)
        if len(sums) < FEWEST_UNITS:
            raise DataError(_too_few(len(sums)))
        seen = _ratio(np.array([[sums.sum(), (sums**2).sum()]]), len(sums))[0]
        if not np.isfinite(seen):
            return 1.0 / (self.resamples + 1) if seen < 0 else 1.0
        centred = sums - sums.mean()
        columns = np.stack([centred, centred**2], axis=1)
        as_far = sum(
            int((_ratio(block, len(sums)) <= seen).sum()) for block in resampled_sums(columns, self.resamples, rng)
        )
        return (1 + as_far) / (self.resamples + 1)


def _ratio(drawn: Array, count: int) -> Array:
    """Mean over its standard error, from sums and sums of squares. drawn: (b, 2). Returns (b,)."""
    mean = drawn[:, 0] / count
    variance = np.maximum(drawn[:, 1] / count - mean**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0.0, 0.0, mean / np.sqrt(variance / count))


def _too_few(units: int) -> Complaint:
    what = f"the bootstrap needs at least {FEWEST_UNITS} held-out rows or groups, but there are {units}"
    return Complaint(code="too-few-rows", path="gate.kind", what=what, hint="use kind: wilcoxon, or more data")
