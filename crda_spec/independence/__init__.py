"""Tests of independence: screens of each feature, the joint check, and the conditional tests that graphs need."""

from collections.abc import Mapping

from crda_spec.independence._protocol import Screen, ScreenResult, grouped
from crda_spec.independence.distance import Distance
from crda_spec.independence.gcm import Gcm, GcmResult
from crda_spec.independence.hsic import Hsic
from crda_spec.independence.joint import JointCheck, JointResult
from crda_spec.independence.multiplicity import ADJUSTMENTS, Adjustment, adjust
from crda_spec.independence.mutual_information import MutualInformation
from crda_spec.independence.pearson import Pearson, correlation_matrix, fisher_z
from crda_spec.independence.spearman import Spearman

__all__ = [
    "ADJUSTMENTS",
    "SCREENS",
    "Adjustment",
    "Distance",
    "Gcm",
    "GcmResult",
    "Hsic",
    "JointCheck",
    "JointResult",
    "MutualInformation",
    "Pearson",
    "Screen",
    "ScreenResult",
    "Spearman",
    "adjust",
    "correlation_matrix",
    "fisher_z",
    "grouped",
]


# By the name that a spec calls them.
SCREENS: Mapping[str, type[Screen]] = {
    screen.name: screen for screen in (Pearson, Spearman, Distance, Hsic, MutualInformation)
}
