"""Defaults, search spaces and the paper's tables say the same."""

import pytest

from crda_spec.regressors import REGRESSORS, EarlyStopping, Mlp, Xgboost
from crda_spec.regressors._protocol import Choice, LogUniform


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
        early_stopping=EarlyStopping(rounds=20, validation=0.1),
    )


def test_the_mlp_defaults_are_the_modal_best_and_fixed_values_of_the_papers_table_tab_hparams_mlp():
    assert Mlp() == Mlp(
        hidden_layer_sizes=(128, 64, 32),
        alpha=0.0004,
        learning_rate_init=0.00942,
        tol=0.00009,
        batch_size=32,
        max_iter=1000,
        early_stopping=EarlyStopping(rounds=20, validation=0.1),
    )


def test_the_xgboost_space_is_that_of_the_papers_table_tab_hparams_xgb():
    """Ten points from 10^-3 to 10^-1 and six from 10^-3 to 10^1, evenly spaced in the exponent."""
    space = Xgboost.space
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
    assert Mlp.space == {
        "hidden_layer_sizes": Choice(((128, 64, 32), (128, 64), (64, 32), (64,))),
        "alpha": LogUniform(1e-5, 1e-3),
        "learning_rate_init": LogUniform(1e-3, 1e-2),
        "tol": LogUniform(1e-5, 1e-4),
    }


@pytest.mark.parametrize("kind", sorted(REGRESSORS))
def test_every_value_of_a_space_is_one_that_a_user_may_write(kind):
    member = REGRESSORS[kind]
    for name, prior in member.space.items():
        for step in range(50):
            value = prior.at(step / 50)
            assert getattr(member(**{name: value}), name) == value


def test_all_but_least_squares_can_be_tuned_and_a_setting_that_the_user_wrote_is_not_searched():
    assert [kind for kind, member in REGRESSORS.items() if not member.space] == ["linear"]
    assert set(Mlp(alpha=0.1).open_space()) == {"hidden_layer_sizes", "learning_rate_init", "tol"}


def test_a_choice_gives_each_value_alike_and_a_log_uniform_prior_stays_within_its_ends():
    assert [Choice(("a", "b", "c")).at(u) for u in (0.0, 0.33, 0.34, 0.66, 0.67, 0.999999)] == list("aabbcc")
    prior = LogUniform(1e-4, 1e2)
    assert prior.at(0.0) == 1e-4
    assert prior.at(0.5) == pytest.approx(0.1)
    assert prior.at(1 - 2**-53) <= 1e2 * (1 + 1e-12)
