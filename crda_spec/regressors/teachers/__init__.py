"""Who labels the counterfactual rows: a family, one member a file."""

from crda_spec.regressors.teachers._protocol import FoldContext, Seat, TeacherRule
from crda_spec.regressors.teachers.bagged import BaggedTeacher
from crda_spec.regressors.teachers.committee import CommitteeTeacher
from crda_spec.regressors.teachers.crossfit import CrossfitTeacher
from crda_spec.regressors.teachers.fold_models import FoldModelCache
from crda_spec.regressors.teachers.single import SingleTeacher

__all__ = [
    "BaggedTeacher",
    "CommitteeTeacher",
    "CrossfitTeacher",
    "FoldContext",
    "FoldModelCache",
    "Seat",
    "SingleTeacher",
    "TeacherRule",
]
