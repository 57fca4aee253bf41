"""The generalised covariance measure as a search's test: sees curves and changes of spread, for a few columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crda_spec.independence.gcm import Gcm
from crda_spec.records import Array, IntArray

_FEWEST_ROWS = 20  # with fewer, Gcm tests nothing


@dataclass(frozen=True, slots=True, eq=False)
class GcmTest:
    """Gcm, with the searches' rule for what cannot be tested.

    Gcm answers an impossible test with statistic 0 and p-value 1, which would cut a link. Here the p-value is then 0:
    too few rows, or a set that determines one of the two, cut nothing. Only a constant, which without a set is the
    one thing that cannot be tested, loses its links.
    """

    gcm: Gcm

    def p_value(self, i: int, j: int, given: tuple[int, ...]) -> tuple[float, float]:
        """The largest studentised product of residuals and its p-value."""
        held = np.array(given, dtype=np.int64).reshape(1, len(given))
        size, p = self.p_values(np.array([i]), np.array([j]), held)
        return float(size[0]), float(p[0])

    def p_values(self, i: IntArray, j: IntArray, given: IntArray) -> tuple[Array, Array]:
        """The same for t questions; those that hold the same columns fixed share their regressions."""
        asked = zip(i.tolist(), j.tolist(), map(tuple, given.tolist()), strict=True)
        results = self.gcm.tests(list(asked))
        size = np.array([result.statistic for result in results], dtype=np.float64)
        p = np.array([result.p_value for result in results], dtype=np.float64)
        rows = np.array([result.rows for result in results], dtype=np.int64)
        impossible = (size == 0.0) & (p == 1.0)
        p[impossible & ((rows < _FEWEST_ROWS) | (given.shape[1] > 0))] = 0.0
        return size, p
