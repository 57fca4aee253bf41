"""Starts of the gate: both models of a fold are trained several times, and a row counts with its mean loss."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pytest
from gate_parts import CROSSFIT, Squares, committee, fold_outcomes, one_fold, procedure, table

from crda_spec.counterfactual.procedure import augment, fit_augmented, refit_with_seed
from crda_spec.data.folds import Division, folds
from crda_spec.gate.cost import FitCounts
from crda_spec.gate.cross_validate import fold_models, restart_seeds
from crda_spec.gate.tests import Wilcoxon
from crda_spec.regressors import BaseRegressor, Ridge
from crda_spec.regressors._protocol import LogUniform, Space
from crda_spec.regressors.metrics import MSE, Metric
from crda_spec.regressors.teachers import CrossfitTeacher, FoldContext
from crda_spec.regressors.tune import RandomSearch
from crda_spec.seeds import stream


class Lucky(BaseRegressor):
    """Least squares on rows chosen at random: every seed gives another model."""

    space: ClassVar[Space] = {"penalty": LogUniform(0.1, 1.0)}

    kind: Literal["lucky"] = "lucky"
    penalty: float = 0.0

    def train(self, design, *, seed):
        rows = np.random.default_rng(seed % 2**32).integers(0, len(design.y), len(design.y))
        weight = None if design.weight is None else design.weight[rows]
        return Squares().train(replace(design, x=design.x[rows], y=design.y[rows], weight=weight), seed=seed)


def draw(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return table(x, x[:, 0] + rng.normal(size=rows))


def layout(train, count=4):
    return folds(len(train), count, rng=stream(5, "folds"))


WAYS = {
    "single": {},
    "crossfit": CROSSFIT,
    "committee": {"teacher": committee(None, Ridge(), folds=3), "residuals": "out_of_fold", "retention": 0.0},
    "tuned": {"search": RandomSearch(trials=2, folds=3)},
}
every_way = pytest.mark.parametrize("way", WAYS)


@every_way
@pytest.mark.parametrize("kind", ["mse", "rmse", "mae", "r2"])
def test_a_rows_loss_is_its_mean_over_the_starts_and_a_folds_the_metric_of_these(way, kind):
    train, metric = draw(), Metric(kind=kind)
    held = layout(train)[1]
    chosen = procedure(train, regressor=Lucky(), **WAYS[way])
    outcome = one_fold(chosen, train, held, 2, metric=metric, seed=5, restarts=3)
    rows = train.take(np.setdiff1d(np.arange(len(train)), held))
    first = augment(chosen, rows, FoldContext(seed=5, index=(2,)))
    each = [first, *(refit_with_seed(first, rows, seed) for seed in restart_seeds(5, 3)[1:])]
    errors = np.array(
        [
            [train.y[held] - model.predict(train.x[held]) for model in (one.plain, fit_augmented(one, rows))]
            for one in each
        ]
    )
    losses = metric.row_losses(errors).mean(axis=0)
    np.testing.assert_allclose([outcome.plain, outcome.augmented], losses, rtol=1e-12)
    assert len({one.tobytes() for one in errors[:, 0]}) == 3  # three plain models, three augmented ones
    assert len({one.tobytes() for one in errors[:, 1]}) == 3
    spread = float(np.var(train.y[held]))
    expected = [metric.mean(one, spread=spread) for one in losses]
    assert [outcome.result.plain, outcome.result.augmented] == pytest.approx(expected, rel=1e-12)


@every_way
def test_one_start_is_the_gate_without_starts_and_the_first_of_several(way):
    train = draw()
    held = layout(train)[0]
    chosen = procedure(train, regressor=Lucky(), **WAYS[way])
    alone, one = (
        one_fold(chosen, train, held, 1, metric=MSE, seed=5, **restarts) for restarts in ({}, {"restarts": 1})
    )
    assert alone.result == one.result
    assert restart_seeds(5, 3)[0] == 5
    assert len(set(restart_seeds(5, 3))) == 3
    assert restart_seeds(5, 3) == restart_seeds(5, 4)[:3]


def test_a_teacher_stays_and_the_plain_model_as_a_teacher_is_the_new_one():
    train = draw()
    for way, stays in (("committee", True), ("crossfit", True), ("single", False)):
        first = augment(procedure(train, regressor=Lucky(), **WAYS[way]), train, FoldContext(seed=5, index=(0,)))
        again = refit_with_seed(first, train, 6)
        assert (again.teacher is first.teacher) == stays
        assert (again.teacher.members == (again.plain,)) != stays
        assert again.movable is first.movable
        assert again.counterfactuals.action.x.tobytes() != first.counterfactuals.action.x.tobytes()


@every_way
def test_a_further_start_costs_two_fits_a_fold_and_searches_nothing_again(way):
    train = draw()
    held = layout(train)
    chosen = procedure(train, regressor=Lucky(), **WAYS[way])
    once, thrice = (
        fold_outcomes(chosen, train, held, gate=Wilcoxon(folds=4, restarts=restarts)) for restarts in (1, 3)
    )
    assert [more.cost.fits - one.cost.fits for one, more in zip(once, thrice, strict=True)] == [4, 4, 4, 4]
    gate = Wilcoxon(folds=4, restarts=3)
    assert tuple(one.cost.fits for one in thrice) == FitCounts(procedure=chosen, gate=gate).in_folds
    assert (
        FitCounts(procedure=chosen, gate=gate).shared == FitCounts(procedure=chosen, gate=Wilcoxon(folds=4)).shared + 16
    )
    assert FitCounts(procedure=chosen, gate=gate).stopped(1, 0) == sum(one.cost.fits for one in thrice[1:])
    assert [len(one.studies) for one in thrice] == [len(one.studies) for one in once]


@pytest.mark.parametrize("workers", [1, 2])
def test_shared_models_serve_every_start(workers):
    train = draw(80)
    held, gate = layout(train, 7), Wilcoxon(folds=7, restarts=2)
    teacher = committee(None, Ridge(), folds="blocks")
    chosen = procedure(train, regressor=Lucky(), teacher=teacher, residuals="out_of_fold", retention=0.0)
    models = fold_models(chosen, train, Division(number=0, held=held, seed=5))
    models.fit(models.first)
    outcomes = fold_outcomes(chosen, train, held, models=models, gate=gate, workers=workers)
    assert {one.cost.fits for one in outcomes} == {1 + 2}  # the augmented one, then both arms once more
    assert (
        models.cost.fits + sum(one.cost.fits for one in outcomes) + 1 == FitCounts(procedure=chosen, gate=gate).shared
    )
    alone = fold_outcomes(chosen, train, held, gate=gate)
    assert [one.result for one in alone] == [one.result for one in outcomes]


def test_more_starts_leave_less_to_luck():
    """The same rows, many seeds: with four restarts a fold's difference varies less than with one."""
    train = draw(80)
    held = layout(train)
    chosen = procedure(
        train, regressor=Lucky(), teacher=CrossfitTeacher(folds=3), residuals="out_of_fold", retention=0.0
    )
    spread = {}
    for restarts in (1, 4):
        found = [
            one_fold(chosen, train, held[0], 1, metric=MSE, seed=seed, restarts=restarts).result for seed in range(60)
        ]
        spread[restarts] = np.std([one.augmented - one.plain for one in found])
    assert spread[4] < 0.75 * spread[1]
