"""Defaults, search spaces and the paper's tables say the same."""

from dataclasses import MISSING, fields
from typing import get_args

import pytest

from crda_spec.regressors import REGRESSORS, Mlp, Stopping, Xgboost
from crda_spec.spaces import SPACES, Choice, LogUniform
from crda_spec.spec import regressor as spec

SPEC_CLASSES = {
    get_args(member.model_fields["kind"].annotation)[0]: member
    for member in get_args(get_args(spec.Regressor)[0])
    if member is not spec.PluginRegressor
}


def test_every_kind_of_the_spec_has_a_member_and_the_other_way_round():
    assert set(SPEC_CLASSES) == set(REGRESSORS)


@pytest.mark.parametrize("kind", sorted(REGRESSORS))
def test_defaults_of_spec_and_member_are_the_same_field_by_field(kind):
    written = {name: value.default for name, value in SPEC_CLASSES[kind].model_fields.items() if name != "kind"}
    if "early_stopping" in written:
        rule = written.pop("early_stopping")
        written["stopping"] = Stopping(rounds=rule.rounds, validation=rule.validation)
    computed = {field.name: field.default for field in fields(REGRESSORS[kind])}
    assert MISSING not in computed.values()
    assert written == computed


def test_the_xgboost_defaults_are_the_modal_best_and_fixed_values_of_the_papers_table_tab_hparams_xgb():
    assert Xgboost() == Xgboost(
        learning_rate=0.02154,
        max_depth=6,
        min_child_weight=5.0,
        subsample=0.7,
        colsample_bytree=0.7,
        reg_lambda=0.03981,
        n_estimators=1000,
        reg_alpha=0.0,
        stopping=Stopping(rounds=20, validation=0.1),
    )


def test_the_mlp_defaults_are_the_modal_best_and_fixed_values_of_the_papers_table_tab_hparams_mlp():
    assert Mlp() == Mlp(
        hidden_layer_sizes=(128, 64, 32),
        alpha=0.0004,
        learning_rate_init=0.00942,
        tol=0.00009,
        batch_size=32,
        max_iter=1000,
        stopping=Stopping(rounds=20, validation=0.1),
    )


def test_the_xgboost_space_is_that_of_the_papers_table_tab_hparams_xgb():
    """Ten points from 10^-3 to 10^-1 and six from 10^-3 to 10^1, evenly spaced in the exponent."""
    space = SPACES["xgboost"]
    assert set(space) == {
        "learning_rate",
        "max_depth",
        "min_child_weight",
        "subsample",
        "colsample_bytree",
        "reg_lambda",
    }
    assert space["learning_rate"].values == pytest.approx(
        (0.001, 0.00166810, 0.00278256, 0.00464159, 0.00774264, 0.01291550, 0.02154435, 0.03593814, 0.05994843, 0.1),
        rel=1e-6,
    )
    assert space["max_depth"] == Choice((3, 4, 6))
    assert space["min_child_weight"] == Choice((1.0, 5.0))
    assert space["subsample"] == Choice((0.7, 1.0))
    assert space["colsample_bytree"] == Choice((0.7, 1.0))
    assert space["reg_lambda"].values == pytest.approx(
        (0.001, 0.00630957, 0.03981072, 0.25118864, 1.58489319, 10.0), rel=1e-6
    )


def test_the_mlp_space_is_that_of_the_papers_table_tab_hparams_mlp():
    assert SPACES["mlp"] == {
        "hidden_layer_sizes": Choice(((128, 64, 32), (128, 64), (64, 32), (64,))),
        "alpha": LogUniform(1e-5, 1e-3),
        "learning_rate_init": LogUniform(1e-3, 1e-2),
        "tol": LogUniform(1e-5, 1e-4),
    }


@pytest.mark.parametrize("kind", sorted(SPACES))
def test_every_value_of_a_space_is_one_that_a_user_may_write(kind):
    names = {field.name for field in fields(REGRESSORS[kind])}
    for name, prior in SPACES[kind].items():
        assert name in names
        for step in range(50):
            value = prior.at(step / 50)
            assert getattr(SPEC_CLASSES[kind](kind=kind, **{name: value}), name) == value


def test_a_choice_gives_each_value_alike_and_a_log_uniform_prior_stays_within_its_ends():
    assert [Choice(("a", "b", "c")).at(u) for u in (0.0, 0.33, 0.34, 0.66, 0.67, 0.999999)] == list("aabbcc")
    prior = LogUniform(1e-4, 1e2)
    assert prior.at(0.0) == 1e-4
    assert prior.at(0.5) == pytest.approx(0.1)
    assert prior.at(1 - 2**-53) <= 1e2 * (1 + 1e-12)
