"""Tests of independence: screens of each feature, the joint check, and the conditional tests that graphs need."""

from typing import Annotated

from pydantic import Field

from crda_spec.independence._protocol import ADJUSTMENTS, Adjustment, BaseScreen, ScreenResult, adjust, grouped, numbers
from crda_spec.independence.correlation import Pearson, Spearman, correlation_matrix, fisher_z
from crda_spec.independence.dependence import Distance, Hsic, MutualInformation
from crda_spec.independence.gcm import Gcm, GcmResult
from crda_spec.independence.joint import JointCheck, JointResult

Screen = Annotated[Pearson | Spearman | Distance | Hsic | MutualInformation, Field(discriminator="kind")]
