"""Tests of independence: screens of each feature against the residual, and the partial correlation test of PC."""

from crda_spec.scm.independence._protocol import Screen, ScreenResult
from crda_spec.scm.independence.fisher_z import fisher_z
from crda_spec.scm.independence.pearson import Pearson, correlation_matrix

__all__ = ["Pearson", "Screen", "ScreenResult", "correlation_matrix", "fisher_z"]
