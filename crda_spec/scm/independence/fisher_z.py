"""Fisher's z: is a partial correlation zero?"""

from __future__ import annotations

import numpy as np
from scipy import special

from crda_spec.records import Array

# atanh of the largest number below 1 is about 18.4: finite, and far beyond any threshold.
_LARGEST = np.nextafter(1.0, 0.0)


def fisher_z(r: Array, n: int, given: int) -> Array:
    """Two-sided p-values of partial correlations r (any shape) from n rows, given that many other columns.

    sqrt(n - given - 3) * atanh(r) is about standard normal when the true partial correlation is 0 and the columns are
    jointly normal. Where n <= given + 3, or r is NaN because there was nothing to correlate, no test is possible; the
    result is 0, so that a rule which cuts a link at large p-values leaves it in place.
    """
    freedom = n - given - 3
    if freedom <= 0:
        return np.zeros(np.shape(r))
    size = np.minimum(np.abs(r), _LARGEST)
    p: Array = special.erfc(np.sqrt(freedom / 2.0) * np.arctanh(np.where(np.isnan(size), 0.0, size)))
    return np.where(np.isnan(size), 0.0, p)
