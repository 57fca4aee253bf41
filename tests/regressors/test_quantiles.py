"""Models of one quantile: what they predict, what stops them, what a search judges them by."""

import numpy as np
import pytest
from regressor_parts import quick, table

from crda_spec.regressors import REGRESSORS, Catboost, Design, EarlyStopping, Fitter, Xgboost
from crda_spec.regressors.metrics import MSE, Metric
from crda_spec.regressors.tune import RandomSearch, tune

ABLE = sorted(kind for kind, member in REGRESSORS.items() if member.learns_quantiles)
every_able_kind = pytest.mark.parametrize("kind", ABLE)


def fan(n, *, seed=0):
    """Y = x0 + noise that grows with x1."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, size=(n, 2))
    return table(x, x[:, 0] + (0.2 + 0.5 * (x[:, 1] + 2.0)) * rng.normal(size=n))


def test_three_kinds_predict_quantiles():
    assert ABLE == ["catboost", "hist_gradient_boosting", "xgboost"]


@every_able_kind
@pytest.mark.parametrize("level", [0.1, 0.9])
def test_a_quantile_is_above_its_share_of_the_rows_where_noise_is_small_and_where_it_is_large(kind, level):
    model = Fitter(quick(kind, objective="quantile", quantile=level)).fit(fan(1500), seed=1)
    fresh = fan(4000, seed=9)
    below = fresh.y <= model.predict(fresh.x)
    for part in (fresh.x[:, 1] < 0, fresh.x[:, 1] >= 0):
        assert abs(below[part].mean() - level) < 0.1
    metric = Metric(kind="pinball", quantile=level)
    mean = Fitter(quick(kind)).fit(fan(1500), seed=1)
    ours, means = (metric.row_losses(fresh.y - one.predict(fresh.x)).mean() for one in (model, mean))
    assert ours < 0.85 * means


@every_able_kind
def test_heavy_rows_pull_a_quantile(kind):
    """At every x one row says -1 and one says +1: the 0.6-quantile is +1, unless the rows of -1 weigh four times."""
    x = np.repeat(np.linspace(-1.5, 1.5, 60), 2)[:, None]
    y = np.tile([-1.0, 1.0], 60)
    member = quick(kind, objective="quantile", quantile=0.6)
    even, uneven = (
        member.train(Design(x=x, y=y, weight=weight, validation_x=None, validation_y=None), seed=1).predict(x).mean()
        for weight in (None, np.tile([4.0, 1.0], 60))
    )
    assert even > 0.5
    assert uneven < -0.5


def test_xgboost_keeps_the_rounds_with_the_least_pinball_loss():
    train, held = fan(200), fan(80, seed=5)
    design = Design(x=train.x, y=train.y, weight=None, validation_x=held.x, validation_y=held.y)
    settings = {"objective": "quantile", "quantile": 0.9, "n_estimators": 60, "learning_rate": 0.1}
    patient = Xgboost(**settings, early_stopping=EarlyStopping(rounds=60)).train(design, seed=2)
    whole = Xgboost(**settings, early_stopping=None).train(design, seed=2).trees
    metric = Metric(kind="pinball", quantile=0.9)
    losses = [
        metric.row_losses(held.y - whole.inplace_predict(held.x, iteration_range=(0, rounds))).mean()
        for rounds in range(1, 61)
    ]
    kept = patient.trees.num_boosted_rounds()
    assert losses[kept - 1] == pytest.approx(min(losses), rel=1e-5)
    assert kept < 60


def test_catboost_is_stopped_by_the_pinball_loss():
    train, held = fan(200), fan(80, seed=5)
    design = Design(x=train.x, y=train.y, weight=None, validation_x=held.x, validation_y=held.y)
    model = Catboost(objective="quantile", quantile=0.9, iterations=60).train(design, seed=2)
    loss = Metric(kind="pinball", quantile=0.9).row_losses(held.y - model.predict(held.x)).mean()
    assert model.best_score_["validation"] == {"Quantile:alpha=0.9": pytest.approx(loss)}


def test_catboost_without_a_feature_that_varies_predicts_the_weighted_quantile():
    y, weight = np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 5.0, 1.0, 1.0])
    design = Design(x=np.zeros((4, 1)), y=y, weight=None, validation_x=None, validation_y=None)
    heavy = Design(x=np.zeros((4, 1)), y=y, weight=weight, validation_x=None, validation_y=None)
    member = Catboost(objective="quantile", quantile=0.6)
    assert [member.train(one, seed=0).predict(one.x)[0] for one in (design, heavy)] == [3.0, 1.0]


def test_a_search_judges_a_quantile_by_its_pinball_loss():
    member = Xgboost(objective="quantile", quantile=0.8, n_estimators=20, early_stopping=None)
    found = tune(member, RandomSearch(trials=2, folds=2), fan(80), fill="median", seed=1, index=(0,))
    assert found.study.metric == "pinball 0.8"
    assert (found.regressor.objective, found.regressor.quantile) == ("quantile", 0.8)
    assert (member.own_metric, Xgboost().own_metric) == (Metric(kind="pinball", quantile=0.8), MSE)
    mean = tune(Xgboost(n_estimators=20), RandomSearch(trials=2, folds=2), fan(80), fill="median", seed=1, index=(0,))
    assert mean.study.metric == "mse"


@pytest.mark.parametrize("kind", ["xgboost", "hist_gradient_boosting"])
def test_why_a_quantile_holds_no_signs(kind):
    """Leaves are set to quantiles after the trees have grown, and constraints are not asked again."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, size=(2000, 2))
    y = x[:, 0] + (0.3 + 0.5 * np.abs(x[:, 1])) * rng.normal(size=2000)
    design = Design(x=x, y=y, weight=None, validation_x=None, validation_y=None, signs=(0, 1))
    model = quick(kind, objective="quantile", quantile=0.9).train(design, seed=1)
    line = np.column_stack([np.zeros(200), np.linspace(-2.0, 2.0, 200)])
    assert np.diff(model.predict(line)).min() < 0
