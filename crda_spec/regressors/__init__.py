"""The base regressor g: a family, one member a file."""

from collections.abc import Mapping

from crda_spec.regressors._protocol import Design, Estimator, Regressor, Stopping
from crda_spec.regressors.catboost import Catboost
from crda_spec.regressors.fit import FittedModel, Fitter
from crda_spec.regressors.gaussian_process import GaussianProcess
from crda_spec.regressors.hist_gradient_boosting import HistGradientBoosting
from crda_spec.regressors.kernel_ridge import KernelRidge
from crda_spec.regressors.knn import Knn
from crda_spec.regressors.linear import Linear
from crda_spec.regressors.mlp import Mlp
from crda_spec.regressors.plugin import load_plugin
from crda_spec.regressors.random_forest import RandomForest
from crda_spec.regressors.ridge import Ridge
from crda_spec.regressors.svr import Svr
from crda_spec.regressors.xgboost import Xgboost

REGRESSORS: Mapping[str, type[Regressor]] = {
    member.kind: member
    for member in (
        Catboost,
        GaussianProcess,
        HistGradientBoosting,
        KernelRidge,
        Knn,
        Linear,
        Mlp,
        RandomForest,
        Ridge,
        Svr,
        Xgboost,
    )
}

__all__ = [
    "REGRESSORS",
    "Catboost",
    "Design",
    "Estimator",
    "FittedModel",
    "Fitter",
    "GaussianProcess",
    "HistGradientBoosting",
    "KernelRidge",
    "Knn",
    "Linear",
    "Mlp",
    "RandomForest",
    "Regressor",
    "Ridge",
    "Stopping",
    "Svr",
    "Xgboost",
    "load_plugin",
]
