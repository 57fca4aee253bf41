"""Who labels the counterfactual rows: a family, one member a file."""

from typing import Annotated

from pydantic import Field

from crda_spec.regressors.teachers._protocol import FoldContext, Learner, TeacherRule
from crda_spec.regressors.teachers.bagged import BaggedTeacher
from crda_spec.regressors.teachers.committee import CommitteeTeacher, Student
from crda_spec.regressors.teachers.crossfit import CrossfitTeacher, SingleTeacher
from crda_spec.regressors.teachers.fold_models import FoldModelCache

AnyTeacher = Annotated[SingleTeacher | CrossfitTeacher | BaggedTeacher | CommitteeTeacher, Field(discriminator="kind")]
