"""The base regressor g: a family; boosted trees share a file, and so do the plain ones of scikit-learn."""

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import Field

from crda_spec.regressors._protocol import BaseRegressor, Design, EarlyStopping, Estimator, Regressor
from crda_spec.regressors.boosting import Catboost, Xgboost
from crda_spec.regressors.estimator import GivenEstimator, SklearnEstimator
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.regressors.gaussian_process import GaussianProcess
from crda_spec.regressors.mlp import Mlp
from crda_spec.regressors.plugin import Plugin
from crda_spec.regressors.scikit import HistGradientBoosting, KernelRidge, Knn, Linear, RandomForest, Ridge, Svr

AnyRegressor = Annotated[
    Xgboost
    | Mlp
    | Linear
    | Ridge
    | KernelRidge
    | GaussianProcess
    | RandomForest
    | HistGradientBoosting
    | Svr
    | Knn
    | Catboost
    | SklearnEstimator
    | GivenEstimator
    | Plugin,
    Field(discriminator="kind"),
]

# Ours, by kind; the others say nothing by their kind alone.
_OTHERS = (SklearnEstimator, GivenEstimator, Plugin)
_OURS = (member for member in get_args(get_args(AnyRegressor)[0]) if member not in _OTHERS)
REGRESSORS: Mapping[str, type[BaseRegressor]] = {member.model_fields["kind"].default: member for member in _OURS}
