"""Models of any class on disk and back: the same predictions and bytes, and only types of allowed packages."""

import io
import json
import zipfile

import numpy as np
import pytest
import skops.io
from audit_parts import training_rows
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.preprocessing import FunctionTransformer

from crda_spec.audit.models import load_model, model_files
from crda_spec.errors import OutputError
from crda_spec.regressors import Fitter, GivenEstimator, SklearnEstimator
from crda_spec.regressors.estimator import section_of

NAMED = {
    "ridge": {"class": "sklearn.linear_model.Ridge"},
    "neighbours": {"class": "sklearn.neighbors.KNeighborsRegressor", "params": {"n_neighbors": 3}},
    "extra trees": {"class": "sklearn.ensemble.ExtraTreesRegressor", "params": {"n_estimators": 4}},
    "boosted trees": {"class": "sklearn.ensemble.GradientBoostingRegressor", "params": {"n_estimators": 4}},
    "xgboost": {"class": "xgboost.XGBRegressor", "params": {"n_estimators": 4}},
    "lightgbm": {"class": "lightgbm.LGBMRegressor", "params": {"n_estimators": 4}},
    "catboost": {"class": "catboost.CatBoostRegressor", "params": {"iterations": 4}},
}
NAMED["pipeline"] = {
    "class": "sklearn.pipeline.Pipeline",
    "params": {"steps": [["scale", {"class": "sklearn.preprocessing.StandardScaler"}], ["trees", NAMED["lightgbm"]]]},
}


def fitted(section):
    return Fitter(SklearnEstimator.model_validate(section)).fit(training_rows(), seed=3)


def saved(folder, model):
    folder.mkdir(exist_ok=True)
    for name, data in model_files(model).items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", NAMED)
def test_equal_models_are_equal_bytes_and_predict_the_same_bits_again(name, tmp_path):
    model = fitted(NAMED[name])
    assert model_files(model) == model_files(fitted(NAMED[name]))
    again = load_model(saved(tmp_path, model))
    x = np.concatenate([training_rows().x, training_rows(n=31).x[::-1] * 1.1, np.full((1, 4), np.nan)])
    assert again.kind == "sklearn"
    assert again.predict(x).tobytes() == model.predict(x).tobytes()


def given(estimator):
    return GivenEstimator.model_validate(section_of(estimator)).holding(estimator)


class House(Ridge):
    """A class that no other process knows."""


def square(y):
    return y


_FOREIGN = "holds types of packages that are not allowed, or no classes"


@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (House(), f"House {_FOREIGN}: {__name__}.House"),
        (
            TransformedTargetRegressor(Ridge(), func=square, inverse_func=square),
            f"TransformedTargetRegressor {_FOREIGN}: {__name__}.square",
        ),
        (
            TransformedTargetRegressor(Ridge(), func=lambda y: y, inverse_func=lambda y: y),
            f"TransformedTargetRegressor {_FOREIGN}: {__name__}.<lambda>",
        ),
    ],
    ids=["class", "function", "lambda"],
)
def test_what_nobody_could_load_is_not_saved(estimator, why):
    model = Fitter(given(estimator)).fit(training_rows(), seed=3)
    with pytest.raises(OutputError) as caught:
        model_files(model)
    assert caught.value.complaints[0].what == why


@pytest.mark.parametrize(
    ("planted", "foreign"),
    [
        (FunctionTransformer(func=json.dumps), "json.dumps"),
        (FunctionTransformer(func=skops.io.loads), "skops.io._persist.loads"),
    ],
    ids=["another package", "a package of ours"],
)
def test_functions_and_foreign_types_are_refused(planted, foreign, tmp_path):
    folder = saved(tmp_path / "model", fitted(NAMED["ridge"]))
    (folder / "estimator.skops").write_bytes(skops.io.dumps(planted))
    with pytest.raises(OutputError) as caught:
        load_model(folder)
    assert str(caught.value) == (
        f"model/estimator.skops holds types of packages that are not allowed, or no classes: {foreign}; "
        "do not load this model, unless you trust these packages: export CRDA_ALLOWED_PACKAGES=..."
    )


def test_a_name_that_an_allowed_package_only_imports_is_refused(tmp_path):
    """Where a class was written counts: sklearn's modules offer functions of subprocess and joblib too."""
    folder = saved(tmp_path / "model", fitted(NAMED["ridge"]))
    archive = zipfile.ZipFile(io.BytesIO(skops.io.dumps(FunctionTransformer(func=json.dumps))))
    members = {name: archive.read(name) for name in archive.namelist()}
    members["schema.json"] = (
        members["schema.json"].replace(b'"json"', b'"sklearn.utils._testing"').replace(b'"dumps"', b'"check_output"')
    )
    with zipfile.ZipFile(folder / "estimator.skops", "w") as sink:
        for name, data in members.items():
            sink.writestr(name, data)
    with pytest.raises(OutputError, match=r"or no classes: sklearn\.utils\._testing\.check_output"):
        load_model(folder)


def test_trees_that_lead_nowhere_are_not_loaded(tmp_path):
    model = fitted(NAMED["extra trees"])
    assert isinstance(model.estimator, ExtraTreesRegressor)
    model.estimator.estimators_[2].tree_.feature[0] = 4000
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.json").write_bytes(model_files(fitted(NAMED["extra trees"]))["model.json"])
    (folder / "estimator.skops").write_bytes(skops.io.dumps(model.estimator))
    with pytest.raises(OutputError, match="holds numbers that do not fit together; do not load this model"):
        load_model(folder)
