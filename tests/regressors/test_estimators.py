"""Regressors by the name of their class, and objects: what may be imported, what is refused, what a fit is given."""

import sys

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVR
from xgboost import XGBRegressor

from crda_spec.errors import SpecError
from crda_spec.regressors import Design, GivenEstimator, SklearnEstimator
from crda_spec.regressors.classes import SETTING, allowed_packages
from crda_spec.regressors.estimator import section_of, seeded, spec_complaint


def named(name, **params):
    return SklearnEstimator.model_validate({"class": name, "params": params})


def message(name, **params):
    with pytest.raises(SpecError) as caught:
        named(name, **params).load()
    return str(caught.value)


LIST = "but only from sklearn, xgboost, lightgbm, catboost"


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        pytest.param(
            "tabpfn.TabPFNRegressor",
            {},
            f"regressor.class: a spec may not import from the package 'tabpfn', {LIST}; "
            "if you trust it, allow it yourself: export CRDA_ALLOWED_PACKAGES=tabpfn",
            id="package-not-allowed",
        ),
        pytest.param(
            "lightgmb.LGBMRegressor",
            {},
            f"regressor.class: a spec may not import from the package 'lightgmb', {LIST}; did you mean 'lightgbm'?",
            id="misspelt-package",
        ),
        pytest.param(
            "Ridge",
            {},
            "regressor.class: 'Ridge' is no class of a package; write it in full: lightgbm.LGBMRegressor",
            id="no-package",
        ),
        pytest.param(
            "sklearn.linear_modle.Ridge",
            {},
            "regressor.class: there is no module 'sklearn.linear_modle'; did you mean 'sklearn.linear_model'?",
            id="misspelt-module",
        ),
        pytest.param(
            "sklearn.linear_model.Rigde",
            {},
            "regressor.class: sklearn.linear_model has no class 'Rigde'; did you mean 'Ridge'?",
            id="misspelt-class",
        ),
        pytest.param(
            "sklearn.linear_model.LogisticRegression",
            {},
            "regressor.class: sklearn.linear_model.LogisticRegression is no regressor, but a classifier; "
            "name a regressor of sklearn",
            id="classifier",
        ),
        pytest.param(
            "sklearn.preprocessing.StandardScaler",
            {},
            "regressor.class: sklearn.preprocessing.StandardScaler is no regressor: it has no predict; "
            "name a regressor of sklearn",
            id="transformer",
        ),
        pytest.param(
            "sklearn.datasets.fetch_openml",
            {},
            "regressor.class: sklearn.datasets.fetch_openml is no regressor: it is no class; "
            "name a regressor of sklearn",
            id="function",
        ),
        pytest.param(
            "sklearn.linear_model.Ridge",
            {"alhpa": 1, "random_state": 3},
            "regressor.params.alhpa: sklearn.linear_model.Ridge has no parameter 'alhpa'; did you mean 'alpha'?\n"
            "regressor.params.random_state: 'random_state' is no setting of a spec: the spec's `seed` sets it; "
            "remove it\n2 problems",
            id="all-parameters-at-once",
        ),
        pytest.param(
            "lightgbm.LGBMRegressor",
            {"n_jobs": 4},
            "regressor.params.n_jobs: 'n_jobs' is no setting of a spec: every model is fitted on one thread, "
            "so that equal runs give equal bytes; remove it",
            id="threads",
        ),
        pytest.param(
            "sklearn.linear_model.Ridge",
            {"alpha": -1},
            "regressor.params: sklearn.linear_model.Ridge refused: The 'alpha' parameter of Ridge must be a float in "
            "the range [0.0, inf) or an array-like. Got -1 instead.; see the parameters in its documentation",
            id="value",
        ),
        pytest.param(
            "sklearn.pipeline.Pipeline",
            {"steps": [["a", {"class": "os.system"}]], "memory": "cache"},
            f"regressor.params.steps.0.1.class: a spec may not import from the package 'os', {LIST}; "
            "if you trust it, allow it yourself: export CRDA_ALLOWED_PACKAGES=os\n"
            "regressor.params.memory: 'memory' reaches outside of the fit (files, callbacks, other machines); "
            "leave it out, or pass the estimator as an object: crda_spec.run(spec, estimator=...)\n2 problems",
            id="inside-a-pipeline",
        ),
    ],
)
def test_what_is_refused_is_named_at_its_place(name, params, said):
    assert message(name, **params) == said


@pytest.fixture
def own_package(tmp_path, monkeypatch):
    (tmp_path / "house_models.py").write_text(
        "from sklearn.linear_model import Ridge\nclass Flat(Ridge):\n    pass\nclass Note:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "house_models"
    sys.modules.pop("house_models", None)


def test_only_the_user_extends_the_list_and_nothing_is_imported_before_it_is_asked(own_package, monkeypatch):
    assert "CRDA_ALLOWED_PACKAGES=house_models" in message("house_models.Flat")
    assert own_package not in sys.modules
    monkeypatch.setenv(SETTING, " house_models , tabpfn,")
    assert allowed_packages()[4:] == ("house_models", "tabpfn")
    assert type(named("house_models.Flat", alpha=2.0).estimator()).__name__ == "Flat"
    assert message("house_models.Note").startswith("regressor.class: house_models.Note is no regressor: it has no fit")
    assert message("tabpfn.TabPFNRegressor") == (
        "regressor.class: the package tabpfn is not installed; install it with: pip install tabpfn"
    )


def rows(n=30, weight=None):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 2))
    return Design(x=x, y=x[:, 0] + rng.normal(size=n), weight=weight, validation_x=None, validation_y=None)


def test_a_value_that_the_class_refuses_at_the_fit_is_an_error_at_its_place():
    student = named("xgboost.XGBRegressor", max_depth="deep").placed("counterfactual.teacher.members.1")
    with pytest.raises(SpecError) as caught:
        student.train(rows(), seed=1)
    assert str(caught.value) == (
        "counterfactual.teacher.members.1.params: xgboost.XGBRegressor refused: Invalid Parameter format for "
        "max_depth expect int but value='deep'; see the parameters in its documentation"
    )


def test_every_part_gets_the_seed_and_one_thread():
    model = seeded(
        Pipeline([("vote", VotingRegressor([("a", RandomForestRegressor(n_jobs=2)), ("b", XGBRegressor())]))]), 7
    )
    parts = model.get_params(deep=True)
    seeds = [parts["vote__a__random_state"], parts["vote__b__random_state"]]
    assert len(set(seeds)) == 2
    assert [parts[name] for name in ("vote__a__n_jobs", "vote__b__n_jobs", "vote__n_jobs")] == [1, 1, None]
    catboost = pytest.importorskip("catboost").CatBoostRegressor(random_state=3, iterations=5)
    assert seeded(catboost, 7).get_params() == {
        "iterations": 5,
        "loss_function": "RMSE",
        "random_seed": 7,
        "thread_count": 1,
        "allow_writing_files": False,
        "verbose": False,
    }


class Mean:
    """What other packages' models have in common with scikit-learn's, and no more."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def get_params(self, deep=True):
        return {"shift": self.shift}

    def set_params(self, **settings):
        vars(self).update(settings)
        return self

    def fit(self, x, y):
        self.level_ = y.mean() + self.shift
        return self

    def predict(self, x):
        return np.full(len(x), self.level_)


def square(y):
    return y


def given(estimator):
    section = section_of(estimator)
    member = {"sklearn": SklearnEstimator, "object": GivenEstimator}[section["kind"]].model_validate(section)
    return member.holding(estimator) if section["kind"] == "object" else member


@pytest.mark.parametrize(
    ("estimator", "takes"),
    [
        (Ridge(), True),
        (LGBMRegressor(), True),
        (KNeighborsRegressor(), False),
        (make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), SVR())), True),
        (make_pipeline(StandardScaler(), KNeighborsRegressor()), False),
        (TransformedTargetRegressor(make_pipeline(StandardScaler(), Ridge())), True),
        (TransformedTargetRegressor(), True),
        (VotingRegressor([("a", Ridge()), ("b", Lasso())]), True),
        (VotingRegressor([("a", Ridge()), ("b", KNeighborsRegressor())]), False),
        (StackingRegressor([("a", Ridge()), ("b", Lasso())]), True),
        (GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2), True),
        (Mean(), False),
    ],
    ids=lambda one: type(one).__name__ if hasattr(one, "fit") else str(one),
)
def test_weights_reach_what_predicts_or_it_says_that_it_takes_none(estimator, takes):
    member = given(estimator)
    assert member.takes_weights == takes
    if takes:
        heavy = np.where(np.arange(30) < 15, 1.0, 9.0)
        even, uneven = (member.train(rows(weight=one), seed=1).predict(rows().x) for one in (None, heavy))
        assert np.abs(even - uneven).max() > 1e-3 or isinstance(estimator, LGBMRegressor)


@pytest.mark.parametrize(
    ("estimator", "trees"),
    [
        (LGBMRegressor(), True),
        (make_pipeline(StandardScaler(), ExtraTreesRegressor()), True),
        (TransformedTargetRegressor(RandomForestRegressor()), True),
        (AdaBoostRegressor(), True),
        (BaggingRegressor(Ridge()), False),
        (XGBRegressor(booster="gblinear"), False),
        (VotingRegressor([("a", Ridge()), ("b", RandomForestRegressor())]), False),
        (Mean(), False),
    ],
    ids=lambda one: type(one).__name__ if hasattr(one, "fit") else str(one),
)
def test_recipes_know_trees_inside_whatever_wraps_them(estimator, trees):
    assert given(estimator).grows_trees == trees


@pytest.mark.parametrize(
    ("estimator", "section"),
    [
        (
            LGBMRegressor(n_estimators=200, random_state=3, n_jobs=-1),
            {"kind": "sklearn", "class": "lightgbm.LGBMRegressor", "params": {"n_estimators": 200}},
        ),
        (LinearRegression(), {"kind": "sklearn", "class": "sklearn.linear_model.LinearRegression"}),
        (Ridge(np.float64(2.0)), {"kind": "sklearn", "class": "sklearn.linear_model.Ridge", "params": {"alpha": 2.0}}),
        (
            Pipeline([("scale", MinMaxScaler((-1, 1))), ("svr", SVR(C=3.0))]),
            {
                "kind": "sklearn",
                "class": "sklearn.pipeline.Pipeline",
                "params": {
                    "steps": [
                        [
                            "scale",
                            {"class": "sklearn.preprocessing.MinMaxScaler", "params": {"feature_range": [-1, 1]}},
                        ],
                        ["svr", {"class": "sklearn.svm.SVR", "params": {"C": 3.0}}],
                    ]
                },
            },
        ),
        (
            TransformedTargetRegressor(Ridge(), func=square, inverse_func=square),
            {
                "kind": "object",
                "class": "sklearn.compose.TransformedTargetRegressor",
                "params": {
                    "func": "<square>",
                    "inverse_func": "<square>",
                    "regressor": {"class": "sklearn.linear_model.Ridge"},
                },
                "trees": False,
            },
        ),
        (
            make_pipeline(StandardScaler(), Mean(2.0)),
            {
                "kind": "object",
                "class": "sklearn.pipeline.Pipeline",
                "params": {
                    "steps": [
                        ["standardscaler", {"class": "sklearn.preprocessing.StandardScaler"}],
                        ["mean", {"class": f"{__name__}.Mean", "params": {"shift": 2.0}}],
                    ]
                },
                "trees": False,
            },
        ),
    ],
    ids=lambda one: one["kind"] if isinstance(one, dict) else type(one).__name__,
)
def test_an_object_is_written_as_a_spec_where_a_spec_can_make_it_again(estimator, section):
    assert section_of(estimator) == section
    member = given(estimator)
    assert member.model_dump() == {"params": {}, **section}
    if section["kind"] == "sklearn":
        assert spec_complaint(member) is None
        made = member.estimator()
        assert section_of(made) == section
        assert type(made) is type(estimator)


def test_why_a_spec_cannot_express_an_object():
    complaint = spec_complaint(given(Mean()))
    assert complaint.headline() == (
        f"regressor: not reproducible from a spec: the regressor is an object of {__name__}.Mean from Python; "
        "use a class of an allowed package whose parameters are plain values (regressor: {kind: sklearn, ...})"
    )


def test_what_is_no_estimator():
    with pytest.raises(SpecError) as caught:
        section_of(Ridge)
    assert str(caught.value) == (
        "regressor: estimator= takes an object with fit, predict and get_params, got "
        "<class 'sklearn.linear_model._ridge.Ridge'>; call the class: Ridge()"
    )
    with pytest.raises(SpecError) as caught:
        section_of("ridge")
    assert str(caught.value) == (
        "regressor: estimator= takes an object with fit, predict and get_params, got 'ridge'; "
        "it has no fit, predict, get_params"
    )


def test_the_users_object_is_never_fitted_itself():
    mine = Mean(1.0)
    given(mine).train(rows(), seed=1)
    assert not hasattr(mine, "level_")
